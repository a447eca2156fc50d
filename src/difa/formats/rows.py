"""A table as a source -> its rows, each with a way to make a document of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from difa.document import Document
from difa.errors import InputError
from difa.formats import delimited, parquet
from difa.formats.sources import Source
from difa.formats.tables import Table, row_document


@dataclass(frozen=True, slots=True)
class Record:
    """A line or row that was read but not parsed yet."""

    number: int
    read: int
    """Bytes of the file read so far."""
    parse: Callable[[], Document | None] | None
    """None for a pause of the sender."""


def read_rows(source: Source, skip: int = 0) -> Iterator[Record]:
    """Rows of a table from a number on."""
    table = source.table
    if table is None:
        raise InputError(f"{source.label}: expected a table, got {source.suffix or 'standard input'}")
    if source.suffix == ".parquet":
        share = source.size / max(1, table.rows)
        for number, values in parquet.read_rows(source.path, skip, label=source.label):
            yield Record(number, round(share * number), partial(parse_row, table, values, source.label, number))
        return
    with source.open_bytes() as (file, tell):
        for number, cells in delimited.read_cells(file, table):
            if number > skip:
                yield Record(number, tell(), partial(parse_row, table, cells, source.label, number))


def parse_row(table: Table, cells: Mapping[str, Any] | list[str] | str, source: str, number: int) -> Document:
    """The document of a row, given by its cells or by the complaint about it."""
    if isinstance(cells, str):
        raise InputError(cells)
    row = dict(zip(table.columns, cells, strict=True)) if isinstance(cells, list) else cells
    return row_document(table, row, source, number)
