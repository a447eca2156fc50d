"""Vectors of documents -> six statistics of each word among its neighbours, for the form view.

All of them follow from dot products of vectors that stand close together: lengths, angles, gaps, and sums of neighbours. These
are taken once, in double precision and a block of words at a time; the rest is arithmetic on one number per word, over many
documents at once. A neighbour counts only within the word's own document, so a batch changes nothing, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from difa.document import FloatArray

CONTEXT = (
    "similarity to its context",
    "distance to its neighbours",
    "norm against its neighbours",
    "agreement of left and right context",
    "similarity to its nearest neighbour",
    "spread of similarity to its neighbours",
)
_TINY = 1e-9
_GROUP = 4096  # words of documents that are looked at together
_BLOCK = 512  # vectors in double precision at a time: they stay in the processor's cache


def describe_context(documents: Sequence[FloatArray], window: int) -> FloatArray:
    """The statistics of each vector (T, d) among `window` neighbours on each side, in the order of CONTEXT: (all words, 6).

    NaN where a statistic does not exist: all of them for a word alone, the agreement of both sides for the first and the last.
    """
    groups = [_Neighbourhood(group, window).statistics() for group in _groups(documents)]
    return np.concatenate([np.empty((0, len(CONTEXT))), *groups])


def _groups(documents: Sequence[FloatArray]) -> Iterator[list[FloatArray]]:
    """Documents in order, some `_GROUP` words together; a longer one is by itself."""
    group: list[FloatArray] = []
    words = 0
    for vectors in documents:
        if group and words + len(vectors) > _GROUP:
            yield group
            group, words = [], 0
        if len(vectors):
            group.append(vectors)
            words += len(vectors)
    if group:
        yield group


class _Neighbourhood:
    """Some documents with words, one behind the other, and the dot products of what stands close together in them."""

    def __init__(self, documents: Sequence[FloatArray], window: int) -> None:
        lengths = np.array([len(vectors) for vectors in documents])
        reach = min(window, int(lengths.max()) - 1)
        self.left, self.right = range(-reach, 0), range(1, reach + 1)
        first = np.repeat(np.cumsum(lengths) - lengths, lengths)
        last = first + np.repeat(lengths, lengths) - 1
        position = np.arange(len(first))
        # For each distance: whether there is a word so far away in the same document, (T,).
        self.has: dict[int, NDArray[np.bool_]] = {
            o: (first <= position + o) & (position + o <= last) for o in range(-reach, reach + 1)
        }
        self._dots = _dots(documents[0] if len(documents) == 1 else np.concatenate(documents), 2 * reach)

    def product(self, one: int, other: int) -> FloatArray:
        """Dot products of the vectors `one` and `other` positions from each word; 0 where one of them is missing: (T,)."""
        near, far = min(one, other), max(one, other)
        return np.where(self.has[near] & self.has[far], np.roll(self._dots[far - near], -near), 0.0)

    def product_of_sums(self, some: Sequence[int], others: Sequence[int]) -> FloatArray:
        """Dot products of the sums of two sets of vectors: (T,)."""
        return self._total([self.product(one, other) for one in some for other in others])

    def statistics(self) -> FloatArray:
        """The six statistics of each word: (T, 6)."""
        around = [*self.left, *self.right]
        square = self._dots[0]
        norm = np.maximum(np.sqrt(square), _TINY)
        count = np.maximum(self._total([self.has[o] for o in around]), 1.0)
        cosines, gaps, norms = [], [], []
        for o in around:
            dot, its_square = self.product(0, o), self.product(o, o)
            norms.append(np.maximum(np.sqrt(its_square), _TINY))
            cosines.append(dot / (norm * norms[-1]))  # 0 where there is no neighbour
            gaps.append(np.sqrt(np.maximum(square + its_square - 2 * dot, 0.0)))
        mean = self._total(cosines) / count
        spread = self._of_present([(cosine - mean) ** 2 for cosine in cosines]) / count
        nearest = np.full(len(square), -np.inf)
        for o, cosine in zip(around, cosines, strict=True):
            nearest = np.where(self.has[o], np.maximum(nearest, cosine), nearest)
        left, right = self.product_of_sums(self.left, self.left), self.product_of_sums(self.right, self.right)
        across = self.product_of_sums(self.left, self.right)
        columns = np.stack(
            [
                _cosine(self.product_of_sums([0], around), square, left + 2 * across + right),
                self._of_present(gaps) / count,
                np.log(norm / np.maximum(self._of_present(norms) / count, _TINY)),
                _cosine(across, left, right),
                nearest,
                np.sqrt(spread),
            ],
            axis=1,
        )
        has_left, has_right = self._there(-1), self._there(1)
        columns[~(has_left & has_right), 3] = np.nan
        columns[~(has_left | has_right)] = np.nan
        return columns

    def _there(self, offset: int) -> NDArray[np.bool_]:
        return self.has.get(offset, np.zeros(len(self.has[0]), dtype=bool))

    def _of_present(self, values: Sequence[FloatArray]) -> FloatArray:
        """The sum over neighbours, left ones first, of those that exist: (T,)."""
        around = [*self.left, *self.right]
        return self._total([np.where(self.has[o], value, 0.0) for o, value in zip(around, values, strict=True)])

    def _total(self, values: Sequence[FloatArray | NDArray[np.bool_]]) -> FloatArray:
        total: FloatArray = np.zeros(len(self.has[0]))
        for value in values:
            total = total + value
        return total


def _dots(vectors: FloatArray, reach: int) -> FloatArray:
    """Dot products of each vector with itself and with those behind it, across documents too: (reach + 1, T)."""
    dots = np.zeros((reach + 1, len(vectors)))
    for start in range(0, len(vectors), _BLOCK):
        block = vectors[start : start + _BLOCK + reach].astype(np.float64)
        for step in range(min(reach + 1, len(block))):
            count = min(_BLOCK, len(block) - step)
            dots[step, start : start + count] = np.einsum("td,td->t", block[:count], block[step : step + count])
    return dots


def _cosine(dot: FloatArray, square: FloatArray, other_square: FloatArray) -> FloatArray:
    """Cosines from a dot product and two squared lengths, which rounding may have left a little below zero."""
    norms = np.sqrt(np.maximum(square, 0.0)) * np.sqrt(np.maximum(other_square, 0.0))
    return np.asarray(dot / np.maximum(norms, _TINY))
