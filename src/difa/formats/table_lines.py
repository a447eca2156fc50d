"""The bytes of a text table -> lines as Python's csv reads them, in bounded memory, with the place in the file."""

from __future__ import annotations

import csv
import io
from collections import deque
from typing import Any

from difa.formats.bounds import MOST_BYTES, Reads, skip_line
from difa.formats.encoding import encoding_of


class TableLines:
    """Lines that end in any way; a row of more than the bound is a `csv.Error`, after which the next line follows."""

    def __init__(self, file: Any) -> None:
        """Read from an open file on; UTF-16 is told by its mark."""
        self._wide = _Wide(file) if encoding_of(file.peek(4)) == "utf-16" else None
        self._file: Reads = self._wide or file
        self._waiting: deque[str] = deque()
        self._taken = self._at = 0

    @property
    def cut(self) -> int | None:
        """How many bytes were read, if the file can be cut here."""
        return None if self._waiting or self._wide else self._at

    def next_row(self) -> None:
        """A new row begins."""
        self._taken = 0

    def put_back(self, line: str) -> None:
        """Give a line again."""
        self._waiting.appendleft(line)

    def close(self) -> None:
        """Leave the file to its opener."""
        if self._wide is not None:
            self._wide.close()

    def __iter__(self) -> TableLines:
        return self

    def __next__(self) -> str:
        line = self._waiting.popleft() if self._waiting else self._read()
        self._taken += len(line)
        if self._taken > MOST_BYTES:
            raise csv.Error(f"more than {MOST_BYTES >> 20} million characters")
        return line

    def _read(self) -> str:
        raw = self._file.readline(MOST_BYTES + 1)
        if not raw:
            raise StopIteration
        is_first, self._at = self._at == 0, self._at + len(raw)
        if len(raw) > MOST_BYTES:
            self._at += 0 if raw.endswith(b"\n") else skip_line(self._file)
            raise csv.Error(f"a line of more than {MOST_BYTES >> 20} MB")
        line = raw.decode("utf-8-sig" if is_first else "utf-8", "surrogateescape")
        if line.find("\r", 0, len(line) - 2) >= 0:  # a lone carriage return ends a line, too
            line, *rest = io.StringIO(line, newline="")
            self._waiting.extend(rest)
        return line


class _Wide:
    """UTF-16 read as UTF-8."""

    def __init__(self, file: Any) -> None:
        self._text = io.TextIOWrapper(file, "utf-16", "surrogateescape", newline="")

    def readline(self, size: int = -1, /) -> bytes:
        return self._text.readline(size).encode("utf-8", "surrogatepass")

    def close(self) -> None:
        self._text.detach()
