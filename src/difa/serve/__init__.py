"""A fitted model behind an HTTP address: a JSON interface for programs, a page for people.

In the order of a request: `server` the process: socket, signals · `protocol` HTTP, slow clients · `security` key and headers
· `app` the routes · `body` bytes -> strict JSON · `schemas` JSON -> a checked request · `service` one request from its
documents to the answer · `uploads` and `file_reader` files of the page · `models` what is served · `batching` documents of
many requests -> shared batches · `counters` for Prometheus · `settings` limits and defaults · `page/` the page. Needs the
extra `difa[serve]`.
"""
