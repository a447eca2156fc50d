"""Batches of a feed -> whether it is still like the normal text that a model was fitted on.

`batch` counts what a batch has and says what changed, `evidence` compares it with normal text and raises the alarm, `watch` puts
them together: the running evidence, its file, and what is shown.
"""

from __future__ import annotations

from difa.monitor.watch import BatchReport, Monitor

__all__ = ["BatchReport", "Monitor"]
