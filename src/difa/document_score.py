"""Evidence of all words of a document -> document score, ranked among normal documents trait by trait.

Anomalies show in a document in different ways: one word stands out, a few do, or all are a little off. So the highest
evidence and the mean of the three highest are traits, of the fused words and of the views that see what others do not (tone,
critic; of phrase the latter alone); and so is the mean distance to normal words, for text that is foreign as a whole. Each
trait is ranked among normal documents, which lets all speak the same language, and the root mean square is the score: several
that agree add up. One word can make a document: the score is never below a fixed share of the evidence of its highest word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from difa.calibrate import TailReference
from difa.document import FloatArray, IntArray

_PEAKS_OF = ("tone", "critic")
_THREE_OF = ("phrase",)  # one odd phrase is no news, several are
_MEANS_OF = ("neighbour",)
_TOP = 3
_ONE_WORD = 0.7  # share of the highest word's evidence that a document's score has at least


@dataclass(frozen=True)
class DocumentScore:
    """A reference of normal documents for each trait."""

    references: tuple[TailReference, ...]

    @classmethod
    def fit(cls, traits: FloatArray) -> DocumentScore:
        """References from the traits of normal documents that the views did not see: (documents, traits)."""
        return cls(tuple(TailReference.of(column) for column in traits.T))

    def evidence(self, traits: FloatArray, *, members: bool = False) -> FloatArray:
        """Tail evidence of every trait: (documents, traits)."""
        columns = [reference.evidence(traits[:, at], 0.0, members=members) for at, reference in enumerate(self.references)]
        return np.stack(columns, axis=-1)

    def score(self, evidence: FloatArray) -> FloatArray:
        """Document scores, never below zero."""
        return np.asarray(np.maximum(np.sqrt((evidence**2).mean(axis=1)), _ONE_WORD * evidence[:, 0]))

    def tensors(self) -> Mapping[str, FloatArray]:
        return {"references": np.stack([reference.values for reference in self.references])}

    @classmethod
    def restore(cls, tensors: Mapping[str, FloatArray]) -> DocumentScore:
        return cls(tuple(TailReference.restore(row) for row in tensors["references"]))


def trait_names(views: Sequence[str]) -> list[str]:
    """What each trait is, for the views that there are."""
    peaks = ["words", *(name for name in _PEAKS_OF if name in views)]
    means = [f"{name}: mean" for name in _MEANS_OF if name in views]
    threes = [*peaks, *(name for name in _THREE_OF if name in views)]
    return [*(f"{name}: highest" for name in peaks), *(f"{name}: three highest" for name in threes), *means]


def describe(fused: FloatArray, evidence: FloatArray, lengths: Sequence[int], views: Sequence[str]) -> FloatArray:
    """Traits of documents; 0 for those without words: (documents, traits).

    Args:
        fused: scores of the words of all documents, one document behind the other: (T,).
        evidence: what each view says of them: (T, views).
        lengths: words of each document.
        views: names of the views.
    """
    columns = [fused, *(evidence[:, views.index(name)] for name in (*_PEAKS_OF, *_THREE_OF) if name in views)]
    peaks = 1 + sum(name in views for name in _PEAKS_OF)
    stacked, counts = np.stack(columns, axis=-1), np.array(lengths, dtype=np.int64)
    means = [_sums(evidence[:, views.index(name)], counts) / np.maximum(counts, 1) for name in _MEANS_OF if name in views]
    highest = _highest(stacked, counts)  # (documents, columns, 3)
    shown = np.minimum(np.maximum(counts, 1), _TOP)[:, None]
    return np.concatenate([highest[:, :peaks, 0], highest.sum(axis=-1) / shown, *(mean[:, None] for mean in means)], axis=1)


def _sums(values: FloatArray, counts: IntArray) -> FloatArray:
    sums = np.zeros(len(counts))
    full = counts > 0
    if full.any():
        sums[full] = np.add.reduceat(values, (np.cumsum(counts) - counts)[full])
    return sums


def _highest(values: FloatArray, counts: IntArray) -> FloatArray:
    """The three highest values of each column in each document, highest first, 0 where there are fewer words."""
    highest = np.zeros((len(counts), values.shape[1], _TOP))
    document = np.repeat(np.arange(len(counts)), counts)
    starts = np.cumsum(counts) - counts
    for column, of_column in enumerate(values.T):
        order = np.lexsort((-of_column, document))  # within each document, highest first
        for rank in range(_TOP):
            has = counts > rank
            highest[has, column, rank] = of_column[order[starts[has] + rank]]
    return highest
