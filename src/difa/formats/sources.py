"""Inputs as a user names them -> the files behind them, in order.

A name is a file, a folder, a pattern such as `data/*.jsonl`, or `-` for standard input; files and folders may be addresses. All
names are looked up, and the columns of tables chosen, before anything is read: a mistake in the last name does not cost the work
on the others. Links to folders are followed, but no folder is entered twice, so that loops of links end.
"""

from __future__ import annotations

import glob
import io
import os
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from difa.errors import ConfigError, InputError
from difa.formats.delimited import read_header
from difa.formats.parquet import read_schema
from difa.formats.streams import WHOLE, Span, arrow, is_address, is_packed, spooled_stdin, suffix_of, unpacked
from difa.formats.tables import TABLES, Columns, Table

LINES = (".txt", ".jsonl")
_STDIN = ("text", "jsonl", "json", "csv", "tsv", "parquet")  # what standard input can be said to hold
_FETCHED = 1 << 20  # bytes of a file at an address that are fetched at a time


@dataclass(frozen=True, slots=True)
class Source:
    """A file or a span of it, or standard input, which has neither size nor time."""

    name: str
    size: int = 0
    modified: int = 0
    table: Table | None = None
    """How it is read, if it is a table."""
    format: str | None = None
    """What the user says that standard input holds, if anything."""
    unreadable: str | None = None
    """Why it cannot be read: a folder, or a file in one, that was found but is closed to us."""
    place: str | None = None
    """Where its bytes lie, if not under its name."""
    span: Span = WHOLE
    """The lines or rows that are meant: all of them, or those of a piece of work."""

    @property
    def is_stdin(self) -> bool:
        return self.name == "-"

    @property
    def label(self) -> str:
        """Its name in ids and messages; bytes that are no text are escaped. A dash would look like a formula in a cell."""
        if self.is_stdin:
            return "stdin"
        return self.name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")

    @property
    def suffix(self) -> str:
        """What is in it: `.txt`, `.jsonl`, `.json`, a table's ending, or nothing for standard input of text or JSON lines."""
        if self.is_stdin:
            return {None: "", "text": ".txt"}.get(self.format, f".{self.format}")
        return suffix_of(self.name)

    @property
    def path(self) -> str:
        """Where its bytes lie."""
        return spooled_stdin() if self.is_stdin else self.place or self.name

    @property
    def absolute_path(self) -> str:
        """The same, for processes in other folders."""
        return self.path if is_address(self.path) else os.path.abspath(self.path)

    @property
    def bytes_per_row(self) -> float:
        """Of Parquet, whose spans count rows; 1 for others, whose spans count bytes."""
        return self.size / max(1, self.table.rows) if self.table is not None and self.suffix == ".parquet" else 1.0

    @property
    def span_size(self) -> int:
        """Bytes of the span, as they lie on disk."""
        return self.size if self.span.end is None else round(self.bytes_per_row * (self.span.end - self.span.start))

    @contextmanager
    def open_bytes(self) -> Iterator[tuple[io.BufferedReader, Callable[[], int]]]:
        """Its unpacked content, and a function that says how many bytes of the file, packed as it is, have been read."""
        try:
            with self._open() as raw, unpacked(self.name, raw) as file:
                yield file, raw.tell
        except (OSError, EOFError, zlib.error) as error:
            raise _unreadable(self.label, error) from None

    def _open(self) -> io.BufferedReader:
        if not is_address(self.path):
            return open(self.path, "rb")
        system, place = locate(self.path)
        return io.BufferedReader(system.open_input_file(place), _FETCHED)


def _unreadable(name: object, error: Exception) -> InputError:
    return InputError(f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}")


