"""Scores of a method and labels of the test -> the figures of a record."""

from __future__ import annotations

from collections.abc import Sequence

from difa.bench.methods import Scores
from difa.bench.metrics import judge_documents, judge_words
from difa.bench.store import Record
from difa.document import IntArray


def figures_of(scores: Scores, labels: Sequence[IntArray], draws: int, seed: int) -> list[Record]:
    """Figures of the words, of each view alone, and of the documents under each pooling rule."""
    figures: list[Record] = []
    if scores.words is not None:
        figures.append({"level": "word", "part": "", "pooling": None} | judge_words(labels, scores.words, draws, seed).to_dict())
    for view, evidence in scores.views.items():
        figures.append({"level": "word", "part": view, "pooling": None} | judge_words(labels, evidence, 0, seed).to_dict())
    for rule, pooled in scores.documents.items():
        judged = judge_documents(labels, pooled, draws, seed)
        figures.append({"level": "document", "part": "", "pooling": rule} | judged.to_dict())
    return figures
