"""Evidence of all words of a document -> document score, ranked among normal documents trait by trait.

Anomalies show in a document in different ways: one word stands out, a few do, a passage does, or all are a little off. So the
highest evidence, the mean of the three highest, that of the oddest words in a row and the mean of all are traits, of the fused
words and of views. The highest of many words is higher than that of few, so what the length alone explains is taken off each
trait: a slope on the logarithm of the length, fitted on normal documents. Where these are equally long they tell little about
it, and the slope is near what theory says: the highest of T tail evidences is log T on average. Each trait is then ranked among
normal documents, so that all are on one scale. The prior score is the root mean square of some of them. Some single traits
give it a floor: one word can make a document, and so can foreign text, a passage of another topic or a rare fault. A feed adds
what it teaches about traits, as it does about words (`fuse`):

    S = prior + max(w · √(mean of log² R_trait), prior / 2)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from difa.calibrate import TailReference
from difa.config import FeedConfig
from difa.document import FloatArray, IntArray
from difa.fuse import HEAD, Curves

WORDS = "words"
"""The fused words, beside the names of views."""
TOPIC = "topic"
"""What is new in form or meaning, beside the names of views: the evidence of language and neighbour view together."""
_OF_TOPIC = ("language", "neighbour")
HIGHEST, THREE, MEAN, PASSAGE = "highest", "three highest", "mean", "passage"
_PRIOR = (
    *((name, HIGHEST) for name in (WORDS, "tone", "critic")),
    *((name, THREE) for name in (WORDS, "tone", "critic", "phrase")),  # one odd phrase is no news, several are
    ("neighbour", MEAN),
)
_FOREIGN = ("language", MEAN)
_ODD_PASSAGE = (TOPIC, PASSAGE)
_FAULT = ("faults", HIGHEST)
_LEARNED = ((WORDS, MEAN), *((HEAD, kind) for kind in (HIGHEST, THREE, MEAN)))
_TOP = 3
_IN_A_ROW = 6  # words of a passage
_ONE_WORD = 0.7  # share of the highest word's evidence that a document's score has at least
_FOREIGN_TEXT = 0.5  # the same for the mean rarity of its words, and for its oddest passage
_CLEAR = 0.5  # share of the prior score that a feed adds at least: what its commonest kind taught must not hide the others
_ONE_FAULT = 3.0  # how much less than the evidence of its rarest fault it has at least: much text has small faults
_USUAL_SLOPE = {MEAN: 0.0, HIGHEST: 1.0, THREE: 1.0, PASSAGE: 0.7}  # of a view's evidence, which is exponential
_USUAL_SLOPE_OF_WORDS = 0.5  # of fused words, which vary less: .42 to .64 in corpora with many lengths
_USUAL_WEIGHT = 20.0  # squared log lengths of documents that the usual slope counts for: residuals vary by 1, slopes by .05
_NOTHING = -1e6  # of a trait that a document does not have: no length makes that unusual


@dataclass(frozen=True)
class DocumentScore:
    """A reference of normal documents for each trait, and what a feed taught about traits."""

    views: tuple[str, ...]
    """Names of the views, the feed's own among them."""
    slopes: FloatArray
    """What each trait gains with the logarithm of a document's length: (traits,)."""
    references: tuple[TailReference, ...]
    curves: Curves | None = None
    weight: float = 0.0

    @classmethod
    def fit(cls, traits: FloatArray, lengths: Sequence[int], views: Sequence[str]) -> DocumentScore:
        """References from the traits of normal documents that the views did not see.

        Args:
            traits: (documents, traits).
            lengths: words of each document.
            views: names of the views.
        """
        slopes = _slopes(traits, _log_lengths(lengths), np.array([_usual_slope(*trait) for trait in _traits(views)]))
        return cls(tuple(views), slopes, tuple(map(TailReference.of, _at_one_word(traits, slopes, lengths).T)))

    def learn(
        self, traits: FloatArray, lengths: Sequence[int], counts: FloatArray, folds: IntArray, config: FeedConfig
    ) -> DocumentScore:
        """The same with what new documents teach.

        Args:
            traits: of the new documents, by views that did not see them: (documents, traits).
            lengths: words of each.
            counts: for how many documents of the feed each counts: (documents,).
            folds: (documents,).
            config: settings.
        """
        curves = Curves.learn(self.evidence(traits, lengths), counts, folds, config, config.document_smoothing)
        return replace(self, curves=curves, weight=config.document_weight * config.strength(float(counts.sum())))

    def evidence(self, traits: FloatArray, lengths: Sequence[int], *, members: bool = False) -> FloatArray:
        """Tail evidence of every trait, given the length: (documents, traits)."""
        columns = _at_one_word(traits, self.slopes, lengths).T
        ranked = [
            reference.evidence(column, 0.0, members=members) for column, reference in zip(columns, self.references, strict=True)
        ]
        return np.stack(ranked, axis=-1)

    def score(self, evidence: FloatArray, folds: IntArray) -> FloatArray:
        """Document scores, never below zero, for documents that fall into these folds."""
        known = _traits(self.views)
        of_prior = [at for at, trait in enumerate(known) if trait in _PRIOR]
        one_word = _ONE_WORD * evidence[:, known.index((WORDS, HIGHEST))]
        score = np.maximum(np.sqrt((evidence[:, of_prior] ** 2).mean(axis=1)), one_word)
        for trait in (_FOREIGN, _ODD_PASSAGE):
            if trait in known:
                score = np.maximum(score, _FOREIGN_TEXT * evidence[:, known.index(trait)])
        if _FAULT in known:
            score = np.maximum(score, evidence[:, known.index(_FAULT)] - _ONE_FAULT)
        if self.curves is not None:
            learned = self.weight * np.sqrt((self.curves.gain(evidence, folds) ** 2).mean(axis=1))
            score = score + np.maximum(learned, _CLEAR * score)
        return np.asarray(score)

    def tensors(self) -> Mapping[str, FloatArray]:
        references = np.stack([reference.values for reference in self.references])
        learned = {} if self.curves is None else {"curves": self.curves.values, "weight": np.array([self.weight])}
        return {"references": references, "slopes": self.slopes, **learned}

    @classmethod
    def restore(cls, tensors: Mapping[str, FloatArray], views: Sequence[str], config: FeedConfig) -> DocumentScore:
        references = tuple(TailReference.restore(row) for row in tensors["references"])
        if len(references) != len(_traits(views)):
            raise ValueError(f"expected references of {len(_traits(views))} traits, got {len(references)}")
        slopes = tensors["slopes"].astype(np.float64)
        if slopes.shape != (len(references),):
            raise ValueError(f"expected slopes of {len(references)} traits, got {slopes.shape}")
        if "curves" not in tensors:
            return cls(tuple(views), slopes, references)
        curves = Curves.restore(tensors["curves"], config.folds, len(references))
        weight = float(tensors["weight"].item())
        if not 0 <= weight <= config.document_weight:
            raise ValueError(f"expected a weight from 0 to {config.document_weight:g}, got {weight}")
        return cls(tuple(views), slopes, references, curves, weight)


