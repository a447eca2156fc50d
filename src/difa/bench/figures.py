"""Scores of a method and labels of the test -> the figures of a record, and how DiFA's flags kept their rate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from difa.bench.methods import RATE, Scores
from difa.bench.metrics import judge_documents, judge_words
from difa.bench.split import is_anomalous
from difa.bench.store import Record
from difa.document import Document, IntArray


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


def alarms_of(scores: Scores, documents: Sequence[Document]) -> Record | None:
    """How many normal documents DiFA flagged and how many of their words, and how many of the anomalous documents."""
    if scores.flagged is None or scores.word_p is None:
        return None
    flags = np.array(scores.flagged, dtype=bool)
    anomalous = np.array([is_anomalous(document) for document in documents], dtype=bool)
    of_normal = (p_values for p_values, odd in zip(scores.word_p, anomalous.tolist(), strict=True) if not odd)
    word_p = np.concatenate([np.empty(0), *of_normal])
    return {
        "rate": RATE,
        "normal": int((~anomalous).sum()),
        "flagged_normal": int(flags[~anomalous].sum()),
        "normal_words": len(word_p),
        "flagged_normal_words": int((word_p <= RATE).sum()),
        "anomalous": int(anomalous.sum()),
        "flagged_anomalous": int(flags[anomalous].sum()),
    }
