"""How often words stand side by side in normal text: pairs of numbers -> counts, for many pairs at once.

Words are known by their numbers in a vocabulary, in which the edge of a document and a word that is not in it have numbers too.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from difa.document import FloatArray, IntArray


class Pairs:
    """Counted pairs of neighbours."""

    def __init__(self, counted: IntArray, size: int, totals: IntArray | None = None) -> None:
        """Take them over.

        Args:
            counted: left word, right word and count of each pair: (pairs, 3).
            size: numbers in the vocabulary.
            totals: what `after` and `before` say, side by side, where `counted` lacks some of the pairs: (size, 4).
        """
        if counted.ndim != 2 or counted.shape[1] != 3 or (counted < 0).any() or (counted[:, :2] >= size).any():
            raise ValueError(f"expected pairs of numbers below {size} with their counts")
        if totals is not None and (totals.shape != (size, 4) or (totals < 0).any()):
            raise ValueError(f"expected neighbours of {size} words, got an array of shape {totals.shape}")
        self._size = size
        keys = counted[:, 0] * size + counted[:, 1]
        order = np.argsort(keys, kind="stable")
        # The last key is larger than any that can be asked for, so that a search always ends at one.
        self._keys, self._counts = np.append(keys[order], size * size), np.append(counted[order, 2], 0)
        self.totals = count_neighbours(counted, size) if totals is None else totals
        self.after = self.totals[:, :2]
        """For each word: how often it has a right neighbour, and how many different ones: (size, 2)."""
        self.before = self.totals[:, 2:]
        """The same on its left."""

    def together(self, left: IntArray, right: IntArray) -> IntArray:
        """How often each pair was counted: (T,)."""
        keys = left * self._size + right
        at = np.searchsorted(self._keys, keys)
        return np.where(self._keys[at] == keys, self._counts[at], 0)


def count_neighbours(counted: IntArray, size: int) -> IntArray:
    """For each word: how often it has a right neighbour, how many different ones, and the same on its left: (size, 4)."""
    return np.concatenate([_totals(counted, 0, size), _totals(counted, 1, size)], axis=1)


def number_pairs(pairs: Mapping[tuple[str, str], int], number: Mapping[str, int]) -> IntArray:
    """Pairs of words as numbers with their counts: (pairs, 3)."""
    rows = [(number[left], number[right], count) for (left, right), count in pairs.items()]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def _totals(counted: IntArray, side: int, size: int) -> IntArray:
    """For each word: pairs that have it on that side, and how many different ones: (size, 2)."""
    counts = np.bincount(counted[:, side], weights=counted[:, 2], minlength=size)
    return np.stack([counts, np.bincount(counted[:, side], minlength=size)], axis=1).astype(np.int64)


def nats_beside(chance: FloatArray, together: IntArray, totals: IntArray, own_pairs: IntArray, own_words: IntArray) -> FloatArray:
    """How much rarer (in nats) words are beside a neighbour than on the whole, Witten–Bell smoothed: (T,).

    Args:
        chance: of the words: (T,).
        together: how often they stand beside their neighbour.
        totals: how often the neighbour has any on that side, and how many different ones: (T, 2).
        own_pairs: how often their own document has the two together, which is to be taken off.
        own_words: how often it has the neighbour.
    """
    total, kinds = totals[:, 0] - own_words, totals[:, 1] - ((own_pairs > 0) & (own_pairs >= together))
    seen, rest = total > 0, np.maximum(together - own_pairs, 0)
    ratio = chance * (total + kinds) / (rest + np.maximum(kinds, 1) * chance)
    return np.log(np.where(seen, ratio, 1.0))