def _log_lengths(lengths: Sequence[int]) -> FloatArray:
    return np.log(np.maximum(np.asarray(lengths, dtype=np.float64), 1.0))


def _slopes(traits: FloatArray, log_lengths: FloatArray, usual: FloatArray) -> FloatArray:
    """Slopes of lines fitted to the traits by least squares, drawn towards the usual ones: (traits,)."""
    centred = log_lengths - log_lengths.mean()
    return np.asarray((centred @ traits + _USUAL_WEIGHT * usual) / (float(centred @ centred) + _USUAL_WEIGHT))


def _usual_slope(name: str, kind: str) -> float:
    """What a trait gains with the logarithm of the length; faults are so rare that most documents have none, long or short."""
    if (name, kind) == _FAULT:
        return 0.0
    return _USUAL_SLOPE_OF_WORDS if name == WORDS and kind != MEAN else _USUAL_SLOPE[kind]


def _at_one_word(traits: FloatArray, slopes: FloatArray, lengths: Sequence[int]) -> FloatArray:
    """The traits as they would be in documents of one word: (documents, traits)."""
    return np.where(traits > 0, traits - _log_lengths(lengths)[:, None] * slopes, _NOTHING)


def trait_names(views: Sequence[str]) -> list[str]:
    """What each trait is, for the views that there are."""
    return [f"{name}: {kind}" for name, kind in _traits(views)]


