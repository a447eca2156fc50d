"""Results as columns -> Parquet: the user's columns with the types they had, ours beside them, words nested."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

from difa.document import FloatArray, Scored
from difa.formats.columns import column_kinds, read_columns
from difa.formats.packed import arrow
from difa.formats.shape import Shape, flagged_words

META = b"difa"
_ROWS = 512  # of a row group
_KNOWN_DATE = re.compile(r"\d{4}-")  # others are text, since Arrow reads no years of more digits, nor such before Christ


def write_parquet(raw: BinaryIO, part: Path, shape: Shape) -> None:
    """Write all results; the schema's metadata says which columns are which, and at which rate flags were set."""
    pa = arrow("Parquet")
    from pyarrow import parquet

    shape, types = _typed(part, shape)
    names = {name: shape.own(name) for name in result_fields()}
    described: dict[str, Any] = {"text": shape.text, "id": shape.id, "columns": shape.columns, "own": names}
    for first in islice(read_columns(part), 1):
        described |= {"rule": first.rule, "rate": first.rate}
    meta = {META: json.dumps(described).encode()}
    own = [(names[name], kind) for name, kind in result_fields().items()]
    schema = pa.schema([*types.items(), *own], metadata=meta)
    waiting = schema.empty_table()
    with parquet.ParquetWriter(raw, schema, compression="zstd") as writer:
        for scored in read_columns(part):
            rows = [shape.row(document) for document in scored.documents]
            arrays = [_array([row[name] for row in rows], kind) for name, kind in types.items()]
            ours = _own_arrays(scored)
            arrays += [ours[name].cast(kind) for name, kind in result_fields().items()]
            waiting = pa.concat_tables([waiting, pa.Table.from_arrays(arrays, schema=schema)])
            while len(waiting) >= _ROWS:
                writer.write_table(waiting[:_ROWS].combine_chunks())
                waiting = waiting[_ROWS:]
        if len(waiting):
            writer.write_table(waiting.combine_chunks())


def result_fields() -> dict[str, Any]:
    """Our columns and their types."""
    pa = arrow("Parquet")
    evidence = pa.map_(pa.string(), pa.float64())
    judged = {"score": pa.float64(), "p_value": pa.float64(), "is_anomaly": pa.bool_()}
    span = {"text": pa.string(), "start": pa.int64(), "end": pa.int64()}
    word = pa.struct(
        {**span, **judged, "suggestion": pa.string(), "evidence": evidence, "allowed": pa.bool_(), "fault": pa.string()}
    )
    flagged = {"flagged_words": pa.list_(pa.string())}
    return {**judged, "summary": pa.string(), **flagged, "evidence": evidence, "words": pa.list_(word)}


def _own_arrays(scored: Scored) -> dict[str, Any]:
    """Our columns of some documents; words lie behind each other, as Arrow has them, too."""
    pa = arrow("Parquet")
    words = list(chain.from_iterable(document.words for document in scored.documents))
    word = {
        "text": pa.array([word.text for word in words], pa.string()),
        "start": pa.array([word.start for word in words], pa.int64()),
        "end": pa.array([word.end for word in words], pa.int64()),
        "score": pa.array(scored.word_scores),
        "p_value": pa.array(scored.word_p),
        "is_anomaly": pa.array(scored.word_flags),
        "suggestion": pa.array(map(scored.suggestions.get, range(len(words))), pa.string()),
        "evidence": _maps(scored.views, scored.evidence),
        "allowed": pa.array(scored.allowed, mask=~scored.allowed),
        "fault": pa.array(map(scored.faults.get, range(len(words))), pa.string()),
    }
    structs = pa.StructArray.from_arrays(list(word.values()), list(word))
    places = range(len(scored))
    return {
        "score": pa.array(scored.document_scores),
        "p_value": pa.array(scored.document_p),
        "is_anomaly": pa.array(scored.document_flags),
        "summary": pa.array(map(scored.summary, places), pa.string()),
        "flagged_words": pa.array([flagged_words(scored, at) for at in places], pa.list_(pa.string())),
        "evidence": _maps(scored.traits, scored.document_evidence),
        "words": pa.ListArray.from_arrays(pa.array(scored.starts, pa.int32()), structs),
    }


def _maps(names: Sequence[str], values: FloatArray) -> Any:
    """A map of numbers by name for each row: (rows, names)."""
    pa = arrow("Parquet")
    ends = pa.array(range(0, values.size + 1, len(names)) if names else [0] * (len(values) + 1), pa.int32())
    return pa.MapArray.from_arrays(ends, pa.array([*names] * len(values), pa.string()), pa.array(values.ravel() + 0.0))


def _typed(part: Path, shape: Shape) -> tuple[Shape, dict[str, Any]]:
    """All columns with their types: as in the input where it had some, otherwise by the values."""
    pa = arrow("Parquet")
    kinds = column_kinds(part)
    columns = shape.holding(kinds).columns
    found = {name: _type_of(kinds.get(name, set()) - {"NoneType"}) for name in columns}
    dates = {name for name, kind in shape.types.items() if pa.types.is_date(kind) or pa.types.is_timestamp(kind)}
    beyond = {
        name
        for scored in (read_columns(part) if dates else ())
        for document in scored.documents
        for name in dates
        if isinstance(value := document.columns.get(name), str) and not _KNOWN_DATE.match(value)
    }
    kept = {name: kind for name, kind in shape.types.items() if name in columns and _is_kept(kind) and name not in beyond}
    fixed = {shape.text: pa.string(), shape.id: pa.string()}
    return Shape(columns, shape.text, shape.id), {**found, **kept, **fixed}


def _type_of(kinds: set[str]) -> Any:
    pa = arrow("Parquet")
    if kinds == {"bool"}:
        return pa.bool_()
    if kinds == {"int"}:
        return pa.int64()
    return pa.float64() if kinds and kinds <= {"int", "float"} else pa.string()


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
