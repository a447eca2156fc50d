"""TokenCore: the distance of a word's vector to the nearest vector of a normal word.

Exact, and scikit-learn searches block by block, in bounded memory. It finds the nearest neighbour by matrix products, around the
mean of the bank; the distance is then computed from the difference of the two vectors, where nothing cancels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from difa.baselines import check_fitted, stack
from difa.document import Encoded, FloatArray, split_by


class TokenCore:
    """Nearest normal word vector, Euclidean."""

    def fit(self, documents: Sequence[Encoded]) -> None:
        """Keep the vectors of all words."""
        vectors = stack(documents).astype(np.float64)  # in single precision, rounding decides which of two near vectors is nearer
        self.centre_ = vectors.mean(0)
        self.bank_ = vectors - self.centre_  # (N, d)

    def word_scores(self, documents: Sequence[Encoded]) -> list[FloatArray]:
        """Distances to the nearest normal word."""
        from sklearn.metrics import pairwise_distances_argmin

        check_fitted(self, "bank_")
        vectors = stack(documents)
        if not len(vectors):
            return [np.zeros(0) for _ in documents]
        centred = vectors.astype(np.float64) - self.centre_
        nearest = self.bank_[pairwise_distances_argmin(centred, self.bank_)]
        return split_by(map(len, documents), np.linalg.norm(centred - nearest, axis=1))
