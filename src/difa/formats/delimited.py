"""CSV and TSV -> rows, one at a time.

The separator is found from the header and the first rows: comma, semicolon, tab or bar, or what Excel's `sep=` line says. Cells
may be quoted and hold line breaks. Text is UTF-8, or UTF-16 with its mark; anything else is a complaint about the row. Rows are
numbered as a spreadsheet does, with the header as the first.
"""

from __future__ import annotations

import csv
import io
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate
from typing import Any

from difa.errors import InputError
from difa.formats.bounds import MOST_BYTES, UTF16_MARKS, WHOLE, Reads, Span, encoding_of, skip_line, wide_encoding
from difa.formats.tables import WORDS, Columns, Table, are_words, choose_columns

_SEPARATORS = ",;\t|"
_HEAD = 1 << 16  # bytes looked at to find separator and columns
_SAMPLE = 50  # rows of them
_LONGEST = 16 << 20  # characters of a cell: a quote that is never closed must not take all memory

NumberedCells = tuple[int, list[str] | str]
"""The row's number, and its cells or a complaint."""


def read_header(file: io.BufferedReader, source: str, asked: Columns, separator: str | None) -> Table:
    """Columns and separator of a text table, from its first bytes."""
    head = file.read(_HEAD)
    wide = wide_encoding(head.partition(b"\n")[0])
    if wide == "UTF-32" or (wide and not head.startswith(UTF16_MARKS)):
        expected = f"expected UTF-8 text, or UTF-16 with its mark, got {wide}{' without one' if wide == 'UTF-16' else ''}"
        raise InputError(f"{source}: {expected}: save the table as CSV UTF-8, or run iconv -f {wide}LE -t UTF-8")
    lines = _first_lines(file, head, source)
    declared = _declared(lines[0]) if lines else None
    body = lines[1:] if declared else lines
    found = declared or separator or max(_SEPARATORS, key=lambda mark: _fit(body, mark))
    rows = [row for row in _parse(body, found) if row]
    if not rows:
        raise InputError(f"{source}: expected a header with the names of the columns, got an empty table")
    if complaint := _not_unicode(rows[0]):
        raise InputError(f"{source}:1: {complaint}")
    names = _named(rows[0])
    whole = [row for row in rows[1 : _SAMPLE + 1] if len(row) == len(names)]
    sample = {name: [row[at] for row in whole if row[at]] for at, name in enumerate(names)}
    lists = [WORDS] if are_words(sample.get(WORDS, ())) else []
    return replace(choose_columns(names, asked, sample, lists, source), separator=found)


def _first_lines(file: io.BufferedReader, head: bytes, source: str) -> list[str]:
    """The lines in the first bytes, and in as many more as the header takes."""
    size = _HEAD
    while True:
        lines = list(io.StringIO(head.decode(encoding_of(head), "surrogateescape"), newline=""))
        if len(head) < size:
            return lines
        whole = lines[:-1]  # the last line may be cut
        if _has_row(whole):
            return whole
        if size > MOST_BYTES:
            raise InputError(f"{source}: expected a header of at most {MOST_BYTES >> 20} MB, got a longer one: leave columns out")
        head += file.read(size)
        size *= 2


def _has_row(lines: list[str]) -> bool:
    """Whether a row ends in these lines: behind a line, all quotes are closed."""
    quotes = accumulate(line.count('"') for line in lines)
    return any(count % 2 == 0 and not _declared(line) for line, count in zip(lines, quotes, strict=True))


def read_cells(file: Any, table: Table, span: Span = WHOLE) -> Iterator[NumberedCells]:
    """Rows behind the header, each with as many cells as it has; blank lines are none.

    Args:
        file: the table's bytes, from the span's beginning on.
        table: its columns and separator.
        span: which of its rows.
    """
    lines = _TableLines(file)
    try:
        for number, cells in _rows(lines, table, span.first):
            if cells is not None:
                yield number, cells
            if span.end is not None and lines.cut is not None and lines.cut >= span.end - span.start:
                return
    finally:
        lines.close()


