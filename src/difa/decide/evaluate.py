"""Results and labels -> how well normal and anomalous words and documents are separated.

AUROC and average precision, at both levels; a document is anomalous if any of its words is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from difa.document import Document, FloatArray, Result
from difa.errors import InputError, MissingExtraError


@dataclass(frozen=True, slots=True)
class Level:
    """Figures of one level, words or documents."""

    auroc: float
    average_precision: float
    count: int
    anomalous: int


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Figures of both levels, and what the flags caught and missed."""

    word: Level
    document: Level
    false_alarm_rate: float  # share of normal documents that were flagged
    recall: float  # share of anomalous documents that were flagged


def evaluate(results: Sequence[Result], documents: Sequence[Document]) -> Evaluation:
    """Compare results with the labels of the same documents."""
    check_labels(documents)
    labels = [np.array(document.labels, dtype=int) for document in documents]
    word_scores = [[word.score for word in result.words] for result in results]
    anomalous = np.array([label.any() for label in labels], dtype=bool)
    flags = np.array([result.is_anomaly for result in results], dtype=bool)
    word = measure("words", np.concatenate(labels), np.concatenate(word_scores))
    document = measure("documents", anomalous.astype(int), np.array([result.score for result in results]))
    return Evaluation(word, document, float(flags[~anomalous].mean()), float(flags[anomalous].mean()))


def check_labels(documents: Sequence[Document]) -> None:
    """Refuse documents that cannot be evaluated, before they are scored."""
    if not documents:
        raise InputError("expected labelled documents, got none")
    unlabelled = [document.id for document in documents if document.labels is None]
    if unlabelled:
        raise InputError(
            f'expected labels for every document, {unlabelled[0]} has none: give "tokens" with "labels", or "text" with "spans"; '
            "leave out what nobody annotated"
        )


def measure(what: str, labels: FloatArray, scores: FloatArray) -> Level:
    """AUROC and average precision of scores against 0/1 labels."""
    try:
        from sklearn.metrics import average_precision_score, roc_auc_score
    except ImportError:
        raise MissingExtraError("scikit-learn", "fit", "evaluation") from None
    positive = int(labels.sum())
    if not 0 < positive < len(labels):
        raise InputError(f"expected normal and anomalous {what}, got {len(labels) - positive} normal and {positive} anomalous")
    precision = min(1.0, float(average_precision_score(labels, scores)))  # a sum, which rounding can put above 1
    return Level(float(roc_auc_score(labels, scores)), precision, len(labels), positive)
