"""Scoring a list of documents chunk by chunk, under a progress bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from difa.cli.progress import counter

if TYPE_CHECKING:
    from difa.document import Document, Result
    from difa.estimator import DiFA

_CHUNK = 256


def score_all(detector: DiFA, documents: list[Document], fpr: float | None, fdr: float | None, quiet: bool) -> list[Result]:
    """Results in order, flagged all together."""
    from difa.decide import flag

    rule = detector.rule(fpr, fdr)
    results: list[Result] = []
    with counter("score", len(documents), quiet) as advance:
        for start in range(0, len(documents), _CHUNK):
            chunk = documents[start : start + _CHUNK]
            results.extend(detector.score_unflagged(chunk))
            advance(len(chunk))
    return flag(results, rule)
