"""Results as JSON lines -> Parquet: the user's columns with the types they had, ours beside them, words nested."""

from __future__ import annotations

import base64
import json
import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from difa.document import Result
from difa.formats.packed import arrow
from difa.formats.shape import Shape, flagged_words
from difa.formats.write import read_lines

META = b"difa"
_ROWS = 512  # of a row group
_KNOWN_DATE = re.compile(r"\d{4}-")  # others are text, since Arrow reads no years of more digits, nor such before Christ


def write_parquet(raw: BinaryIO, lines: Path, shape: Shape) -> None:
    """Write all results; the schema's metadata says which columns are which."""
    pa = arrow("Parquet")
    from pyarrow import parquet

    shape, types = _typed(lines, shape)
    names = {name: shape.own(name) for name in result_fields()}
    meta = {META: json.dumps({"text": shape.text, "id": shape.id, "columns": shape.columns, "own": names}).encode()}
    own = [(names[name], kind) for name, kind in result_fields().items()]
    schema = pa.schema([*types.items(), *own], metadata=meta)
    with parquet.ParquetWriter(raw, schema, compression="zstd") as writer:
        results = read_lines(lines)
        while batch := list(islice(results, _ROWS)):
            rows = [shape.row(result) for result in batch]
            arrays = [_array([row[name] for row in rows], kind) for name, kind in types.items()]
            ours = [_own_cells(result) for result in batch]
            arrays += [pa.array([cells[name] for cells in ours], kind) for name, kind in result_fields().items()]
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))


def result_fields() -> dict[str, Any]:
    """Our columns and their types."""
    pa = arrow("Parquet")
    evidence = pa.map_(pa.string(), pa.float64())
    judged = {"score": pa.float64(), "p_value": pa.float64(), "is_anomaly": pa.bool_()}
    span = {"text": pa.string(), "start": pa.int64(), "end": pa.int64()}
    word = pa.struct({**span, **judged, "suggestion": pa.string(), "evidence": evidence, "allowed": pa.bool_()})
    flagged = {"flagged_words": pa.list_(pa.string())}
    return {**judged, "summary": pa.string(), **flagged, "evidence": evidence, "words": pa.list_(word)}


def _own_cells(result: Result) -> dict[str, Any]:
    cells = result.to_dict() | {"flagged_words": flagged_words(result)}
    for item in (cells, *cells["words"]):
        item["evidence"] = list(item["evidence"].items())  # as Arrow takes maps
    return cells


def _typed(lines: Path, shape: Shape) -> tuple[Shape, dict[str, Any]]:
    """All columns with their types: as in the input where it had some, otherwise by the values."""
    pa = arrow("Parquet")
    kinds: dict[str, set[type]] = defaultdict(set)
    columns = dict.fromkeys(shape.columns)
    dates = {name for name, kind in shape.types.items() if pa.types.is_date(kind) or pa.types.is_timestamp(kind)}
    beyond = set[str]()
    for result in read_lines(lines):
        columns.update(dict.fromkeys(result.columns))
        for name, value in result.columns.items():
            kinds[name].add(str if isinstance(value, int) and abs(value) >> 63 else type(value))
            if isinstance(value, str) and name in dates and not _KNOWN_DATE.match(value):
                beyond.add(name)
    found = {name: _type_of(kinds[name] - {type(None)}) for name in columns}
    kept = {name: kind for name, kind in shape.types.items() if name in columns and _is_kept(kind) and name not in beyond}
    fixed = {shape.text: pa.string(), shape.id: pa.string()}
    return Shape(tuple(columns), shape.text, shape.id), {**found, **kept, **fixed}


def _type_of(kinds: set[type]) -> Any:
    pa = arrow("Parquet")
    if kinds == {bool}:
        return pa.bool_()
    if kinds == {int}:
        return pa.int64()
    return pa.float64() if kinds and kinds <= {int, float} else pa.string()


def _is_kept(kind: Any) -> bool:
    types = arrow("Parquet").types
    if types.is_list(kind):
        return _is_plain(kind.value_type)
    return _is_plain(kind) or _is_cast(kind) or types.is_binary(kind)


def _is_plain(kind: Any) -> bool:
    types = arrow("Parquet").types
    return bool(
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
    )


def _is_cast(kind: Any) -> bool:
    """Types that JSON has as strings, and Arrow reads from strings."""
    types = arrow("Parquet").types
    return bool(types.is_date(kind) or types.is_timestamp(kind) or types.is_time(kind) or types.is_decimal(kind))


def _array(values: Sequence[Any], kind: Any) -> Any:
    pa = arrow("Parquet")
    if _is_cast(kind):
        return pa.array(values, pa.string()).cast(kind)
    if pa.types.is_binary(kind):
        return pa.array([None if value is None else base64.b64decode(value) for value in values], kind)
    if pa.types.is_string(kind):
        values = [value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in values]
    return pa.array(values, kind)
