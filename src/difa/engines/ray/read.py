"""A piece -> its documents, with the ids that they have without Ray."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from difa.document import Document
from difa.engines.ray.plan import COLUMNS, PARQUET, Piece
from difa.engines.ray.storage import locate
from difa.errors import InputError
from difa.formats import PARSERS
from difa.formats.lines import parse_record

Parse = Callable[[int], Document | None]  # the number of the line -> its document

_BUFFER = 1 << 20  # bytes fetched at a time
_ROWS = 256  # rows of Parquet decoded at a time


def read_piece(piece: Piece, bad: list[str] | None = None) -> Iterator[Document]:
    """Documents in order.

    Args:
        piece: where to read.
        bad: if given, bad lines are added to it and skipped; otherwise the first one raises `InputError`.
    """
    try:
        for number, parse in enumerate(_rows(piece) if piece.kind == PARQUET else _lines(piece), piece.first):
            try:
                document = parse(number)
            except InputError as error:
                message = f"{piece.source}:{number}: {error}"
                if bad is None:
                    raise InputError(f"{message} (skip_bad goes on without such lines)") from None
                bad.append(message)
                continue
            if document is not None:
                yield document
    except OSError as error:
        raise InputError(
            f"{piece.source}: a worker cannot read it ({error.strerror or error}): every machine must reach the inputs"
        ) from None


def _lines(piece: Piece) -> Iterator[Parse]:
    """Lines that begin in the piece, whole: the last may end beyond it."""
    parse = PARSERS[piece.kind]
    system, path = locate(piece.location)
    with io.BufferedReader(system.open_input_file(path), _BUFFER) as file:
        at = piece.start
        if at > 0:
            file.seek(at - 1)
            at += len(file.readline()) - 1  # the rest of a line that began before
        while at < piece.end and (line := file.readline()):
            at += len(line)
            yield partial(parse, line, piece.source)


def _rows(piece: Piece) -> Iterator[Parse]:
    from pyarrow import parquet

    system, path = locate(piece.location)
    with system.open_input_file(path) as handle:
        file = parquet.ParquetFile(handle)
        groups, before = _groups(file.metadata, piece)
        columns = [name for name in COLUMNS if name in file.schema_arrow.names]
        at = before
        for batch in file.iter_batches(_ROWS, row_groups=groups, columns=columns):
            wanted = batch.slice(max(0, piece.start - at), max(0, piece.end - max(at, piece.start)))
            for record in wanted.to_pylist():
                yield partial(_parse_row, record, piece.source)
            at += len(batch)
            if at >= piece.end:
                return


def _groups(footer: Any, piece: Piece) -> tuple[list[int], int]:
    """The row groups that the piece touches, and the rows before them."""
    groups, before, at = [], 0, 0
    for group in range(footer.num_row_groups):
        rows = footer.row_group(group).num_rows
        if at + rows <= piece.start:
            before = at + rows
        elif at < piece.end:
            groups.append(group)
        at += rows
    return groups, before


def _parse_row(record: dict[str, Any], source: str, number: int) -> Document:
    return parse_record(record, f"{source}:{number}")
