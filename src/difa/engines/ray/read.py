"""A piece -> its documents, with the ids that they have without Ray."""

from __future__ import annotations

import io
import math
import zlib
from collections.abc import Callable, Iterator
from functools import partial

from difa.document import Document
from difa.engines.ray.plan import PARQUET, Piece
from difa.engines.ray.storage import locate
from difa.errors import InputError
from difa.formats import PARSERS
from difa.formats.bounds import Reads, bounded_lines, skip_line, with_newlines
from difa.formats.delimited import WHOLE, read_cells
from difa.formats.delimited import Piece as Rows
from difa.formats.packed import unpacked
from difa.formats.parquet import read_rows
from difa.formats.tables import Table, row_document

Parse = tuple[int, Callable[[], Document | None]]  # the number of a line or row, and what makes its document

_BUFFER = 1 << 20  # bytes fetched at a time


def read_piece(piece: Piece, bad: list[str] | None = None, table: Table | None = None) -> Iterator[Document]:
    """Documents in order.

    Args:
        piece: where to read.
        table: its columns, if it is a piece of a table.
        bad: if given, bad lines are added to it and skipped; otherwise the first one raises `InputError`.
    """
    try:
        for number, parse in _lines(piece) if table is None else _rows(piece, table):
            try:
                document = parse()
            except InputError as error:
                message = f"{piece.source}:{number}: {error}"
                if bad is None:
                    raise InputError(f"{message} (skip_bad goes on without such lines)") from None
                bad.append(message)
                continue
            if document is not None:
                yield document
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{piece.source}: a worker cannot read it ({why}): every machine must reach the inputs") from None


def _lines(piece: Piece) -> Iterator[Parse]:
    """Lines that begin in the piece, whole: the last may end beyond it."""
    parse = PARSERS[piece.kind]
    system, path = locate(piece.location)
    with io.BufferedReader(system.open_input_file(path), _BUFFER) as raw, unpacked(path, raw) as file:
        text = with_newlines(file)
        if text is not file and piece.start > 0:
            return  # no place to cut it: the first piece has all of it
        is_whole = piece.packed or text is not file
        counted, end = _Counted(text, piece.start), math.inf if is_whole else piece.end
        if piece.start > 0:
            file.seek(piece.start - 1)
            counted.at -= 1
            skip_line(counted)  # the rest of a line that began before
        lines, number = bounded_lines(counted), piece.first
        while counted.at < end and (line := next(lines, None)) is not None:
            yield number, partial(parse, line, piece.source, number)
            number += 1


class _Counted:
    """A file that knows where it is."""

    def __init__(self, file: Reads, at: int) -> None:
        self._file, self.at = file, at

    def readline(self, size: int = -1, /) -> bytes:
        line = self._file.readline(size)
        self.at += len(line)
        return line


def _rows(piece: Piece, table: Table) -> Iterator[Parse]:
    if piece.kind == PARQUET:
        for number, row in read_rows(piece.location, piece.start, piece.end, label=piece.source):
            yield number, partial(row_document, table, row, piece.source, number)
        return
    system, path = locate(piece.location)
    part = WHOLE if piece.packed else Rows(piece.start, piece.end - piece.start, piece.first)
    with io.BufferedReader(system.open_input_file(path), _BUFFER) as raw, unpacked(path, raw) as file:
        if not piece.packed:
            file.seek(piece.start)
        for number, cells in read_cells(file, table, part):
            yield number, partial(row_document, table, cells, piece.source, number)
