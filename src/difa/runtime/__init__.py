"""What encoders, views and engines share to compute: nothing here knows what a score is.

`graphs` makes, checks and runs ONNX graphs, `parallel` has threads, prefetching and cancelling, `windows` cuts
long sequences into overlapping ones and pools subwords.
"""
