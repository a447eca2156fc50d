"""Evidence of all words of a document -> document score, ranked among normal documents trait by trait.

Anomalies show in a document in different ways: one word stands out, or all words are a little off. So the peak and the mean of
each side's evidence are ranked among normal documents, which lets all four speak the same language, and their root
mean square is the score: a strong one is not drowned, several that agree add up, and nothing turns evidence into its opposite.
Longer documents have more places where something can be wrong: the logarithm of the length enters with a small weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from difa.calibrate import TailReference
from difa.config import DocumentConfig
from difa.document import FloatArray

_FARTHEST = 2.0  # standard deviations for which a length counts at most: a short text is not innocent for being short


@dataclass(frozen=True)
class DocumentView:
    """Traits of normal documents: a reference for each, and the length of a typical document."""

    config: DocumentConfig
    references: tuple[TailReference, ...]
    length: FloatArray  # (2,): mean and spread of the logarithm of the length

    @classmethod
    def fit(cls, traits: FloatArray, config: DocumentConfig) -> DocumentView:
        """References from the traits of normal documents that the views did not see: (documents, traits)."""
        length = np.array([traits[:, -1].mean(), max(float(traits[:, -1].std()), 0.1)])
        return cls(config, tuple(TailReference.of(column) for column in traits[:, :-1].T), length)

    def evidence(self, traits: FloatArray, *, members: bool = False) -> FloatArray:
        """Tail evidence of every trait, and how many standard deviations longer than usual (two at most): (documents, traits)."""
        columns = [reference.evidence(traits[:, at], 0.0, members=members) for at, reference in enumerate(self.references)]
        longer = (traits[:, -1] - self.length[0]) / self.length[1]
        return np.stack([*columns, np.clip(longer, -_FARTHEST, _FARTHEST)], axis=-1)

    def score(self, evidence: FloatArray) -> FloatArray:
        """Document scores, never below zero."""
        strength = np.sqrt((evidence[:, :-1] ** 2).mean(axis=1))
        return np.asarray(np.maximum(strength + self.config.length_weight * evidence[:, -1], 0.0))

    def tensors(self) -> Mapping[str, FloatArray]:
        return {"references": np.stack([reference.values for reference in self.references]), "length": self.length}

    @classmethod
    def restore(cls, config: DocumentConfig, tensors: Mapping[str, FloatArray]) -> DocumentView:
        return cls(config, tuple(TailReference(row) for row in tensors["references"]), tensors["length"])


def trait_names(sides: Sequence[str]) -> list[str]:
    """What each trait is."""
    return [*(f"{side} peak" for side in sides), *(f"{side} mean" for side in sides), "length"]


def describe(sides: Sequence[FloatArray]) -> FloatArray:
    """Traits of documents from the evidences of their words (T, sides): peaks, means, log length (0 without words)."""
    count = sides[0].shape[1] if sides else 0
    traits = np.zeros((len(sides), 2 * count + 1))
    lengths = np.array([len(item) for item in sides], dtype=np.int64)
    full = lengths > 0
    if full.any():
        words, starts = np.concatenate(sides), (np.cumsum(lengths) - lengths)[full]
        length = lengths[full, None]
        peaks, sums = np.maximum.reduceat(words, starts), np.add.reduceat(words, starts)
        traits[full] = np.concatenate([peaks, sums / length, np.log(length)], axis=1)
    return traits
