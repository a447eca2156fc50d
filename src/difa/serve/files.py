"""Files of the service: one that someone opens on the page -> lines of JSON; verdicts of people -> lines of a file.

An upload is read in a child process, so this module loads no server. Several processes may append verdicts to one file: each
writes whole lines, under a lock on the file itself, and they are on disk when the call returns. A killed process or a full disk
can leave a torn last line. The next append puts a line end behind it, so that no other record is lost with it.
"""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any

from difa.errors import ConfigError
from difa.formats import read_entries
from difa.formats.sandbox import TooLargeError
from difa.formats.sources import place_source
from difa.formats.tables import AmbiguousTextError, Columns
from difa.formats.write import to_json
from difa.storage.atomic import is_stream, lock, sync_folder
from difa.words import split_words

VERDICTS = ("odd", "normal")
_OPENING = b'{"text":"'  # of every line that `append_verdict` writes: a torn one begins like it
_LONGEST = 64 * 1024 * 1024  # bytes of a first line that are looked at
_PAUSE = 0.005  # seconds between two looks at a lock


def table_as_json(name: str, place: str, text: str | None, id: str | None, room: int) -> Iterator[str]:
    """The answer to an upload, in pieces: columns and documents of the file of that name, whose bytes lie at `place`.

    Refuses a file whose documents have more than `room` characters.
    """
    sources, table = [], None
    try:
        sources = [place_source(name, place, Columns(text, id))]
        table = sources[0].table
        columns = table.columns if table else ()
    except AmbiguousTextError as error:
        columns = error.columns
    head = to_json({"columns": columns, "text_column": table and table.text, "id_column": table and table.id}).decode()
    yield f'{head[:-1]},"documents":['
    comma = ""
    for entry in read_entries(sources):
        if entry.bad is not None:
            record: dict[str, Any] = {"id": f"{sources[0].label}:{entry.position.line}", "error": entry.bad}
        elif (document := entry.document) is not None:
            has_own_words = document.words != split_words(document.text)
            tokens = {"tokens": document.words.texts} if has_own_words else {}
            others = {"columns": document.columns} if document.columns else {}
            record = {"id": document.id, "text": document.text, **tokens, **others}
        else:
            continue
        line = to_json(record).decode()
        room -= len(line)
        if room < 0:
            raise TooLargeError("the file holds more than fits into a page: score it on the command line")
        yield comma + line
        comma = ","
    yield "]}"


def append_verdict(path: Path, record: dict[str, Any], patience: float) -> None:
    """Append a record with `text` as its first key, whole or not at all; raises `OSError` where that is not possible.

    Waits up to `patience` seconds for others that write to the file, then raises `TimeoutError`.
    """
    line = to_json(record, line=True)
    with _locked(path, patience) as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(0, size - 1))
        is_torn = size > 0 and file.read(1) != b"\n"
        content = b"\n" + line if is_torn else line
        if os.write(file.fileno(), content) < len(content):  # a full disk takes a part of it
            file.truncate(size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(file.fileno())
    if size == 0:  # a new file: its name must last, too
        sync_folder(path.resolve().parent)


def check_verdict_file(path: Path) -> None:
    """Refuse a file that cannot be appended to, or that holds something other than verdicts; make it if it does not exist."""
    if not path.parent.is_dir():
        raise ConfigError(f"{path}: expected a file for verdicts in a folder that exists, got none: make the folder first")
    is_folder = os.path.isdir(path)  # `Path.is_dir` raises for a name that is too long
    if is_folder or is_stream(path):
        raise ConfigError(
            f"{path}: expected a file for verdicts, got a {'folder' if is_folder else 'pipe or device'}: choose a file"
        )
    try:
        with path.open("ab+") as file:
            file.seek(0)
            first = file.readline(_LONGEST)
    except OSError as error:
        raise ConfigError(f"{path}: the file for verdicts cannot be written: {error.strerror}: choose another one") from None
    if first and not _is_verdict(first):
        raise ConfigError(f"{path}: expected a file of verdicts, got something else in its first line: choose another file")


def _is_verdict(line: bytes) -> bool:
    """Whether a line is a verdict, or one that was torn when its process was killed."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return line.startswith(_OPENING) or _OPENING.startswith(line)
    return isinstance(record, dict) and isinstance(record.get("text"), str) and record.get("verdict") in VERDICTS


@contextmanager
def _locked(path: Path, patience: float) -> Iterator[FileIO]:
    """The file, open for appending and locked; the system unlocks it when the process ends."""
    end = time.monotonic() + patience
    target, flags = Path(os.path.realpath(path)), os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
    number = None
    while number is None:
        try:
            number = lock(target, flags, wait=False)
        except BlockingIOError:
            if time.monotonic() >= end:
                raise TimeoutError(errno.ETIMEDOUT, "another process keeps the file locked") from None
            time.sleep(_PAUSE)
    with FileIO(number, "ab+") as file:
        yield file
