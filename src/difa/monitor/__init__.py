"""Batches of a feed -> whether it is still like the normal text that a model was fitted on.

`tally` gathers what a batch says, `compare` compares it with normal text, `evidence` runs over all batches and raises the alarm,
`moved` says what changed, `state` keeps the running evidence between runs, `watch` puts them together, and `text` shows it.
"""

from __future__ import annotations

from difa.monitor.watch import BatchReport, Monitor

__all__ = ["BatchReport", "Monitor"]
