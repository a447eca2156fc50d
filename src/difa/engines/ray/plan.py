"""Inputs -> pieces of work, each of which any machine can read by itself.

Files of lines are cut at bytes, and a line belongs to the piece in which it begins; Parquet files are cut at rows, text tables
between rows. Newlines are counted, and rows found, once beforehand, so that each piece knows the number of its first line and ids
stay `file:line`, as without Ray.
"""

from __future__ import annotations

import glob
import io
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

from difa.engines.ray.storage import below, is_address, locate
from difa.errors import InputError
from difa.formats.delimited import Piece as Rows
from difa.formats.delimited import cut_rows, read_header
from difa.formats.folders import files_below, matches
from difa.formats.packed import PACKED, is_packed, suffix_of, unpacked
from difa.formats.parquet import read_schema
from difa.formats.sources import LINES
from difa.formats.tables import TABLES, Columns, Table

PARQUET = ".parquet"
KINDS = (*LINES, *TABLES)
_IN_FOLDERS = (*LINES, PARQUET)

_BLOCK = 1 << 20  # bytes read at a time
_LARGEST = 4 << 20  # bytes of a piece: a few minutes of work, which is what a dead worker costs
_SMALLEST = 16 << 10
_PIECES_PER_WORKER = 16  # so that workers end at about the same time

Span = tuple[str, int, int]
Numbered = tuple[int, int, int]  # start, end, number of the first line or row
Count = Callable[[Sequence[Span]], list[int]]
Cut = Callable[[Sequence["File"], int], list[list[Rows]]]


@dataclass(frozen=True, slots=True)
class File:
    """An input file: `source` as ids name it, `location` as any machine opens it; `rows` of a Parquet file, 0 for others."""

    source: str
    location: str
    kind: str
    size: int  # bytes of text, about, for Parquet
    modified: int = 0
    rows: int = 0
    table: Table | None = None
    packed: bool = False
    """Whether it must be unpacked, and so read from its beginning on: it is one piece."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes (of Parquet: rows) `start` to `end` of a file; `first` is the number of the line that begins there, from 1.

    `file` is the location of its file in the list of all.
    """

    index: int
    source: str
    location: str
    kind: str
    start: int
    end: int
    first: int
    file: int = 0
    packed: bool = False


def find_files(inputs: Sequence[str], columns: Columns | None = None) -> list[File]:
    """All files of the inputs, in order; folders stand for the lines and Parquet files in them, sorted by path.

    Args:
        inputs: files, folders and patterns, as paths or addresses.
        columns: the columns of tables that hold text and ids; without it they are guessed.
    """
    asked = columns or Columns()
    files = [file for name in inputs for match in _matches(name) for file in _files_of(match)]
    with ThreadPoolExecutor(16) as pool:  # the footers of many Parquet files lie far away
        found = list(pool.map(lambda file: _look_into(file, asked) if file.kind in TABLES else file, files))
    if not asked.is_open and not any(file.kind in TABLES for file in found):
        raise InputError(f"text or id column: expected a table ({', '.join(TABLES)}) among the inputs, got none")
    return found


