"""A fitted model behind an HTTP address: a JSON interface for programs, a page for people.

In the order of a request: `server` the process: socket, signals, HTTP, slow clients · `app` key, headers and routes · `body`
bytes -> strict JSON, or a file · `schemas` JSON -> a checked request · `service` one request from its documents to the answer ·
`models` what is served, batches, counters · `files` uploads and verdicts · `example` texts to try · `settings` limits, defaults ·
`page/` the page. Needs the extra `difa[serve]`.
"""
