"""Detectors of single vectors as baselines: ECOD and TokenCore, written here, and those of PyOD.

All have PyOD's `fit` and `decision_function` on a matrix with a row per word, whatever document the word came from: scores are
compared across documents. Settings of PyOD's detectors are PyOD's own names and, where none are given, PyOD's own defaults.
DeepSVDD and LUNAR would take several minutes on a large set at their default number of epochs: they are fitted on a sample of the
training words, and the tables say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from importlib import import_module
from inspect import signature
from typing import Any, Protocol

import numpy as np

from difa.document import Encoded, FloatArray, split_by
from difa.errors import MissingExtraError, NotFittedError
from difa.runtime.parallel import one_torch_thread


class VectorDetector(Protocol):
    """What scores rows of a matrix, (N, d), higher where a row is more unusual."""

    def fit(self, vectors: FloatArray) -> object: ...

    def decision_function(self, vectors: FloatArray) -> FloatArray: ...


class OnVectors:
    """A detector of vectors as a baseline."""

    def __init__(self, detector: VectorDetector) -> None:
        self.detector, self.is_fitted = detector, False

    def fit(self, documents: Sequence[Encoded]) -> None:
        self.detector.fit(stack(documents))
        self.is_fitted = True

    def word_scores(self, documents: Sequence[Encoded]) -> list[FloatArray]:
        if not self.is_fitted:
            raise NotFittedError(f"expected a fitted {type(self.detector).__name__}: call fit(documents) first")
        vectors = stack(documents)
        scores = self.detector.decision_function(vectors) if len(vectors) else np.zeros(0)
        return split_by(map(len, documents), np.asarray(scores, dtype=np.float64))


def stack(documents: Sequence[Encoded]) -> FloatArray:
    """The vectors of all words of all documents, (N, d)."""
    return np.concatenate([document.vectors for document in documents]) if documents else np.zeros((0, 0), np.float32)


class Ecod:
    """Sum over the dimensions of the rarer empirical tail, from training statistics alone.

    PyOD's ECOD appends the rows to be scored to the training rows and ranks them together, so that a score depends on its
    batch-mates. Here every word is ranked among the training words only, as if it were scored by itself: with n of N training
    values at or beyond it, its tail probability is (n + 1) / (N + 1). The score sums the larger −log tail over the dimensions.
    PyOD's third term, chosen by the sign of the skewness, equals one of the two tails unless the skewness is exactly zero.
    """

    def fit(self, vectors: FloatArray) -> None:
        self.columns = np.sort(vectors.T.copy(), axis=1)  # (d, N)

    def decision_function(self, vectors: FloatArray) -> FloatArray:
        count, scores = self.columns.shape[1], np.zeros(len(vectors))
        for values, column in zip(vectors.T, self.columns, strict=True):
            below = np.searchsorted(column, values, side="right")
            above = count - np.searchsorted(column, values, side="left")
            scores -= np.log((np.minimum(below, above) + 1) / (count + 1))
        return scores


class TokenCore:
    """Euclidean distance to the nearest vector of a normal word.

    Exact, and scikit-learn searches block by block, in bounded memory. It finds the nearest neighbour by matrix products, around
    the mean of the bank; the distance is then computed from the difference of the two vectors, where nothing cancels.
    """

    def fit(self, vectors: FloatArray) -> None:
        exact = vectors.astype(np.float64)  # in single precision, rounding decides which of two near vectors is nearer
        self.centre = exact.mean(0)
        self.bank = exact - self.centre  # (N, d)

    def decision_function(self, vectors: FloatArray) -> FloatArray:
        from sklearn.metrics import pairwise_distances_argmin

        centred = vectors.astype(np.float64) - self.centre
        distances: FloatArray = np.linalg.norm(centred - self.bank[pairwise_distances_argmin(centred, self.bank)], axis=1)
        return distances


class Pyod:
    """A detector of PyOD, such as `lof.LOF`, whose class is loaded now: that is no part of a fit.

    Args:
        path: its module below `pyod.models`, and its class.
        seed: for those that draw random numbers.
        settings: PyOD's own.
        max_words: training words at most; of a larger corpus a sample is drawn.
    """

    def __init__(self, path: str, seed: int = 0, settings: Mapping[str, Any] | None = None, max_words: int | None = None) -> None:
        module, name = path.split(".")
        try:
            self.make = getattr(import_module(f"pyod.models.{module}"), name)
        except ImportError as error:
            raise MissingExtraError(error.name or "pyod", "bench", f"the baseline {name}") from None
        self.seed, self.settings, self.max_words = seed, settings or {}, max_words

    def fit(self, vectors: FloatArray) -> None:
        """Fit on all rows, or on a sample of them."""
        rows = vectors.astype(np.float32, copy=False)
        if self.max_words is not None and len(rows) > self.max_words:
            rows = rows[np.sort(np.random.default_rng(self.seed).choice(len(rows), self.max_words, replace=False))]
        known = signature(self.make).parameters
        fixed = {"random_state": self.seed, "verbose": 0, "n_features": rows.shape[1]}
        # PyOD wants layer sizes as lists; ours are tuples, which cannot be changed by accident.
        settings = {key: list(value) if isinstance(value, tuple) else value for key, value in self.settings.items()}
        # Networks trained on few words at a time: more than one thread does not help them, and beside other work it hurts badly.
        with _global_seed(self.seed), one_torch_thread() if "batch_size" in known else nullcontext():
            self.model = self.make(**{name: value for name, value in fixed.items() if name in known}, **settings).fit(rows)

    def decision_function(self, vectors: FloatArray) -> FloatArray:
        scores: FloatArray = self.model.decision_function(vectors.astype(np.float32, copy=False))
        return scores


@contextmanager
def _global_seed(seed: int) -> Iterator[None]:
    """Seed the global generators, which PyOD's networks draw from, and put them back afterwards."""
    import torch

    state = np.random.get_state()
    with torch.random.fork_rng(devices=[]):
        np.random.seed(seed)
        torch.manual_seed(seed)
        try:
            yield
        finally:
            np.random.set_state(state)
