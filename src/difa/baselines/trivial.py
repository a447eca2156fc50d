"""What needs no vectors and no thought: nobody may lose to these.

Word length, rarity of the word in the training words, surprise of its characters, and the length of the document, which
every word of it gets as its score.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from difa.baselines import check_fitted
from difa.document import Encoded, FloatArray


class Length:
    """Characters in the word, or words in the document, the same for each of them.

    Args:
        of: `word` or `document`.
    """

    def __init__(self, of: str) -> None:
        self.of = of

    def fit(self, documents: Sequence[Encoded]) -> None:
        """Nothing to learn, but a method that was not fitted is a mistake in the caller."""
        self.fitted_ = True

    def word_scores(self, documents: Sequence[Encoded]) -> list[FloatArray]:
        """Numbers of characters or of words."""
        check_fitted(self, "fitted_")
        if self.of == "word":
            return [np.array([len(word) for word in document.words], dtype=np.float64) for document in documents]
        return [np.full(len(document), float(len(document))) for document in documents]


class UnigramRarity:
    """−log of the word's share of the training words, case ignored, one added to every count."""

    def fit(self, documents: Sequence[Encoded]) -> None:
        """Count words."""
        self.counts_ = Counter(word.lower() for document in documents for word in document.words)
        self.total_ = self.counts_.total() + len(self.counts_) + 1

    def word_scores(self, documents: Sequence[Encoded]) -> list[FloatArray]:
        """Surprise of each word, in nats."""
        check_fitted(self, "counts_")
        return [np.array([self._surprise(word) for word in document.words], dtype=np.float64) for document in documents]

    def _surprise(self, word: str) -> float:
        return -math.log((self.counts_[word.lower()] + 1) / self.total_)


class CharacterTrigrams:
    """Surprise of a word's characters, each given the two before it, summed; case ignored.

    Args:
        smoothing: added to the count of every trigram, seen or not.
    """

    def __init__(self, smoothing: float = 0.01) -> None:
        self.smoothing = smoothing

    def fit(self, documents: Sequence[Encoded]) -> None:
        """Count trigrams of the words between their edges, and the pairs they begin with."""
        words = Counter(word for document in documents for word in document.words)
        self.triples_: Counter[str] = Counter()
        for word, count in words.items():
            for triple in _triples(word):
                self.triples_[triple] += count
        self.pairs_: Counter[str] = Counter()
        for triple, count in self.triples_.items():
            self.pairs_[triple[:2]] += count
        self.alphabet_ = len({triple[2] for triple in self.triples_}) + 1

    def word_scores(self, documents: Sequence[Encoded]) -> list[FloatArray]:
        """Surprise of each word's spelling, in nats."""
        check_fitted(self, "triples_")
        return [np.array([self._surprise(word) for word in document.words], dtype=np.float64) for document in documents]

    def _surprise(self, word: str) -> float:
        return sum(-math.log(self._share(triple)) for triple in _triples(word))

    def _share(self, triple: str) -> float:
        return (self.triples_[triple] + self.smoothing) / (self.pairs_[triple[:2]] + self.smoothing * self.alphabet_)


def _triples(word: str) -> list[str]:
    """Trigrams of a word with its edges marked: "to" gives ··t, ·to, to·."""
    edged = f"\x02\x02{word.lower()}\x03"
    return [edged[at : at + 3] for at in range(len(edged) - 2)]