def find_sources(inputs: Sequence[str], columns: Columns | None = None, skip_bad: bool = False) -> list[Source]:
    """All files that the inputs stand for; with `skip_bad`, what cannot be read in a folder takes part as a bad line."""
    asked = columns or Columns()
    if asked.stdin is not None and asked.stdin not in _STDIN:
        raise ConfigError(f"input format: expected one of {', '.join(_STDIN)}, got {asked.stdin!r}")
    found = [source for name in inputs for source in _look_up(name, asked)]
    if not skip_bad and (closed := next((source for source in found if source.unreadable), None)):
        raise InputError(f"{closed.label}: cannot be read: {closed.unreadable} (skip_bad goes on without it)")
    return _with_tables(found, asked)


def place_source(name: str, place: str, columns: Columns) -> Source:
    """A file that has this name but lies at another place, such as one that was uploaded."""
    _check_ending(name)
    return _with_tables([Source(name, os.stat(place).st_size, place=place)], columns)[0]


def _with_tables(found: Sequence[Source], asked: Columns) -> list[Source]:
    """The sources, with the columns of those that are tables."""
    sources = [replace(source, table=_table(source, asked)) for source in found]
    if not asked.is_open and not any(source.table for source in sources):
        key, name = ("text", asked.text) if asked.text is not None else ("id", asked.id)
        is_lines = any(source.suffix == ".jsonl" for source in found)
        remedy = f': in JSON lines rename the key {name!r} to "{key}"' if is_lines else ""
        raise InputError(f"{key} column: expected a table ({', '.join(TABLES)}) among the inputs, got none{remedy}")
    return sources


def _table(source: Source, asked: Columns) -> Table | None:
    if source.suffix not in TABLES or source.unreadable:
        return None
    if source.suffix == ".parquet":
        if is_packed(source.name):
            raise InputError(f"{source.label}: expected Parquet as it is, got a packed one: unpack it, it is packed inside")
        return read_schema(source, asked)
    with source.open_bytes() as (file, _):
        return read_header(file, source.label, asked, "\t" if source.suffix == ".tsv" else None)


def _look_up(name: str, asked: Columns) -> list[Source]:
    """The files that a name stands for; a folder stands for those in it that are no tables."""
    if name == "-":
        return [Source("-", format=asked.stdin or (None if asked.is_open else "csv"))]  # with columns named it is a table
    if is_address(name):
        found = _at_address(name)
        if "*" not in name and [source.name for source in found] != [name]:
            return _lines_among(name.rstrip("/"), [source for source in found if _has_documents(source.name)])
        for source in found:
            _check_ending(source.name)
        return found
    if glob.has_magic(name) and not os.path.exists(name):
        matches = _matches(name)
        return [source for match in matches for source in (_look_up(match, asked) if os.path.isdir(match) else [_file(match)])]
    if os.path.isdir(name):
        inside = files_below(Path(name), _has_documents).items()
        return _lines_among(str(Path(name)), [Source(str(path), unreadable=why) if why else _file(path) for path, why in inside])
    return [_file(name)]


def _lines_among(folder: str, found: Sequence[Source]) -> list[Source]:
    """The files of a folder that are no tables; what cannot be read takes part, so that it can be named."""
    lines = [source for source in found if source.suffix not in TABLES]
    if not lines:
        table = next((source.suffix for source in found if not source.unreadable), None)
        remedy = f": for its tables give '{folder}/*{table}'" if table else ""
        raise InputError(f"{folder}: expected .txt or .jsonl files in this folder, found none{remedy}")
    return lines


def _file(path: str | Path) -> Source:
    _check_ending(path)
    try:
        found = os.stat(path)
    except OSError as error:
        raise _unreadable(path, error) from None
    return Source(str(Path(path)), found.st_size, found.st_mtime_ns)


def _has_documents(path: str | Path) -> bool:
    """Whether a folder's file is of a kind that we read there."""
    return suffix_of(path) in (*LINES, *TABLES)


def _check_ending(path: str | Path) -> None:
    if not _has_documents(path) and suffix_of(path) != ".json":
        endings = ", ".join((*LINES, *TABLES))
        raise InputError(
            f"{path}: expected a file ending in {endings} or .json, packed (.gz, .zst) or not, a folder, or - for stdin"
        )


