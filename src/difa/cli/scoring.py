"""Scoring a list of documents chunk by chunk, under a progress bar."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from difa.cli.progress import counter

if TYPE_CHECKING:
    from difa.document import Document, Result
    from difa.estimator import DiFA

_CHUNK = 256


def score_all(detector: DiFA, documents: list[Document], fpr: float | None, fdr: float | None, quiet: bool) -> Iterator[Result]:
    """Results in order. A false-discovery rate looks at all documents at once; anything else goes chunk by chunk."""
    size = _CHUNK if fdr is None and (fpr is not None or detector.fdr is None) else max(1, len(documents))
    with counter("score", len(documents), quiet) as advance:
        for start in range(0, max(1, len(documents)), size):
            for result in detector.score(documents[start : start + size], fpr=fpr, fdr=fdr):
                yield result
                advance(1)
