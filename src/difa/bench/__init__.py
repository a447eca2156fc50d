"""The benchmark: labelled sets -> tables and figures that anybody can make again.

`data` finds the sets (a folder, or the hub), `split` draws the published split, `methods` turns a method's name into scores,
`metrics` turns scores into figures with intervals, `store` keeps each finished figure in a file of its own, so that an
interrupted run goes on where it stopped. One file per command: `table`, `ablation`, `efficiency`, `contamination`,
`sparsity`, `feed`, `promises`, `speed`, `examples`; `peers` runs another library's detectors; `render`, `plots` and `report` make
what people read.
"""
