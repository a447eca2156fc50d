"""Scores and labels -> AUROC, average precision and false-alarm rate at 95 % recall, with intervals over documents, and flags.

Point figures of AUROC and average precision come from `difa.decide.evaluate`, so that they are the figures of `difa evaluate`.
Intervals come from the bootstrap: documents, not words, are drawn again, since words of one document belong together. Scores
are sorted once; a draw only changes how often each document counts.
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

RATE = 0.05
"""False-alarm rate at which DiFA's flags are counted."""
RECALL = 0.95
NOTHING = float(np.finfo(np.float32).min)
"""Score of a document without words: below that of every document with some."""


@dataclass(frozen=True)
class Scores:
    """What a method says of the test documents."""

    words: list[FloatArray]
    """(T,) per document."""
    documents: Mapping[str, FloatArray]
    """One score per document, by pooling rule; DiFA's own is `learned`."""
    views: Mapping[str, list[FloatArray]] = field(default_factory=dict)
    """Tail evidence of each view of DiFA, (T,) per document."""
    flagged: list[bool] | None = None
    """DiFA's flags of documents at a false-alarm rate of `RATE`."""
    word_p: list[FloatArray] | None = None
    """DiFA's p-values of words, (T,) per document."""
    taught: int = 0
    """Documents of a feed that DiFA learned from."""
    encode_seconds: tuple[float, float] = (0.0, 0.0)
    """Of the documents to fit on and to score, where this is no part of fitting and scoring."""
    fit_seconds: float = 0.0
    score_seconds: float = 0.0

    def take(self, places: Sequence[int]) -> Scores:
        """The scores of some of the documents, without those of the views."""
        flagged, word_p = self.flagged or [], self.word_p or []
        kept: dict[str, Any] = {"documents": {rule: pooled[list(places)] for rule, pooled in self.documents.items()}}
        for name, values in (("words", self.words), ("flagged", flagged), ("word_p", word_p)):
            kept[name] = [values[place] for place in places]
        return replace(self, views={}, **kept)


class Curve:
    """Scores of items, higher for more anomalous, sorted once to be weighed many times; each item is owned by a document."""

    def __init__(self, labels: IntArray, scores: FloatArray, owners: IntArray) -> None:
        order = np.argsort(-scores, kind="stable")
        self._labels, self._owners, ordered = labels[order].astype(np.float64), owners[order], scores[order]
        self._ends = np.append(np.flatnonzero(np.diff(ordered)), len(ordered) - 1)  # last item of each group of equal scores

    def figures(self, weights: FloatArray) -> FloatArray:
        """AUROC, average precision and false-alarm rate at 95 % recall, items counting as often as their document."""
        weight = weights[self._owners]
        hits = np.cumsum(weight * self._labels)[self._ends]
        alarms = np.cumsum(weight * (1 - self._labels))[self._ends]
        if hits[-1] == 0 or alarms[-1] == 0:
            return np.full(3, np.nan)
        recall, fallout = np.append(0.0, hits / hits[-1]), np.append(0.0, alarms / alarms[-1])
        flagged = hits + alarms
        precision = np.divide(hits, flagged, out=np.ones_like(hits), where=flagged > 0)
        at = np.searchsorted(recall, RECALL - 1e-12)
        return np.array(
            [np.sum(np.diff(fallout) * (recall[1:] + recall[:-1]) / 2), np.sum(np.diff(recall) * precision), fallout[at]]
        )


def judge_words(
    labels: Sequence[IntArray], word_scores: Sequence[FloatArray], draws: int, seed: int, *, level: str = "word", **of: Any
) -> Record:
    """How well scores tell two classes apart, over all words of all documents, an array per document.

    Intervals are (low, high), None without draws of the bootstrap. `of` says which part of a method and which pooling rule it is.
    """
    flat_labels, flat_scores = np.concatenate(labels), np.concatenate(word_scores)
    count = len(labels)
    curve = Curve(flat_labels, flat_scores, np.repeat(np.arange(count), [len(item) for item in labels]))
    found = measure("items", flat_labels.astype(np.float64), flat_scores)
    ends = dict.fromkeys(("auroc_interval", "ap_interval", "fpr95_interval"))
    if draws:
        rng = np.random.default_rng(seed)
        weights = (np.bincount(rng.integers(count, size=count), minlength=count).astype(np.float64) for _ in range(draws))
        limits = np.nanpercentile([curve.figures(each) for each in weights], [2.5, 97.5], axis=0)
        ends = dict(zip(ends, map(tuple, limits.T.tolist()), strict=True))
    figures = {"auroc": found.auroc, "ap": found.average_precision, "fpr95": float(curve.figures(np.ones(count))[2])}
    return {
        "level": level,
        "part": "",
        "pooling": None,
        **of,
        **figures,
        "count": found.count,
        "anomalous": found.anomalous,
        **ends,
    }


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
    """How many normal documents DiFA flagged and how many of their words, and how many of the anomalous documents."""
    if scores.flagged is None or scores.word_p is None:
        return None
    flags, anomalous = np.array(scores.flagged, dtype=bool), np.array(list(map(is_anomalous, documents)), dtype=bool)
    word_p = np.concatenate([np.empty(0), *(scores.word_p[at] for at in np.flatnonzero(~anomalous))])
    counts = {"normal": (~anomalous).sum(), "flagged_normal": flags[~anomalous].sum(), "normal_words": len(word_p)}
    counts |= {"flagged_normal_words": (word_p <= RATE).sum()}
    counts |= {"anomalous": anomalous.sum(), "flagged_anomalous": flags[anomalous].sum()}
    return {"rate": RATE} | {name: int(count) for name, count in counts.items()}
