"""A fitted model behind an HTTP address: a JSON interface for programs, a page for people.

`settings` limits and defaults · `server` the process: socket, signals · `protocol` HTTP, slow clients · `app` the routes ·
`security` key and headers · `service` one request from body to answer · `allowance` and `body` bytes -> strict JSON · `schemas`
JSON -> a checked request · `cost` what a document costs · `requests` a request -> documents, and results -> JSON · `speed` and
`batching` documents of many requests -> shared batches · `models` what is served · `tables` and `file_reader` a file -> its
documents · `metrics` counters · `page/` the page. Needs the extra `difa[serve]`.
"""
