"""Files that DiFA wrote: the results in them, and whether a file may be written over.

Results are read from JSON lines, packed or not, Parquet, and folders of either. The content of a file shows whether it is ours.
"""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from difa.document import Result, WordScore
from difa.errors import ConfigError, DifaError, InputError
from difa.formats.labelstudio import CONFIGURATION, ID_KEY
from difa.formats.lines import is_result
from difa.formats.parquet import META, read_metadata, read_rows
from difa.formats.sources import Source
from difa.formats.streams import MOST_BYTES, bounded_lines, suffix_of
from difa.formats.tables import SUMMARISED
from difa.formats.write import from_json_line

READABLE = (".jsonl", ".parquet")
GENERATOR = "<meta name='generator' content='DiFA'>"  # the mark of our HTML
_MOST = 4 * MOST_BYTES  # of a line: the result of the longest document, and its columns
_HEAD = 1 << 16


def read_results(paths: Iterable[str | Path]) -> Iterator[Result]:
    """All results of the files and folders, in order; raises `InputError` for anything else."""
    for file in result_files(paths):
        for number, read in _from_parquet(file) if suffix_of(file) == ".parquet" else _from_lines(file):
            try:
                yield _check(read())
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                raise InputError(f"{file}:{number}: expected a result of `difa score`, got something else") from None


def result_files(paths: Iterable[str | Path]) -> list[Path]:
    """The files, and those in the folders."""
    files: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            found = sorted(file for file in path.iterdir() if suffix_of(file) in READABLE and not file.name.startswith("."))
            if not found:
                raise InputError(f"{path}: expected results of `difa score` ({', '.join(READABLE)}) in this folder, found none")
            files += found
        elif not path.is_file():
            got = "cannot be read: No such file or directory"
            raise InputError(f"{path}: {'expected a file or a folder, got a device or a pipe' if path.exists() else got}")
        elif suffix_of(path) in (".csv", ".tsv"):
            raise InputError(f"{path}: expected results with the offsets of words, which a text table lacks: score into .jsonl")
        else:
            files.append(path)
    return files


def _check(result: Result) -> Result:
    """The same; raises `ValueError`, `TypeError` or `AttributeError` where it is none that we have written."""
    text, words = result.text, result.words
    entries: tuple[Result | WordScore, ...] = (result, *words)
    is_ours = isinstance(text, str) and isinstance(result.id, str | None) and isinstance(result.columns, dict)
    for entry in entries:
        is_ours &= isinstance(entry.is_anomaly, bool) and 0 <= entry.p_value <= 1
        is_ours &= all(map(math.isfinite, (entry.score, *entry.evidence.values())))
    for word in words:
        is_ours &= isinstance(word.start, int) and text[word.start : word.end] == word.text and isinstance(word.allowed, bool)
        is_ours &= isinstance(word.suggestion, str | None) and isinstance(word.fault, str | None)
    if not is_ours or any(word.evidence.keys() != words[0].evidence.keys() for word in words):
        raise ValueError("expected the fields of a result, got others")
    return result


def _from_lines(path: Path) -> Iterator[tuple[int, Callable[[], Result]]]:
    """The number of each line, and what reads it."""
    with Source(str(path)).open_bytes() as (file, _):
        for number, line in enumerate(bounded_lines(file.readline, _MOST), 1):
            if line.strip():
                yield number, partial(from_json_line, line)


def _from_parquet(path: Path) -> Iterator[tuple[int, Callable[[], Result]]]:
    """The number of each row, and what reads it."""
    source = Source(str(path))
    schema = read_metadata(source)
    meta = (schema.metadata or {}).get(META)
    shape: dict[str, Any] = json.loads(meta) if meta else {"text": "text", "id": "id", "columns": (), "own": {}}
    own = {name: shape["own"].get(name, name) for name in ("score", "p_value", "is_anomaly", "evidence", "words")}
    if missing := next((name for name in (shape["text"], *own.values()) if name not in schema.names), None):
        raise InputError(f"{path}: expected results of `difa score`, got a table without the column {missing!r}")
    for number, row in read_rows(source, most=_MOST):
        if isinstance(row, str):
            raise InputError(f"{path}:{number}: {row}")
        yield number, partial(_of_row, row, shape, own)


def _of_row(row: Mapping[str, Any], shape: Mapping[str, Any], own: Mapping[str, str]) -> Result:
    cells = {name: row[held] for name, held in own.items()}
    cells |= {"words": tuple(map(_word, cells["words"] or ())), "evidence": dict(cells["evidence"] or ())}
    kept = {name: row[name] for name in shape["columns"] if name not in (shape["text"], shape["id"])}
    return Result(row[shape["text"]], id=row[shape["id"]], columns=kept, rule=shape.get("rule"), rate=shape.get("rate"), **cells)


def _word(cell: Mapping[str, Any]) -> WordScore:
    # Files of older versions do not say which words are allowed.
    return WordScore(**{**cell, "evidence": dict(cell["evidence"] or ()), "allowed": bool(cell.get("allowed"))})


def check_output(out: Path, inputs: Iterable[str | Path] = (), force: bool = False) -> None:
    """Refuse a file that is an input, that has no folder, or that DiFA did not write, unless `force` replaces it."""
    if out.exists() and any(Path(name).exists() and out.samefile(name) for name in inputs):
        raise ConfigError(f"{out}: expected another file than those that are read, got one of them: choose another name")
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise InputError(f"{out}: expected a file in a folder that exists: choose another place")
    if not os.access(out.absolute().parent, os.W_OK):
        raise InputError(f"{out}: cannot be written: its folder may not be changed: choose another place")
    if out.is_file() and not force and not _is_ours(out):
        raise ConfigError(
            f"{out}: expected a new file, or one that difa wrote, found another: rename it, or force=True replaces it"
        )


def check_outputs(outs: Iterable[Path | None], inputs: Iterable[str | Path], force: bool) -> None:
    """Refuse any of several such files, and one that is named twice; - is standard output."""
    files = [out for out in outs if out is not None and str(out) != "-"]
    for out in files:
        check_output(out, inputs, force)
    if len({*map(os.path.realpath, files)}) < len(files):
        raise ConfigError(f"{files[-1]}: expected a file of its own for each output, got the same twice: choose another name")


def _is_ours(path: Path) -> bool:
    try:
        source = Source(str(path))
        with source.open_bytes() as (file, _):
            first = file.readline(MOST_BYTES)
            head = first + file.readline(MOST_BYTES) + file.read(_HEAD)
        if head.startswith(b"PAR1"):
            return META in (read_metadata(source).metadata or {})
    except DifaError:
        return False
    if head.startswith(b"[\n"):  # tasks for Label Studio
        return f'"{ID_KEY}": '.encode() in head or head == b"[\n]\n"
    if head.startswith((b"# HELP difa_", b'{\n "difa_monitor": ')) or head in (b"", CONFIGURATION.encode()):
        return True
    return GENERATOR.encode() in head or _is_result(first.decode("utf-8-sig", "replace"))


def _is_result(line: str) -> bool:
    """Whether it is a line of results in JSON, or the header of a table of them."""
    try:
        if line.startswith("{"):
            return is_result(json.loads(line))
        names = next(csv.reader([line], delimiter="\t" if "\t" in line else ","))[-len(SUMMARISED) :]
        return [name.replace("difa_", "") for name in names] == list(SUMMARISED)
    except (ValueError, RecursionError, csv.Error):
        return False
