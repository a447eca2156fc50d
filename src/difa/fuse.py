"""Evidences of the views -> one score per word: prior weights, and what new text and verdicts teach.

Fixed weights cannot know which kind of anomaly there is. New text that nobody has labelled (the feed) knows: among normal words a
view's evidence e = −log p reaches x in a share exp(−x) of cases; where the feed reaches it more often, this view sees something,
and where it does not, its extremes are noise. R_v(x), how many times as many words reach x, is a curve that never falls and is
at least 1. A linear head on the word's vector (`head`) learns from words that are probably odd: one more view. The score is

    s = prior + w·h · √(Σ_v g_v²),    g_v = log² R_v(e_v) / (1 + log R_v(e_v)),    prior = (Σ_v w_v·e_v^q / Σ_v w_v)^(1/q)

so a word is never less suspicious because one view's evidence rises. The form of g_v makes little of ratios that a few words give
by chance, and h makes little of a small feed: one with hardly any anomalies must not undo the prior. A verdict on a word counts
like several words of the feed.

Nothing judges a document by what that document taught. Documents fall into folds by their own words, and each fold is scored by
curves and a head that learned from the other folds: documents of the feed, calibration documents and text to come alike.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from difa.config import VIEW_NAMES, FeedConfig, FusionConfig
from difa.corpus.copies import content_of
from difa.document import IMPLIED, Encoded, FloatArray, IntArray, ReasonKind
from difa.head import Head, HeadLearner, WordTable
from difa.views import Wording, view_kind

HEAD = "feed"
"""The head's name among the views."""
HEAD_REASON = ReasonKind(
    "like the feed",
    "like the words that stand out in the feed",
    "is like the words that stand out in your new text",
    IMPLIED + 2,
)
_WORDINGS = {
    HEAD: Wording("words of a new kind", HEAD_REASON.plain, "it is like what stands out in your new texts", HEAD_REASON.rank),
    "words": Wording("unusual words", "is unusual", "its words are unusual together"),
    "topic": Wording("passages about something else", "is about something else", "a passage is about something else"),
}
_STEP = 0.05
_GRID = np.arange(0.0, 14.0 + _STEP / 2, _STEP)  # evidence at which curves are kept
_PROBABLE = 0.5  # chance of being odd from which a word teaches the head
_ROUNDS = 2  # the head finds words that teach it better; a third round brings nothing


def speak_of(name: str) -> Wording:
    """How reports speak of a column of evidence: a view, the head, or all words together."""
    known = view_kind(name).wording if name in VIEW_NAMES else _WORDINGS.get(name)
    return known or Wording(f"words that stand out by {name}", f"stands out by {name}")


def prior_score(evidence: FloatArray, names: Sequence[str], config: FusionConfig) -> FloatArray:
    """Word scores before anything is learned: the weighted power mean of the evidences, (T, views) -> (T,)."""
    weights = np.array([config.weights.get(name, 1.0) for name in names])
    share = weights / weights.sum()
    return np.asarray(np.sum(share * evidence**config.power, axis=-1) ** (1 / config.power))


def fold_of(words: Sequence[str], folds: int) -> int:
    """The fold of a document, by its words alone; capitals, numbers and marks make no difference, so near-copies share one."""
    return _checksum(words) % folds


def folds_of(documents: Sequence[Encoded], folds: int) -> IntArray:
    """The fold of each document: (documents,)."""
    return np.array([fold_of(document.words, folds) for document in documents], dtype=np.int64)


def view_fold_of(words: Sequence[str], folds: int, view_folds: int) -> int:
    """The fold whose views judge a document that teaches, as they judge calibration documents: they have not seen it."""
    return _checksum(words) // folds % view_folds


def _checksum(words: Sequence[str]) -> int:
    return zlib.crc32((content_of(words) or " ".join(words)).encode("utf-8", "surrogatepass"))