def cut_rows(file: Any, table: Table, size: int) -> list[Span]:
    """Spans of a table of about so many bytes, cut between rows; UTF-16 stays whole."""
    lines = _TableLines(file)
    spans: list[Span] = []
    start, first = 0, 1
    for number, _ in _rows(lines, table, 1):
        if lines.cut is not None and lines.cut - start >= size:
            spans.append(Span(start, lines.cut, first))
            start, first = lines.cut, number + 1
    end = lines.cut
    lines.close()
    if end is None:
        return [WHOLE]
    return spans if end == start and spans else [*spans, Span(start, end, first)]


def _rows(lines: _TableLines, table: Table, first: int) -> Iterator[tuple[int, list[str] | str | None]]:
    """All rows with their numbers; None stands for a blank one, and for the header."""
    csv.field_size_limit(max(_LONGEST, csv.field_size_limit()))
    number, is_header = first - 1, first == 1
    if is_header:
        _pass_declared(lines)
    reader = csv.reader(lines, delimiter=table.separator, strict=True)
    while True:
        number += 1
        lines.next_row()
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield number, f"expected a row of a table, got a broken one ({_explain(error)}){_remedy(error)}"
            continue
        except UnicodeDecodeError as error:
            yield number, f"expected UTF-16 text as the table's mark says, got something else ({error.reason})"
            return
        if is_header or not row:
            is_header = is_header and not row
            yield number, None
            continue
        yield number, _not_unicode(row) or (row if len(row) == len(table.columns) else _uneven(row, table))


def _pass_declared(lines: _TableLines) -> None:
    try:
        if (line := next(lines, None)) is not None and not _declared(line):
            lines.put_back(line)
    except csv.Error as error:
        raise InputError(f"expected a header with the names of the columns, got {_explain(error)}") from None


def _declared(line: str) -> str | None:
    """The separator of a `sep=;` line, which Excel writes and reads."""
    line = line.strip('\r\n\ufeff"')
    return line[4] if len(line) == 5 and line.casefold().startswith("sep=") else None


def _parse(lines: list[str], separator: str) -> list[list[str]]:
    rows: list[list[str]] = []
    try:
        for row in csv.reader(lines, delimiter=separator):
            rows.append(row)  # what was read before an error is of use
    except csv.Error:
        pass
    return rows


def _fit(lines: list[str], separator: str) -> tuple[float, int]:
    """How well a separator fits: the share of rows as wide as the header, of a header with several columns; then its width."""
    rows = [row for row in _parse(lines, separator)[:_SAMPLE] if row]
    if not rows or len(rows[0]) < 2:
        return 0.0, 0
    return sum(len(row) == len(rows[0]) for row in rows) / len(rows), len(rows[0])


def _named(names: list[str]) -> list[str]:
    """The names of a header; where several are empty, as those behind the last column often are, they are numbered."""
    return names if names.count("") < 2 else [name or f"column {at}" for at, name in enumerate(names, 1)]


def _not_unicode(row: list[str]) -> str | None:
    try:
        "".join(row).encode()
    except UnicodeEncodeError as error:
        byte = ord(error.object[error.start]) & 0xFF
        return (
            f"expected UTF-8 text, got byte 0x{byte:02x}: save the table as CSV UTF-8, or run "
            "iconv -f WINDOWS-1252 -t UTF-8 (with the encoding it has)"
        )
    return None


def _uneven(row: list[str], table: Table) -> str:
    return (
        f"expected {len(table.columns)} cells as in the header, got {len(row)}: put quotes around cells that hold "
        f"{table.separator!r} or a line break"
    )


def _explain(error: csv.Error) -> str:
    if _is_open(error):
        return "a quote is opened and never closed"
    return str(error).replace("\t", "\\t")


def _remedy(error: csv.Error) -> str:
    is_quote = _is_open(error) or "expected after" in str(error)
    return ": double the quotes inside cells, or remove them" if is_quote else ""


def _is_open(error: csv.Error) -> bool:
    return "end of data" in str(error) or "field limit" in str(error)


class _TableLines:
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

    def __iter__(self) -> _TableLines:
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
