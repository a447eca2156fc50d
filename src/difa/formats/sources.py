"""Inputs as a user names them -> the files behind them, in order, and their lines.

A name is a file, a folder, a pattern such as `data/*.jsonl`, or `-` for standard input. All names are looked up before anything
is read, so that a mistake in the last one does not cost the work on the others; of tables the columns are chosen then, too. Files
that end in `.gz` or `.zst` are unpacked on the way.
"""

from __future__ import annotations

import glob
import io
import os
import queue
import sys
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from difa.errors import InputError
from difa.formats.delimited import read_header
from difa.formats.labelstudio import tasks
from difa.formats.packed import is_packed, suffix_of, unpacked
from difa.formats.parquet import read_schema
from difa.formats.tables import TABLES, Columns, Table

LINES = (".txt", ".jsonl")
PAUSE = 0.2  # seconds without anything new on standard input after which readers may go on with what is there

Lines = Iterable[bytes | None]
"""Lines, and None wherever the sender pauses."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file, or standard input, which has neither size nor time."""

    name: str
    size: int = 0
    modified: int = 0
    table: Table | None = None
    """How it is read, if it is a table."""

    @property
    def is_stdin(self) -> bool:
        return self.name == "-"

    @property
    def suffix(self) -> str:
        """What is in it: `.txt`, `.jsonl`, `.json`, a table's ending, or nothing for standard input."""
        return suffix_of(self.name)

    @contextmanager
    def open(self) -> Iterator[tuple[Lines, Callable[[], int]]]:
        """Its lines, and a function that says how many of its bytes have been read."""
        if self.is_stdin:
            yield _stdin_lines(), lambda: 0
            return
        with self.open_bytes() as (file, tell):
            yield (self._tasks(file.read()) if self.suffix == ".json" else file), tell

    @contextmanager
    def open_bytes(self) -> Iterator[tuple[io.BufferedReader, Callable[[], int]]]:
        """What is in the file, and a function that says how many bytes of it, as it lies on disk, have been read."""
        try:
            with open(self.name, "rb") as raw, unpacked(self.name, raw) as file:
                yield file, raw.tell
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{self.name}: cannot be read: {getattr(error, 'strerror', None) or error}") from None

    def _tasks(self, content: bytes) -> list[bytes]:
        try:
            return list(tasks(content))
        except InputError as error:
            raise InputError(f"{self.name}: {error}") from None


def find_sources(inputs: Sequence[str], columns: Columns | None = None) -> list[Source]:
    """Everything that the names stand for.

    Args:
        inputs: files, folders, patterns or `-`.
        columns: the columns of tables that hold text and ids; without it they are guessed.
    """
    asked = columns or Columns()
    found = [source for name in inputs for source in ([Source("-")] if name == "-" else _look_up(name))]
    sources = [replace(source, table=_table(source, asked)) for source in found]
    if asked != Columns() and not any(source.table for source in sources):
        option = "text column" if asked.text is not None else "id column"
        raise InputError(f"{option}: expected a table ({', '.join(TABLES)}) among the inputs, got none")
    return sources


def _table(source: Source, asked: Columns) -> Table | None:
    if source.suffix not in TABLES:
        return None
    if source.suffix == ".parquet":
        if is_packed(source.name):
            raise InputError(f"{source.name}: expected Parquet as it is, got a packed one: unpack it, it is packed inside")
        return read_schema(source.name, asked)
    with source.open_bytes() as (file, _):
        return read_header(file, source.name, asked, "\t" if source.suffix == ".tsv" else None)


def _look_up(name: str) -> Iterator[Source]:
    path = Path(name)
    if glob.has_magic(name) and not path.exists():
        matches = sorted(glob.glob(name, recursive=True))
        if not matches:
            raise InputError(f"{name}: expected files that match this pattern, found none: check the folder and the pattern")
        for match in matches:
            yield from _look_up(match) if not glob.has_magic(match) else [_file(Path(match))]
    elif path.is_dir():
        inside = sorted(file for file in path.rglob("*") if file.is_file())
        files = [file for file in inside if suffix_of(file) in LINES]
        if not files:
            table = next((suffix_of(file) for file in inside if suffix_of(file) in TABLES), None)
            remedy = f": for its tables give '{path}/*{table}'" if table else ""
            raise InputError(f"{name}: expected .txt or .jsonl files in this folder, found none{remedy}")
        yield from map(_file, files)
    else:
        yield _file(path)


def _file(path: Path) -> Source:
    if suffix_of(path) not in (*LINES, *TABLES, ".json"):
        endings = ", ".join((*LINES, *TABLES))
        raise InputError(
            f"{path}: expected a file ending in {endings} or .json, packed (.gz, .zst) or not, a folder, or - for stdin"
        )
    try:
        found = path.stat()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    return Source(str(path), found.st_size, found.st_mtime_ns)


def _stdin_lines() -> Iterator[bytes | None]:
    """Lines of standard input as they arrive, and None wherever nothing came for a moment."""
    blocks: queue.Queue[bytes | None] = queue.Queue(maxsize=4)
    read = _stdin_reader()

    def pump() -> None:
        while block := read():
            blocks.put(block)
        blocks.put(None)

    # A daemon: a read that never returns must not keep the process alive.
    threading.Thread(target=pump, daemon=True).start()
    rest: list[bytes] = []  # the beginning of a line whose end has not come yet
    while True:
        try:
            block = blocks.get(timeout=PAUSE)
        except queue.Empty:
            yield None
            continue
        if block is None:
            break
        *whole, last = block.split(b"\n")
        if whole:
            yield b"".join(rest) + whole[0] + b"\n"
            yield from (line + b"\n" for line in whole[1:])
            rest = []
        rest.append(last)
    if remainder := b"".join(rest):
        yield remainder


def _stdin_reader() -> Callable[[], bytes]:
    try:
        number = sys.stdin.fileno()
    except (OSError, io.UnsupportedOperation):  # something else was put in its place
        return lambda: sys.stdin.buffer.read(1 << 16)
    return lambda: os.read(number, 1 << 16)
