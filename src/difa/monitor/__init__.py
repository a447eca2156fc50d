"""Batches of a feed -> whether it is still like the normal text that a model was fitted on.

`batch` counts what a batch has, `evidence` compares it with normal text and raises the alarm, `differences` says what changed,
`state` keeps the running evidence between runs, `watch` puts them together, and `text` shows it.
"""

from __future__ import annotations

from difa.monitor.watch import BatchReport, Monitor

__all__ = ["BatchReport", "Monitor"]
