"""Vectors -> the nearest row of a bank, exactly, with little of the arithmetic of comparing everything.

Coordinates along a few axes that carry most of the bank, and the length of what they leave, give a lower bound of every
distance in one narrow matrix product: ‖x−b‖² ≥ ‖x₁−b₁‖² + (‖x₂‖−‖b₂‖)². Only rows whose bound is not above
the distance to the most promising one are compared. The last word is a comparison in double precision, one pair at a
time, so that neither the batch nor the search path changes the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from difa.document import FloatArray, IntArray
from difa.runtime.session import GraphRunner

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
