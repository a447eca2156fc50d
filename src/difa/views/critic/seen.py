"""Which counts of the corpus are a document's own: to be taken off before its words are described, as if it were new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from difa.document import Encoded, IntArray
from difa.knowledge.letters import fold
from difa.views.critic.strings import shape_of

EDGE = "\x00"
"""Stands before the first word of a document and behind its last."""


class Own:
    """Counts of one document, to be taken off those of the corpus it is part of."""

    def __init__(self, document: Encoded) -> None:
        folded = [fold(word) for word in document.words]
        self.words = Counter(folded)
        self.pairs = Counter(pairwise([EDGE, *folded, EDGE]))
        self.shapes = Counter(map(shape_of, document.words))
        self.total = len(folded)

    def of(self, document: Encoded) -> tuple[list[int], ...]:
        """What the fields of `Seen` say of each word of a document: the same one, or one with errors made in it."""
        folded = [EDGE, *(fold(word) for word in document.words), EDGE]
        words, pairs = [1 if word == EDGE else self.words[word] for word in folded], [self.pairs[p] for p in pairwise(folded)]
        shapes, total = [self.shapes[shape_of(word)] for word in document.words], [self.total] * len(document)
        own = [self.words[word] for word in folded[1:-1]]
        return own, shapes, total, pairs[:-1], pairs[1:], words[:-2], words[2:]


@dataclass(frozen=True)
class Seen:
    """Where documents begin and end, and how often they have counted each word, its shape and its neighbours: (T,) or 0."""

    is_first: NDArray[np.bool_]
    is_last: NDArray[np.bool_]
    words: IntArray
    shapes: IntArray
    total: IntArray
    left_pairs: IntArray
    right_pairs: IntArray
    left_words: IntArray
    right_words: IntArray

    @classmethod
    def of(cls, documents: Sequence[Encoded], own: Sequence[Own] | None) -> Seen:
        """All of them at once; nothing is counted where `own` is not given."""
        lengths = np.array([len(document) for document in documents], dtype=np.int64)
        ends = np.cumsum(lengths)
        is_first, is_last = np.zeros((2, int(lengths.sum())), dtype=bool)
        is_first[(ends - lengths)[lengths > 0]] = True
        is_last[ends[lengths > 0] - 1] = True
        if own is None:
            return cls(is_first, is_last, *[np.zeros(1, np.int64)] * 7)
        rows: list[list[int]] = [[] for _ in range(7)]
        for document, counted in zip(documents, own, strict=True):
            for row, values in zip(rows, counted.of(document), strict=True):
                row += values
        return cls(is_first, is_last, *(np.array(row, dtype=np.int64) for row in rows))