@dataclass(frozen=True)
class Curves:
    """By fold and column, the log of how many times as many new ones reach an evidence as normal ones do."""

    values: FloatArray  # (folds, columns, grid), at least 0, never falling along the grid

    @classmethod
    def learn(cls, evidence: FloatArray, counts: FloatArray, folds: IntArray, config: FeedConfig, smoothing: float) -> Curves:
        """Curves for every fold from the rows of the other folds.

        Args:
            evidence: tail evidence of new words, or of the traits of new documents: (rows, columns).
            counts: for how many each row counts: 0 for what a reviewer called normal, more than 1 for what one called odd.
            folds: (rows,).
            config: number of folds.
            smoothing: rows that are added to both sides of a ratio.
        """
        cells = np.minimum((evidence / _STEP + 1e-9).astype(np.int64), len(_GRID) - 1)
        at = np.zeros((config.folds, evidence.shape[1], len(_GRID)))
        for column in range(evidence.shape[1]):
            np.add.at(at[:, column], (folds, cells[:, column]), counts)
        rows = np.bincount(folds, minlength=config.folds)
        reached = (at.sum(axis=0) - at)[..., ::-1].cumsum(axis=-1)[..., ::-1]  # (folds, columns, grid), by the other folds
        expected = (rows.sum() - rows)[:, None, None] * np.exp(-_GRID)
        ratio = np.maximum.accumulate((reached + smoothing) / (expected + smoothing), axis=-1)
        return cls(np.log(np.maximum(ratio, 1.0)))

    def gain(self, evidence: FloatArray, folds: IntArray) -> FloatArray:
        """The log ratio at each evidence: (rows, columns), at least 0."""
        place = np.minimum(evidence / _STEP, len(_GRID) - 1.001)
        low = place.astype(np.int64)
        columns = np.arange(evidence.shape[1])
        below, above = self.values[folds[:, None], columns, low], self.values[folds[:, None], columns, low + 1]
        return np.asarray(below + (place - low) * (above - below))

    @classmethod
    def restore(cls, values: FloatArray, folds: int, columns: int) -> Curves:
        """Curves from what was saved."""
        if values.shape != (folds, columns, len(_GRID)) or (values < 0).any() or (np.diff(values, axis=-1) < 0).any():
            raise ValueError(f"expected curves of {folds} folds and {columns} columns that never fall")
        return cls(values.astype(np.float64))


@dataclass(frozen=True)
class Trust:
    """What is known of each new word before learning: (T,) each."""

    weight: FloatArray
    """1 for words of the feed, 0 for those that a reviewer called normal, more for those of documents that one called odd."""
    certain: NDArray[np.bool_]
    """Words that a reviewer marked as odd."""

    @property
    def counts(self) -> FloatArray:
        """For how many words each counts in the curves: a word of an odd document need not be odd itself."""
        return np.where(self.certain, self.weight, np.minimum(self.weight, 1.0))


@dataclass(frozen=True)
class FeedFusion:
    """What new text and verdicts taught the fusion."""

    curves: Curves
    head: Head | None
    """None where too few words are probably odd."""
    strength: float = 1.0
    """How much it counts, from 0 to 1: few documents teach little."""

    @property
    def names(self) -> tuple[str, ...]:
        """Views that it adds."""
        return () if self.head is None else (HEAD,)

    def with_head(self, words: WordTable) -> WordTable:
        """The words with the evidence of the head behind that of the views."""
        if self.head is None:
            return words
        return replace(words, evidence=np.concatenate([words.evidence, self.head.evidence(words)[:, None]], axis=1))

    def gain(self, words: WordTable) -> FloatArray:
        """How much was learned about each word of `with_head`: (T,), at least 0."""
        gains = self.curves.gain(words.evidence, words.word_folds)
        return np.asarray(self.strength * np.sqrt(((gains**2 / (1.0 + gains)) ** 2).sum(axis=1)))

    def tensors(self) -> Mapping[str, FloatArray]:
        of_head = self.head.tensors() if self.head else {}
        return {"curves": self.curves.values, "strength": np.array([self.strength]), **of_head}

    @classmethod
    def restore(cls, tensors: Mapping[str, FloatArray], views: int, dimension: int, config: FeedConfig) -> FeedFusion:
        head = Head.restore(tensors, dimension, config.folds) if "weights" in tensors else None
        strength = float(tensors["strength"].item())
        if not 0 <= strength <= 1:
            raise ValueError(f"expected a strength from 0 to 1, got {strength}")
        return cls(Curves.restore(tensors["curves"], config.folds, views + (head is not None)), head, strength)


def learn(normal: WordTable, new: WordTable, trust: Trust, config: FeedConfig) -> FeedFusion:
    """Learn curves from new words, and a head from those that are probably or certainly odd.

    Args:
        normal: calibration words, by views that did not see them.
        new: words of the feed and of reviewed documents, by views that did not see them either.
        trust: what is known of the new words.
        config: settings.
    """

    def curves_of(words: WordTable) -> Curves:
        return Curves.learn(words.evidence, trust.counts, words.word_folds, config, config.smoothing)

    fusion, learner, words = FeedFusion(curves_of(new), None), HeadLearner.of(normal, config), new
    for _ in range(_ROUNDS):
        chance = 1.0 - np.exp(-fusion.curves.gain(words.evidence, words.word_folds).max(axis=1))
        probable = np.where(chance > _PROBABLE, chance, 0.0) * trust.weight
        head = learner.learn(new, np.where(trust.certain, trust.weight, probable))
        if head is None:
            break
        words = replace(fusion, head=head).with_head(new)
        fusion = FeedFusion(curves_of(words), head)
    return fusion
