"""TokenCore: the distance of a word's vector to the nearest vector of a normal word.

Exact, and blockwise: at no time are there more than `queries` × `bank` distances in memory, however large the corpus. The
nearest neighbour is found by matrix products in single precision around the mean of the bank; its distance is then computed
from the difference of the two vectors, where nothing cancels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from difa.baselines import check_fitted, stack
from difa.document import Encoded, FloatArray, split_by


class TokenCore:
    """Nearest normal word vector, Euclidean.

    Args:
        queries: words whose neighbours are searched together.
        bank: normal words that are looked at together; with `queries`, bounds the memory of a search.
    """

    def __init__(self, queries: int = 256, bank: int = 8192) -> None:
        self.queries = queries
        self.bank = bank

    def fit(self, documents: Sequence[Encoded]) -> None:
        """Keep the vectors of all words."""
        vectors = stack(documents).astype(np.float64)  # in single precision, rounding decides which of two near vectors is nearer
        self.centre_ = vectors.mean(0)
        self.bank_ = vectors - self.centre_  # (N, d)
        self.norms_ = np.einsum("nd,nd->n", self.bank_, self.bank_)

    def word_scores(self, documents: Sequence[Encoded]) -> list[FloatArray]:
        """Distances to the nearest normal word."""
        check_fitted(self, "bank_")
        vectors = stack(documents)
        distances = np.empty(len(vectors))
        for start in range(0, len(vectors), self.queries):
            rows = slice(start, start + self.queries)
            block = vectors[rows].astype(np.float64) - self.centre_
            difference = block - self.bank_[self._nearest(block)]
            distances[rows] = np.sqrt(np.einsum("nd,nd->n", difference, difference))
        return split_by(map(len, documents), distances)

    def _nearest(self, block: FloatArray) -> NDArray[np.intp]:
        """Which normal word is nearest to each row: ‖b‖² − 2·a·b orders them, since ‖a‖² is the same for all."""
        best = np.full(len(block), np.inf)
        nearest = np.zeros(len(block), np.intp)
        for start in range(0, len(self.bank_), self.bank):
            part = slice(start, start + self.bank)
            order = self.norms_[part] - 2 * (block @ self.bank_[part].T)  # (queries, bank)
            position = order.argmin(1)
            value = order[np.arange(len(block)), position]
            closer = value < best
            best[closer], nearest[closer] = value[closer], start + position[closer]
        return nearest
