"""The benchmark: labelled sets -> tables and figures that anybody can make again.

`data` finds the sets (a folder, or the hub), `split` draws the published split, `methods` and `peers` turn a method's name into
scores, `metrics` turns scores into figures with intervals, `store` keeps each finished figure in a file of its own, so that an
interrupted run goes on where it stopped, and `run` is what all commands share. A command is a file: `table`, `ablation`,
`validation` (layers), `efficiency`, `robustness` (contamination, sparsity), `feed`, `promises`, `speed`, `examples`. `tables…`,
`plots`, `claims` and `report` make what people read.
"""
