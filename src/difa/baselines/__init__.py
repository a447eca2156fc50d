"""Other ways to score words, for comparison: detectors of vectors and trivial methods, all behind one protocol.

A baseline is fitted on the encoded words of normal documents and gives one number per word, higher where the word is more
unusual. `METHODS` lists them in the order of the tables; a new one needs a class with `fit` and `word_scores` and a line
there. Packages that only one family needs are imported when it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from difa.baselines import trivial
from difa.baselines.vectors import Ecod, OnVectors, Pyod, TokenCore
from difa.document import Encoded, FloatArray

MethodSettings = Mapping[str, Any]


class Baseline(Protocol):
    """A method that is fitted on normal documents and scores words."""

    def fit(self, documents: Sequence[Encoded]) -> None:
        """Learn what is normal."""

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


def _pyod(name: str, label: str, path: str, searched: str, values: Sequence[Any], most: int | None = None, **rest: Any) -> Method:
    """A detector of PyOD, with a setting of which some values were searched, fitted on so many training words at most."""
    return Method(
        name,
        label,
        lambda settings, seed: OnVectors(Pyod(path, seed, settings, most)),
        tuple({searched: value} | rest for value in values),
        packages=("pyod", "scikit-learn", "torch"),
        note=f"at most {most:,} training words" if most else "",
    )


def _trivial(name: str, label: str, kind: type[trivial.OnWords]) -> Method:
    return Method(name, label, lambda settings, seed: kind(**settings), needs_vectors=False)


_NEIGHBOURS = (5, 10, 20, 40)
_HIDDEN = ((128, 64), (64, 32), (32, 16))
METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        _pyod("lof", "LOF", "lof.LOF", "n_neighbors", _NEIGHBOURS),
        _pyod("iforest", "iForest", "iforest.IForest", "max_samples", (16, 32, 64, 128, 256, 512), n_estimators=200),
        Method("ecod", "ECOD", lambda settings, seed: OnVectors(Ecod())),
        _pyod("deepsvdd", "DeepSVDD", "deep_svdd.DeepSVDD", "hidden_neurons", _HIDDEN, 10_000),
        _pyod("ae", "AE", "auto_encoder.AutoEncoder", "hidden_neuron_list", _HIDDEN),
        _pyod("lunar", "LUNAR", "lunar.LUNAR", "n_neighbours", _NEIGHBOURS, 10_000),
        Method("tokencore", "TokenCore", lambda settings, seed: OnVectors(TokenCore()), packages=("scikit-learn",)),
        _trivial("length", "word length", trivial.WordLength),
        _trivial("unigram", "unigram rarity", trivial.UnigramRarity),
        _trivial("trigram", "character trigrams", trivial.CharacterTrigrams),
        _trivial("doclength", "document length", trivial.DocumentLength),
    )
}
