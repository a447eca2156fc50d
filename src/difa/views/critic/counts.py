"""Normal documents -> counts of words, pairs of neighbours and shapes of words: what the critic keeps of the corpus.

A document that was counted itself is described as if it were new: its own counts are taken off those of the corpus. Edges of a
document count as neighbours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby, islice, pairwise

import numpy as np
from numpy.typing import NDArray

from difa.document import Encoded, FloatArray, IntArray
from difa.knowledge.letters import fold
from difa.views.stored_words import Mask, most_frequent, pack, rare_words, unpack_values

EDGE = "\x00"
"""Stands before the first word of a document and behind its last."""


@lru_cache(maxsize=1 << 16)
def shape_of(word: str) -> str:
    """Capitals, letters, digits and marks of a word, runs taken together: "Mar-2024" is "Xx-0"."""
    kinds = ["X" if c.isupper() else "x" if c.isalpha() else "0" if c.isdigit() else c for c in word[:60]]
    return "".join(kind for kind, _ in groupby(kinds))


class DocumentCounts:
    """Counts of one document, to be taken off those of the corpus that it is part of."""

    def __init__(self, document: Encoded) -> None:
        folded = [fold(word) for word in document.words]
        self.words = Counter(folded)
        self.pairs = Counter(pairwise([EDGE, *folded, EDGE]))
        self.shapes = Counter(map(shape_of, document.words))
        self.total = len(folded)

    def of(self, document: Encoded) -> tuple[list[int], ...]:
        """The fields of `OwnCounts` for each word of a document: this one, or a copy of it with errors."""
        folded = [EDGE, *(fold(word) for word in document.words), EDGE]
        words, pairs = [1 if word == EDGE else self.words[word] for word in folded], [self.pairs[p] for p in pairwise(folded)]
        shapes, total = [self.shapes[shape_of(word)] for word in document.words], [self.total] * len(document)
        own = [self.words[word] for word in folded[1:-1]]
        return own, shapes, total, pairs[:-1], pairs[1:], words[:-2], words[2:]


@dataclass(frozen=True)
class OwnCounts:
    """How often each word, its shape and its neighbours stand in its own document: (T,), or 0 for all."""

    is_first: NDArray[np.bool_]
    is_apart: NDArray[np.bool_]
    """Whether a word is no neighbour of the one before: it is the first, or ignored ones stand between them."""
    is_last: NDArray[np.bool_]
    words: IntArray
    shapes: IntArray
    total: IntArray
    left_pairs: IntArray
    right_pairs: IntArray
    left_words: IntArray
    right_words: IntArray

    @classmethod
    def of(cls, documents: Sequence[Encoded], own: Sequence[DocumentCounts] | None) -> OwnCounts:
        """Those of all documents; zeros where `own` is not given: the documents are new."""
        lengths = np.array([len(document) for document in documents], dtype=np.int64)
        ends = np.cumsum(lengths)
        is_first, is_last = np.zeros((2, int(lengths.sum())), dtype=bool)
        is_first[(ends - lengths)[lengths > 0]] = True
        is_last[ends[lengths > 0] - 1] = True
        is_apart = is_first.copy()
        is_apart[[start + at for start, item in zip(ends - lengths, documents, strict=True) for at in item.gaps]] = True
        if own is None:
            return cls(is_first, is_apart, is_last, *[np.zeros(1, np.int64)] * 7)
        rows: list[list[int]] = [[] for _ in range(7)]
        for document, counted in zip(documents, own, strict=True):
            for row, values in zip(rows, counted.of(document), strict=True):
                row += values
        return cls(is_first, is_apart, is_last, *(np.array(row, dtype=np.int64) for row in rows))


@dataclass(frozen=True)
class CorpusCounts:
    """Counts of a corpus, the most frequent first."""

    words: Mapping[str, int]
    """By the names that the mask gives them."""
    shapes: Mapping[str, int]
    pairs: IntArray
    """Left word, right word and count of each pair: words are numbered from 1 in their order, 0 is the edge of a document."""
    totals: IntArray | None = None
    """How many neighbours each word has, as `Pairs` knows them, where some pairs are left out: (words + 2, 4)."""
    mask: Mask = field(default_factory=Mask)

    @classmethod
    def of(
        cls, documents: Sequence[Encoded], vocabulary: int, most_pairs: int, language: str | None, min_documents: int = 1
    ) -> CorpusCounts:
        """Count normal documents; of very many words or pairs the most frequent are kept.

        Words and shapes that fewer than `min_documents` have are kept under names that cannot be read, and pairs not at all:
        runs of words could be followed through them. How many neighbours a word has stays as it was counted.
        """
        words: Counter[str] = Counter()
        pairs: Counter[tuple[str, str]] = Counter()
        shapes: Counter[str] = Counter()
        with_pair: Counter[tuple[str, str]] = Counter()  # documents that have it
        with_shape: Counter[str] = Counter()
        for document in documents:
            own = DocumentCounts(document)
            for total, counts in ((words, own.words), (pairs, own.pairs), (shapes, own.shapes)):
                total.update(counts)  # type: ignore[arg-type]
            with_pair.update(own.pairs.keys())
            with_shape.update(own.shapes.keys())
        mask = Mask.of(words) if min_documents > 1 else Mask()
        rare = rare_words(documents, min_documents, language)
        kept = most_frequent(words, vocabulary)
        named = mask.apply(kept, rare)
        number = {EDGE: 0} | {name: at for at, name in enumerate(named, 1)}
        number |= {word: number[mask.name(word, named)] for word in kept}
        known = {
            pair: count for pair, count in most_frequent(pairs, most_pairs).items() if pair[0] in number and pair[1] in number
        }
        told = {pair: count for pair, count in known.items() if with_pair[pair] >= min_documents}
        totals = count_neighbours(number_pairs(known, number), len(named) + 2) if min_documents > 1 else None
        few = {shape for shape, count in with_shape.items() if count < min_documents}
        return cls(named, mask.apply(dict(sorted(shapes.items())), few), number_pairs(told, number), totals, mask)

    def extended(
        self, documents: Sequence[Encoded], vocabulary: int, language: str | None, min_documents: int = 1
    ) -> CorpusCounts:
        """The same with the words and shapes of further documents; new words come behind the others while there is room.

        Pairs stay: the networks were never shown a pair that the word's own document alone has, and take it for an error.
        """
        words: Counter[str] = Counter()
        shapes: Counter[str] = Counter()
        with_shape: Counter[str] = Counter()
        for own in map(DocumentCounts, documents):
            words.update(own.words)
            shapes.update(own.shapes)
            with_shape.update(own.shapes.keys())
        mask = self.mask if self.mask.key or min_documents <= 1 else Mask.of(words)
        named = mask.add(self.words, words, rare_words(documents, min_documents, language))
        named = dict(islice(named.items(), max(vocabulary, len(self.words))))
        few = {shape for shape, count in with_shape.items() if count < min_documents}
        totals = self.totals
        if totals is not None:  # the last row is that of all other words
            new = np.zeros((len(named) - len(self.words), totals.shape[1]), dtype=totals.dtype)
            totals = np.concatenate([totals[:-1], new, totals[-1:]])
        return CorpusCounts(named, mask.add(self.shapes, shapes, few), self.pairs, totals, mask)

    def tensors(self) -> dict[str, FloatArray | IntArray]:
        """The counts as arrays."""
        return {
            **{f"words.{name}": value for name, value in pack(list(self.words)).items()},
            "words.counts": np.array(list(self.words.values()), dtype=np.int64),
            "pairs": self.pairs,
            **({} if self.totals is None else {"totals": self.totals}),
            **{f"shapes.{name}": value for name, value in pack(list(self.shapes)).items()},
            "shapes.counts": np.array(list(self.shapes.values()), dtype=np.int64),
            **self.mask.tensors(),
        }

    @classmethod
    def restore(cls, tensors: Mapping[str, FloatArray]) -> CorpusCounts:
        return cls(
            unpack_values(tensors, prefix="words."),
            unpack_values(tensors, prefix="shapes."),
            tensors["pairs"].astype(np.int64),
            tensors["totals"].astype(np.int64) if "totals" in tensors else None,
            Mask.restore(tensors),
        )


class Pairs:
    """CorpusCounts pairs of neighbours."""

    def __init__(self, counted: IntArray, size: int, totals: IntArray | None = None) -> None:
        """Take them over.

        Args:
            counted: left word, right word and count of each pair: (pairs, 3).
            size: numbers in the vocabulary.
            totals: what `after` and `before` say, side by side, where `counted` lacks some of the pairs: (size, 4).
        """
        if counted.ndim != 2 or counted.shape[1] != 3 or (counted < 0).any() or (counted[:, :2] >= size).any():
            raise ValueError(f"expected pairs of numbers below {size} with their counts")
        if totals is not None and (totals.shape != (size, 4) or (totals < 0).any()):
            raise ValueError(f"expected neighbours of {size} words, got an array of shape {totals.shape}")
        self._size = size
        keys = counted[:, 0] * size + counted[:, 1]
        order = np.argsort(keys, kind="stable")
        # The last key is larger than any that can be asked for, so that a search always ends at one.
        self._keys, self._counts = np.append(keys[order], size * size), np.append(counted[order, 2], 0)
        self.totals = count_neighbours(counted, size) if totals is None else totals
        self.after = self.totals[:, :2]
        """For each word: how often it has a right neighbour, and how many different ones: (size, 2)."""
        self.before = self.totals[:, 2:]
        """The same on its left."""

    def together(self, left: IntArray, right: IntArray) -> IntArray:
        """How often each pair was counted: (T,)."""
        keys = left * self._size + right
        order = np.argsort(keys)  # looked up in order, keys are found several times as fast
        at = np.empty(len(keys), np.intp)
        at[order] = np.searchsorted(self._keys, keys[order])
        return np.where(self._keys[at] == keys, self._counts[at], 0)


def count_neighbours(counted: IntArray, size: int) -> IntArray:
    """For each word: how often it has a right neighbour, how many different ones, and the same on its left: (size, 4)."""
    return np.concatenate([_totals(counted, 0, size), _totals(counted, 1, size)], axis=1)


def number_pairs(pairs: Mapping[tuple[str, str], int], number: Mapping[str, int]) -> IntArray:
    """Pairs of words as numbers with their counts: (pairs, 3)."""
    rows = [(number[left], number[right], count) for (left, right), count in pairs.items()]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def _totals(counted: IntArray, side: int, size: int) -> IntArray:
    """For each word: pairs that have it on that side, and how many different ones: (size, 2)."""
    counts = np.bincount(counted[:, side], weights=counted[:, 2], minlength=size)
    return np.stack([counts, np.bincount(counted[:, side], minlength=size)], axis=1).astype(np.int64)


def nats_beside(chance: FloatArray, together: IntArray, totals: IntArray, own_pairs: IntArray, own_words: IntArray) -> FloatArray:
    """How much rarer (in nats) words are beside a neighbour than on the whole, Witten–Bell smoothed: (T,).

    Args:
        chance: of the words: (T,).
        together: how often they stand beside their neighbour.
        totals: how often the neighbour has any on that side, and how many different ones: (T, 2).
        own_pairs: how often their own document has the two together, which is to be taken off.
        own_words: how often it has the neighbour.
    """
    total, kinds = totals[:, 0] - own_words, totals[:, 1] - ((own_pairs > 0) & (own_pairs >= together))
    seen, rest = total > 0, np.maximum(together - own_pairs, 0)
    ratio = chance * (total + kinds) / (rest + np.maximum(kinds, 1) * chance)
    return np.log(np.where(seen, ratio, 1.0))
