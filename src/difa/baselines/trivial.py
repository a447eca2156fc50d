"""Baselines that need no vectors: a method that loses to one of them has learned little.

Word length, rarity of the word in the training words, surprise of its characters, and the length of the document, which
every word of it gets as its score.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from difa.document import Encoded, FloatArray
from difa.errors import NotFittedError


class OnWords:
    """A method that looks at strings as a baseline; subclasses say what they learn of the words' counts, and score one word."""

    is_fitted = False

    def fit(self, documents: Sequence[Encoded]) -> None:
        """Count words, and learn from their counts."""
        self.learn(Counter(word for document in documents for word in document.words))
        self.is_fitted = True

    def word_scores(self, documents: Sequence[Encoded]) -> list[FloatArray]:
        if not self.is_fitted:
            raise NotFittedError(f"expected a fitted {type(self).__name__}: call fit(documents) first")
        return [np.array([self.score(word, document) for word in document.words], dtype=np.float64) for document in documents]

    def learn(self, counts: Counter[str]) -> None:
        """Nothing to learn, unless a subclass says so."""

    def score(self, word: str, document: Encoded) -> float:
        """Higher for a word that is more unusual."""
        raise NotImplementedError


class WordLength(OnWords):
    """Characters in the word."""

    def score(self, word: str, document: Encoded) -> float:
        return len(word)


class DocumentLength(OnWords):
    """Words in the document, the same for each of them."""

    def score(self, word: str, document: Encoded) -> float:
        return len(document)


class UnigramRarity(OnWords):
    """−log of the word's share of the training words, in nats, case ignored, one added to every count."""

    def learn(self, counts: Counter[str]) -> None:
        self.counts: Counter[str] = Counter()
        for word, count in counts.items():
            self.counts[word.lower()] += count
        self.total = self.counts.total() + len(self.counts) + 1

    def score(self, word: str, document: Encoded) -> float:
        return -math.log((self.counts[word.lower()] + 1) / self.total)


class CharacterTrigrams(OnWords):
    """Surprise of a word's characters, each given the two before it, summed, in nats; case ignored."""

    def __init__(self, smoothing: float = 0.01) -> None:
        self.smoothing = smoothing  # added to the count of every trigram, seen or not

    def learn(self, counts: Counter[str]) -> None:
        """Count trigrams of the words between their edges, and the pairs they begin with."""
        self.triples: Counter[str] = Counter()
        self.pairs: Counter[str] = Counter()
        for word, count in counts.items():
            for triple in _triples(word):
                self.triples[triple] += count
                self.pairs[triple[:2]] += count
        self.alphabet = len({triple[2] for triple in self.triples}) + 1

    def score(self, word: str, document: Encoded) -> float:
        return sum(-math.log(self._share(triple)) for triple in _triples(word))

    def _share(self, triple: str) -> float:
        return (self.triples[triple] + self.smoothing) / (self.pairs[triple[:2]] + self.smoothing * self.alphabet)


def _triples(word: str) -> list[str]:
    """Trigrams of a word with its edges marked: "to" gives ··t, ·to, to·."""
    edged = f"\x02\x02{word.lower()}\x03"
    return [edged[at : at + 3] for at in range(len(edged) - 2)]
