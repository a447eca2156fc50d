"""Detectors of PyOD on word vectors: LOF, isolation forest, DeepSVDD, autoencoder, LUNAR.

Settings are PyOD's own names and, where none are given, PyOD's own defaults. Scores are compared across documents, so each
vector is a row of one matrix, whatever document it came from. DeepSVDD and LUNAR would take several minutes on a large set at
their default number of epochs: they are fitted on a sample of the training words, and the tables say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from importlib import import_module
from typing import Any

import numpy as np

from difa.baselines import MethodSettings, check_fitted, stack
from difa.document import Encoded, FloatArray, split_by
from difa.errors import ConfigError, MissingExtraError
from difa.runtime.parallel import one_torch_thread

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
    """

    def __init__(self, kind: str, seed: int = 0, settings: MethodSettings | None = None) -> None:
        self.kind, self.seed, self.settings = kind, seed, settings or {}

    def fit(self, documents: Sequence[Encoded]) -> None:
        """Fit on the vectors of all words, or of a sample of them."""
        vectors = stack(documents).astype(np.float32, copy=False)
        most = MAX_WORDS.get(self.kind, len(vectors))
        if len(vectors) > most:
            vectors = vectors[np.sort(np.random.default_rng(self.seed).choice(len(vectors), most, replace=False))]
        fixed: dict[str, Any] = {} if self.kind == "lof" else {"random_state": self.seed}
        fixed |= {"verbose": 0} if self.kind in SMALL_BATCHES else {}
        fixed |= {"n_features": vectors.shape[1]} if self.kind == "deepsvdd" else {}
        # PyOD wants layer sizes as lists; ours are tuples, which cannot be changed by accident.
        fixed |= {key: list(value) if isinstance(value, tuple) else value for key, value in self.settings.items()}
        with _global_seed(self.seed), one_torch_thread() if self.kind in SMALL_BATCHES else nullcontext():
            self.model_ = detector_class(self.kind)(**fixed)
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
