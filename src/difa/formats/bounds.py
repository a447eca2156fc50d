"""The bytes of a file -> lines: their encoding and ends, and how large a line, a row and a document may be.

Lines are cut off while they are read, whatever a packed file expands to: what comes out has at most one byte more than the
bound, by which a parser knows that there was more.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from difa.document import Document
from difa.errors import InputError

MOST_BYTES = 64 << 20
"""Bytes of a line, or characters of a table's row: a result of the longest document fits into it."""
MOST_CHARACTERS = 2_000_000
MOST_WORDS = 200_000
"""Of a document, which is scored as a whole: some 5 MB of memory for every thousand words."""
MOST_VALUES = 4_000_000
"""Commas and brackets of JSON that is parsed as a whole: each may become an object of a hundred bytes and more."""
_BLOCK = 1 << 20
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_UTF32_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_LEAST = 4  # bytes that tell something
_SHARE = 0.8  # of every other byte that is zero in UTF-16
_SHARE_32 = 0.6  # of all bytes that are zero in UTF-32
_HEAD = 1 << 13


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes (of Parquet: rows) of a file from `start` to `end`, or to its end; `first` is the number of the first line or row."""

    start: int = 0
    end: int | None = None
    first: int = 1


WHOLE = Span()


class Reads(Protocol):
    """A file of bytes."""

    def readline(self, size: int = -1, /) -> bytes: ...


def bounded_lines(file: Reads, most: int = MOST_BYTES, at: int = 0, end: int | None = None) -> Iterator[bytes]:
    """Lines of a file; of one that is too long only the beginning, one byte more than the bound.

    Args:
        file: read from where it stands.
        most: bytes of a line.
        at: where it stands.
        end: no line begins there or behind it.
    """
    while (end is None or at < end) and (line := file.readline(most + 1)):
        at += len(line)
        yield line
        if len(line) > most and not line.endswith(b"\n"):
            at += skip_line(file)


def lines_in(file: io.BufferedReader, span: Span = WHOLE) -> Iterator[bytes]:
    """Lines that begin in a span, whole: the last may end beyond it. The file is read from its beginning on.

    Where carriage returns alone end lines, there is no place to cut: the span at the beginning has all of them.
    """
    if has_returns(file.peek(1)):
        return bounded_lines(_Newlines(file), MOST_BYTES) if span.start == 0 else iter(())
    at = span.start
    if at > 0:
        file.seek(at - 1)
        at += skip_line(file) - 1  # the rest of a line that began before
    return bounded_lines(file, MOST_BYTES, at, span.end)


class BorrowedText(io.TextIOWrapper):
    """The text of a file that somebody else closes."""

    def __del__(self) -> None:
        with suppress(ValueError):  # it is closed already
            self.detach()


class _Newlines:
    """A file in which newlines stand for carriage returns."""

    def __init__(self, file: io.BufferedReader) -> None:
        self._text = BorrowedText(file, "latin-1")  # which has a character for every byte

    def readline(self, size: int = -1, /) -> bytes:
        return self._text.readline(size).encode("latin-1")


def skip_line(file: Reads) -> int:
    """Read over the rest of a line, and return its bytes."""
    skipped, rest = 0, b" "
    while rest and not rest.endswith(b"\n"):
        rest = file.readline(_BLOCK)
        skipped += len(rest)
    return skipped


def check_line(line: bytes) -> None:
    """Refuse a line that was cut off, and JSON that would become very many objects, before it is parsed."""
    if len(line) > MOST_BYTES:
        raise InputError(f"expected a line of at most {MOST_BYTES >> 20} MB, got a longer one: put line breaks into it")
    values = sum(map(line.count, b",[{")) if len(line) > MOST_VALUES else 0
    if values > MOST_VALUES:
        raise InputError(f"expected at most {MOST_VALUES:,} commas and brackets in a line or task, got {values:,}: split it")


def check_text(text: str) -> None:
    """Refuse a text that is too long, before it is split into words."""
    if len(text) > MOST_CHARACTERS:
        raise InputError(f"expected at most {MOST_CHARACTERS:,} characters in a document, got {len(text):,}: split it")


def check_document(document: Document) -> Document:
    """Refuse a document with too many words or characters."""
    check_text(document.text)
    if len(document.words) > MOST_WORDS:
        raise InputError(f"expected at most {MOST_WORDS:,} words in a document, got {len(document.words):,}: split it")
    return document


def wide_encoding(content: bytes) -> str | None:
    """`UTF-16` or `UTF-32`, if bytes begin with its mark or have the zeros that Latin letters have in it."""
    if content.startswith(_UTF32_MARKS):
        return "UTF-32"
    if content.startswith(UTF16_MARKS):
        return "UTF-16"
    if b"\x00" not in content or len(content) < _LEAST:
        return None
    if content.count(0) >= _SHARE_32 * len(content):
        return "UTF-32"
    zeros = [content[::2].count(0), content[1::2].count(0)]
    return "UTF-16" if min(zeros) == 0 and max(zeros) >= _SHARE * (len(content) // 2) else None


def has_returns(head: bytes) -> bool:
    """Whether carriage returns alone end the lines of a file that begins so."""
    return b"\r" in head[: _HEAD - 1] and b"\n" not in head[:_HEAD]
