"""What encoders, views and engines share to compute: nothing here knows what a word or a score is.

`session` runs ONNX graphs on many batches, `onnx_export` makes graphs of torch modules, `windows` cuts long sequences into
overlapping ones and pools subwords, `threads` counts the cores that this process may use, `stopping` ends work that nobody waits
for, `graph_check` refuses graphs that could read files.
"""