def _traits(views: Sequence[str]) -> list[tuple[str, str]]:
    known = (WORDS, *views, *([TOPIC] if set(_OF_TOPIC) <= set(views) else []))
    return [trait for trait in (*_PRIOR, _FOREIGN, _ODD_PASSAGE, _FAULT, *_LEARNED) if trait[0] in known]


def describe(fused: FloatArray, evidence: FloatArray, lengths: Sequence[int], views: Sequence[str]) -> FloatArray:
    """Traits of documents; 0 for those without words: (documents, traits).

    Args:
        fused: scores of the words of all documents, one document behind the other: (T,).
        evidence: what each view says of them: (T, views).
        lengths: words of each document.
        views: names of the views.
    """
    known, counts = _traits(views), np.array(lengths, dtype=np.int64)
    traits = np.zeros((len(counts), len(known)))
    full = counts > 0
    if full.any():
        traits[full] = np.stack([*_describe_full(fused, evidence, counts[full], views, known)], axis=-1)
    return traits


def _describe_full(
    fused: FloatArray, evidence: FloatArray, counts: IntArray, views: Sequence[str], traits: Sequence[tuple[str, str]]
) -> Iterator[FloatArray]:
    """Each trait of documents that have words: (documents,)."""
    columns = {WORDS: fused, **{name: evidence[:, at] for at, name in enumerate(views)}}
    if TOPIC in dict(traits):
        columns[TOPIC] = np.sum([columns[name] for name in _OF_TOPIC], axis=0)
    peaked = list(dict.fromkeys(name for name, kind in traits if kind in (HIGHEST, THREE)))
    highest = _highest(np.stack([columns[name] for name in peaked], axis=-1), counts)  # (documents, columns, 3)
    starts = np.cumsum(counts) - counts
    for name, kind in traits:
        if kind == MEAN:
            yield np.add.reduceat(columns[name], starts) / counts
        elif kind == PASSAGE:
            yield np.maximum.reduceat(_passages(columns[name], counts), starts)
        elif kind == HIGHEST:
            yield highest[:, peaked.index(name), 0]
        else:
            yield highest[:, peaked.index(name)].sum(axis=-1) / np.minimum(counts, _TOP)


def _passages(values: FloatArray, counts: IntArray) -> FloatArray:
    """From each word on, the sum of words in a row, divided by their full number: fewer words do not make a passage. (T,)"""
    before, ends = np.concatenate([[0.0], np.cumsum(values)]), np.repeat(np.cumsum(counts), counts)
    starts = np.arange(len(values))
    return np.asarray((before[np.minimum(starts + _IN_A_ROW, ends)] - before[starts]) / _IN_A_ROW)


def _highest(values: FloatArray, counts: IntArray) -> FloatArray:
    """The three highest values of each column in each document, highest first, 0 where there are fewer words."""
    highest = np.zeros((len(counts), values.shape[1], _TOP))
    starts, document = np.cumsum(counts) - counts, np.repeat(np.arange(len(counts)), counts)
    rest, places = np.ascontiguousarray(values.T), np.arange(len(values))
    for rank in range(_TOP):
        top = np.maximum.reduceat(rest, starts, axis=1)  # (columns, documents)
        highest[:, :, rank] = np.where(counts > rank, top, 0.0).T
        first = np.minimum.reduceat(np.where(rest == top[:, document], places, len(values)), starts, axis=1)
        np.put_along_axis(rest, first, -np.inf, axis=1)
    return highest
