"""Many documents -> many results, in bounded memory.

`job` says what is asked, the same for every engine. `plan` cuts the inputs into pieces, `stream` reads a piece in chunks,
`cascade` has the judge that scores them by one model or two, and `pieces` makes parts of results of them. `local` runs pieces in
this process or in forked ones, `ray` on many machines. `target` knows where parts lie, and `output` makes of them what was asked
for; `second_pass` is for what needs to see all documents.
"""
