"""Normal documents -> counts of words, pairs of neighbours and shapes of words: what the critic keeps of the corpus.

A document that was counted itself is described as if it were new: its own counts are taken off those of the corpus. Edges of a
document count as neighbours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, groupby, islice, pairwise

import numpy as np

from difa.document import Encoded, FloatArray, IntArray
from difa.knowledge.letters import fold
from difa.views import TrainingData
from difa.views.stored_words import Mask, count_words, document_counts, most_frequent, pack_values, unpack_values

EDGE = "\x00"
"""Stands before the first word of a document and behind its last."""


@lru_cache(maxsize=1 << 16)
def shape_of(word: str) -> str:
    """Capitals, letters, digits and marks of a word, runs taken together: "Mar-2024" is "Xx-0"."""
    kinds = ["X" if c.isupper() else "x" if c.isalpha() else "0" if c.isdigit() else c for c in word[:60]]
    return "".join(kind for kind, _ in groupby(kinds))


def pairs_of(document: Encoded) -> list[tuple[str, str]]:
    """Neighbours, by the names under which words are counted."""
    return list(pairwise([EDGE, *map(fold, document.words), EDGE]))


class DocumentCounts:
    """Counts of one document, to be taken off those of the corpus that it is part of."""

    def __init__(self, document: Encoded) -> None:
        pairs = pairs_of(document)
        self._pairs, self._total = Counter(pairs), len(document)
        self._words = Counter(left for left, _ in pairs)  # with one edge, as a neighbour has
        self._shapes = Counter(map(shape_of, document.words))

    def of(self, document: Encoded) -> IntArray:
        """The counts in `OwnCounts` for each word of a document, this one or a copy of it with errors: (7, T)."""
        pairs = pairs_of(document)
        beside = [self._pairs[pair] for pair in pairs]
        words = [self._words[left] for left, _ in pairs]
        shapes = [self._shapes[shape_of(word)] for word in document.words]
        rows = (
            words[1:],
            shapes,
            [self._total] * len(document),
            beside[:-1],
            beside[1:],
            words[:-1],
            [*words[2:], 1][: len(document)],
        )
        return np.array(rows, dtype=np.int64)


@dataclass(frozen=True)
class OwnCounts:
    """How often each word, its shape and its neighbours stand in its own document: (T,), or 0 for all."""

    words: IntArray
    shapes: IntArray
    total: IntArray
    left_pairs: IntArray
    right_pairs: IntArray
    left_words: IntArray
    right_words: IntArray

    @classmethod
    def of(cls, documents: Sequence[Encoded], counted: Sequence[Encoded]) -> OwnCounts:
        """Those of all documents from the counted ones that they are made of; zeros where there are none: they are new."""
        rows = np.zeros((7, 1), np.int64)
        if counted:
            once = {id(document): document for document in counted}
            own = {key: DocumentCounts(document) for key, document in once.items()}
            pairs = zip(documents, counted, strict=True)
            rows = np.concatenate([own[id(source)].of(document) for document, source in pairs], axis=1)
        return cls(*rows)


@dataclass(frozen=True)
class CorpusCounts:
    """Counts of a corpus, the most frequent first."""

    words: Mapping[str, int]
    """By the names that the mask gives them."""
    shapes: Mapping[str, int]
    pairs: IntArray
    """Left word, right word and count of each pair: words are numbered from 1 in their order, 0 is the edge of a document."""
    totals: IntArray
    """How many neighbours each word has, as `count_neighbours` counts them, in pairs that are left out, too: (words + 2, 4)."""
    mask: Mask

    @classmethod
    def of(cls, data: TrainingData) -> CorpusCounts:
        """Count normal documents; of very many words or pairs the most frequent are kept.

        Words and shapes that few documents have are kept under names that cannot be read, and pairs not at all: runs of words
        could be followed through them. How many neighbours a word has stays as it was counted.
        """
        documents, config, least = data.documents, data.config.critic, data.config.privacy.least_documents
        words, shapes = data.word_counts, count_words(documents, shape_of)
        pairs = list(map(pairs_of, documents))
        documents_with = Counter(chain.from_iterable(map(set, pairs)))
        mask = Mask.of(words) if least > 1 else Mask()
        kept = most_frequent(words, config.vocabulary)
        named = mask.apply(kept, data.rare_words)
        number = {EDGE: 0} | {name: at for at, name in enumerate(named, 1)}
        number |= {word: number[mask.name(word, named)] for word in kept}
        counted = most_frequent(Counter(chain.from_iterable(pairs)), config.pairs)
        known = {pair: count for pair, count in counted.items() if number.keys() >= set(pair)}
        told = {pair: count for pair, count in known.items() if documents_with[pair] >= least}
        totals = count_neighbours(number_pairs(known, number), len(named) + 2)
        shown = mask.apply(dict(sorted(shapes.items())), _rare_shapes(documents, least))
        return cls(named, shown, number_pairs(told, number), totals, mask)

    def extended(self, data: TrainingData) -> CorpusCounts:
        """The same with the words and shapes of further documents; new words come behind the others while there is room.

        Pairs stay: the networks were never shown a pair that the word's own document alone has, and take it for an error.
        """
        documents, least = data.documents, data.config.privacy.least_documents
        words, shapes = data.word_counts, count_words(documents, shape_of)
        mask = self.mask if self.mask.key or least <= 1 else Mask.of(words)
        named = mask.add(self.words, words, data.rare_words)
        named = dict(islice(named.items(), max(data.config.critic.vocabulary, len(self.words))))
        new = np.zeros((len(named) - len(self.words), 4), dtype=np.int64)
        totals = np.concatenate([self.totals[:-1], new, self.totals[-1:]])  # the last row is that of all other words
        return CorpusCounts(named, mask.add(self.shapes, shapes, _rare_shapes(documents, least)), self.pairs, totals, mask)

    def tensors(self) -> dict[str, FloatArray | IntArray]:
        """The counts as arrays."""
        words, shapes = pack_values(self.words, prefix="words."), pack_values(self.shapes, prefix="shapes.")
        totals = {"totals": self.totals} if self.mask.key else {}  # otherwise no pair is left out, and they follow
        return {**words, **shapes, "pairs": self.pairs, **totals, **self.mask.tensors()}

    @classmethod
    def restore(cls, tensors: Mapping[str, FloatArray]) -> CorpusCounts:
        words, shapes = unpack_values(tensors, prefix="words."), unpack_values(tensors, prefix="shapes.")
        pairs, size = tensors["pairs"].astype(np.int64), len(words) + 2
        if pairs.ndim != 2 or pairs.shape[1] != 3 or (pairs < 0).any() or (pairs[:, :2] >= size).any():
            raise ValueError(f"expected pairs of numbers below {size} with their counts")
        totals = tensors["totals"].astype(np.int64) if "totals" in tensors else count_neighbours(pairs, size)
        if totals.shape != (size, 4) or (totals < 0).any():
            raise ValueError(f"expected neighbours of {size} words, got an array of shape {totals.shape}")
        return cls(words, shapes, pairs, totals, Mask.restore(tensors))

    @cached_property
    def _sorted_pairs(self) -> tuple[IntArray, IntArray]:
        """A key of each pair, from low to high, and its count."""
        size = len(self.totals)
        keys = self.pairs[:, 0] * size + self.pairs[:, 1]
        order = np.argsort(keys, kind="stable")
        # The last key is larger than any that can be asked for, so that a search always ends at one.
        return np.append(keys[order], size * size), np.append(self.pairs[order, 2], 0)

    def together(self, left: IntArray, right: IntArray) -> IntArray:
        """How often each pair of words, by their numbers, was counted: (T,)."""
        known, counts = self._sorted_pairs
        keys = left * len(self.totals) + right
        order = np.argsort(keys)  # looked up in order, keys are found several times as fast
        at = np.empty(len(keys), np.intp)
        at[order] = np.searchsorted(known, keys[order])
        return np.where(known[at] == keys, counts[at], 0)


def _rare_shapes(documents: Sequence[Encoded], least: int) -> set[str]:
    counts = document_counts(documents, lambda document: map(shape_of, document.words))
    return {shape for shape, count in counts.items() if count < least}


def count_neighbours(counted: IntArray, size: int) -> IntArray:
    """For each word: how often it has a right neighbour, how many different ones, and the same on its left: (size, 4)."""
    columns = [np.bincount(words, weights, minlength=size) for words in counted[:, :2].T for weights in (counted[:, 2], None)]
    return np.stack(columns, axis=1).astype(np.int64)


def number_pairs(pairs: Mapping[tuple[str, str], int], number: Mapping[str, int]) -> IntArray:
    """Pairs of words as numbers with their counts: (pairs, 3)."""
    rows = [(number[left], number[right], count) for (left, right), count in pairs.items()]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


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
