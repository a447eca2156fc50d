"""The benchmark: labelled sets -> tables and figures that anybody can make again.

`data` finds the sets and draws the published split, `methods` turns a method's name into scores, `metrics` turns scores into
figures with intervals, `run` keeps each finished figure in a file of its own, so that an interrupted run goes on where it
stopped. A `Study` is a command: `table`, `ablation` (and layers), `analyses` (efficiency, contamination, sparsity, examples),
`feed`, `promises`, `speed`. `tables` and `plots` have what their tables and pictures share; `report` fills pages.
"""
