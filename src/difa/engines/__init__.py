"""Many documents -> many results, in bounded memory.

`job` says what is asked, the same for every engine. `plan` cuts inputs into pieces, `cascade` has the judge that scores chunks by
one model or two. `local` runs a stream on one machine: `stream` reads ahead, `processes` scores side by side. `ray` shares pieces
among many workers, on one machine or a cluster. `output` has what is under way, and its names when it is complete;
`second_pass` is for what needs to see all documents.
"""
