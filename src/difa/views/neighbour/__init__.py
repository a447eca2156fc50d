"""Neighbour view: how far is the word's vector from the nearest vector of normal text?

Normal vectors are kept in a bank of bounded size, so that a model's size and cost do not grow with the corpus. A word that
occurs c times has rows in proportion to c^¾: frequent words keep the variety of their contexts, rare ones are covered better
than by chance, and a bank drawn from part of a corpus is as dense as one drawn from all of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from difa.config import NeighbourConfig
from difa.document import Encoded, FloatArray, IntArray, Reason, split_by
from difa.knowledge.letters import fold
from difa.views.masking import rare_words
from difa.views.neighbour.nearest_search import NearestSearch
from difa.views.packed_strings import pack, unpack
from difa.views.view import Lesson, ViewKind

_SHARE = 0.75  # the power of a word's count with which its rows in the bank grow


@dataclass(frozen=True)
class NeighbourView:
    """A bank of normal word vectors (N, d), and the word of each."""

    config: NeighbourConfig
    bank: FloatArray
    words: tuple[str, ...]
    threads: int | None = None

    name = "neighbour"

    @classmethod
    def fit(
        cls,
        documents: Sequence[Encoded],
        config: NeighbourConfig,
        seed: int,
        threads: int | None = None,
        *,
        rare: Collection[str] | None = None,
    ) -> NeighbourView:
        """Choose the bank; words that are rare, as counts know them, go without their names, and numbers without digits."""
        words = [word for document in documents for word in document.words]
        vectors = np.concatenate([document.vectors for document in documents]).astype(np.float32)
        chosen = choose(words, config.bank, np.random.default_rng(seed)).tolist()
        # In alphabetical order: that of the documents would let runs of their words be read from a saved model.
        words = words if rare is None else [_shown(word, rare) for word in words]
        chosen.sort(key=lambda index: (words[index], vectors[index].tobytes()))
        return cls(config, np.ascontiguousarray(vectors[chosen]), tuple(words[index] for index in chosen), threads)

    @classmethod
    def restore(cls, config: NeighbourConfig, tensors: Mapping[str, FloatArray], threads: int | None = None) -> NeighbourView:
        return cls(config, tensors["bank"], tuple(unpack(tensors["bytes"], tensors["lengths"])), threads)

    def raw(self, documents: Sequence[Encoded]) -> list[FloatArray]:
        """Euclidean distance to the nearest vector of the bank."""
        if not documents:
            return []
        alone = len(documents) == 1  # perhaps a long one, which need not be copied
        squares, _ = self._index.find(
            documents[0].vectors if alone else np.concatenate([document.vectors for document in documents])
        )
        return split_by(map(len, documents), np.sqrt(squares))

    def explain(self, document: Encoded) -> list[list[Reason]]:
        """Which normal word is nearest."""
        squares, nearest = self._index.find(document.vectors)
        return [
            [Reason(f"nearest use in normal text: {_name(self.words[index])} at distance {square**0.5:.2g}", 1.0)]
            for square, index in zip(squares.tolist(), nearest.tolist(), strict=True)
        ]

    def tensors(self) -> Mapping[str, FloatArray | IntArray]:
        return {**pack(self.words), "bank": self.bank}

    def graph(self) -> bytes | None:
        return None

    @cached_property
    def _index(self) -> NearestSearch:
        return NearestSearch(self.bank, self.threads)


def _shown(word: str, rare: Collection[str]) -> str:
    return "" if fold(word) in rare else "".join("0" if character.isdigit() else character for character in word)


def _name(word: str) -> str:
    return repr(word) if word else "a rare word"


def choose(words: Sequence[str], size: int, rng: np.random.Generator) -> IntArray:
    """Positions of at most `size` words: of a word that occurs c times, in proportion to c^¾."""
    if len(words) <= size:
        return np.arange(len(words))
    positions_of: dict[str, list[int]] = defaultdict(list)
    for position, word in enumerate(words):
        positions_of[word.lower()].append(position)
    turn = np.zeros(len(words))
    for positions in positions_of.values():
        turn[rng.permutation(positions)] = (np.arange(len(positions)) + rng.random()) / len(positions) ** _SHARE
    return np.sort(np.argsort(turn, kind="stable")[:size])


def _fit(lesson: Lesson) -> NeighbourView:
    config, least = lesson.config, lesson.config.privacy.least_documents
    rare = rare_words(lesson.documents, least, lesson.language) if least > 1 else None
    return NeighbourView.fit(lesson.documents, config.neighbour, lesson.seed, config.encoder.threads, rare=rare)


VIEW = ViewKind(
    fit=_fit,
    restore=lambda saved: NeighbourView.restore(saved.config.neighbour, saved.tensors, saved.threads),
    needs_vectors=True,
)
