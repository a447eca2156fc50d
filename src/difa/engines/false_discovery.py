"""p-values of everything that was scored -> the largest one that is still flagged at a false-discovery rate.

Benjamini and Hochberg's method looks at all p-values in order. Ours are ranks among normal text, (1 + k) / (1 + n), so that it
is enough to count how often each k occurred: memory depends on the model, not on how much was scored. The flags are exactly
those of `calibrate.discovery_cutoff` over all p-values at once.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from difa.calibrate import TailReference
from difa.decide import Cutoff
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

    def cutoff(self, rate: float) -> float:
        """The p-value up to which everything is flagged; below zero where nothing is."""
        seen = np.flatnonzero(self._counts)
        if not len(seen):
            return -1.0
        up_to = np.cumsum(self._counts[seen])  # of equal p-values the last one decides
        p_values = (1.0 + seen) / (1.0 + self._size)
        passing = np.flatnonzero(p_values <= rate * up_to / up_to[-1])
        return float(p_values[passing[-1]]) if len(passing) else -1.0


def tally_cutoff(results: Iterable[Result], rate: float, detector: Detector) -> Cutoff:
    """The cutoffs of a false-discovery rate over all results, which are read once and not kept."""
    documents, words = Tally(detector.document_reference), Tally(detector.word_reference)
    for result in results:
        documents.add(np.array([result.p_value]))
        words.add(np.array([word.p_value for word in result.words]))
    return Cutoff(documents.cutoff(rate), words.cutoff(rate))
