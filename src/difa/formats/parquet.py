"""Parquet -> rows, a batch at a time; row groups that are done with are passed over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from difa.errors import InputError
from difa.formats.packed import arrow
from difa.formats.tables import Columns, Table, choose_columns

_ROWS = 256  # decoded at a time
_SAMPLE = 50
_PURPOSE = "Parquet"


def open_parquet(path: str) -> Any:
    """The file, checked to be one."""
    pa = arrow(_PURPOSE)
    from pyarrow import parquet

    try:
        return parquet.ParquetFile(path)
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: cannot be read as Parquet: {str(error).splitlines()[0]}") from None


def read_schema(path: str, asked: Columns) -> Table:
    """Columns of a Parquet file."""
    with open_parquet(path) as file:
        schema = file.schema_arrow
        texts = [field.name for field in schema if _is_text(field.type)]
        cells: dict[str, list[str]] = {name: [] for name in texts}
        if schema.names and texts and len(set(schema.names)) == len(schema.names):
            batch = next(file.iter_batches(_SAMPLE, columns=texts), None)
            cells |= {name: [cell for cell in batch[name].to_pylist() if cell] for name in texts} if batch else {}
        return choose_columns(schema.names, asked, cells, path)


def read_rows(path: str, skip: int = 0) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows with their numbers, from 1; the first `skip` are passed over."""
    with open_parquet(path) as file:
        groups: list[int] = []
        number = 0
        for group in range(file.metadata.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            if not groups and number + rows <= skip:
                number += rows
            else:
                groups.append(group)
        for batch in file.iter_batches(_ROWS, row_groups=groups):
            for row in batch.to_pylist():
                number += 1
                if number > skip:
                    yield number, row


def row_count(path: str) -> int:
    """Rows of a Parquet file, from its footer."""
    with open_parquet(path) as file:
        return int(file.metadata.num_rows)


def column_types(path: str) -> dict[str, Any]:
    """The Arrow type of each column."""
    with open_parquet(path) as file:
        return {field.name: field.type for field in file.schema_arrow}


def _is_text(kind: Any) -> bool:
    types = arrow(_PURPOSE).types
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))
