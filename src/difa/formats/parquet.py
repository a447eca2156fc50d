"""Parquet -> rows, a batch at a time; row groups that are done with are passed over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Any

from difa.errors import InputError
from difa.formats.bounds import MOST_BYTES
from difa.formats.packed import arrow
from difa.formats.row_size import batch_rows, decoded_size, most_decoded, repeated_strings
from difa.formats.tables import Columns, Table, choose_columns

_ROWS = 256  # decoded at a time
_SAMPLE = 50
_SAMPLED = 10_000  # characters of a cell in the sample
_PURPOSE = "Parquet"

Row = tuple[int, dict[str, Any] | str]
"""The row's number, and its cells or a complaint."""


def open_parquet(path: Any, label: str | None = None) -> Any:
    """The file at a path, or that is open already, checked to be one."""
    arrow(_PURPOSE)
    from pyarrow import parquet

    with _refused(label or str(path)):
        return parquet.ParquetFile(path)


@contextmanager
def _open_rows(path: Any, label: str) -> Iterator[Any]:
    """The file, opened so that a batch holds each string of a list once, however often it stands there."""
    with open_parquet(path, label) as file, _refused(label):
        metadata, repeated = file.metadata, repeated_strings(file)
    from pyarrow import parquet

    with _refused(label), parquet.ParquetFile(path, metadata=metadata, read_dictionary=repeated) as file:
        yield file


@contextmanager
def _refused(label: str) -> Iterator[None]:
    """Turn what pyarrow finds wrong with a file into one line that names it."""
    try:
        yield
    except FileNotFoundError:
        raise
    except (OSError, UnicodeDecodeError, arrow(_PURPOSE).ArrowException) as error:  # names of columns are decoded, too
        raise InputError(f"{label}: cannot be read as Parquet: {str(error).splitlines()[0]}") from None


def read_schema(path: Any, asked: Columns, label: str | None = None) -> Table:
    """Columns of a Parquet file, with their types."""
    label = label or str(path)
    with open_parquet(path, label) as file, _refused(label):
        schema = file.schema_arrow
    with _open_rows(path, label) as file:
        texts = [field.name for field in schema if _is_text(field.type)]
        cells: dict[str, list[str]] = {name: [] for name in texts}
        if schema.names and texts and len(set(schema.names)) == len(schema.names):
            rows = (row for _, row in islice(_rows(file, path, texts, 0, _SAMPLE), _SAMPLE) if isinstance(row, dict))
            for row in rows:
                for name in texts:
                    if row[name]:
                        cells[name].append(row[name][:_SAMPLED])
    types = {field.name: field.type for field in schema}
    return replace(choose_columns(schema.names, asked, cells, label, types), types=types)


def read_rows(
    path: Any, skip: int = 0, end: int | None = None, label: str | None = None, most: int = MOST_BYTES
) -> Iterator[Row]:
    """Rows with their numbers, from 1, or a complaint about one.

    Args:
        path: the file, or its path.
        skip: so many rows are passed over.
        end: the last row, if not all are wanted.
        label: its name in messages.
        most: bytes of a row; a larger one is a complaint.
    """
    with _open_rows(path, label or str(path)) as file:
        yield from _rows(file, path, None, skip, file.metadata.num_rows if end is None else end, most)


def _rows(file: Any, source: Any, columns: Sequence[str] | None, skip: int, end: int, most: int = MOST_BYTES) -> Iterator[Row]:
    groups, number, size, at = [], 0, _ROWS, 0
    for index in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(index)
        if at + group.num_rows <= skip:
            number = at + group.num_rows
        elif at < end:
            groups.append(index)
            size = min(size, batch_rows(source, group))
        at += group.num_rows
    for batch in file.iter_batches(size, row_groups=groups, columns=columns, use_threads=False):
        if number + len(batch) > skip:
            yield from islice(enumerate(_values(batch, most), number + 1), max(0, skip - number), max(0, end - number))
        number += len(batch)
        if number >= end:
            return


def _values(batch: Any, most: int) -> Iterator[dict[str, Any] | str]:
    try:
        if most_decoded(batch) <= most:
            yield from batch.to_pylist()
            return
    except UnicodeDecodeError:  # somewhere in it: one by one
        pass
    for at in range(len(batch)):
        yield _value(batch.slice(at, 1), most)


def _value(row: Any, most: int) -> dict[str, Any] | str:
    if decoded_size(row) > most:
        return f"expected a row of at most {most >> 20} MB, got a larger one: split it, or leave the column out"
    try:
        values: list[dict[str, Any]] = row.to_pylist()
    except UnicodeDecodeError as error:
        return f"expected UTF-8 text, got byte 0x{error.object[error.start]:02x} in a cell: write the file again"
    return values[0]


def row_count(path: str, label: str | None = None) -> int:
    """Rows of a Parquet file, from its footer."""
    with open_parquet(path, label) as file:
        return int(file.metadata.num_rows)


def unpacked_size(path: str, label: str | None = None) -> int:
    """Bytes of a Parquet file when it is unpacked, as its footer says."""
    with open_parquet(path, label) as file:
        return sum(file.metadata.row_group(at).total_byte_size for at in range(file.metadata.num_row_groups))


def _is_text(kind: Any) -> bool:
    types = arrow(_PURPOSE).types
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))
