"""How often words stand side by side in normal text: pairs of numbers -> counts, for many pairs at once.

Words are known by their numbers in a vocabulary, in which the edge of a document and a word that is not in it have numbers too.
"""

from __future__ import annotations

import numpy as np

from difa.document import FloatArray, IntArray


class Pairs:
    """Counted pairs of neighbours."""

    def __init__(self, counted: IntArray, size: int) -> None:
        """Take them over.

        Args:
            counted: left word, right word and count of each pair: (pairs, 3).
            size: numbers in the vocabulary.
        """
        self._size = size
        keys = counted[:, 0] * size + counted[:, 1]
        order = np.argsort(keys, kind="stable")
        # The last key is larger than any that can be asked for, so that a search always ends at one.
        self._keys, self._counts = np.append(keys[order], size * size), np.append(counted[order, 2], 0)
        self.after = _totals(counted, 0, size)
        """For each word: how often it has a right neighbour, and how many different ones: (size, 2)."""
        self.before = _totals(counted, 1, size)
        """The same on its left."""

    def together(self, left: IntArray, right: IntArray) -> IntArray:
        """How often each pair was counted: (T,)."""
        keys = left * self._size + right
        at = np.searchsorted(self._keys, keys)
        return np.where(self._keys[at] == keys, self._counts[at], 0)


def _totals(counted: IntArray, side: int, size: int) -> IntArray:
    """For each word: pairs that have it on that side, and how many different ones: (size, 2)."""
    counts = np.bincount(counted[:, side], weights=counted[:, 2], minlength=size)
    return np.stack([counts, np.bincount(counted[:, side], minlength=size)], axis=1).astype(np.int64)


def ratio_beside(chance: FloatArray, together: IntArray, total: IntArray, kinds: IntArray) -> FloatArray:
    """P(w) / P(w | neighbour), Witten–Bell smoothed; 1 beside a neighbour that was never seen on that side.

    Args:
        chance: P(w): (T,).
        together: how often each word stands beside its neighbour: (T,).
        total: how often the neighbour has any: (T,).
        kinds: how many different ones it has: (T,).
    """
    # A neighbour that was never seen says nothing; its zeros must not be divided by.
    seen = total > 0
    return np.where(seen, chance * (total + kinds) / np.where(seen, together + kinds * chance, 1.0), 1.0)
