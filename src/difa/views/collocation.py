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
from difa.document import Encoded, FloatArray, IntArray, Reason
from difa.views.lexical import fold
from difa.views.strings import pack, unpack

_UNKNOWN, _EDGE = 0, 1  # numbers of words that are not in the vocabulary, and of the places before and after a document
_NAMES = ["", ""]  # what stands at those numbers in the saved vocabulary


class CollocationView:
    """Counts of words and of pairs of neighbours in normal text."""

    name = "collocation"
    side = "meaning"

    def __init__(self, config: CollocationConfig, words: Sequence[str], counts: IntArray, pairs: IntArray) -> None:
        self.config = config
        self._words, self._counts, self._pairs = list(words), counts, pairs
        self._number = {word: number for number, word in enumerate(words) if number > _EDGE}
        total = counts.sum()
        self._chance = (counts + 0.5) / (total + 0.5 * len(counts))
        # For each word: how often it has a neighbour on that side, and how many different ones.
        self._count_of = {(left, right): count for left, right, count in pairs.tolist()}
        self._after = _totals(pairs, 0, len(counts))
        self._before = _totals(pairs, 1, len(counts))

    @classmethod
    def fit(cls, documents: Sequence[Encoded], config: CollocationConfig) -> CollocationView:
        """Count words and pairs; of very many the most frequent are kept."""
        folded = [[fold(word) for word in document.words] for document in documents]
        counted = Counter(word for words in folded for word in words)
        kept = sorted(counted.items(), key=lambda item: (-item[1], item[0]))[: config.vocabulary]
        words = [*_NAMES, *(word for word, _ in kept)]
        counts = np.array([0, 0, *(count for _, count in kept)], dtype=np.int64)
        number = {word: index for index, word in enumerate(words) if index > _EDGE}
        pairs: Counter[tuple[int, int]] = Counter()
        for document in folded:
            numbers = [_EDGE, *(number.get(word, _UNKNOWN) for word in document), _EDGE]
            pairs.update(pairwise(numbers))
        most = sorted(pairs.items(), key=lambda item: (-item[1], item[0]))[: config.pairs]
        return cls(config, words, counts, np.array([(a, b, n) for (a, b), n in most], dtype=np.int64).reshape(-1, 3))

    @classmethod
    def restore(cls, config: CollocationConfig, tensors: Mapping[str, FloatArray]) -> CollocationView:
        words = unpack(tensors["bytes"], tensors["lengths"])
        return cls(config, words, tensors["counts"].astype(np.int64), tensors["pairs"].astype(np.int64))

    def raw(self, documents: Sequence[Encoded]) -> list[FloatArray]:
        """The larger of the two ratios."""
        return [self._ratios(document).max(axis=1) if len(document) else np.zeros(0) for document in documents]

    def explain(self, document: Encoded) -> list[list[Reason]]:
        """Beside which neighbour the word is out of place."""
        ratios = self._ratios(document)
        reasons = []
        for t, (left, right) in enumerate(ratios.tolist()):
            before = repr(document.words[t - 1]) if t else "the start"
            after = repr(document.words[t + 1]) if t + 1 < len(document) else "the end"
            places = sorted([(left, f"after {before}"), (right, f"before {after}")], reverse=True)
            reasons.append([Reason(_phrase(ratio, place), ratio / (left + right)) for ratio, place in places])
        return reasons

    def tensors(self) -> Mapping[str, FloatArray | IntArray]:
        return {**pack(self._words), "counts": self._counts, "pairs": self._pairs}

    def graph(self) -> bytes | None:
        return None

    def _ratios(self, document: Encoded) -> FloatArray:
        """P(w) / P(w | neighbour) for the left and the right neighbour: (T, 2)."""
        numbers = [_EDGE, *(self._number.get(fold(word), _UNKNOWN) for word in document.words), _EDGE]
        ratios = np.ones((len(document), 2))
        for t in range(1, len(numbers) - 1):
            left, word, right = numbers[t - 1 : t + 2]
            ratios[t - 1, 0] = self._ratio(word, self._count_of.get((left, word), 0), self._after[left])
            ratios[t - 1, 1] = self._ratio(word, self._count_of.get((word, right), 0), self._before[right])
        return ratios

    def _ratio(self, word: int, together: int, beside: IntArray) -> float:
        total, kinds = int(beside[0]), int(beside[1])
        if total == 0:
            return 1.0
        chance = float(self._chance[word])
        return chance * (total + kinds) / (together + kinds * chance)


def _phrase(ratio: float, place: str) -> str:
    if 0.8 < ratio < 1.25:
        return f"as likely {place} as on the whole"
    return f"{max(ratio, 1 / ratio):.2g} times {'rarer' if ratio > 1 else 'likelier'} {place} than on the whole"


def _totals(pairs: IntArray, side: int, size: int) -> IntArray:
    """For each word: pairs that have it on that side, and how many different ones: (size, 2)."""
    counts = np.bincount(pairs[:, side], weights=pairs[:, 2], minlength=size)
    return np.stack([counts, np.bincount(pairs[:, side], minlength=size)], axis=1).astype(np.int64)
