"""ECOD from training statistics alone.

PyOD's ECOD appends the rows to be scored to the training rows and ranks them together, so that a score depends on its
batch-mates. Here every word is ranked among the training words only, as if it were scored by itself: with n of N training
values at or beyond it, its tail probability is (n + 1) / (N + 1). The score sums the larger −log tail over the dimensions.
PyOD's third term, chosen by the sign of the skewness, equals one of the two tails unless the skewness is exactly zero.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from difa.baselines import check_fitted, stack
from difa.document import Encoded, FloatArray, split_by


class Ecod:
    """Sum over the dimensions of the rarer empirical tail."""

    def fit(self, documents: Sequence[Encoded]) -> None:
        """Sort every dimension of the training vectors."""
        self.columns_ = np.sort(stack(documents).T.copy(), axis=1)  # (d, N)

    def word_scores(self, documents: Sequence[Encoded]) -> list[FloatArray]:
        """Sums of −log tail probabilities, never negative."""
        check_fitted(self, "columns_")
        vectors = stack(documents)
        count = self.columns_.shape[1]
        scores = np.zeros(len(vectors))
        for values, column in zip(vectors.T, self.columns_, strict=False):
            below = np.searchsorted(column, values, side="right")
            above = count - np.searchsorted(column, values, side="left")
            scores -= np.log((np.minimum(below, above) + 1) / (count + 1))
        return split_by(map(len, documents), scores)
