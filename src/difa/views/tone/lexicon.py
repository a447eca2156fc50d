"""Tone view without vectors: does the word praise, insult or complain more than normal text does?

A valence lexicon and a list of insults rate a few thousand English words. A word is measured in units of what one normal word
in a hundred reaches, at least 1; praise must be ten times as rare to count as much, as in the tone view that sees vectors. Words
that the lexicon has in no form are neutral, and so is every word of a corpus in another language. The lexicon is stored in the
model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from difa.document import Encoded, FloatArray, IntArray, Reason, ReasonKind, split_by
from difa.knowledge import ENGLISH
from difa.knowledge.remembered import Remembered
from difa.knowledge.tone import rated_words
from difa.knowledge.wordlist import plain
from difa.views.packed_strings import pack, unpack_values
from difa.views.view import SILENT

UNITS = (0.99, 0.999)
"""The quantile of normal words that is one unit: of complaint, of praise."""
_ENDINGS = ("s", "es", "d", "ed", "ing", "ly")  # a word that the lexicon has without one of these is rated like that one
_STEM = 4  # letters that such a word has at least without it
_LEAST_UNIT = 1.0  # in normal text without any valence, a word of little still says little
_NEUTRAL = ReasonKind("neutral", "neutral, or unknown to the lexicon")
_RATED = ReasonKind("rated", "a {side} word, {strength:.0%} of the strongest", "is an unusually {side} word", 23)


class LexiconView:
    """Words with their valences, and what is one unit of complaint and of praise: (2,)."""

    name = "tone"

    def __init__(self, valence: Mapping[str, float], units: FloatArray) -> None:
        self._valence, self._units = valence, units
        self._rows = Remembered(self._sides, 2)

    @classmethod
    def fit(cls, documents: Sequence[Encoded], language: str | None) -> LexiconView:
        """Measure normal words."""
        view = cls(_valences() if language == ENGLISH else {}, np.ones(2))
        sides = view._rows.of(word for document in documents for word in document.words)
        units = [np.quantile(sides[:, side], unit) for side, unit in enumerate(UNITS)]
        return cls(view._valence, np.maximum(units, _LEAST_UNIT))

    @classmethod
    def restore(cls, tensors: Mapping[str, FloatArray]) -> LexiconView:
        units = tensors["units"]
        if units.shape != (2,) or not (units > 0).all():
            raise ValueError(f"expected two positive units, got {units.tolist()!r:.40}")
        return cls(unpack_values(tensors, "valences"), units)

    def raw(self, documents: Sequence[Encoded]) -> list[FloatArray]:
        """The stronger of complaint and praise."""
        if not documents:
            return []
        sides = self._rows.of(word for document in documents for word in document.words)
        return split_by(map(len, documents), (sides / self._units).max(axis=1))

    def explain(self, document: Encoded) -> list[list[Reason]]:
        """Which way the word leans."""
        if not self._valence:
            return [[Reason(SILENT, {}, 0.0)] for _ in document.words]
        return [[_reason(*self._sides(word))] for word in document.words]

    def tensors(self) -> Mapping[str, FloatArray | IntArray]:
        return {**pack(list(self._valence)), "valences": np.array(list(self._valence.values())), "units": self._units}

    def graph(self) -> bytes | None:
        return None

    def _sides(self, word: str) -> tuple[float, float]:
        """Complaint and praise, 0 to 8 and 0 to 4."""
        folded = plain(word)
        valence = self._valence.get(folded)
        if valence is None:
            stems = (folded.removesuffix(ending) for ending in _ENDINGS if folded.endswith(ending))
            valence = next((self._valence[stem] for stem in stems if len(stem) >= _STEM and stem in self._valence), 0.0)
        return max(-valence, 0.0), max(valence, 0.0)


def _valences() -> dict[str, float]:
    """Rated words with one number each: what is negative in any way is negative."""
    return {word: -complaint or praise for word, (complaint, praise) in rated_words().items()}


def _reason(complaint: float, praise: float) -> Reason:
    if complaint == praise:
        return Reason(_NEUTRAL, {}, 0.0)
    side, strength = ("negative", complaint / 8) if complaint else ("positive", praise / 4)
    return Reason(_RATED, {"side": side, "strength": strength}, 1.0)
