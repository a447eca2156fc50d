"""Numbers of words, computed once for each distinct word and looked up from then on: strings -> rows of an array.

A known word costs one look-up in a dictionary and one row of an array. Memory is bounded: a cache that grows too large is
emptied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from threading import Lock

import numpy as np

from difa.document import FloatArray

_MOST = 1 << 17  # words held at most
_MOST_CHARACTERS = 1 << 21  # characters that they have together at most: a service is sent words of any length


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
