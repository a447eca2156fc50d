"""Results -> JSON lines; a file appears under its name only when it is complete."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TextIO

from difa.document import Result, WordScore
from difa.errors import InputError


def to_json_line(result: Result) -> str:
    """One result as one line of JSON."""
    return json.dumps(result.to_dict(), ensure_ascii=False, allow_nan=False) + "\n"


def from_json_line(line: str | bytes) -> Result:
    """The result that such a line was made from."""
    record = json.loads(line)
    del record["summary"]  # follows from the rest
    return Result(**record | {"words": tuple(WordScore(**word) for word in record["words"])})


def read_lines(lines: Path, skip: int = 0) -> Iterator[Result]:
    """Results from a file of such lines."""
    with lines.open("rb") as content:
        yield from map(from_json_line, islice(content, skip, None))


@contextmanager
def atomic_writer(path: Path | None) -> Iterator[TextIO]:
    """A text file that takes its name only if all goes well; standard output for None."""
    if path is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        file = partial.open("w", encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
