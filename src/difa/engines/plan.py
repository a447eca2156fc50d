"""Inputs -> pieces of work, each of which any machine can read by itself.

Files of lines are cut at bytes, and a line belongs to the piece in which it begins; Parquet files are cut at rows, text tables
between rows; what is packed, and an export, stays whole. Newlines are counted, and rows found, once beforehand, so that each
piece knows the number of its first line and ids are `file:line` wherever a piece is read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, pairwise
from typing import Any

from difa.document import Document
from difa.errors import EngineError
from difa.formats import read_span
from difa.formats.delimited import cut_rows
from difa.formats.sources import LINES, Source
from difa.formats.streams import WHOLE, Span, is_address, is_packed
from difa.formats.tables import TABLES, Table

PARQUET = ".parquet"

_BLOCK = 1 << 20  # bytes read at a time
_LARGEST = 4 << 20  # bytes of a piece: a few minutes of work, which is what a dead worker costs
_SMALLEST = 16 << 10
_SPANS = 64  # spans whose lines are counted at a time
_PIECES_PER_WORKER = 16  # so that workers end at about the same time


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of an input file, by its position among the pieces of all files."""

    index: int
    source: Source
    span: Span = WHOLE


def for_any_machine(source: Source) -> Source:
    """The file by a path that leads to it from every folder."""
    return source if is_address(source.name) else replace(source, place=os.path.abspath(source.path))


def piece_size(sources: Sequence[Source], workers: int) -> int:
    """Bytes of a piece: small enough for all workers to have enough of them."""
    total = sum(map(_size, sources))
    return max(_SMALLEST, min(_LARGEST, total // (_PIECES_PER_WORKER * workers)))


def plan(sources: Sequence[Source], size: int, each: Callable[..., Iterable[Any]] = map) -> list[Piece]:
    """Pieces of about `size` bytes, in the order of the input; `each` does some work on many items, perhaps side by side."""
    rows = iter(each(partial(_cut_table, size), [source for source in sources if _is_text_table(source)]))
    spans = [next(rows) if _is_text_table(source) else _cuts(source, size) for source in sources]
    behind = [(source, span) for source, own in zip(sources, spans, strict=True) if source.suffix in LINES for span in own[:-1]]
    groups = [behind[start : start + _SPANS] for start in range(0, len(behind), _SPANS)]
    lines = chain.from_iterable(each(_count_lines, groups))
    pieces: list[Piece] = []
    for source, own in zip(sources, spans, strict=True):
        for span in _numbered(own, lines) if source.suffix in LINES else own:
            pieces.append(Piece(len(pieces), source, span))
    return pieces


def read_piece(piece: Piece, bad: list[str] | None = None) -> Iterator[Document]:
    """The documents of a piece, in order; `bad` is as `read_documents` has it."""
    source = piece.source
    if source.unreadable is None and not is_address(source.path) and not os.path.exists(source.path):
        raise EngineError(f"{source.label}: a worker cannot read it: every machine must reach the inputs")
    return read_span(source, piece.span, bad)


def _size(source: Source) -> int:
    """Bytes of text, about."""
    return source.table.size if source.table is not None and source.suffix == PARQUET else source.size


def _cuts(source: Source, size: int) -> list[Span]:
    """Spans of a file, at least one: also an empty file has its place in the output."""
    if is_packed(source.name) or source.suffix not in (*LINES, PARQUET):
        return [WHOLE]
    length = source.table.rows if source.table is not None else source.size
    count = max(1, -(-_size(source) // size))
    step = max(1, -(-length // count))
    return [Span(start, end, start + 1) for start, end in pairwise([*range(0, length, step), length])] or [Span(0, 0)]


def _numbered(spans: Sequence[Span], lines: Iterator[int]) -> Iterator[Span]:
    """Spans with the number of their first line."""
    first = 1
    for span in spans:
        yield replace(span, first=first)
        first += next(lines) if span is not spans[-1] else 0


def _is_text_table(source: Source) -> bool:
    """Whether it is cut at rows that can only be found by reading all of it."""
    return source.suffix in TABLES and source.suffix != PARQUET and not is_packed(source.name)


def _cut_table(size: int, source: Source) -> list[Span]:
    with source.open_bytes() as (file, _):
        return cut_rows(file, source.table or Table((), ""), size)


def _count_lines(spans: Sequence[tuple[Source, Span]]) -> list[int]:
    """Lines that begin in each span: one at the start of the file, and one behind every newline."""
    found = []
    for source, span in spans:
        end = span.end or 0
        with source.open_bytes() as (file, _):
            at = max(span.start - 1, 0)  # the newline before `start` begins a line in the span, one at its end does not
            file.seek(at)
            lines = int(span.start == 0 < end)
            while at < end - 1 and (block := file.read(min(_BLOCK, end - 1 - at))):
                lines += block.count(b"\n")
                at += len(block)
        found.append(lines)
    return found
