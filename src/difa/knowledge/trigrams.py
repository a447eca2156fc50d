"""Which English words follow which: the trigrams of the package pocketsphinx.

Log-probabilities in nats, backing off to shorter contexts. A word that the model does not have is never scored, and a context
ends before one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from difa.document import FloatArray
from difa.knowledge.wordlist import plain

FEATURES = ("support from the left", "support from the right", "gain when left out", "unknown to the trigrams")
_UNKNOWN = -12.0  # stands for the log-probability of a word that the model does not have
_NOTHING = -1e8  # the model answers with less than this where it knows nothing
_MEMO = 1 << 17
_SHORT = 512  # words of a document that is remembered: several views ask for the same one


class Trigrams:
    """The model, loaded once per process."""

    def __init__(self) -> None:
        from importlib.resources import files

        from pocketsphinx import Config, LogMath, NGramModel

        path = str(files("pocketsphinx") / "model" / "en-us" / "en-us.lm.bin")
        self._log_math: Any = LogMath()  # must outlive the model
        self._model: Any = NGramModel(Config(lm=path, loglevel="FATAL"), self._log_math, path)
        self._unit = float(self._log_math.log_to_ln(1000)) / 1000
        self._names: dict[str, str | None] = {"<s>": "<s>", "</s>": "</s>"}

    def name_of(self, word: str) -> str | None:
        """The word as the model has it, None if it does not."""
        if word not in self._names:
            if len(self._names) >= _MEMO:
                self._names = {"<s>": "<s>", "</s>": "</s>"}
            folded = plain(word)
            candidates = ("not",) if folded == "n't" else (folded, folded.rstrip(".,!?"))
            self._names[word] = next((name for name in candidates if self._has(name)), None)
        return self._names[word]

    def _has(self, name: str) -> bool:
        clean = name.isascii() and name.isprintable() and name != ""
        return clean and bool(self._model.prob([name]) > _NOTHING)

    def chance(self, word: str | None, before: str | None = None, earlier: str | None = None) -> float:
        """Log-probability of a word (by its name) after the one before it and the one before that."""
        if word is None:
            return _UNKNOWN
        if before is None:
            return float(self._model.prob([word])) * self._unit
        context = [word, before] if earlier is None else [word, before, earlier]
        return float(self._model.prob(context)) * self._unit

    def describe(self, words: tuple[str, ...]) -> FloatArray:
        """For each word of a document the numbers of FEATURES: (T, 4).

        The gain is that of the words around it when the word is left out, less the word's own rarity: what is high in any
        place is not high for being rare.
        """
        return _remembered(words) if len(words) <= _SHORT else self._describe(words)

    def _describe(self, words: tuple[str, ...]) -> FloatArray:
        names = ["<s>", *(self.name_of(word) for word in words), "</s>"]
        last = len(names) - 1
        alone = [self.chance(name) for name in names]
        chance = self.chance
        here = [chance(names[k], names[k - 1], names[k - 2] if k > 1 else None) for k in range(1, last + 1)]
        here.insert(0, 0.0)
        features = np.zeros((len(words), len(FEATURES)))
        for k in range(1, last):
            word = names[k]
            if word is None:
                features[k - 1, 3] = 1.0
                continue
            before, after = names[k - 1], names[k + 1]
            earlier = names[k - 2] if k > 1 else None
            without = chance(after, before, earlier)
            whole = here[k] + here[k + 1]
            if k + 2 <= last:
                without += chance(names[k + 2], after, before)
                whole += here[k + 2]
            right = chance(after, word) - alone[k + 1] if after is not None else 0.0
            features[k - 1, :3] = here[k] - alone[k], right, without - whole + alone[k]
        return features


@lru_cache(maxsize=1)
def trigrams() -> Trigrams:
    """The model, loaded on first use."""
    return Trigrams()


@lru_cache(maxsize=4096)
def _remembered(words: tuple[str, ...]) -> FloatArray:
    features = trigrams()._describe(words)
    features.setflags(write=False)
    return features
