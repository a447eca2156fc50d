"""p-values of everything that was scored -> the largest one that is still flagged at a false-discovery rate.

Benjamini and Hochberg's method looks at all p-values in order. Ours are ranks among normal text, (1 + k) / (1 + n), so that it
is enough to count how often each k occurred: memory depends on the model, not on how much was scored. The flags are exactly
those of `calibrate.benjamini_hochberg` over all p-values at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from difa.calibrate import TailReference
from difa.detector import Detector
from difa.document import FloatArray, IntArray, Result


class Tally:
    """How often each p-value that a reference can give has occurred."""

    def __init__(self, reference: TailReference) -> None:
        self._size = len(reference.values)
        self._counts: IntArray = np.zeros(self._size + 1, dtype=np.int64)

    def add(self, p_values: FloatArray) -> None:
        """Count some more."""
        ranks = np.rint(p_values * (1.0 + self._size)).astype(np.int64) - 1
        np.add.at(self._counts, ranks, 1)

    def limit(self, rate: float) -> float:
        """The p-value up to which everything is flagged; below zero where nothing is."""
        seen = np.flatnonzero(self._counts)
        if not len(seen):
            return -1.0
        up_to = np.cumsum(self._counts[seen])  # of equal p-values the last one decides
        p_values = (1.0 + seen) / (1.0 + self._size)
        passing = np.flatnonzero(p_values <= rate * up_to / up_to[-1])
        return float(p_values[passing[-1]]) if len(passing) else -1.0


@dataclass(frozen=True)
class Limits:
    """The p-values up to which documents and words are flagged."""

    document: float
    word: float

    @classmethod
    def of(cls, results: Iterable[Result], rate: float, detector: Detector) -> Limits:
        """From all results at once."""
        documents, words = Tally(detector.document_reference), Tally(detector.word_reference)
        for result in results:
            documents.add(np.array([result.p_value]))
            words.add(np.array([word.p_value for word in result.words]))
        return cls(documents.limit(rate), words.limit(rate))

    def flag(self, result: Result) -> Result:
        """The result with its flags, and those of its words."""
        words = tuple(replace(word, is_anomaly=word.p_value <= self.word) for word in result.words)
        return replace(result, is_anomaly=result.p_value <= self.document, words=words)
