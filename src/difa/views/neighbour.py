"""Neighbour view: how far is the word's vector from the nearest vector of normal text?

Normal vectors are kept in a bank of bounded size, so that a model's size and cost do not grow with the corpus. A word that
occurs c times has rows in proportion to c^¾: frequent words keep the variety of their contexts, rare ones are covered better
than by chance, and a bank drawn from part of a corpus is as dense as one drawn from all of it.

Which rows may be the nearest is found in one product of whole numbers, as large as a byte holds: a few times faster than single
precision, and the same in every batch. What rounding can have changed is compared again, one pair at a time, in double precision.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from difa.config import NeighbourConfig
from difa.document import IMPLIED, Encoded, FloatArray, IntArray, Reason, ReasonKind, all_words
from difa.knowledge.letters import fold
from difa.runtime.graphs import GraphRunner
from difa.views import SavedView, TrainingData, View, ViewKind, Wording, all_vectors
from difa.views.stored_words import pack, unpack

# c = (a − 128) @ b as an ONNX graph, of bytes without and with a sign: there the product keeps to our threads, unlike NumPy's.
_PRODUCT = (
    b'\x08\x08:u\n\x1b\n\x01a\n\x01b\n\x01z\x12\x01c"\rMatMulInteger\x12\x07product*\x08\x10\x02B\x01zJ\x01\x80Z\x15\n\x01a\x12\x10'
    b"\n\x0e\x08\x02\x12\n\n\x03\x12\x01m\n\x03\x12\x01kZ\x15\n\x01b\x12\x10\n\x0e\x08\x03\x12\n\n\x03\x12\x01k\n\x03\x12\x01nb\x15\n\x01c"
    b"\x12\x10\n\x0e\x08\x06\x12\n\n\x03\x12\x01m\n\x03\x12\x01nB\x04\n\x00\x10\r"
)
_BLOCK = 256  # vectors compared at once
_SLICE = 8192  # pairs compared one by one at once: bounds memory where very many are equally near
_STEPS = 63  # the farthest coordinate of a bank in whole numbers; with more, processors without VNNI would cut sums of products
_FARTHEST = 127  # coordinates of vectors are cut there, at twice as far
_DOUBT = 8 * (1 / 6) ** 0.5  # standard deviations of the rounding of two scores, by the length of what was rounded
_CROWD = 512  # rows compared with all others at a time
_SHARE = 0.75  # the power of a word's count with which its rows in the bank grow
_UNLIKE = "is used unlike any word of your normal text"
_NEAREST = ReasonKind("nearest", "nearest use in normal text: {word!r} at distance {distance:.2g}", _UNLIKE, IMPLIED)
_NEAREST_RARE = ReasonKind(
    "nearest is rare", "nearest use in normal text: a rare word at distance {distance:.2g}", _UNLIKE, IMPLIED
)


class NearestSearch:
    """A bank (N, d) in which to look."""

    def __init__(self, bank: FloatArray, threads: int | None = None) -> None:
        self._bank = bank
        self._runner = GraphRunner(_PRODUCT, threads)
        self._centre = bank.mean(axis=0)
        centred = bank - self._centre
        squares = np.einsum("nd,nd->n", centred, centred)
        self._step = float(np.abs(centred).max()) / _STEPS or 1.0
        self._columns = np.ascontiguousarray(np.rint(centred / self._step).astype(np.int8).T)  # (d, N)
        self._halves = np.rint(squares / (2 * self._step**2)).astype(np.int32)  # (N,)
        self._longest = squares.max()

    def find(self, vectors: FloatArray) -> tuple[FloatArray, IntArray]:
        """Squared distance to the nearest row of the bank, and which it is, the first of equals: (T,) each."""
        vectors = vectors.astype(np.float32, copy=False)
        blocks = [vectors[start : start + _BLOCK] for start in range(0, len(vectors), _BLOCK)]
        found = list(self._runner.each(self._search, blocks))
        squares = np.concatenate([np.zeros(0), *(squares for squares, _ in found)])
        return squares, np.concatenate([np.zeros(0, np.int64), *(nearest for _, nearest in found)])

    def _search(self, block: FloatArray) -> tuple[FloatArray, IntArray]:
        centred = block - self._centre
        whole = np.clip(np.rint(centred / self._step), -_FARTHEST, _FARTHEST) + 128
        # The nearest row b of x has the highest x·b − ‖b‖²/2.
        scores = self._runner.run(a=whole.astype(np.uint8), b=self._columns)[0]  # (B, N)
        scores -= self._halves
        doubt = _DOUBT * np.sqrt(np.einsum("td,td->t", centred, centred) + self._longest) / self._step
        rows, near = np.divmod(np.flatnonzero(scores >= (scores.max(axis=1) - doubt.astype(np.int32))[:, None]), len(self._bank))
        squares = np.empty(len(rows))
        for start in range(0, len(rows), _SLICE):
            part = slice(start, start + _SLICE)
            difference = block[rows[part]].astype(np.float64) - self._bank[near[part]]
            squares[part] = np.einsum("td,td->t", difference, difference)
        order = np.lexsort((near, squares, rows))
        first = order[np.unique(rows[order], return_index=True)[1]]
        return squares[first], near[first]


@dataclass(frozen=True)
class NeighbourView(View):
    """A bank of normal word vectors (N, d), and the word of each."""

    config: NeighbourConfig
    bank: FloatArray
    words: tuple[str, ...]
    threads: int | None = None

    name = "neighbour"

    @classmethod
    def fit(cls, data: TrainingData) -> NeighbourView:
        """Choose the bank."""
        config = data.config.neighbour
        chosen = choose_rows(all_words(data.documents), config.bank, np.random.default_rng(data.seed))
        return cls._of(config, data.config.encoder.threads, all_vectors(data.documents)[chosen], _names(data, chosen))

    def extended(self, data: TrainingData, seen: int) -> NeighbourView:
        """The same with vectors of further documents, beside the `seen` words that it was chosen from.

        The farthest from the bank come in, on free rows or on as large a share of all rows as they are of all words. Those
        that leave have another vector close by.
        """
        vectors = all_vectors(data.documents)
        squares, _ = self._index.find(vectors)
        share = math.ceil(self.config.bank * len(vectors) / (seen + len(vectors)))
        room = max(share, self.config.bank - len(self.bank))
        chosen = [index for index in np.argsort(-squares, kind="stable")[:room].tolist() if squares[index] > 0]
        leave = set(crowded_rows(self.bank, len(self.bank) + len(chosen) - self.config.bank))
        stay = [index for index in range(len(self.bank)) if index not in leave]
        names = [*(self.words[index] for index in stay), *_names(data, chosen)]
        return self._of(self.config, self.threads, np.concatenate([self.bank[stay], vectors[chosen]]), names)

    @classmethod
    def _of(cls, config: NeighbourConfig, threads: int | None, vectors: FloatArray, words: Sequence[str]) -> NeighbourView:
        # In alphabetical order: that of the documents would let runs of their words be read from a saved model.
        vectors = vectors.astype(np.float32, copy=False)
        order = sorted(range(len(words)), key=lambda index: (words[index], vectors[index].tobytes()))
        return cls(config, np.ascontiguousarray(vectors[order]), tuple(words[index] for index in order), threads)

    def raw(self, documents: Sequence[Encoded]) -> FloatArray:
        """Euclidean distance to the nearest vector of the bank."""
        return np.sqrt(self._index.find(all_vectors(documents))[0])

    def explain(self, document: Encoded) -> list[list[Reason]]:
        """Which normal word is nearest."""
        squares, nearest = self._index.find(document.vectors)
        return [[_reason(self.words[at], square**0.5)] for square, at in zip(squares.tolist(), nearest.tolist(), strict=True)]

    def tensors(self) -> Mapping[str, FloatArray | IntArray]:
        return {**pack(self.words), "bank": self.bank}

    @cached_property
    def _index(self) -> NearestSearch:
        return NearestSearch(self.bank, self.threads)


def _names(data: TrainingData, chosen: Iterable[int]) -> list[str]:
    """Words at some positions as the bank may name them: rare ones not at all, numbers without digits."""
    words = all_words(data.documents)
    if data.config.privacy.least_documents <= 1:
        return [words[index] for index in chosen]
    return ["" if fold(words[at]) in data.rare_words else "".join("0" if c.isdigit() else c for c in words[at]) for at in chosen]


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
    for start in range(0, len(bank), _CROWD):
        rows = np.arange(start, min(start + _CROWD, len(bank)))
        apart = squares[rows, None] + squares - 2 * bank[rows] @ bank.T
        apart[np.arange(len(rows)), rows] = np.inf
        nearest[rows] = apart.argmin(axis=1)
        smallest[rows] = apart.min(axis=1)
    order, leave = np.argsort(smallest, kind="stable").tolist(), dict[int, None]()
    for index in order:
        if nearest[index] not in leave:
            leave[index] = None
    return [*leave, *(index for index in order if index not in leave)][:count]


def _restore(saved: SavedView) -> NeighbourView:
    words = tuple(unpack(saved.tensors["bytes"], saved.tensors["lengths"]))
    return NeighbourView(saved.config.neighbour, saved.tensors["bank"], words, saved.threads)


VIEW = ViewKind(
    NeighbourView.fit,
    _restore,
    NeighbourView.extended,
    needs_vectors=True,
    wording=Wording("words used in unusual ways", _UNLIKE, "it uses words in other ways", IMPLIED),
)
