"""Numbers of words, computed once for each distinct word and looked up from then on: words -> rows of an array.

All words that the process meets are numbered (`_Vocabulary`). Documents that are looked at together are a `Batch`, which has the
numbers of their words, so what is known of a word is one row of an array. Memory is bounded: a vocabulary that grows too large is
given up for a new one, and caches follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from threading import Lock, RLock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from difa.document import BoolArray, Encoded, FloatArray, IntArray, all_words

_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # spreads keys that are close together over all of a table
_MOST = 1 << 17  # words held at most
_MOST_CHARACTERS = 1 << 21  # characters that they have together at most: a service is sent words of any length


class _Vocabulary(dict[str, int]):
    """Words and their numbers; a word that is looked up for the first time gets the next one."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self._characters, self._lock = 0, Lock()

    def __missing__(self, word: str) -> int:
        with self._lock:
            if (known := self.get(word)) is not None:
                return known
            self.words.append(word)
            self._characters += len(word)
            self[word] = number = len(self)
            return number

    @property
    def is_full(self) -> bool:
        return len(self) > _MOST or self._characters > _MOST_CHARACTERS


class _Known:
    """The vocabulary in use."""

    vocabulary = _Vocabulary()


class Batch(tuple[Encoded, ...]):
    """Documents that views look at together, and what several views ask of them, found once."""

    @classmethod
    def of(cls, documents: Sequence[Encoded]) -> Batch:
        """The same documents."""
        return documents if isinstance(documents, Batch) else cls(documents)

    @cached_property
    def lengths(self) -> IntArray:
        """Words of each document: (documents,)."""
        return np.array([len(document) for document in self], dtype=np.int64)

    @cached_property
    def starts(self) -> IntArray:
        """Position of each document's first word among all words, and behind them the number of words: (documents + 1,)."""
        return np.concatenate([[0], np.cumsum(self.lengths)])

    @cached_property
    def is_first(self) -> BoolArray:
        """Whether a word is the first of its document: (T,)."""
        first = np.zeros(int(self.starts[-1]), dtype=bool)
        first[self.starts[:-1][self.lengths > 0]] = True
        return first

    @cached_property
    def is_last(self) -> BoolArray:
        """Whether a word is the last of its document: (T,)."""
        return np.append(self.is_first[1:], True)[: self.starts[-1]]

    @cached_property
    def is_apart(self) -> BoolArray:
        """Whether a word is no neighbour of the one before: it is the first, or ignored ones stand between them: (T,)."""
        apart = self.is_first.copy()
        apart[[start + at for start, item in zip(self.starts.tolist(), self, strict=False) for at in item.gaps]] = True
        return apart

    @cached_property
    def words(self) -> list[str]:
        """The words of all documents, one document behind the other."""
        return all_words(self)

    @cached_property
    def pieces(self) -> IntArray:
        """The number of subwords of each word: (T,)."""
        return np.concatenate([np.empty(0, np.int64), *(document.pieces for document in self)])

    @cached_property
    def vocabulary(self) -> _Vocabulary:
        """What numbers the words."""
        if _Known.vocabulary.is_full:
            _Known.vocabulary = _Vocabulary()
        return _Known.vocabulary

    @cached_property
    def numbers(self) -> IntArray:
        """The number of each word: (T,)."""
        return np.fromiter(map(self.vocabulary.__getitem__, self.words), np.intp, len(self.words))

    def once(self, asker: object, find: Callable[[], FloatArray]) -> FloatArray:
        """What is found of the documents for someone, kept for the next time."""
        known: dict[object, FloatArray] = vars(self).setdefault("_known", {})
        if asker not in known:
            known[asker] = find()
        return known[asker]


class _Table(NamedTuple):
    """Rows by the numbers of words, and which there are."""

    vocabulary: _Vocabulary
    rows: NDArray[Any]
    is_known: BoolArray


