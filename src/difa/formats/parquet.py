"""Parquet -> columns and rows, by readers that run apart; row groups that are done with are passed over.

The metadata of single columns is never asked for: of an encrypted column it would end the process.
"""

from __future__ import annotations

import base64
import datetime
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import orjson

from difa.errors import InputError
from difa.formats.bounds import MOST_BYTES
from difa.formats.packed import arrow
from difa.formats.sandbox import read_apart
from difa.formats.tables import Columns, Table, choose_columns

_ROWS = 64  # decoded at a time
_SAMPLE = 50
_SAMPLED = 10_000  # characters of a cell in the sample
_PURPOSE = "Parquet"

Row = tuple[int, dict[str, Any] | str]
"""The row's number, and its cells as JSON has them, or a complaint."""


def read_schema(place: str, asked: Columns, label: str | None = None) -> Table:
    """The columns of a Parquet file, with their types, and its size; a place is a path or an address."""
    found = _look(place, label or place)
    schema = found["schema"]
    types = {field.name: field.type for field in schema}
    lists = [name for name, kind in types.items() if _is_list(kind) and _is_text(kind.value_type)]
    table = choose_columns(schema.names, asked, found["sample"], lists, label or place, types)
    return replace(table, types=types, rows=found["rows"], size=found["bytes"])


def read_metadata(place: str) -> Any:
    """The schema of a Parquet file, with what its writer noted there."""
    return _look(place, place)["schema"]


def read_rows(
    place: str, skip: int = 0, end: int | None = None, label: str | None = None, most: int = MOST_BYTES
) -> Iterator[Row]:
    """Rows with their numbers, from 1, or a complaint about one.

    Args:
        place: the file's path or address.
        skip: so many rows are passed over.
        end: the last row, if not all are wanted.
        label: its name in messages.
        most: characters of a row as JSON; a larger one is a complaint.
    """
    arrow(_PURPOSE)
    return read_apart(label or place, row_lines, _whole(place), label or place, skip, end, most)


def _look(place: str, label: str) -> dict[str, Any]:
    buffer_of = arrow(_PURPOSE).py_buffer
    from pyarrow import ipc

    (found,) = read_apart(label, footer_lines, _whole(place), label)
    return {**found, "schema": ipc.read_schema(buffer_of(base64.b64decode(found["schema"])))}


def _whole(place: str) -> str:
    return place if "://" in place else os.path.abspath(place)  # whoever reads it may be in another folder


def footer_lines(place: str, label: str) -> Iterator[str]:
    """What the end of a file says of it, and some cells of the columns that hold strings: one line."""
    with _opened(place, label) as file:
        schema, metadata = file.schema_arrow, file.metadata
        texts = [field.name for field in schema if _is_text(field.type)]
        rows: list[dict[str, Any] | str] = []
        if texts and len(set(schema.names)) == len(schema.names):
            rows = next((_values(batch) for batch in file.iter_batches(_SAMPLE, columns=texts, use_threads=False)), [])
        cells = {name: [row[name][:_SAMPLED] for row in rows if isinstance(row, dict) and row[name]] for name in texts}
        size = sum(metadata.row_group(at).total_byte_size for at in range(metadata.num_row_groups))
        held = base64.b64encode(schema.serialize()).decode()
        yield json.dumps({"schema": held, "rows": metadata.num_rows, "bytes": size, "sample": cells})


def row_lines(place: str, label: str, skip: int, end: int | None, most: int) -> Iterator[str]:
    """The rows behind `skip`, up to `end`, each with its number."""
    with _opened(place, label) as file:
        groups, number, at = [], 0, 0
        for index in range(file.metadata.num_row_groups):
            rows = file.metadata.row_group(index).num_rows
            if at + rows <= skip:
                number = at + rows
            elif end is None or at < end:
                groups.append(index)
            at += rows
        for batch in file.iter_batches(_ROWS, row_groups=groups, use_threads=False):
            for row in _values(batch):
                number += 1
                if end is not None and number > end:
                    return
                if number > skip:
                    yield _line(number, row, most)


def _line(number: int, row: dict[str, Any] | str, most: int) -> str:
    line = orjson.dumps([number, row], _as_json, orjson.OPT_PASSTHROUGH_DATETIME).decode()
    if len(line) <= most:
        return line
    return json.dumps([number, f"expected a row of at most {most >> 20} MB, got a larger one: split it, or leave the column out"])


def _as_json(value: Any) -> Any:
    """What JSON has for a value that it does not know: dates in ISO form, bytes in base64, decimals as strings."""
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return list(value) if isinstance(value, tuple) else str(value)


@contextmanager
def _opened(place: str, label: str) -> Iterator[Any]:
    """The file; what pyarrow finds wrong with it is one line that names it."""
    errors = (OSError, UnicodeDecodeError, arrow(_PURPOSE).ArrowException)  # names of columns are decoded, too
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(place) as file:
            yield file
    except MemoryError:
        raise
    except errors as error:
        if "ecrypt" in str(error):
            raise InputError(f"{label}: expected Parquet without encryption, got an encrypted one: decrypt it") from None
        raise InputError(f"{label}: cannot be read as Parquet: {str(error).splitlines()[0]}") from None


def _values(batch: Any) -> list[dict[str, Any] | str]:
    try:
        rows: list[dict[str, Any] | str] = batch.to_pylist()
        return rows
    except (ValueError, OverflowError):  # a cell somewhere in it that Python cannot hold: one by one
        return [_value(batch, at) for at in range(len(batch))]


def _value(batch: Any, at: int) -> dict[str, Any] | str:
    row = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            row[name] = _cell(column[at])
        except UnicodeDecodeError as error:
            return f"expected UTF-8 text, got byte 0x{error.object[error.start]:02x} in a cell: write the file again"
        except (ValueError, OverflowError, NotImplementedError):
            return f"expected dates, times and a time zone that are known in the column {name!r}, got {column.type}: make it text"
    return row


def _cell(cell: Any) -> Any:
    """A cell, as text where it is a time that Python does not know: before year 1, after 9999, or finer than microseconds."""
    try:
        return cell.as_py()
    except UnicodeDecodeError:
        raise
    except (ValueError, OverflowError):
        return cell.cast(arrow(_PURPOSE).string()).as_py()


def _is_list(kind: Any) -> bool:
    types = arrow(_PURPOSE).types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _is_text(kind: Any) -> bool:
    types = arrow(_PURPOSE).types
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))
