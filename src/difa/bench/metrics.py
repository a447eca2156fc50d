"""Scores and labels -> AUROC, average precision and false-alarm rate at 95 % recall, with intervals over documents, and flags.

Point figures of AUROC and average precision come from `difa.decide.evaluate`, so that they are the figures of `difa evaluate`.
Intervals come from the bootstrap: documents, not words, are drawn again, since words of one document belong together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from difa.bench.data import is_anomalous
from difa.decide.evaluate import measure
from difa.document import Document, FloatArray, IntArray

Record = dict[str, Any]
"""A finished cell: what it is of (`command`, `set`, `form`, `seed`, `method`, `settings`) and what came out."""
Records = Sequence[Record]

RATE = 0.05  # false-alarm rate at which DiFA's flags are counted
NOTHING = float(np.finfo(np.float32).min)  # score of a document without words: below that of every document with some


@dataclass(frozen=True)
class Scores:
    """What a method says of the test documents."""

    words: list[FloatArray]
    """(T,) per document."""
    documents: Mapping[str, FloatArray]
    """One score per document, by pooling rule; DiFA's own is `learned`."""
    views: Mapping[str, list[FloatArray]] = field(default_factory=dict)
    """Tail evidence of each view of DiFA, (T,) per document."""
    document_p: FloatArray = field(default_factory=lambda: np.empty(0))
    """DiFA's p-values of documents, where it gives some."""
    word_p: list[FloatArray] = field(default_factory=list)
    """DiFA's p-values of words, (T,) per document."""
    taught: int = 0
    """Documents of a feed that DiFA learned from."""
    encode_seconds: tuple[float, float] = (0.0, 0.0)
    """Of the documents to fit on and to score, where this is no part of fitting and scoring."""
    fit_seconds: float = 0.0
    score_seconds: float = 0.0

    def take(self, places: Sequence[int]) -> Scores:
        """The scores of some of the documents, without those of the views."""
        return replace(
            self,
            words=[self.words[place] for place in places],
            documents={rule: pooled[list(places)] for rule, pooled in self.documents.items()},
            views={},
            document_p=self.document_p[list(places)] if self.word_p else self.document_p,
            word_p=[self.word_p[place] for place in places] if self.word_p else [],
        )


def judge_words(
    labels: Sequence[IntArray], word_scores: Sequence[FloatArray], draws: int, seed: int, *, level: str = "word", **of: Any
) -> Record:
    """How well scores tell two classes apart, over all words of all documents, an array per document.

    Intervals are (low, high), None without draws of the bootstrap. `of` says which part of a method and which pooling rule it is.
    """
    scores, count = np.concatenate(word_scores), len(labels)
    order = np.argsort(scores, kind="stable")  # sorted once: sorting it again for each draw then costs little
    scores, labelled = scores[order], np.concatenate(labels)[order]
    owners = np.repeat(np.arange(count), list(map(len, labels)))[order]
    found = measure("items", labelled.astype(np.float64), scores)
    ends: list[Any] = [None, None, None]
    if draws:
        rng = np.random.default_rng(seed)
        drawn = (np.bincount(rng.integers(count, size=count), minlength=count)[owners] for _ in range(draws))
        figures = [weighted_figures(labelled, scores, weights) for weights in drawn]
        ends = np.nanpercentile(figures, [2.5, 97.5], axis=0).T.tolist()
    fpr95 = weighted_figures(labelled, scores, np.ones(len(scores), int))[2]
    point = {"auroc": found.auroc, "ap": found.average_precision, "fpr95": fpr95}
    counts = {"count": found.count, "anomalous": found.anomalous}
    intervals = {f"{metric}_interval": pair for metric, pair in zip(point, ends, strict=True)}
    return {"level": level, "part": "", "pooling": None, **of, **point, **counts, **intervals}


def weighted_figures(labels: IntArray, scores: FloatArray, weights: IntArray) -> list[float]:
    """AUROC, average precision and false-alarm rate at 95 % recall, of items that count more or less often."""
    from sklearn.metrics import auc, average_precision_score, roc_curve

    if len(np.unique(labels[weights > 0])) < 2:
        return [np.nan] * 3
    fallout, recall, _ = roc_curve(labels, scores, sample_weight=weights, drop_intermediate=False)
    precision = average_precision_score(labels, scores, sample_weight=weights)
    return [float(auc(fallout, recall)), float(precision), float(fallout[np.searchsorted(recall, 0.95 - 1e-12)])]


def judge_documents(labels: Sequence[IntArray], document_scores: FloatArray, draws: int, seed: int, **of: Any) -> Record:
    """Figures over documents; one is anomalous if any of its words is."""
    anomalous = [np.array([int(label.any())]) for label in labels]
    return judge_words(anomalous, [np.array([score]) for score in document_scores], draws, seed, level="document", **of)


def pool_max(word_scores: Sequence[FloatArray]) -> FloatArray:
    """The highest word score of each document."""
    return np.array([scores.max() if len(scores) else NOTHING for scores in word_scores])


def pool_mean(word_scores: Sequence[FloatArray]) -> FloatArray:
    """The mean word score of each document."""
    return np.array([scores.mean() if len(scores) else NOTHING for scores in word_scores])


def figures_of(scores: Scores, labels: Sequence[IntArray], draws: int, seed: int) -> list[Record]:
    """Figures of the words, of each view alone, and of the documents under each pooling rule."""
    words = judge_words(labels, scores.words, draws, seed)
    views = [judge_words(labels, evidence, 0, seed, part=view) for view, evidence in scores.views.items()]
    pooled = [judge_documents(labels, pooled, draws, seed, pooling=rule) for rule, pooled in scores.documents.items()]
    return [words, *views, *pooled]


def alarms_of(scores: Scores, documents: Sequence[Document]) -> Record | None:
    """How many normal documents DiFA flags and how many of their words, and how many of the anomalous documents."""
    if not scores.word_p:
        return None
    flags, anomalous = scores.document_p <= RATE, np.array(list(map(is_anomalous, documents)), dtype=bool)
    word_p = np.concatenate([np.empty(0), *(scores.word_p[at] for at in np.flatnonzero(~anomalous))])
    counts = {"normal": (~anomalous).sum(), "flagged_normal": flags[~anomalous].sum(), "normal_words": len(word_p)}
    counts |= {"flagged_normal_words": (word_p <= RATE).sum()}
    counts |= {"anomalous": anomalous.sum(), "flagged_anomalous": flags[anomalous].sum()}
    return {"rate": RATE} | {name: int(count) for name, count in counts.items()}
