"""P-values of one batch -> how likely as large a difference is, if the batch is like normal text.

Kolmogorov and Smirnov's comparison of two samples, the batch and the reference of the model: it takes into account that the
reference is a sample too. In large samples the chance is exp(−2mD²) for one side, with m = nN/(n + N).
"""

from __future__ import annotations

import math

import numpy as np

from difa.document import FloatArray

_TERMS = 100  # of Kolmogorov's series


def more_unusual(p_values: FloatArray, references: int) -> float:
    """Chance that normal text has as clear an excess of small p-values: one-sided."""
    return math.exp(-2 * _size(p_values, references) * max(_excess(p_values, references), 0.0) ** 2)


def different(p_values: FloatArray, references: int) -> float:
    """Chance that normal text differs as much either way: two-sided."""
    distance = max(_excess(p_values, references), _lack(p_values, references))
    square = 2 * _size(p_values, references) * distance**2
    if square < 0.1:  # the series needs many terms, and the chance is 1 to many digits
        return 1.0
    return min(1.0, 2 * sum(math.copysign(math.exp(-square * j * j), j % 2 - 0.5) for j in range(1, _TERMS)))


def _size(p_values: FloatArray, references: int) -> float:
    return len(p_values) * references / (len(p_values) + references)


def _excess(p_values: FloatArray, references: int) -> float:
    """The most by which the batch has a larger share at or above some score than the reference."""
    ordered = np.sort(p_values)
    at_most = np.searchsorted(ordered, ordered, side="right") / len(ordered)
    return float(np.max(at_most - _above(ordered, references)))


def _lack(p_values: FloatArray, references: int) -> float:
    """The most by which it has a smaller one."""
    ordered = np.append(np.sort(p_values), 1.0)
    below = np.searchsorted(ordered[:-1], ordered, side="left") / len(p_values)
    return float(np.max(_above(ordered, references) - below))


def _above(p_values: FloatArray, references: int) -> FloatArray:
    """Share of the reference at or above the score of each document."""
    return (p_values * (references + 1) - 1) / references
