"""Many documents -> many results with many workers, by Ray.

`folder` keeps the parts, at local paths and addresses of object storage, `cluster` starts Ray or joins a cluster, `score` has the
workers and puts them together.
"""