def files_below(folder: Path, wanted: Callable[[Path], bool]) -> dict[Path, str | None]:
    """Files in a folder and all below it whose names are wanted, sorted, each with the reason why it cannot be read, if any.

    Folders that cannot be looked into are among them. `os.walk` of Python 3.11 calls itself, and fails in very deep folders.
    """
    found, seen = dict[Path, str | None](), set[tuple[int, int]]()
    folders, links = deque([folder]), deque[Path]()
    while folders or links:
        place = folders.popleft() if folders else links.popleft()  # the own name of a folder comes before that of a link
        try:
            status = place.stat()
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            with os.scandir(place) as entries:
                for entry in entries:
                    path = place / entry.name
                    if entry.is_dir():
                        (links if entry.is_symlink() else folders).append(path)
                    elif wanted(path) and path.is_file():
                        found[path] = None if os.access(path, os.R_OK) else "Permission denied"
                    elif wanted(path) and entry.is_symlink() and not path.exists():
                        found[path] = "a link that leads nowhere"
        except OSError as error:
            found[place] = error.strerror or str(error)
    return dict(sorted(found.items()))


def _matches(pattern: str) -> list[str]:
    """Everything that matches a pattern, sorted, and only once if loops of links show it again."""
    shortest: dict[str, str] = {}
    for name in sorted(glob.glob(pattern, recursive=True), key=lambda name: (len(Path(name).parts), name)):
        shortest.setdefault(os.path.realpath(name) if "**" in pattern else name, name)
    if not shortest:
        raise _no_match(pattern)
    return sorted(shortest.values())


def _no_match(pattern: str) -> InputError:
    return InputError(f"{pattern}: expected files that match this pattern, found none: check the folder and the pattern")


def locate(location: str) -> tuple[Any, str]:
    """The file system of a location, and the path within it."""
    arrow("files at addresses")
    from pyarrow import fs

    if not is_address(location):
        return fs.LocalFileSystem(), str(Path(location).absolute())
    try:
        system, path = fs.FileSystem.from_uri(location)
    except (OSError, ValueError) as error:
        raise InputError(f"{location}: expected an address such as s3://bucket/folder, got: {error}") from None
    return system, path.rstrip("/")


def below(folder: str, relative: str) -> str:
    """The location of a file in a folder; the settings behind the `?` of an address stay at the end."""
    if not is_address(folder):
        return str(Path(folder) / relative)
    head, mark, settings = folder.partition("?")
    return f"{head.rstrip('/')}/{relative}{mark}{settings}"


def _at_address(address: str) -> list[Source]:
    """Files at an address: the one of that name, those below a folder, or those that a `*` matches."""
    from pyarrow import fs

    head, mark, settings = address.partition("?")
    folder = f"{head.partition('*')[0].rpartition('/')[0]}{mark}{settings}" if "*" in head else address
    system, path = locate(address)
    root = locate(folder)[1]
    try:
        info = system.get_file_info(root)
        if info.type == fs.FileType.NotFound:
            raise InputError(f"{address}: cannot be read: No such file or directory")
        if info.type == fs.FileType.File:
            return [Source(address, info.size, info.mtime_ns or 0)]
        inside = [entry for entry in system.get_file_info(fs.FileSelector(root, recursive=True)) if entry.is_file]
    except OSError as error:
        raise _unreadable(address, error) from None
    if "*" in head:
        inside = [entry for entry in inside if PurePosixPath(entry.path).match(path)]
        if not inside:
            raise _no_match(address)
    inside.sort(key=lambda entry: PurePosixPath(entry.path).parts)
    names = (below(folder, entry.path.removeprefix(root).lstrip("/")) for entry in inside)
    return [Source(name, entry.size, entry.mtime_ns or 0) for name, entry in zip(names, inside, strict=True)]
