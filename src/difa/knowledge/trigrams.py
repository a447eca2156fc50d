"""Which English words follow which: the trigrams of the package pocketsphinx.

Log-probabilities in nats, backing off to shorter contexts. A word that the model does not have is never scored, and a context
ends before one. Asking the model costs a microsecond, so answers are remembered, and all words of many documents are looked up
together.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np

from difa.document import Encoded, FloatArray, IntArray
from difa.knowledge import folder_of
from difa.knowledge.word_cache import AnswerTable, Batch, WordCache
from difa.knowledge.wordlist import plain

FEATURES = ("support from the left", "support from the right", "gain when left out", "unknown to the trigrams")
_UNKNOWN = -12.0  # stands for the log-probability of a word that the model does not have
_NOTHING = -1e8  # the model answers with less than this where it knows nothing
_NONE, _START, _END = 0, 1, 2  # numbers of no word, and of the edges of a document
_BITS = 20  # of a word's number: three of them make a key


class Trigrams:
    """The model, loaded once per process."""

    def __init__(self) -> None:
        from pocketsphinx import Config, LogMath, NGramModel

        path = str(folder_of("trigrams") / "model" / "en-us" / "en-us.lm.bin")
        self._log_math: Any = LogMath()  # must outlive the model
        self._model: Any = NGramModel(Config(lm=path, loglevel="FATAL"), self._log_math, path)
        self._unit = float(self._log_math.log_to_ln(1000)) / 1000
        self._names: list[str | None] = [None, "<s>", "</s>"]
        self._numbers: dict[str | None, int] = {name: number for number, name in enumerate(self._names)}
        self._words = WordCache(lambda words: list(map(self._describe_word, words)), 2)
        self._table = AnswerTable(bits=18)
        self._lock = Lock()
        self._end = self.chance("</s>")

    def name_of(self, word: str) -> str | None:
        """The word as the model has it, None if it does not."""
        folded = plain(word)
        candidates = ("not",) if folded == "n't" else (folded, folded.rstrip(".,!?"))
        clean = (name for name in candidates if name and name.isascii() and name.isprintable())
        return next((name for name in clean if self._model.prob([name]) > _NOTHING), None)

    def _describe_word(self, word: str) -> tuple[float, float]:
        """The number of a word's name, and its log-probability alone."""
        name = self.name_of(word)
        with self._lock:
            if name not in self._numbers:  # the model's own vocabulary bounds them
                self._numbers[name] = len(self._names)
                self._names.append(name)
        return float(self._numbers[name]), self.chance(name)

    def chance(self, word: str | None, before: str | None = None, earlier: str | None = None) -> float:
        """Log-probability of a word (by its name) after the one before it and the one before that."""
        if word is None:
            return _UNKNOWN
        return float(self._model.prob([name for name in (word, before, earlier) if name is not None])) * self._unit

    def describe(self, batch: Batch) -> FloatArray:
        """For each word of all documents the numbers of FEATURES: (all words, 4).

        The gain is that of the words around it when the word is left out, less the word's own rarity: what is high in any
        place is not high for being rare.
        """
        return batch.once(self, lambda: self._describe(self._words.of(batch), batch.lengths))

    def _describe(self, words: FloatArray, lengths: IntArray) -> FloatArray:
        """The same of words by the number of their name and their log-probability: (all words, 2)."""
        # Documents one behind the other, each within its edges and with two empty positions behind it, two before the first.
        first = np.cumsum(lengths + 4) - (lengths + 4) + 3
        position = np.repeat(first - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
        number = np.zeros(int(lengths.sum()) + 4 * len(lengths) + 4, dtype=np.int64)
        alone, here = np.zeros(len(number)), np.zeros(len(number))
        number[position], alone[position] = words[:, 0].astype(np.int64), words[:, 1]
        number[first - 1], number[first + lengths] = _START, _END
        alone[first + lengths] = self._end
        word, before, earlier, following = (number[position + step] for step in (0, -1, -2, 1))
        end, last = first + lengths, np.repeat(first + lengths - 1, lengths)
        more = np.flatnonzero(position != last)  # all but the last look one word further
        questions = (  # a word, the one before it, the one before that
            (word, before, earlier),
            (_END, number[end - 1], number[end - 2]),
            (following, before, earlier),
            (number[position[more] + 2], following[more], before[more]),
            (following, word, 0),
        )
        here[position], here[end], without, further, right = self._chances(questions)
        whole = here[position] + here[position + 1]
        without[more] += further
        whole[more] += here[position[more] + 2]
        left, gain = here[position] - alone[position], without - whole + alone[position]
        right = np.where(following == _NONE, 0.0, right - alone[position + 1])
        known = word != _NONE
        return np.stack([*(np.where(known, column, 0.0) for column in (left, right, gain)), ~known], axis=1)

    def support(self, words: Sequence[str], first: int, last: int) -> float:
        """The mean support of some words of a document, from the left and from the right."""
        rows = self.describe(Batch([Encoded.of_words(tuple(words))]))[first:last, :2]
        return float(np.cumsum(rows)[-1]) / rows.size

    def _chances(self, questions: Sequence[tuple[IntArray | int, IntArray, IntArray | int]]) -> list[FloatArray]:
        """Log-probabilities of words after the one before them and the one before that, all by their numbers: (rows,) each."""
        keys = []
        for word, before, earlier in questions:
            context = np.where(before == _NONE, 0, (before << _BITS) | earlier)
            keys.append(np.where(word == _NONE, 0, (np.int64(word) << 2 * _BITS) | context))
        ends = np.cumsum([len(part) for part in keys])
        return np.split(self._table.find(np.concatenate(keys), self._compute_chances), ends[:-1])

    def _compute_chances(self, keys: IntArray) -> FloatArray:
        """Log-probabilities of the words whose numbers the keys have, after the words whose numbers they have."""
        names, prob, mask = self._names, self._model.prob, (1 << _BITS) - 1
        numbers = zip(*((keys >> bits & mask).tolist() for bits in (2 * _BITS, _BITS, 0)), strict=True)
        logs = [prob([names[number] for number in each if number]) if each[0] else 0 for each in numbers]
        return np.where(keys == 0, _UNKNOWN, np.array(logs, dtype=float) * self._unit)


@lru_cache(maxsize=1)
def trigrams() -> Trigrams:
    """The model, loaded on first use."""
    return Trigrams()
