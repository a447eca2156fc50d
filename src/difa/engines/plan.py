"""Inputs -> pieces of work, each of which any process or machine can read by itself.

Large files are cut: Parquet by the number of its rows, text tables between rows and files of lines behind newlines, which are
found by reading them once beforehand. So each piece knows the number of its first line, and ids are `file:line` wherever a piece
is read. What is packed, and an export, stays whole. Small files share a piece.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from difa.errors import EngineError
from difa.formats.delimited import cut_rows
from difa.formats.sources import LINES, Source
from difa.formats.streams import WHOLE, Span, cut_lines, is_address, is_packed
from difa.formats.tables import TABLES

PARQUET = ".parquet"

_LARGEST = 4 << 20  # bytes of a piece: a few minutes of work, which is what a dead worker costs
_SMALLEST = 16 << 10
_PIECES_PER_WORKER = 16  # so that workers end at about the same time


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of the input: a span of one file, or several files; by its position among all pieces."""

    index: int
    sources: Sequence[Source]

    def check_reachable(self) -> None:
        """Refuse inputs that are not there for a worker on another machine."""
        for source in self.sources:
            if source.unreadable is None and not is_address(source.path) and not os.path.exists(source.path):
                raise EngineError(f"{source.label}: a worker cannot read it: every machine must reach the inputs")


def piece_size(sources: Sequence[Source], workers: int) -> int:
    """Bytes of a piece: small enough for all workers to have enough of them."""
    total = sum(map(_text_size, sources))
    return max(_SMALLEST, min(_LARGEST, total // (_PIECES_PER_WORKER * workers)))


def plan(sources: Sequence[Source], size: int | None, each: Callable[..., Iterable[Any]] = map) -> list[Piece]:
    """Pieces of about `size` bytes, in the order of the input, or one of everything; at least one, of no sources.

    Args:
        sources: whole files, or standard input, which cannot be cut.
        size: None for one piece.
        each: does some work on many items, perhaps side by side.
    """
    if size is None:
        return [Piece(0, sources)]
    large = [source for source in sources if _is_cut(source, size)]
    spans = dict(zip(large, each(partial(_cut, size), large), strict=True))
    groups: list[list[Source]] = []
    held = 0
    for source in sources:
        for span in spans.get(source, [WHOLE]):
            if not groups or source in spans or held + source.size > size:
                groups.append([])
                held = 0
            groups[-1].append(replace(source, span=span))
            held += size if source in spans else source.size
    return [Piece(index, group) for index, group in enumerate(groups or [[]])]


def _text_size(source: Source) -> int:
    """Bytes of text, about."""
    return source.table.size if source.table is not None and source.suffix == PARQUET else source.size


def _is_cut(source: Source, size: int) -> bool:
    """Whether a file is so large that it is cut, and of a kind that can be."""
    return _text_size(source) > size and source.suffix in (*LINES, *TABLES) and not is_packed(source.name)


def _cut(size: int, source: Source) -> list[Span]:
    """Spans of a file, which follow each other."""
    if source.table is not None and source.suffix == PARQUET:
        rows = source.table.rows
        step = max(1, rows * size // _text_size(source))
        return [Span(start, min(start + step, rows), start + 1) for start in range(0, rows, step)]
    with source.open_bytes() as (file, _):
        return cut_lines(file, size) if source.table is None else cut_rows(file, source.table, size)
