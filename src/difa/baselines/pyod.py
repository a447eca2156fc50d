"""Detectors of PyOD on word vectors: LOF, isolation forest, DeepSVDD, autoencoder, LUNAR.

Settings are PyOD's own names and, where none are given, PyOD's own defaults. Scores are compared across documents, so each
vector is a row of one matrix, whatever document it came from. DeepSVDD and LUNAR would take several minutes on a large set at
their default number of epochs: they are fitted on a sample of the training words, and the tables say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from difa.baselines import MethodSettings, check_fitted, stack
from difa.document import Encoded, FloatArray, split_by
from difa.errors import ConfigError, MissingExtraError

MAX_WORDS = {"deepsvdd": 10_000, "lunar": 10_000}
"""Training words at most; a larger corpus is sampled."""


SMALL_BATCHES = ("deepsvdd", "ae")
"""Networks trained on 32 words at a time: more than one thread does not help them, and beside other work it hurts badly."""
_CLASSES = {
    "lof": ("lof", "LOF"),
    "iforest": ("iforest", "IForest"),
    "deepsvdd": ("deep_svdd", "DeepSVDD"),
    "ae": ("auto_encoder", "AutoEncoder"),
    "lunar": ("lunar", "LUNAR"),
}


class PyodBaseline:
    """A detector of PyOD.

    Args:
        kind: one of `lof`, `iforest`, `deepsvdd`, `ae`, `lunar`.
        seed: decides everything random in it.
        settings: arguments of PyOD's class.
        max_words: training words at most; None for the method's own bound, if it has one.
    """

    def __init__(self, kind: str, seed: int = 0, settings: MethodSettings | None = None, max_words: int | None = None) -> None:
        self.kind = kind
        self.max_words = max_words
        self.seed = seed
        self.settings = settings

    def fit(self, documents: Sequence[Encoded]) -> None:
        """Fit on the vectors of all words, or of a sample of them."""
        vectors = stack(documents).astype(np.float32, copy=False)
        most = self.max_words or MAX_WORDS.get(self.kind, len(vectors))
        if len(vectors) > most:
            vectors = vectors[np.sort(np.random.default_rng(self.seed).choice(len(vectors), most, replace=False))]
        with _global_seed(self.seed), _torch_threads(1 if self.kind in SMALL_BATCHES else None):
            self.model_ = _build(self.kind, vectors.shape[1], self.seed, dict(self.settings or {}))
            self.model_.fit(vectors)

    def word_scores(self, documents: Sequence[Encoded]) -> list[FloatArray]:
        """PyOD's decision function, one value per word."""
        check_fitted(self, "model_")
        vectors = stack(documents).astype(np.float32, copy=False)
        scores = self.model_.decision_function(vectors) if len(vectors) else np.zeros(0)
        return split_by(map(len, documents), np.asarray(scores, dtype=np.float64))


def detector_class(kind: str) -> Any:
    """PyOD's class for a method, loaded now."""
    if kind not in _CLASSES:
        raise ConfigError(f"PyOD method: expected one of {', '.join(_CLASSES)}, got {kind!r}")
    module, name = _CLASSES[kind]
    try:
        return getattr(import_module(f"pyod.models.{module}"), name)
    except ImportError as error:
        raise MissingExtraError(error.name or "pyod", "bench", f"the baseline {name}") from None


def _build(kind: str, width: int, seed: int, settings: dict[str, Any]) -> Any:
    fixed: dict[str, dict[str, Any]] = {
        "lof": {},
        "iforest": {"random_state": seed},
        "deepsvdd": {"random_state": seed, "n_features": width, "verbose": 0},
        "ae": {"random_state": seed, "verbose": 0},
        "lunar": {"random_state": seed},
    }
    return detector_class(kind)(**fixed[kind], **_lists(settings))


def _lists(settings: dict[str, Any]) -> dict[str, Any]:
    """PyOD wants layer sizes as lists; ours are tuples, which cannot be changed by accident."""
    return {key: list(value) if isinstance(value, tuple) else value for key, value in settings.items()}


@contextmanager
def _torch_threads(threads: int | None) -> Iterator[None]:
    """Limit the threads of torch, or leave them as they are."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _global_seed(seed: int) -> Iterator[None]:
    """Seed the global generators, which PyOD's networks draw from, and put them back afterwards."""
    import torch

    numpy_state, torch_state = np.random.get_state(), torch.get_rng_state()
    np.random.seed(seed)
    torch.manual_seed(seed)
    try:
        yield
    finally:
        np.random.set_state(numpy_state)
        torch.set_rng_state(torch_state)
