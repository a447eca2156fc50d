"""Many documents -> many results, in bounded memory.

`chunks` reads ahead and cuts the stream, `output` writes results so that an interrupted run can go on, `discoveries` flags at a
false-discovery rate in a second pass, `local` puts them together on one machine. `ray` and
its parts do the same with many workers, on one machine or a cluster.
"""
