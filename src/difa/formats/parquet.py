"""Parquet -> columns and rows, read in a child process; results as columns -> Parquet.

Row groups before the first row that is wanted are passed over. The metadata of single columns is never asked for: that of an
encrypted column would end the process. In files that we write, the user's columns keep their types, ours stand beside them, and
words are nested.
"""

from __future__ import annotations

import base64
import datetime
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import orjson

from difa.errors import InputError
from difa.formats.sandbox import Reader, lines_apart
from difa.formats.streams import MOST_BYTES, arrow
from difa.formats.tables import Columns, Shape, Table, choose_columns, flagged_words
from difa.formats.write import column_kinds, read_columns

if TYPE_CHECKING:
    from difa.formats.sources import Source

META = b"difa"  # the key under which files of ours describe their columns
_ROWS = 64  # decoded at a time
_SAMPLE = 50
_SAMPLED = 10_000  # characters of a cell in the sample
_GROUP = 512  # rows of a row group that we write
_TEXT = ("string", "large_string", "string_view")
_PLAIN = ("string", "large_string", "integer", "floating", "boolean")
_CAST = ("date", "timestamp", "time", "decimal")  # strings in JSON, from which Arrow makes them again

Cells = dict[str, Any] | str  # a row's cells as JSON has them, or a complaint about it


def read_schema(source: Source, asked: Columns) -> Table:
    """The columns of a Parquet file, with their types, and its size."""
    label, (footer,) = source.label, _read_apart(source, footer_lines)
    schema, sample = _schema_of(footer), footer["sample"]
    types = {field.name: field.type for field in schema}
    lists = [
        name for name, kind in types.items() if _is(kind, "list", "large_list", "fixed_size_list") and _is_text(kind.value_type)
    ]
    table = choose_columns(schema.names, asked, sample, lists, label)
    if table.text not in sample and table.text not in lists:
        held = f"{table.text!r} holds {types[table.text]}"
        raise InputError(f"{label}: expected a column of strings as text, {held}: name another column, or turn it into strings")
    return replace(table, types=types, rows=footer["rows"], size=footer["bytes"])


def read_metadata(source: Source) -> Any:
    """The schema of a Parquet file, with the metadata of its writer."""
    (footer,) = _read_apart(source, footer_lines)
    return _schema_of(footer)


def read_rows(source: Source, skip: int = 0, end: int | None = None, most: int = MOST_BYTES) -> Iterator[tuple[int, Cells]]:
    """Rows from number `skip` + 1 to `end`, with their numbers; one of more than `most` characters of JSON is a complaint."""
    return _read_apart(source, row_lines, skip, end, most)


def _read_apart(source: Source, reader: Reader, *arguments: Any) -> Iterator[Any]:
    arrow()
    return map(json.loads, lines_apart(source.label, reader, source.absolute_path, source.label, *arguments))


def _schema_of(footer: dict[str, Any]) -> Any:
    from pyarrow import ipc

    return ipc.read_schema(arrow().py_buffer(base64.b64decode(footer["schema"])))


def footer_lines(place: str, label: str) -> Iterator[str]:
    """One line: the schema and size of a file, and some cells of the columns that hold strings."""
    with _opened(place, label) as file:
        schema, metadata = file.schema_arrow, file.metadata
        texts = [field.name for field in schema if _is_text(field.type)]
        rows: list[Cells] = []
        if texts and len(set(schema.names)) == len(schema.names):
            rows = next((_values(batch) for batch in file.iter_batches(_SAMPLE, columns=texts, use_threads=False)), [])
        cells = {name: [row[name][:_SAMPLED] for row in rows if isinstance(row, dict) and row[name]] for name in texts}
        size = sum(metadata.row_group(at).total_byte_size for at in range(metadata.num_row_groups))
        held = base64.b64encode(schema.serialize()).decode()
        yield json.dumps({"schema": held, "rows": metadata.num_rows, "bytes": size, "sample": cells})


def row_lines(place: str, label: str, skip: int, end: int | None, most: int) -> Iterator[str]:
    """The rows from number `skip` + 1 to `end`, each with its number."""
    with _opened(place, label) as file:
        count = file.metadata.num_row_groups
        starts = [0, *accumulate(file.metadata.row_group(index).num_rows for index in range(count))]
        groups = [index for index in range(count) if starts[index + 1] > skip and (end is None or starts[index] < end)]
        before = starts[groups[0]] if groups else 0
        rows = chain.from_iterable(map(_values, file.iter_batches(_ROWS, row_groups=groups, use_threads=False)))
        for number, row in islice(enumerate(rows, before + 1), max(0, skip - before), None if end is None else end - before):
            yield _line(number, row, most)


def _line(number: int, row: Cells, most: int) -> str:
    line = orjson.dumps([number, row], _as_json, orjson.OPT_PASSTHROUGH_DATETIME).decode()
    if len(line) <= most:
        return line
    return json.dumps([number, f"expected a row of at most {most >> 20} MB, got a larger one: split it, or leave the column out"])


