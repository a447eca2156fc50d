"""Neighbour view: how far is the word's vector from the nearest vector of normal text?

Normal vectors are kept in a bank of bounded size, so that a model's size and cost do not grow with the corpus. A word that
occurs c times has places in proportion to c^¾: frequent words keep the variety of their contexts, rare ones are covered better
than by chance, and a bank drawn from part of a corpus is as dense as one drawn from all of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from difa.config import NeighbourConfig
from difa.document import Encoded, FloatArray, IntArray, Reason, split_by
from difa.views.strings import pack, unpack

_BLOCK = 128  # words compared at once
_SHARE = 0.75
_ROUNDING = 1e-5  # relative error of single precision that is allowed for


@dataclass(frozen=True)
class NeighbourView:
    """A bank of normal word vectors (N, d), and the word of each."""

    config: NeighbourConfig
    bank: FloatArray
    words: tuple[str, ...]

    name = "neighbour"
    side = "meaning"

    @classmethod
    def fit(cls, documents: Sequence[Encoded], config: NeighbourConfig, seed: int) -> NeighbourView:
        """Choose the bank."""
        words = [word for document in documents for word in document.words]
        vectors = np.concatenate([document.vectors for document in documents]).astype(np.float32)
        chosen = choose(words, config.bank, np.random.default_rng(seed))
        return cls(config, np.ascontiguousarray(vectors[chosen]), tuple(words[index] for index in chosen.tolist()))

    @classmethod
    def restore(cls, config: NeighbourConfig, tensors: Mapping[str, FloatArray]) -> NeighbourView:
        return cls(config, tensors["bank"], tuple(unpack(tensors["bytes"], tensors["lengths"])))

    def raw(self, documents: Sequence[Encoded]) -> list[FloatArray]:
        """Euclidean distance to the nearest vector of the bank."""
        if not documents:
            return []
        alone = len(documents) == 1  # perhaps a long one, which need not be copied
        squares, _ = self._nearest(
            documents[0].vectors if alone else np.concatenate([document.vectors for document in documents])
        )
        return split_by(map(len, documents), np.sqrt(squares))

    def explain(self, document: Encoded) -> list[list[Reason]]:
        """Which normal word is nearest."""
        squares, nearest = self._nearest(document.vectors)
        return [
            [Reason(f"nearest use in normal text: {self.words[index]!r} at distance {square**0.5:.2g}", 1.0)]
            for square, index in zip(squares.tolist(), nearest.tolist(), strict=True)
        ]

    def tensors(self) -> Mapping[str, FloatArray | IntArray]:
        return {**pack(self.words), "bank": self.bank}

    def graph(self) -> bytes | None:
        return None

    def _nearest(self, vectors: FloatArray) -> tuple[FloatArray, IntArray]:
        """Squared distance to the nearest bank vector, and which it is: (T,) each."""
        norms = np.einsum("nd,nd->n", self.bank, self.bank)
        squares, nearest = np.zeros(len(vectors)), np.zeros(len(vectors), dtype=np.int64)
        block = np.zeros((_BLOCK, self.bank.shape[1]), np.float32)
        for start in range(0, len(vectors), _BLOCK):
            part = vectors[start : start + _BLOCK].astype(np.float32)
            block[: len(part)] = part
            gaps = (norms - 2 * (block @ self.bank.T))[: len(part)]  # (B, N), less the word's own square
            # Rounding depends on company; so all that may be nearest by it are compared exactly.
            doubt = _ROUNDING * (np.einsum("td,td->t", part, part) + norms.max())
            rows, near = np.nonzero(gaps <= (gaps.min(axis=1) + doubt)[:, None])
            difference = part[rows].astype(np.float64) - self.bank[near]
            exact = np.einsum("td,td->t", difference, difference)
            order = np.lexsort((near, exact, rows))
            first = order[np.unique(rows[order], return_index=True)[1]]
            nearest[start : start + _BLOCK], squares[start : start + _BLOCK] = near[first], exact[first]
        return squares, nearest


def choose(words: Sequence[str], size: int, rng: np.random.Generator) -> IntArray:
    """Positions of at most `size` words: of a word that occurs c times, in proportion to c^¾."""
    if len(words) <= size:
        return np.arange(len(words))
    places: dict[str, list[int]] = defaultdict(list)
    for position, word in enumerate(words):
        places[word.lower()].append(position)
    turn = np.zeros(len(words))
    for positions in places.values():
        turn[rng.permutation(positions)] = (np.arange(len(positions)) + rng.random()) / len(positions) ** _SHARE
    return np.sort(np.argsort(turn, kind="stable")[:size])
