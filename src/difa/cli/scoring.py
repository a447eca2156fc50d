"""Scoring a list of documents chunk by chunk, under a progress bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from difa.cli.progress import counter

if TYPE_CHECKING:
    from difa.document import Document, Result, Scored
    from difa.estimator import DiFA


def score_all(fitted: DiFA, documents: list[Document], fpr: float | None, fdr: float | None, quiet: bool) -> list[Result]:
    """Results in order, flagged all together."""
    from difa.decide import flag_columns
    from difa.runtime.prefetch import chunk_documents

    rule = fitted.rule(fpr, fdr)
    parts: list[Scored] = []
    chunks = chunk_documents(documents)
    with counter("score", len(documents), quiet) as advance:
        for _, ranked in fitted.score_chunks(chunks, lambda: next(chunks, None)):
            parts.append(ranked)
            advance(len(ranked))
    return [result for part in flag_columns(parts, rule) for result in part.results()]
