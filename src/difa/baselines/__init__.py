"""Other ways to score words, for comparison: one file per method or family, all behind one protocol.

A baseline is fitted on the encoded words of normal documents and gives one number per word, higher where the word is more
unusual. `METHODS` lists them in the order of the tables; a new one needs a class with `fit` and `word_scores` and a line
there. Packages that only one family needs are imported when it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from difa.document import Encoded, FloatArray
from difa.errors import ConfigError, NotFittedError

MethodSettings = Mapping[str, Any]


class Baseline(Protocol):
    """A method that is fitted on normal documents and scores words."""

    def fit(self, documents: Sequence[Encoded]) -> None:
        """Learn what is normal."""
        ...

    def word_scores(self, documents: Sequence[Encoded]) -> list[FloatArray]:
        """One finite score per word, (T,) per document; the same alone or in any batch."""
        ...


@dataclass(frozen=True)
class Method:
    """A line of the table: how a baseline is made, and the settings that TokenCore's authors searched for it."""

    name: str
    label: str
    make: Callable[[MethodSettings, int], Baseline]
    """From settings and a seed."""
    grid: tuple[MethodSettings, ...] = ()
    """What the authors of TokenCore tried; empty where there is nothing to choose."""
    needs_vectors: bool = True
    """False for methods that look at the strings alone."""
    packages: tuple[str, ...] = ()
    """Packages whose version is part of the outcome."""
    note: str = ""
    """What a reader of the table must know."""


def _pyod(kind: str) -> Callable[[MethodSettings, int], Baseline]:
    def make(settings: MethodSettings, seed: int) -> Baseline:
        from difa.baselines.pyod import PyodBaseline, detector_class

        detector_class(kind)  # loading it takes seconds, which are no part of a fit
        return PyodBaseline(kind, seed, settings)

    return make


def _own(module: str, name: str, **fixed: str) -> Callable[[MethodSettings, int], Baseline]:
    """A class of this package, loaded when it is made."""

    def make(settings: MethodSettings, seed: int) -> Baseline:
        baseline: Baseline = getattr(import_module(f"difa.baselines.{module}"), name)(**fixed, **settings)
        return baseline

    return make


_LEARNED = ("pyod", "scikit-learn", "torch")
_CAPPED = "at most 10,000 training words"
_NEIGHBOURS = (5, 10, 20, 40)
_SAMPLES = (16, 32, 64, 128, 256, 512)
_HIDDEN = ((128, 64), (64, 32), (32, 16))


def _each(key: str, values: Sequence[Any], **rest: Any) -> tuple[MethodSettings, ...]:
    return tuple({key: value} | rest for value in values)


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("lof", "LOF", _pyod("lof"), _each("n_neighbors", _NEIGHBOURS), packages=_LEARNED),
        Method("iforest", "iForest", _pyod("iforest"), _each("max_samples", _SAMPLES, n_estimators=200), packages=_LEARNED),
        Method("ecod", "ECOD", _own("ecod", "Ecod")),
        Method("deepsvdd", "DeepSVDD", _pyod("deepsvdd"), _each("hidden_neurons", _HIDDEN), packages=_LEARNED, note=_CAPPED),
        Method("ae", "AE", _pyod("ae"), _each("hidden_neuron_list", _HIDDEN), packages=_LEARNED),
        Method("lunar", "LUNAR", _pyod("lunar"), _each("n_neighbours", _NEIGHBOURS), packages=_LEARNED, note=_CAPPED),
        Method("tokencore", "TokenCore", _own("tokencore", "TokenCore"), packages=("scikit-learn",)),
        Method("length", "word length", _own("trivial", "Length", of="word"), needs_vectors=False),
        Method("unigram", "unigram rarity", _own("trivial", "UnigramRarity"), needs_vectors=False),
        Method("trigram", "character trigrams", _own("trivial", "CharacterTrigrams"), needs_vectors=False),
        Method("doclength", "document length", _own("trivial", "Length", of="document"), needs_vectors=False),
    )
}


def method(name: str) -> Method:
    """A method by its name."""
    if name not in METHODS:
        raise ConfigError(f"method: expected one of {', '.join(METHODS)}, got {name!r}")
    return METHODS[name]


def stack(documents: Sequence[Encoded]) -> FloatArray:
    """The vectors of all words of all documents, (N, d)."""
    if not documents:
        return np.zeros((0, 0), np.float32)
    return np.concatenate([document.vectors for document in documents])


def check_fitted(baseline: object, attribute: str) -> None:
    """Refuse to score with a baseline that was not fitted."""
    if not hasattr(baseline, attribute):
        raise NotFittedError(f"expected a fitted {type(baseline).__name__}: call fit(documents) first")
