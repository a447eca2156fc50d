"""Many documents -> many results, in bounded memory.

`job` says what is asked, the same for every engine. `plan` cuts inputs into pieces, `cascade` has the judge that scores chunks by
one model or two. `stream` has chunks of documents and takes their results; `processes` and `output` are for a stream on one
machine, which `local` runs. `ray` shares pieces among many workers, on one machine or a cluster, which fill a `folder`.
"""
