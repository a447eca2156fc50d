"""Numbers of words, computed once for each distinct word and looked up from then on: strings -> rows of an array.

A known word costs one look-up in a dictionary and one row of an array. Of the words of many documents only distinct ones are
looked up, and which these are is found once for all views. Memory is bounded: a cache that grows too large is emptied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain
from threading import Lock
from typing import NamedTuple

import numpy as np

from difa.document import Encoded, FloatArray, IntArray

_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # spreads keys that are close together over all of a table

_MOST = 1 << 17  # words held at most
_MOST_CHARACTERS = 1 << 21  # characters that they have together at most: a service is sent words of any length
TOGETHER = 1 << 15
"""Words of documents up to which what is known of all of them is remembered: several views ask for the same."""


class DistinctWords(NamedTuple):
    """The distinct words of some documents, and for each of their words, one document behind the other, which it is: (T,)."""

    words: tuple[str, ...]
    numbers: IntArray


def distinct_words(documents: Sequence[Encoded]) -> DistinctWords:
    """Those of some documents."""
    return distinct_strings(tuple([document.words for document in documents]))


def distinct_strings(documents: tuple[tuple[str, ...], ...]) -> DistinctWords:
    """The same of documents that are nothing but words."""
    return _remembered(documents) if sum(map(len, documents)) <= TOGETHER else _find_distinct(documents)


def _find_distinct(documents: tuple[tuple[str, ...], ...]) -> DistinctWords:
    words = list(chain.from_iterable(documents))
    number = dict.fromkeys(words, 0)
    distinct = tuple(number)
    number.update(zip(distinct, range(len(distinct)), strict=True))
    return DistinctWords(distinct, np.fromiter(map(number.__getitem__, words), np.intp, len(words)))


_remembered = lru_cache(maxsize=4)(_find_distinct)


class _Rows(dict[str, int]):
    """Words with the number of their row; a word that is looked up for the first time gets one."""

    def __init__(self, compute: Callable[[str], Sequence[float]], width: int) -> None:
        self._compute, self._lock = compute, Lock()
        self.rows: FloatArray = np.empty((256, width))
        self.characters = 0

    def __missing__(self, word: str) -> int:
        row = self._compute(word)
        with self._lock:
            if (known := self.get(word)) is not None:
                return known
            number = len(self)
            if number == len(self.rows):  # what was handed out stays as it is: a larger copy takes its place
                self.rows = np.concatenate([self.rows, np.empty_like(self.rows)])
            self.rows[number] = row
            self.characters += len(word)
            self[word] = number
            return number


class WordCache:
    """A function from words to numbers, computed once for each distinct word."""

    def __init__(self, compute: Callable[[str], Sequence[float]], width: int) -> None:
        self._compute, self._width = compute, width
        self._rows = _Rows(compute, width)

    def of(self, words: Iterable[str]) -> FloatArray:
        """The numbers of each word: (T, width)."""
        known = self._rows  # another thread may start a new one meanwhile
        numbers = np.fromiter(map(known.__getitem__, words), np.intp)
        rows = known.rows[numbers]
        if len(known) > _MOST or known.characters > _MOST_CHARACTERS:
            self._rows = _Rows(self._compute, self._width)
        return rows

    def of_each(self, words: DistinctWords) -> FloatArray:
        """The numbers of each word of documents: (T, width)."""
        return self.of(words.words)[words.numbers]


class AnswerTable:
    """Answers to questions that are numbers, in a table of fixed size: each place has the last two that fell into it."""

    def __init__(self, bits: int) -> None:
        self._shift, self._lock = np.uint64(64 - bits), Lock()
        # A key and, beside it in memory, the bits of its answer; then those that were there before.
        self._rows = np.full((1 << bits, 4), -1, np.int64)

    def find(self, keys: IntArray, answer: Callable[[IntArray], FloatArray]) -> FloatArray:
        """The answer to each question: (T,).

        Args:
            keys: of at least 0: (T,).
            answer: the answers to some of the keys, which the table does not have.
        """
        places = ((keys.view(np.uint64) * _SPREAD) >> self._shift).view(np.int64)
        with self._lock:
            rows = self._rows[places]
        answers = np.where(rows[:, 0] == keys, rows[:, 1], rows[:, 3]).view(np.float64)
        missing = np.flatnonzero((rows[:, 0] != keys) & (rows[:, 2] != keys))
        if len(missing):
            answers[missing] = answer(keys[missing])
            new = missing[np.unique(places[missing], return_index=True)[1]]  # one for each place
            with self._lock:
                earlier = self._rows[places[new], :2]
                self._rows[places[new]] = np.column_stack([keys[new], answers[new].view(np.int64), earlier])
        return answers
