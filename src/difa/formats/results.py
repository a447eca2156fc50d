"""Files that `difa score` wrote -> results: JSON lines, packed or not, Parquet, and folders of either."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from difa.document import Result, WordScore
from difa.errors import InputError
from difa.formats.bounds import MOST_BYTES, bounded_lines
from difa.formats.packed import suffix_of
from difa.formats.parquet import read_metadata, read_rows
from difa.formats.parquet_output import META
from difa.formats.sources import Source
from difa.formats.write import from_json_line

READABLE = (".jsonl", ".parquet")
_MOST = 4 * MOST_BYTES  # of a line: the result of the longest document, and its columns


def read_results(paths: Iterable[str | Path]) -> Iterator[Result]:
    """All results of the files and folders, in order; raises `InputError` for anything else."""
    for file in result_files(paths):
        yield from _from_parquet(file) if suffix_of(file) == ".parquet" else _from_lines(file)


def result_files(paths: Iterable[str | Path]) -> list[Path]:
    """The files that are meant, those in folders included."""
    return [file for path in paths for file in _files(Path(path))]


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        found = sorted(file for file in path.iterdir() if suffix_of(file) in READABLE and not file.name.startswith("."))
        if not found:
            raise InputError(f"{path}: expected results of `difa score` ({', '.join(READABLE)}) in this folder, found none")
        return found
    if not path.is_file():
        got = "cannot be read: No such file or directory"
        raise InputError(f"{path}: {'expected a file or a folder, got a device or a pipe' if path.exists() else got}")
    if suffix_of(path) in (".csv", ".tsv"):
        raise InputError(f"{path}: expected results with the offsets of words, which a text table lacks: score into .jsonl")
    return [path]


def _from_lines(path: Path) -> Iterator[Result]:
    with Source(str(path)).open_bytes() as (lines, _):
        for number, line in enumerate(bounded_lines(lines, _MOST), 1):
            if not line.strip():
                continue
            try:
                yield from_json_line(line)
            except (ValueError, KeyError, TypeError, RecursionError):
                raise InputError(f"{path}:{number}: expected a result of `difa score`, got something else") from None


def _from_parquet(path: Path) -> Iterator[Result]:
    schema = read_metadata(str(path))
    names, meta = schema.names, (schema.metadata or {}).get(META)
    shape: dict[str, Any] = json.loads(meta) if meta else {"text": "text", "id": "id", "columns": (), "own": {}}
    own = {name: shape["own"].get(name, name) for name in ("score", "p_value", "is_anomaly", "evidence", "words")}
    if missing := next((name for name in (shape["text"], *own.values()) if name not in names), None):
        raise InputError(f"{path}: expected results of `difa score`, got a table without the column {missing!r}")
    for number, row in read_rows(str(path), most=_MOST):
        if isinstance(row, str):
            raise InputError(f"{path}:{number}: {row}")
        yield _result(row, shape, own)


def _result(row: Mapping[str, Any], shape: Mapping[str, Any], own: Mapping[str, str]) -> Result:
    words = tuple(_word(word) for word in row[own["words"]] or ())
    kept = {name: row[name] for name in shape["columns"] if name not in (shape["text"], shape["id"])}
    return Result(
        row[shape["text"]],
        row[own["score"]],
        row[own["p_value"]],
        row[own["is_anomaly"]],
        words,
        row[shape["id"]],
        dict(row[own["evidence"]] or ()),
        columns=kept,
        rule=shape.get("rule"),
        rate=shape.get("rate"),
    )


def _word(cell: Mapping[str, Any]) -> WordScore:
    # Files of older versions do not say which words are allowed.
    return WordScore(**{**cell, "evidence": dict(cell["evidence"] or ()), "allowed": bool(cell.get("allowed"))})
