"""Neighbour view: how far is the word's vector from the nearest vector of normal text?

Normal vectors are kept in a bank of bounded size, so that a model's size and cost do not grow with the corpus. A word that
occurs c times has rows in proportion to c^¾: frequent words keep the variety of their contexts, rare ones are covered better
than by chance, and a bank drawn from part of a corpus is as dense as one drawn from all of it.

The nearest row is found exactly, with little of the arithmetic of comparing everything. Coordinates along a few axes that carry
most of the bank, and the length of what they leave, give a lower bound of every distance in one narrow matrix product:
‖x−b‖² ≥ ‖x₁−b₁‖² + (‖x₂‖−‖b₂‖)². Only rows whose bound is not above the distance to the most promising one are compared. The
last word is a comparison in double precision, one pair at a time, so that neither batch nor search path changes the result.
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
from difa.views.stored_words import pack, rare_words, unpack

# c = a @ b as an ONNX graph: there the product keeps to our threads, which NumPy's does not.
_PRODUCT = (
    b'\x08\x08:a\n\x11\n\x01a\n\x01b\x12\x01c"\x06MatMul\x12\x07productZ\x15\n\x01a\x12\x10\n\x0e\x08\x01\x12\n\n\x03\x12\x01m\n\x03'
    b"\x12\x01kZ\x15\n\x01b\x12\x10\n\x0e\x08\x01\x12\n\n\x03\x12\x01k\n\x03\x12\x01nb\x15\n\x01c\x12\x10\n\x0e\x08\x01\x12\n\n\x03\x12"
    b"\x01m\n\x03\x12\x01nB\x04\n\x00\x10\r"
)
_BLOCK = 256  # vectors compared at once
_SLICE = 8192  # pairs compared one by one at once: bounds memory where very many are equally near
_ROUNDING = 1e-5  # relative error of single precision that is allowed for
LARGE = 1024  # vectors for which turning the bank pays
_MANY = 64  # pairs per vector above which bounds help no more
_NARROW = 3  # bounds look along one axis for this many coordinates
_ROUNDS = 3


@dataclass(frozen=True)
class _Table:
    """What bounds are computed from: sides of vectors @ columns is a lower bound of the squared distances, less ‖x−centre‖²."""

    centre: FloatArray  # (d,)
    axes: FloatArray | None  # (d, width), orthonormal; None for all d coordinates as they are
    columns: FloatArray  # (width + 2, N)


class NearestSearch:
    """A bank (N, d) in which to look."""

    def __init__(self, bank: FloatArray, threads: int | None = None) -> None:
        self._bank = bank
        self._runner = GraphRunner(_PRODUCT, threads)

    def find(self, vectors: FloatArray) -> tuple[FloatArray, IntArray]:
        """Squared distance to the nearest row of the bank, and which it is, the first of equals: (T,) each."""
        vectors = vectors.astype(np.float32, copy=False)
        tables = [self._turned, self._plain] if len(vectors) >= LARGE and self._is_large else [self._plain]
        blocks = [vectors[start : start + _BLOCK] for start in range(0, len(vectors), _BLOCK)]
        found = list(self._runner.each(lambda block: self._search(block, tables), blocks))
        squares = np.concatenate([np.zeros(0), *(squares for squares, _ in found)])
        return squares, np.concatenate([np.zeros(0, np.int64), *(nearest for _, nearest in found)])

    @property
    def _is_large(self) -> bool:
        return len(self._bank) >= LARGE and self._bank.shape[1] >= _MANY

    @cached_property
    def _plain(self) -> _Table:
        return self._table(np.zeros(self._bank.shape[1], np.float32), None)

    @cached_property
    def _turned(self) -> _Table:
        centre = self._bank.mean(axis=0)
        centred = self._bank - centre
        return self._table(centre, self._main_axes(centred, self._bank.shape[1] // _NARROW))

    def _main_axes(self, centred: FloatArray, width: int) -> FloatArray:
        """Orthonormal directions that carry most of the bank, by subspace iteration: (d, width)."""
        spread = self._product(np.ascontiguousarray(centred.T), centred) / len(centred)
        axes: FloatArray = np.random.default_rng(0).normal(size=(len(spread), width))
        for _ in range(_ROUNDS):
            axes = _orthonormal(self._product(spread, axes.astype(np.float32)).astype(np.float64))
        return axes.astype(np.float32)

    def _table(self, centre: FloatArray, axes: FloatArray | None) -> _Table:
        centred = self._bank - centre
        main, rest = self._split(centred, axes)
        squares = np.einsum("nd,nd->n", centred, centred)[:, None]
        return _Table(centre, axes, np.ascontiguousarray(np.concatenate([-2 * main, -2 * rest, squares], axis=1).T))

    def _split(self, centred: FloatArray, axes: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        """Coordinates along the axes (B, width), and the length of what they leave (B, 1)."""
        if axes is None:
            return centred, np.zeros((len(centred), 1), np.float32)
        main = self._product(centred, axes)
        rest = centred - self._product(main, np.ascontiguousarray(axes.T))
        return main, np.linalg.norm(rest, axis=1, keepdims=True)

    def _product(self, a: FloatArray, b: FloatArray) -> FloatArray:
        return self._runner.run(a=a, b=b)[0]

    def _search(self, block: FloatArray, tables: list[_Table]) -> tuple[FloatArray, IntArray]:
        table = tables[0]
        bounds, own = self._bounds(block, table)  # (B, N), (B,)
        promising = bounds.argmin(axis=1)
        doubt = _ROUNDING * (own + table.columns[-1].max())
        rows = np.arange(len(block))
        best = self._squares(block, rows, promising, np.float32) - own + doubt
        possible = np.flatnonzero(bounds <= np.maximum(best, bounds[rows, promising])[:, None])
        rows, near = np.divmod(possible, len(self._bank))
        if len(rows) > _MANY * len(block) and len(tables) > 1:
            return self._search(block, tables[1:])
        roughly = self._squares(block, rows, near, np.float32)
        smallest = np.minimum.reduceat(roughly, np.searchsorted(rows, np.arange(len(block))))
        kept = roughly <= (smallest + doubt)[rows]
        rows, near = rows[kept], near[kept]
        exact = self._squares(block, rows, near, np.float64)
        order = np.lexsort((near, exact, rows))
        first = order[np.unique(rows[order], return_index=True)[1]]
        return exact[first], near[first]

    def _bounds(self, block: FloatArray, table: _Table) -> tuple[FloatArray, FloatArray]:
        centred = block - table.centre
        main, rest = self._split(centred, table.axes)
        sides = np.concatenate([main, rest, np.ones_like(rest)], axis=1)
        return self._product(sides, table.columns), np.einsum("td,td->t", centred, centred)

    def _squares(self, block: FloatArray, rows: IntArray, near: IntArray, precision: type[np.floating]) -> FloatArray:
        """Squared distances of pairs, each computed by itself."""
        squares = np.empty(len(rows), precision)
        for start in range(0, len(rows), _SLICE):
            part = slice(start, start + _SLICE)
            difference = block[rows[part]].astype(precision, copy=False) - self._bank[near[part]]
            squares[part] = np.einsum("td,td->t", difference, difference)
        return squares


def _orthonormal(columns: FloatArray) -> FloatArray:
    """Gram–Schmidt, each column twice, without LAPACK, whose threads are not ours to bound; nothing new gives zeros."""
    done: FloatArray = np.zeros_like(columns.T)
    for at, column in enumerate(columns.T):
        left = column
        for _ in range(2):
            left = left - np.einsum("k,kd->d", np.einsum("kd,d->k", done[:at], left), done[:at])
        length = np.linalg.norm(left)
        if length > _ROUNDING * np.linalg.norm(column):
            done[at] = left / length
    return np.ascontiguousarray(done.T)


_CROWD = 512  # rows compared with all others at a time
_SHARE = 0.75  # the power of a word's count with which its rows in the bank grow
_UNLIKE = "is used unlike any word of your normal text"
_NEAREST = ReasonKind("nearest", "nearest use in normal text: {word!r} at distance {distance:.2g}", _UNLIKE, IMPLIED)
_NEAREST_RARE = ReasonKind(
    "nearest is rare", "nearest use in normal text: a rare word at distance {distance:.2g}", _UNLIKE, IMPLIED
)


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
    words, least = all_words(data.documents), data.config.privacy.least_documents
    if least <= 1:
        return [words[index] for index in chosen]
    rare = rare_words(data.documents, least, data.language)
    return ["" if fold(words[at]) in rare else "".join("0" if c.isdigit() else c for c in words[at]) for at in chosen]


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
