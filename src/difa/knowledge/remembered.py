"""Numbers of words, computed once for each distinct word and looked up from then on: strings -> rows of an array.

A word that was seen before costs one look-up in a dictionary and one row of an array. Memory is bounded: when the strings held
grow too many or too long, all are forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from threading import Lock

import numpy as np

from difa.document import FloatArray

_MOST = 1 << 17  # words held at most
_MOST_CHARACTERS = 1 << 21  # characters that they have together at most: a service is sent words of any length


class _Book(dict[str, int]):
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


class Remembered:
    """What a function says of words, remembered."""

    def __init__(self, compute: Callable[[str], Sequence[float]], width: int) -> None:
        self._compute, self._width = compute, width
        self._book = _Book(compute, width)

    def of(self, words: Iterable[str]) -> FloatArray:
        """The numbers of each word: (T, width)."""
        book = self._book  # another thread may begin a new one meanwhile
        numbers = np.fromiter(map(book.__getitem__, words), np.intp)
        rows = book.rows[numbers]
        if len(book) > _MOST or book.characters > _MOST_CHARACTERS:
            self._book = _Book(self._compute, self._width)
        return rows
