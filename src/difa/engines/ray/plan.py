"""Inputs -> pieces of work, each of which any machine can read by itself.

Files of lines are cut at bytes, and a line belongs to the piece in which it begins; Parquet files are cut at rows. Newlines are
counted once beforehand, so that each piece knows the number of its first line and ids stay `file:line`, as without Ray.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

from difa.engines.ray.storage import below, is_address, locate
from difa.errors import InputError
from difa.formats.sources import LINES

PARQUET = ".parquet"
COLUMNS = ("id", "text", "tokens")
KINDS = (*LINES, PARQUET)

_BLOCK = 1 << 20  # bytes read at a time
_LARGEST = 4 << 20  # bytes of a piece: a few minutes of work, which is what a dead worker costs
_SMALLEST = 16 << 10
_PIECES_PER_WORKER = 16  # so that workers end at about the same time

Span = tuple[str, int, int]
Count = Callable[[Sequence[Span]], list[int]]


@dataclass(frozen=True, slots=True)
class File:
    """An input file: `source` as ids name it, `place` as any machine opens it; `rows` of a Parquet file, 0 for others."""

    source: str
    location: str
    kind: str
    size: int  # bytes of text, about, for Parquet
    rows: int = 0


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes (of Parquet: rows) `start` to `end` of a file; `first` is the number of the line that begins there, from 1."""

    index: int
    source: str
    location: str
    kind: str
    start: int
    end: int
    first: int


def find_files(inputs: Sequence[str]) -> list[File]:
    """All files of the inputs, in order; folders stand for the readable files in them, sorted by path."""
    files = [file for name in inputs for match in _matches(name) for file in _files_of(match)]
    with ThreadPoolExecutor(16) as pool:  # the footers of many Parquet files lie far away
        return list(pool.map(lambda file: _measure(file) if file.kind == PARQUET else file, files))


def piece_size(files: Sequence[File], workers: int) -> int:
    """Bytes of a piece: small enough for all workers to have enough of them."""
    total = sum(file.size for file in files)
    return max(_SMALLEST, min(_LARGEST, total // (_PIECES_PER_WORKER * workers)))


def plan(files: Sequence[File], size: int, count: Count) -> list[Piece]:
    """Pieces of about `size` bytes, in the order of the input; `count` gives the lines that begin in each span."""
    cuts = [_cuts(file, size) for file in files]
    spans = [(file.location, *cut) for file, ends in zip(files, cuts, strict=True) if file.kind != PARQUET for cut in ends[:-1]]
    lines = iter(count(spans))
    pieces: list[Piece] = []
    for file, ends in zip(files, cuts, strict=True):
        first = 1
        for start, end in ends:
            first = start + 1 if file.kind == PARQUET else first
            pieces.append(Piece(len(pieces), file.source, file.location, file.kind, start, end, first))
            if file.kind != PARQUET and (start, end) != ends[-1]:
                first += next(lines)
    return pieces


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
    if is_address(name) or not glob.has_magic(name) or Path(name).exists():
        return [name]
    matches = sorted(glob.glob(name, recursive=True))
    if not matches:
        raise InputError(f"{name}: expected files that match this pattern, found none: check the folder and the pattern")
    return matches


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
            yield File(source, name if is_address(name) else path, _kind(source, path), info.size)
            return
        inside = [entry for entry in system.get_file_info(fs.FileSelector(path, recursive=True)) if entry.is_file]
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror or error}") from None
    inside = [entry for entry in inside if PurePosixPath(entry.path).suffix.lower() in KINDS]
    if not inside:
        raise InputError(f"{name}: expected {', '.join(KINDS)} files in this folder, found none")
    for entry in sorted(inside, key=lambda entry: PurePosixPath(entry.path).parts):
        relative = entry.path.removeprefix(path).lstrip("/")
        source = below(name, relative)
        yield File(source, source if is_address(name) else entry.path, _kind(source, entry.path), entry.size)


def _kind(source: str, path: str) -> str:
    kind = PurePosixPath(path).suffix.lower()
    if kind not in KINDS:
        raise InputError(f"{source}: expected a file ending in {', '.join(KINDS)} or a folder for the Ray engine")
    return kind


def _measure(file: File) -> File:
    """Rows and bytes of text of a Parquet file, from its footer."""
    import pyarrow as pa
    from pyarrow import parquet

    system, path = locate(file.location)
    try:
        with system.open_input_file(path) as handle:
            footer: Any = parquet.ParquetFile(handle).metadata
            names = footer.schema.to_arrow_schema().names
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{file.source}: cannot be read as Parquet: {error}") from None
    if not {"text", "tokens"} & set(names):
        raise InputError(f'{file.source}: expected a column "text" or "tokens", got {", ".join(map(repr, names)) or "none"}')
    groups = [footer.row_group(group) for group in range(footer.num_row_groups)]
    columns = [group.column(at) for group in groups for at in range(group.num_columns)]
    size = sum(column.total_uncompressed_size for column in columns if column.path_in_schema.split(".")[0] in COLUMNS)
    return replace(file, size=size, rows=footer.num_rows)


def _cuts(file: File, size: int) -> list[tuple[int, int]]:
    """Spans of a file, at least one: also an empty file has its place in the output."""
    length = file.rows if file.kind == PARQUET else file.size
    count = max(1, -(-file.size // size))
    step = max(1, -(-length // count))
    return list(pairwise([*range(0, length, step), length])) or [(0, 0)]
