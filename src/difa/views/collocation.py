"""Collocation view: is the word out of place between its neighbours?

How much rarer is the word beside its left or right neighbour than it is on the whole: P(w) / P(w | neighbour), the larger of the
two sides. Pairs are counted in normal text; P(w | neighbour) backs off to P(w) by Witten–Bell smoothing, so a neighbour
that says nothing about the word gives a ratio of one. Doubled, dropped and swapped function words show here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from difa.config import CollocationConfig
from difa.document import Encoded, FloatArray, IntArray, Reason, split_by
from difa.knowledge.letters import fold
from difa.knowledge.remembered import Remembered
from difa.views.masking import Mask, most_frequent, rare_words
from difa.views.neighbour_counts import Pairs, count_neighbours, ratio_beside
from difa.views.packed_strings import pack, unpack
from difa.views.view import Lesson, ViewKind

_UNKNOWN, _EDGE = 0, 1  # numbers of words that are not in the vocabulary, and of the places before and after a document
_NAMES = ["", ""]  # what stands at those numbers in the saved vocabulary


class CollocationView:
    """Counts of words and of pairs of neighbours in normal text."""

    name = "collocation"

    def __init__(
        self,
        config: CollocationConfig,
        words: Sequence[str],
        counts: IntArray,
        pairs: IntArray,
        totals: IntArray | None = None,
        mask: Mask | None = None,
    ) -> None:
        self.config, self._mask = config, mask or Mask()
        self._words, self._counts, self._pairs = list(words), counts, pairs
        self._number = {word: number for number, word in enumerate(words) if number > _EDGE}
        total = counts.sum()
        self._chance = (counts + 0.5) / (total + 0.5 * len(counts))
        self._beside, self._totals = Pairs(pairs, len(counts), totals), totals
        self._numbers = Remembered(lambda word: (self._number.get(self._mask.name(fold(word), self._number), _UNKNOWN),), 1)

    @classmethod
    def fit(
        cls, documents: Sequence[Encoded], config: CollocationConfig, language: str | None = None, least: int = 1
    ) -> CollocationView:
        """Count words and pairs; of very many the most frequent are kept, and pairs only if `least` documents have them."""
        folded = [[fold(word) for word in document.words] for document in documents]
        counted = Counter(word for words in folded for word in words)
        mask = Mask.of(counted) if least > 1 else Mask()
        kept = most_frequent(counted, config.vocabulary)
        named = mask.apply(kept, rare_words(documents, least, language))
        words = [*_NAMES, *named]
        counts = np.array([0, 0, *named.values()], dtype=np.int64)
        place = {name: number for number, name in enumerate(words) if number > _EDGE}
        number = {word: place[mask.name(word, place)] for word in kept}
        pairs: Counter[tuple[int, int]] = Counter()
        with_pair: Counter[tuple[int, int]] = Counter()  # documents that have it
        for document in folded:
            numbers = [_EDGE, *(number.get(word, _UNKNOWN) for word in document), _EDGE]
            own = Counter(pairwise(numbers))
            pairs.update(own)
            with_pair.update(own.keys())
        most = [(*pair, count) for pair, count in most_frequent(pairs, config.pairs).items()]
        told = [row for row in most if with_pair[row[:2]] >= least]
        totals = count_neighbours(_rows(most), len(words)) if least > 1 else None
        return cls(config, words, counts, _rows(told), totals, mask)

    @classmethod
    def restore(cls, config: CollocationConfig, tensors: Mapping[str, FloatArray]) -> CollocationView:
        words = unpack(tensors["bytes"], tensors["lengths"])
        counts, pairs = tensors["counts"].astype(np.int64), tensors["pairs"].astype(np.int64)
        if counts.shape != (len(words),) or (counts < 0).any():
            raise ValueError(f"expected counts of {len(words)} words, got an array of shape {counts.shape}")
        totals = tensors["totals"].astype(np.int64) if "totals" in tensors else None
        return cls(config, words, counts, pairs, totals, Mask.restore(tensors))

    def raw(self, documents: Sequence[Encoded]) -> list[FloatArray]:
        """The larger of the two ratios."""
        return split_by(map(len, documents), self._ratios(documents).max(axis=1)) if documents else []

    def explain(self, document: Encoded) -> list[list[Reason]]:
        """Beside which neighbour the word is out of place."""
        ratios = self._ratios([document])
        reasons = []
        for t, (left, right) in enumerate(ratios.tolist()):
            before = repr(document.words[t - 1]) if t else "the start"
            after = repr(document.words[t + 1]) if t + 1 < len(document) else "the end"
            beside = sorted([(left, f"after {before}"), (right, f"before {after}")], reverse=True)
            reasons.append([Reason(_phrase(ratio, neighbour), ratio / (left + right)) for ratio, neighbour in beside])
        return reasons

    def tensors(self) -> Mapping[str, FloatArray | IntArray]:
        totals = {} if self._totals is None else {"totals": self._totals}
        return {**pack(self._words), "counts": self._counts, "pairs": self._pairs, **totals, **self._mask.tensors()}

    def graph(self) -> bytes | None:
        return None

    def _ratios(self, documents: Sequence[Encoded]) -> FloatArray:
        """P(w) / P(w | neighbour) for the left and the right neighbour of all words: (T, 2)."""
        words = self._numbers.of(word for document in documents for word in document.words)[:, 0].astype(np.int64)
        lengths = np.array([len(document) for document in documents], dtype=np.int64)
        # An edge ends each document and begins the next, and one more begins the first.
        word = np.arange(len(words)) + np.repeat(np.arange(len(lengths)), lengths) + 1
        number = np.full(len(words) + len(lengths) + 1, _EDGE, dtype=np.int64)
        number[word] = words
        left, right, pairs = number[word - 1], number[word + 1], self._beside
        chance = self._chance[words]
        return np.stack(
            [
                ratio_beside(chance, pairs.together(left, words), *pairs.after[left].T),
                ratio_beside(chance, pairs.together(words, right), *pairs.before[right].T),
            ],
            axis=1,
        )


def _phrase(ratio: float, neighbour: str) -> str:
    if 0.8 < ratio < 1.25:
        return f"as likely {neighbour} as on the whole"
    return f"{max(ratio, 1 / ratio):.2g} times {'rarer' if ratio > 1 else 'likelier'} {neighbour} than on the whole"


def _rows(pairs: Sequence[tuple[int, int, int]]) -> IntArray:
    return np.array(pairs, dtype=np.int64).reshape(-1, 3)


def _fit(lesson: Lesson) -> CollocationView:
    config = lesson.config
    return CollocationView.fit(lesson.documents, config.collocation, lesson.language, config.privacy.least_documents)


VIEW = ViewKind(
    fit=_fit,
    restore=lambda saved: CollocationView.restore(saved.config.collocation, saved.tensors),
    extend=lambda view, further: view,  # pairs that few documents have are not kept: they cannot be counted on
)
