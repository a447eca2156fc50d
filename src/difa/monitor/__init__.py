"""Batches of a feed -> whether it is still like the normal text that a model was fitted on.

`batch` counts what a batch has and says what changed, `evidence` compares it with normal text, raises the alarm and is kept in a
file, `watch` puts them together: a report on each batch, and how it is shown.
"""

from __future__ import annotations

from difa.monitor.watch import BatchReport, Monitor

__all__ = ["BatchReport", "Monitor"]