def _as_json(value: Any) -> Any:
    """A value that JSON does not know: dates in ISO form, bytes in base64, decimals as strings."""
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return list(value) if isinstance(value, tuple) else str(value)


@contextmanager
def _opened(place: str, label: str) -> Iterator[Any]:
    """The open file; errors of pyarrow become one line that names the file."""
    errors = (OSError, UnicodeDecodeError, arrow().ArrowException)  # a column's name may be no UTF-8
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


def _values(batch: Any) -> list[Cells]:
    try:
        rows: list[Cells] = batch.to_pylist()
        return rows
    except (ValueError, OverflowError):  # Python cannot hold one of the cells: convert them one by one
        return [_value(batch, at) for at in range(len(batch))]


def _value(batch: Any, at: int) -> Cells:
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
    """A cell; a time that Python does not know (before year 1, after 9999, finer than microseconds) as text."""
    try:
        return cell.as_py()
    except UnicodeDecodeError:
        raise
    except (ValueError, OverflowError):
        return cell.cast(arrow().string()).as_py()


def _is(kind: Any, *names: str) -> bool:
    """Whether an Arrow type is of one of the kinds that pyarrow has these names for."""
    return any(getattr(arrow().types, f"is_{name}")(kind) for name in names)


def _is_text(kind: Any) -> bool:
    return _is(kind.value_type if _is(kind, "dictionary") else kind, *_TEXT)


def write_parquet(raw: BinaryIO, part: Path, shape: Shape) -> None:
    """Write all results; the schema's metadata says which columns are which."""
    pa = arrow()
    from pyarrow import parquet

    types = _column_types(part, shape)
    shape = replace(shape, columns=tuple(types))
    fields = result_fields()
    names = {name: shape.own(name) for name in fields}
    described: dict[str, Any] = {"text": shape.text, "id": shape.id, "columns": shape.columns, "own": names}
    for first in islice(read_columns(part), 1):
        described |= {"rule": first.rule, "rate": first.rate}
    own = [(names[name], kind) for name, kind in fields.items()]
    schema = pa.schema([*types.items(), *own], metadata={META: json.dumps(described).encode()})
    waiting = schema.empty_table()
    with parquet.ParquetWriter(raw, schema, compression="zstd") as writer:
        for scored in read_columns(part):
            rows = [shape.row(document) for document in scored.documents]
            arrays = [_array([row[name] for row in rows], kind) for name, kind in types.items()]
            ours = [record | {"flagged_words": flagged_words(scored, at)} for at, record in enumerate(scored.records())]
            arrays += [pa.array([row[name] for row in ours], kind) for name, kind in fields.items()]
            waiting = pa.concat_tables([waiting, pa.Table.from_arrays(arrays, schema=schema)])
            while len(waiting) >= _GROUP:
                writer.write_table(waiting[:_GROUP].combine_chunks())
                waiting = waiting[_GROUP:]
        if len(waiting):
            writer.write_table(waiting.combine_chunks())


def result_fields() -> dict[str, Any]:
    """Our columns and their types."""
    pa = arrow()
    evidence = pa.map_(pa.string(), pa.float64())
    judged = {"score": pa.float64(), "p_value": pa.float64(), "is_anomaly": pa.bool_()}
    span = {"text": pa.string(), "start": pa.int64(), "end": pa.int64()}
    said = {"suggestion": pa.string(), "evidence": evidence, "allowed": pa.bool_(), "fault": pa.string()}
    flagged = {"flagged_words": pa.list_(pa.string())}
    return {**judged, "summary": pa.string(), **flagged, "evidence": evidence, "words": pa.list_(pa.struct(span | judged | said))}


def _column_types(part: Path, shape: Shape) -> dict[str, Any]:
    """The user's columns with their types: as in the input where it had some, otherwise by the values."""
    kinds = column_kinds(part)
    types = {name: _type_of(kinds.get(name, set()) - {"NoneType"}) for name in shape.holding(kinds).columns}
    for name, kind in shape.types.items():
        is_kept = _is(kind, *_PLAIN, *_CAST, "binary") or (_is(kind, "list") and _is(kind.value_type, *_PLAIN))
        is_beyond = _is(kind, "date", "timestamp") and "str" in kinds.get(name, ())  # Arrow reads no such years
        if name in types and is_kept and not is_beyond:
            types[name] = kind
    return types | {shape.text: arrow().string(), shape.id: arrow().string()}


def _type_of(kinds: set[str]) -> Any:
    pa = arrow()
    if kinds == {"bool"}:
        return pa.bool_()
    if kinds == {"int"}:
        return pa.int64()
    return pa.float64() if kinds and kinds <= {"int", "float"} else pa.string()


def _array(values: Sequence[Any], kind: Any) -> Any:
    pa = arrow()
    if _is(kind, *_CAST):
        return pa.array(values, pa.string()).cast(kind)
    if _is(kind, "binary"):
        return pa.array([None if value is None else base64.b64decode(value) for value in values], kind)
    if _is(kind, "string"):
        values = [value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in values]
    return pa.array(values, kind)
