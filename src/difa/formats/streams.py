"""The bytes of a file or of standard input -> lines of bounded length.

`.gz` and `.zst` are packed and unpacked on the way, by Python's gzip and by pyarrow (extra `tables`). Lines are cut off while
they are read, whatever a packed file expands to: one byte more than the bound comes out, by which a parser knows that there was
more. Standard input is read as it arrives, or kept in a file if it must be read again.
"""

from __future__ import annotations

import atexit
import codecs
import gzip
import io
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, cast

from difa.errors import InputError, import_extra
from difa.runtime.parallel import Ahead
from difa.storage.atomic import scratch_file

PACKED = (".gz", ".zst")
MOST_BYTES = 64 << 20
"""Bytes of a line, or characters of a table's row: a result of the longest document fits into it."""
MOST_VALUES = 4_000_000
"""Commas and brackets of JSON that is parsed as a whole: each may become an object of a hundred bytes and more."""
_BLOCK = 1 << 20
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_UTF32_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_SHARE_16 = 0.8  # of every other byte that is zero in UTF-16
_SHARE_32 = 0.6  # of all bytes that are zero in UTF-32
_HEAD = 1 << 13  # bytes in which the ends of lines are looked for
PAUSE = 0.2  # seconds without a new line after which readers of standard input may go on with what is there

ReadLine = Callable[[int], bytes]
"""Reads a line, or its beginning if it has more bytes than given, as `readline` of a file does."""


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes (of Parquet: rows) of a file from `start` to `end`, or to its end; `first` is the number of the first line or row."""

    start: int = 0
    end: int | None = None
    first: int = 1


WHOLE = Span()


def is_address(location: str | Path) -> bool:
    """Whether a location is an address rather than a path."""
    return isinstance(location, str) and "://" in location


def suffix_of(path: str | Path) -> str:
    """What is in a file, by its ending: `.csv` for `a.csv` and `a.csv.gz`."""
    file = _file_of(path)
    return (file.with_suffix("") if is_packed(path) else file).suffix.lower()


def is_packed(path: str | Path) -> bool:
    """Whether a file's ending says that it is packed."""
    return _file_of(path).suffix.lower() in PACKED


def _file_of(path: str | Path) -> Path:
    """The path without the settings behind the `?` of an address."""
    return Path(str(path).partition("?")[0] if is_address(path) else path)


@contextmanager
def unpacked(path: str | Path, raw: io.BufferedReader) -> Iterator[io.BufferedReader]:
    """The content of an open file, unpacked if the ending of its path asks for that."""
    match _file_of(path).suffix.lower():
        case ".gz":
            yield cast(io.BufferedReader, gzip.GzipFile(fileobj=raw))
        case ".zst":
            with arrow("Zstandard (.zst)").CompressedInputStream(raw, "zstd") as stream:
                yield io.BufferedReader(stream)
        case _:
            yield raw


@contextmanager
def packed(path: str | Path, raw: BinaryIO) -> Iterator[BinaryIO]:
    """An open file to write into; what is written is packed if the ending of its path asks for that."""
    match _file_of(path).suffix.lower():
        case ".gz":
            with gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as stream:  # the same results, the same bytes
                yield cast(BinaryIO, stream)
        case ".zst":
            with arrow("Zstandard (.zst)").CompressedOutputStream(raw, "zstd") as stream:
                yield stream
        case _:
            yield raw


def arrow(purpose: str = "Parquet") -> Any:
    """The pyarrow package, or the error that says how to get it."""
    return import_extra("pyarrow", "tables", purpose)


def lines_in(file: io.BufferedReader, span: Span = WHOLE) -> Iterator[bytes]:
    """Lines of a newly opened file, or of a span of it as `cut_lines` gives them.

    Where carriage returns alone end lines, the span at the beginning has all of them: only newlines are found beforehand.
    """
    head = file.peek(1)
    if b"\r" in head[: _HEAD - 1] and b"\n" not in head[:_HEAD]:
        text = BorrowedText(file, "latin-1")  # it has a character for every byte, and newlines for carriage returns
        return bounded_lines(lambda size: text.readline(size).encode("latin-1"), MOST_BYTES) if span.start == 0 else iter(())
    if span.start:
        file.seek(span.start)
    return bounded_lines(file.readline, MOST_BYTES, span.start, span.end)


