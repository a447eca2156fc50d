"""Many documents -> many results, in bounded memory.

`chunks` reads ahead and cuts the stream, `output` writes results so that an interrupted run can go on, `output_files` names the
files it needs, `processes` shares the work of a model without an encoder, `budget` and `sinks` keep the most unusual results and
say where all go, `local` puts them together on one machine. `ray/` does the same with many workers, on one machine or a cluster.
"""
