"""Many documents -> many results with many workers, by Ray Data.

`plan` cuts inputs into pieces, `read` and `write` turn a piece into documents and results into a part, `storage` knows local
paths and addresses of object storage, `cluster` starts Ray or joins a cluster, `score` puts them together.
"""