def piece_size(files: Sequence[File], workers: int) -> int:
    """Bytes of a piece: small enough for all workers to have enough of them."""
    total = sum(file.size for file in files)
    return max(_SMALLEST, min(_LARGEST, total // (_PIECES_PER_WORKER * workers)))


def plan(files: Sequence[File], size: int, count: Count, cut: Cut | None = None) -> list[Piece]:
    """Pieces of about `size` bytes, in the order of the input.

    Args:
        files: the input.
        size: bytes of a piece.
        count: gives the lines that begin in each span.
        cut: gives the pieces of text tables.
    """
    tables = [file for file in files if is_text_table(file)]
    rows = iter((cut or cut_tables)(tables, size))
    cuts = [[] if is_text_table(file) else _cuts(file, size) for file in files]
    spans = [(f.location, *part) for f, ends in zip(files, cuts, strict=True) if f.kind in LINES for part in ends[:-1]]
    lines = iter(count(spans))
    pieces: list[Piece] = []
    for at, (file, ends) in enumerate(zip(files, cuts, strict=True)):
        parts = _row_parts(next(rows), file) if is_text_table(file) else _numbered(file, ends, lines)
        for start, end, first in parts:
            pieces.append(Piece(len(pieces), file.source, file.location, file.kind, start, end, first, at, file.packed))
    return pieces


def is_text_table(file: File) -> bool:
    """Whether it is cut at rows that can only be found by reading all of it."""
    return file.kind in TABLES and file.kind != PARQUET and not file.packed


def cut_tables(files: Sequence[File], size: int) -> list[list[Rows]]:
    """The pieces of text tables."""
    found = []
    for file in files:
        system, path = locate(file.location)
        with system.open_input_file(path) as handle, io.BufferedReader(handle, _BLOCK) as content:
            found.append(cut_rows(content, file.table or Table((), ""), size))
    return found


def _row_parts(parts: Sequence[Rows], file: File) -> list[Numbered]:
    return [(part.start, part.start + (file.size if part.size is None else part.size), part.first) for part in parts]


def _numbered(file: File, ends: Sequence[tuple[int, int]], lines: Iterator[int]) -> list[Numbered]:
    """Spans with the number of their first line or row."""
    found, first = [], 1
    for start, end in ends:
        first = start + 1 if file.kind == PARQUET else first
        found.append((start, end, first))
        if file.kind != PARQUET and (start, end) != ends[-1]:
            first += next(lines)
    return found


def count_lines(location: str, start: int, end: int) -> int:
    """Lines that begin in these bytes: one at the start of the file, and one behind every newline."""
    system, path = locate(location)
    with system.open_input_file(path) as file:
        at = max(start - 1, 0)  # the newline before `start` begins a line in the span, one at its end does not
        file.seek(at)
        lines = int(start == 0 < end)
        while at < end - 1:
            block = file.read(min(_BLOCK, end - 1 - at))
            if not block:
                break
            lines += block.count(b"\n")
            at += len(block)
    return lines


def _matches(name: str) -> list[str]:
    """What a pattern stands for; anything else stands for itself."""
    return [name] if is_address(name) or not glob.has_magic(name) or Path(name).exists() else matches(name)


def _files_of(name: str) -> Iterator[File]:
    from pyarrow import fs

    if name == "-":
        raise InputError("expected files for the Ray engine, got - (standard input): write it to a file, or use the local engine")
    system, path = locate(name)
    try:
        info = system.get_file_info(path)
        if info.type == fs.FileType.NotFound:
            raise InputError(f"{name}: cannot be read: No such file or directory")
        if info.type != fs.FileType.Directory:
            source = name if is_address(name) else str(Path(name))
            yield _file(source, name if is_address(name) else path, info)
            return
        inside = _inside(name, system, path)
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror or error}") from None
    if not inside:
        raise InputError(f"{name}: expected {', '.join(_IN_FOLDERS)} files in this folder, found none")
    for entry in sorted(inside, key=lambda entry: PurePosixPath(entry.path).parts):
        source = below(name, entry.path.removeprefix(path).lstrip("/"))
        location = source if is_address(name) else entry.path
        yield _file(source, location, entry)


def _inside(name: str, system: Any, path: str) -> list[Any]:
    """What can be scored in a folder; on this machine, what cannot be looked into is named."""
    from pyarrow import fs

    if is_address(name):
        found = [entry for entry in system.get_file_info(fs.FileSelector(path, recursive=True)) if entry.is_file]
        return [entry for entry in found if suffix_of(entry.path) in _IN_FOLDERS]
    local = files_below(Path(path), lambda file: suffix_of(file) in _IN_FOLDERS)
    if local.unreadable:
        location, why = local.unreadable[0]
        raise InputError(f"{location}: cannot be read: {why}")
    return list(system.get_file_info([str(file) for file in local.files]))


def _file(source: str, location: str, info: Any) -> File:
    kind, packed = suffix_of(info.path), is_packed(info.path)
    if kind not in KINDS or (kind == PARQUET and packed):
        endings = f"{', '.join(KINDS)} (all but Parquet also with {' or '.join(PACKED)})"
        raise InputError(f"{source}: expected a file ending in {endings} or a folder for the Ray engine")
    return File(source, location, kind, info.size, info.mtime_ns or 0, packed=packed)


def _look_into(file: File, asked: Columns) -> File:
    """A table with its columns; of Parquet also rows and bytes, from its footer."""
    if file.kind == PARQUET:
        table = read_schema(file.location, asked, file.source)
        return replace(file, size=table.size, rows=table.rows, table=table)
    system, path = locate(file.location)
    try:
        with (
            system.open_input_file(path) as handle,
            io.BufferedReader(handle, _BLOCK) as raw,
            unpacked(path, raw) as content,
        ):
            separator = "\t" if file.kind == ".tsv" else None
            return replace(file, table=read_header(content, file.source, asked, separator))
    except OSError as error:
        raise InputError(f"{file.source}: cannot be read: {error.strerror or error}") from None


def _cuts(file: File, size: int) -> list[tuple[int, int]]:
    """Spans of a file, at least one: also an empty file has its place in the output."""
    if file.packed:
        return [(0, file.size)]
    length = file.rows if file.kind == PARQUET else file.size
    count = max(1, -(-file.size // size))
    step = max(1, -(-length // count))
    return list(pairwise([*range(0, length, step), length])) or [(0, 0)]
