"""Inputs -> pieces of work, each of which any process or machine can read by itself.

Files of lines are cut at bytes, and a line belongs to the piece in which it begins; Parquet files are cut at rows, text tables
between rows; what is packed, and an export, stays whole. Small files share a piece. Newlines are counted, and rows found, once
beforehand, so that each piece knows the number of its first line and ids are `file:line` wherever a piece is read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, pairwise
from typing import Any

from difa.errors import EngineError
from difa.formats.delimited import cut_rows
from difa.formats.sources import LINES, Source
from difa.formats.streams import WHOLE, Span, is_address, is_packed
from difa.formats.tables import TEXT_TABLES, Table

PARQUET = ".parquet"

_BLOCK = 1 << 20  # bytes read at a time
_LARGEST = 4 << 20  # bytes of a piece: a few minutes of work, which is what a dead worker costs
_SMALLEST = 16 << 10
_SPANS = 64  # spans whose lines are counted at a time
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
    # Rows of text tables can only be found by reading all of them.
    tables = [source for source in sources if source.suffix in TEXT_TABLES and not is_packed(source.name)]
    rows = dict(zip(tables, each(partial(_cut_table, size), tables), strict=True))
    spans = [replace(source, span=span) for source in sources for span in rows.get(source) or _cuts(source, size)]
    groups: list[list[Source]] = []
    held = 0
    for source in _number_lines(spans, each):
        if not groups or source.span != WHOLE or held + source.size > size:
            groups.append([])
            held = 0
        groups[-1].append(source)
        held += source.size if source.span == WHOLE else size
    return [Piece(index, group) for index, group in enumerate(groups or [[]])]


def _text_size(source: Source) -> int:
    """Bytes of text, about."""
    return source.table.size if source.table is not None and source.suffix == PARQUET else source.size


def _cuts(source: Source, size: int) -> list[Span]:
    """Spans of a file, which all but fill it."""
    length = source.table.rows if source.table is not None else source.size
    count = max(1, -(-_text_size(source) // size))
    if is_packed(source.name) or source.suffix not in (*LINES, PARQUET) or count == 1:
        return [WHOLE]
    step = max(1, -(-length // count))
    return [Span(start, end, start + 1) for start, end in pairwise([*range(0, length, step), length])] or [WHOLE]


def _number_lines(sources: Sequence[Source], each: Callable[..., Iterable[Any]]) -> Iterable[Source]:
    """Spans of lines with the number of their first line; the others as they are."""
    cut = [source for source in sources if source.suffix in LINES and source.span != WHOLE]
    groups = [cut[start : start + _SPANS] for start in range(0, len(cut), _SPANS)]
    counts = iter(chain.from_iterable(each(_count_lines, groups)))
    first = 1
    for source in sources:
        if source.suffix not in LINES or source.span == WHOLE:
            yield source
            continue
        first = first if source.span.start else 1
        yield replace(source, span=replace(source.span, first=first))
        first += next(counts)


def _cut_table(size: int, source: Source) -> list[Span]:
    if source.size <= size:
        return [WHOLE]
    with source.open_bytes() as (file, _):
        return cut_rows(file, source.table or Table((), ""), size)


def _count_lines(sources: Sequence[Source]) -> list[int]:
    """Lines that begin in each span: one at the start of the file, and one behind every newline."""
    found = []
    for source in sources:
        start, end = source.span.start, source.span.end or 0
        with source.open_bytes() as (file, _):
            at = max(start - 1, 0)  # the newline before `start` begins a line in the span, one at its end does not
            file.seek(at)
            lines = int(start == 0 < end)
            while at < end - 1 and (block := file.read(min(_BLOCK, end - 1 - at))):
                lines += block.count(b"\n")
                at += len(block)
        found.append(lines)
    return found