class WordCache:
    """A function from words to numbers, computed once for each distinct word.

    Args:
        compute: gives the rows of some words.
        shape: of the row of one word; nothing for a single number.
        dtype: of the numbers.
    """

    def __init__(self, compute: Callable[[Sequence[str]], Any], *shape: int, dtype: Any = float) -> None:
        self._compute, self._lock = compute, RLock()
        self._table = _Table(_Vocabulary(), np.empty((0, *shape), dtype), np.zeros(0, bool))

    def of(self, batch: Batch, places: IntArray | slice = slice(None)) -> NDArray[Any]:
        """The numbers of each word, or of the words at some places: (T, *shape)."""
        table, numbers = self._table, batch.numbers[places]
        has_room = table.vocabulary is batch.vocabulary and numbers.max(initial=-1) < len(table.rows)
        if not has_room or not table.is_known[numbers].all():
            with self._lock:
                table = self._table = self._filled(batch.vocabulary, numbers)
        return table.rows[numbers]

    def _filled(self, vocabulary: _Vocabulary, numbers: IntArray) -> _Table:
        """A table that has the rows of these words."""
        _, rows, is_known = table = self._table
        if table.vocabulary is not vocabulary or numbers.max(initial=-1) >= len(rows):
            held = len(rows) if table.vocabulary is vocabulary else 0
            size = max(256, 2 * len(vocabulary))  # what was handed out stays as it is: a larger copy takes its place
            rows, is_known = np.empty((size, *rows.shape[1:]), rows.dtype), np.zeros(size, bool)
            rows[:held], is_known[:held] = table.rows[:held], table.is_known[:held]
        missing = np.unique(numbers[~is_known[numbers]])
        if len(missing):
            rows[missing] = self._compute([vocabulary.words[number] for number in missing.tolist()])
            is_known[missing] = True
        return _Table(vocabulary, rows, is_known)


class PairCache:
    """A function from two neighbours to a number, computed once for most pairs."""

    def __init__(self, compute: Callable[[Sequence[str], Sequence[str]], FloatArray]) -> None:
        self._compute = compute
        self._table = _Vocabulary(), AnswerTable(bits=1)

    def of(self, batch: Batch, places: IntArray) -> FloatArray:
        """The number of the words at some places with those behind them."""
        vocabulary, table = self._table
        if vocabulary is not batch.vocabulary:
            vocabulary, table = self._table = batch.vocabulary, AnswerTable(bits=16)

        def compute(keys: IntArray) -> FloatArray:
            left, right = ([vocabulary.words[number] for number in side.tolist()] for side in (keys >> 32, keys & 0xFFFFFFFF))
            return self._compute(left, right)

        return table.find(batch.numbers[places] << 32 | batch.numbers[places + 1], compute)


class AnswerTable:
    """Answers to questions that are numbers, in a table of fixed size: each place has the last two that fell into it."""

    def __init__(self, bits: int) -> None:
        self._shift, self._lock = np.uint64(64 - bits), Lock()
        # A key, all of its bits turned, and beside it in memory the bits of its answer; then those that were there before. Turned
        # keys are never 0, so an empty table is all zeros, which take no memory until they are used.
        self._rows = np.zeros((1 << bits, 4), np.int64)

    def find(self, keys: IntArray, answer: Callable[[IntArray], FloatArray]) -> FloatArray:
        """The answer to each question: (T,).

        Args:
            keys: of at least 0: (T,).
            answer: the answers to some of the keys, which the table does not have.
        """
        places = ((keys.view(np.uint64) * _SPREAD) >> self._shift).view(np.int64)
        turned = ~keys
        with self._lock:
            rows = self._rows[places]
        answers = np.where(rows[:, 0] == turned, rows[:, 1], rows[:, 3]).view(np.float64)
        missing = np.flatnonzero((rows[:, 0] != turned) & (rows[:, 2] != turned))
        if len(missing):
            asked, which = np.unique(keys[missing], return_inverse=True)
            answers[missing] = answer(asked)[which]
            new = missing[np.unique(places[missing], return_index=True)[1]]  # one for each place
            with self._lock:
                earlier = self._rows[places[new], :2]
                self._rows[places[new]] = np.column_stack([turned[new], answers[new].view(np.int64), earlier])
        return answers
