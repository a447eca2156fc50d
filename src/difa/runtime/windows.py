"""Long sequences -> overlapping windows -> batches of one length, and subword states -> word vectors.

Each position is taken from the window in which it stands farthest from a cut, so that it has seen its neighbourhood on
both sides; the ends of the document itself are no cuts. Used for subwords by the encoders and for words by the views.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from difa.document import FloatArray, IntArray

_PAD_TO = 4  # padded lengths are multiples of this: few distinct lengths, few wasted positions


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


def padded_length(length: int, longest: int) -> int:
    """The length that a sequence is padded to. It depends on the sequence alone, so batch-mates change nothing, bit for bit."""
    return min(-(-length // _PAD_TO) * _PAD_TO, longest)


def batch_by_length(padded: Sequence[int], most: int) -> list[tuple[int, list[int]]]:
    """Batches of sequences of one padded length: that length, and the positions of the sequences.

    Args:
        padded: the padded length of each sequence.
        most: positions of a batch at most, unless one sequence has more.
    """
    by_length: dict[int, list[int]] = defaultdict(list)
    for at, length in enumerate(padded):
        by_length[length].append(at)
    return [
        (length, members[start : start + size])
        for length, members in by_length.items()
        for size in [max(1, most // length)]
        for start in range(0, len(members), size)
    ]


def pool_subwords(hidden: FloatArray, owners: IntArray, words: int) -> FloatArray:
    """Max-pool subword states (S, d) over the word that owns each (S,), in order, to (words, d)."""
    if words == 0:
        return np.zeros((0, hidden.shape[1]), np.float32)
    firsts = np.searchsorted(owners, np.arange(words))
    return np.maximum.reduceat(hidden, firsts, axis=0).astype(np.float32, copy=False)
