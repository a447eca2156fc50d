"""Long sequences -> overlapping windows, and subword states -> word vectors.

Each position is taken from the window in which it stands farthest from a cut, so that it has seen its neighbourhood on
both sides; the ends of the document itself are no cuts. Used for subwords by the encoders and for words by the views.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from difa.document import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Window:
    """Positions [start, end) are read, positions [keep_start, keep_end) are kept."""

    start: int
    end: int
    keep_start: int
    keep_end: int


def plan_windows(length: int, capacity: int) -> list[Window]:
    """Windows of at most `capacity` positions whose kept parts tile [0, length); neighbours overlap by about half."""
    if length == 0:
        return []
    if length <= capacity:
        return [Window(0, length, 0, length)]
    count = 1 + -(-(length - capacity) // max(1, capacity // 2))
    starts = [round(i * (length - capacity) / (count - 1)) for i in range(count)]
    cuts = [(left + capacity + right) // 2 for left, right in pairwise(starts)]
    keeps = zip([0, *cuts], [*cuts, length], strict=True)
    return [Window(start, start + capacity, low, high) for start, (low, high) in zip(starts, keeps, strict=True)]


def pool_subwords(hidden: FloatArray, owners: IntArray, words: int) -> FloatArray:
    """Max-pool subword states (S, d) over the word that owns each (S,), in order, to (words, d)."""
    if words == 0:
        return np.zeros((0, hidden.shape[1]), np.float32)
    firsts = np.searchsorted(owners, np.arange(words))
    return np.maximum.reduceat(hidden, firsts, axis=0).astype(np.float32, copy=False)
