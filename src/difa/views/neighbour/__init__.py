"""Neighbour view: how far is the word's vector from the nearest vector of normal text?

Normal vectors are kept in a bank of bounded size, so that a model's size and cost do not grow with the corpus. A word that
occurs c times has rows in proportion to c^¾: frequent words keep the variety of their contexts, rare ones are covered better
than by chance, and a bank drawn from part of a corpus is as dense as one drawn from all of it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from difa.config import Config, NeighbourConfig
from difa.document import IMPLIED, Encoded, FloatArray, IntArray, Reason, ReasonKind, split_by
from difa.knowledge.letters import fold
from difa.views.neighbour.nearest_search import NearestSearch
from difa.views.stored_words import pack, rare_words, unpack
from difa.views.view import AddedDocuments, TrainingData, ViewKind, Wording

_BLOCK = 512  # rows compared with all others at a time
_SHARE = 0.75  # the power of a word's count with which its rows in the bank grow
_UNLIKE = "is used unlike any word of your normal text"
_NEAREST = ReasonKind("nearest", "nearest use in normal text: {word!r} at distance {distance:.2g}", _UNLIKE, IMPLIED)
_NEAREST_RARE = ReasonKind(
    "nearest is rare", "nearest use in normal text: a rare word at distance {distance:.2g}", _UNLIKE, IMPLIED
)


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
        chosen = choose_rows(words, config.bank, np.random.default_rng(seed)).tolist()
        return cls._sorted(config, vectors[chosen], _shown([words[index] for index in chosen], rare), threads)

    def extended(self, documents: Sequence[Encoded], seen: int, rare: Collection[str] | None = None) -> NeighbourView:
        """The same with vectors of further documents, beside the `seen` words that it was chosen from.

        The farthest from the bank come in, on free rows or on as large a share of all rows as they are of all words. Those
        that leave have another vector close by.
        """
        words = [word for document in documents for word in document.words]
        vectors = np.concatenate([document.vectors for document in documents]).astype(np.float32)
        squares, _ = self._index.find(vectors)
        share = math.ceil(self.config.bank * len(words) / (seen + len(words)))
        room = max(share, self.config.bank - len(self.bank))
        chosen = [index for index in np.argsort(-squares, kind="stable")[:room].tolist() if squares[index] > 0]
        leave = set(crowded_rows(self.bank, len(self.bank) + len(chosen) - self.config.bank))
        stay = [index for index in range(len(self.bank)) if index not in leave]
        together = [*(self.words[index] for index in stay), *_shown([words[index] for index in chosen], rare)]
        return self._sorted(self.config, np.concatenate([self.bank[stay], vectors[chosen]]), together, self.threads)

    @classmethod
    def _sorted(cls, config: NeighbourConfig, vectors: FloatArray, words: Sequence[str], threads: int | None) -> NeighbourView:
        # In alphabetical order: that of the documents would let runs of their words be read from a saved model.
        order = sorted(range(len(words)), key=lambda index: (words[index], vectors[index].tobytes()))
        return cls(config, np.ascontiguousarray(vectors[order]), tuple(words[index] for index in order), threads)

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
            [_reason(self.words[index], square**0.5)] for square, index in zip(squares.tolist(), nearest.tolist(), strict=True)
        ]

    def tensors(self) -> Mapping[str, FloatArray | IntArray]:
        return {**pack(self.words), "bank": self.bank}

    def graph(self) -> bytes | None:
        return None

    @cached_property
    def _index(self) -> NearestSearch:
        return NearestSearch(self.bank, self.threads)


def _shown(words: Sequence[str], rare: Collection[str] | None) -> list[str]:
    """Words as the bank may name them: rare ones not at all, numbers without digits."""
    if rare is None:
        return list(words)
    return ["" if fold(word) in rare else "".join("0" if c.isdigit() else c for c in word) for word in words]


def _reason(nearest: str, distance: float) -> Reason:
    if not nearest:
        return Reason(_NEAREST_RARE, {"distance": distance}, 1.0)
    return Reason(_NEAREST, {"word": nearest, "distance": distance}, 1.0)


def choose_rows(words: Sequence[str], size: int, rng: np.random.Generator) -> IntArray:
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


def crowded_rows(bank: FloatArray, count: int) -> list[int]:
    """Rows of a bank that are missed the least: those closest to another row, which stays if it can."""
    if count <= 0:
        return []
    squares = np.einsum("nd,nd->n", bank, bank)
    smallest, nearest = np.empty(len(bank)), np.empty(len(bank), dtype=np.int64)
    for start in range(0, len(bank), _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, len(bank)))
        apart = squares[rows, None] + squares - 2 * bank[rows] @ bank.T
        apart[np.arange(len(rows)), rows] = np.inf
        nearest[rows] = apart.argmin(axis=1)
        smallest[rows] = apart.min(axis=1)
    order, leave = np.argsort(smallest, kind="stable").tolist(), dict[int, None]()
    for index in order:
        if nearest[index] not in leave:
            leave[index] = None
    return [*leave, *(index for index in order if index not in leave)][:count]


def _fit(data: TrainingData) -> NeighbourView:
    config = data.config
    rare = _rare(data.documents, config, data.language)
    return NeighbourView.fit(data.documents, config.neighbour, data.seed, config.encoder.threads, rare=rare)


def _extend(view: NeighbourView, added: AddedDocuments) -> NeighbourView:
    return view.extended(added.documents, added.seen, _rare(added.documents, added.config, added.language))


def _rare(documents: Sequence[Encoded], config: Config, language: str | None) -> Collection[str] | None:
    min_documents = config.privacy.least_documents
    return rare_words(documents, min_documents, language) if min_documents > 1 else None


VIEW = ViewKind(
    fit=_fit,
    restore=lambda saved: NeighbourView.restore(saved.config.neighbour, saved.tensors, saved.threads),
    extend=_extend,
    needs_vectors=True,
    wording=Wording("words used in unusual ways", _UNLIKE, "it uses words in other ways", IMPLIED),
)