def cut_lines(file: io.BufferedReader, size: int) -> list[Span]:
    """Spans of a file of lines, each of at least `size` bytes but the last, cut behind newlines."""
    spans: list[Span] = []
    start = at = 0
    first, newlines = 1, 0
    while block := file.read(min(_BLOCK, start + size - at)):
        newlines += block.count(b"\n")
        at += len(block)
        if at == start + size and not block.endswith(b"\n"):
            at += _skip_line(file.readline)
            newlines += 1
        if at >= start + size:
            spans.append(Span(start, at, first))
            start, first, newlines = at, first + newlines, 0
    return [*spans, Span(start, at, first)] if at > start or not spans else spans


def bounded_lines(readline: ReadLine, most: int, at: int = 0, end: int | None = None) -> Iterator[bytes]:
    """Lines of a file that stands at byte `at`, as long as they begin before `end`; of longer ones the first `most` + 1 bytes."""
    while (end is None or at < end) and (line := readline(most + 1)):
        at += len(line)
        yield line
        if len(line) > most and not line.endswith(b"\n"):
            at += _skip_line(readline)


def _skip_line(readline: ReadLine) -> int:
    """Read over the rest of a line, and count its bytes."""
    skipped, rest = 0, b" "
    while rest and not rest.endswith(b"\n"):
        rest = readline(_BLOCK)
        skipped += len(rest)
    return skipped


def check_line(line: bytes) -> None:
    """Refuse a line that was cut off, and JSON that would become very many objects, before it is parsed."""
    if len(line) > MOST_BYTES:
        raise InputError(f"expected a line of at most {MOST_BYTES >> 20} MB, got a longer one: put line breaks into it")
    values = sum(map(line.count, b",[{")) if len(line) > MOST_VALUES else 0
    if values > MOST_VALUES:
        raise InputError(f"expected at most {MOST_VALUES:,} commas and brackets in a line or task, got {values:,}: split it")


class BorrowedText(io.TextIOWrapper):
    """The text of a file that someone else closes."""

    def __del__(self) -> None:
        with suppress(ValueError):  # it is closed already
            self.detach()


def wide_encoding(content: bytes) -> str | None:
    """`UTF-16` or `UTF-32`, if bytes begin with its mark or have the zeros that Latin letters have in it."""
    if content.startswith(_UTF32_MARKS):
        return "UTF-32"
    if content.startswith(UTF16_MARKS):
        return "UTF-16"
    if b"\x00" not in content or len(content) < 4:
        return None
    if content.count(0) >= _SHARE_32 * len(content):
        return "UTF-32"
    fewer, more = sorted((content[::2].count(0), content[1::2].count(0)))
    return "UTF-16" if fewer == 0 and more >= _SHARE_16 * (len(content) // 2) else None


def read_stdin() -> Iterator[bytes | None]:
    """Lines as they arrive, and None whenever none came for a moment."""
    try:  # a buffer of our own: the end of the process closes that of `sys.stdin`, and would wait for a read that holds it
        file = open(sys.stdin.fileno(), "rb", closefd=False)  # noqa: SIM115
    except io.UnsupportedOperation:  # as of a test's stand-in
        file = io.BufferedReader(cast(io.RawIOBase, sys.stdin.buffer))
    except OSError as error:
        raise unreadable_stdin(error) from None
    lines_of_file = chain.from_iterable(map(lines_in, [file]))  # even the first look at it waits in the other thread
    with Ahead(lambda line: line, lines_of_file, 16) as lines:
        while True:
            try:
                yield next(lines) if lines.comes_within(PAUSE) else None
            except StopIteration:
                return
            except OSError as error:
                raise unreadable_stdin(error) from None


@lru_cache(maxsize=1)  # it can be read once only
def spooled_stdin() -> str:
    """The path of a file with all of standard input, which exists until the process ends."""
    with ExitStack() as stack:
        try:
            file, path = stack.enter_context(scratch_file())
            shutil.copyfileobj(sys.stdin.buffer, file)
            file.flush()
        except OSError as error:
            if error.strerror is None:
                raise unreadable_stdin(error) from None
            raise InputError(f"standard input: cannot be kept in {tempfile.gettempdir()}: {error.strerror}") from None
        atexit.register(stack.pop_all().close)
    return path


def read_text(name: str | Path) -> str:
    """The text of a file, or of standard input for `-`, as a whole."""
    try:
        return (sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()).decode("utf-8-sig")
    except OSError as error:
        raise unreadable_stdin(error) if name == "-" else InputError(f"{name}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: expected UTF-8 text, got something else at byte {error.start}: convert it") from None


def unreadable_stdin(error: OSError) -> InputError:
    """The error for standard input that cannot be read."""
    return InputError(f"standard input: cannot be read: {error.strerror or 'it is closed'}")
