"""CSV and TSV -> rows, one at a time.

The separator is comma, semicolon, tab or bar, whichever fits the first rows best, or what Excel's line `sep=` says. Cells may be
quoted and hold line breaks. Text is UTF-8, or UTF-16 with its mark; anything else is a complaint about the row. Rows are numbered
as a spreadsheet does, with the header as the first.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any

from difa.errors import InputError
from difa.formats.streams import MOST_BYTES, UTF16_MARKS, WHOLE, BorrowedText, Span, wide_encoding
from difa.formats.tables import WORDS, Columns, Table, are_words, choose_columns

_SEPARATORS = ",;\t|"
_HEAD = 1 << 16  # bytes looked at to find separator and columns
_SAMPLE = 50  # rows of them
_LONGEST = 16 << 20  # characters of a cell: a quote that is never closed must not take all memory


def read_header(file: io.BufferedReader, source: str, asked: Columns, separator: str | None) -> Table:
    """Columns and separator of a text table, from its first lines."""
    head = file.peek(_HEAD)
    wide = wide_encoding(head.partition(b"\n")[0])
    if wide == "UTF-32" or (wide and not head.startswith(UTF16_MARKS)):
        expected = f"expected UTF-8 text, or UTF-16 with its mark, got {wide}{' without one' if wide == 'UTF-16' else ''}"
        raise InputError(f"{source}: {expected}: save the table as CSV UTF-8, or run iconv -f {wide}LE -t UTF-8")
    lines = _first_lines(_TableLines(file), source)
    declared = _declared(lines[0]) if lines else None
    body = lines[1:] if declared else lines
    candidates = {mark: _parse(body, mark) for mark in (declared or separator or _SEPARATORS)}
    found = max(candidates, key=lambda mark: _fit(candidates[mark]))
    rows = candidates[found]
    if not rows:
        raise InputError(f"{source}: expected a header with the names of the columns, got an empty table")
    if complaint := _not_unicode(rows[0]):
        raise InputError(f"{source}:1: {complaint}")
    names = rows[0]
    if names.count("") > 1:  # as behind the last column
        names = [name or f"column {at}" for at, name in enumerate(names, 1)]
    whole = [row for row in rows[1:] if len(row) == len(names)]
    sample = {name: [row[at] for row in whole if row[at]] for at, name in enumerate(names)}
    lists = [WORDS] if are_words(sample.get(WORDS, ())) else []
    return replace(choose_columns(names, asked, sample, lists, source), separator=found)


def _first_lines(lines: Iterator[str], source: str) -> list[str]:
    """The lines from which separator and columns are found, with the whole header, which ends where all quotes are closed."""
    found, size, quotes, has_header = list[str](), 0, 0, False
    try:
        for line in lines:
            found.append(line)
            size, quotes = size + len(line), quotes + line.count('"')
            has_header = has_header or (quotes % 2 == 0 and not _declared(line))
            if has_header and size >= _HEAD:
                break
    except (csv.Error, UnicodeDecodeError) as error:
        if not has_header:
            raise InputError(f"{source}: expected a header with the names of the columns, got {error}: leave some out") from None
    return found


def read_cells(file: Any, table: Table, span: Span = WHOLE) -> Iterator[tuple[int, list[str] | str]]:
    """Rows behind the header that lie in a span: their numbers, and cells or a complaint."""
    if span.start:
        file.seek(span.start)
    lines = _TableLines(file)
    for number, cells in _rows(lines, table, span.first):
        if cells is not None:
            yield number, cells
        if span.end is not None and lines.read is not None and lines.read >= span.end - span.start:
            return


def cut_rows(file: Any, table: Table, size: int) -> list[Span]:
    """Spans of a table, each of about `size` bytes, cut between rows; UTF-16 stays whole."""
    lines = _TableLines(file)
    if lines.read is None:
        return [WHOLE]
    spans: list[Span] = []
    start, first = 0, 1
    for number, _ in _rows(lines, table, 1):
        if lines.read - start >= size:
            spans.append(Span(start, lines.read, first))
            start, first = lines.read, number + 1
    return spans if lines.read == start and spans else [*spans, Span(start, lines.read, first)]


def _rows(lines: _TableLines, table: Table, first: int) -> Iterator[tuple[int, list[str] | str | None]]:
    """All rows with their numbers: cells, or a complaint; None for a blank row, and for the header."""
    csv.field_size_limit(max(_LONGEST, csv.field_size_limit()))
    number, is_header, reader = first - 1, first == 1, csv.reader(lines, delimiter=table.separator, strict=True)
    while True:
        number += 1
        lines.taken, is_first = 0, reader.line_num == 0
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield number, _broken(error)
            continue
        except UnicodeDecodeError as error:
            yield number, f"expected UTF-16 text as the table's mark says, got something else ({error.reason})"
            return
        if is_header and is_first and _declared(table.separator.join(row)):
            number -= 1  # spreadsheets do not show this line
        elif is_header or not row:
            is_header = is_header and not row
            yield number, None
        else:
            yield number, _complaint(row, table) or row


def _complaint(row: list[str], table: Table) -> str | None:
    if len(row) == len(table.columns):
        return _not_unicode(row)
    expected = f"expected {len(table.columns)} cells as in the header, got {len(row)}"
    return _not_unicode(row) or f"{expected}: put quotes around cells that hold {table.separator!r} or a line break"


def _broken(error: csv.Error) -> str:
    """The complaint about a row that cannot be parsed."""
    reason = str(error).replace("\t", "\\t")
    is_open = "end of data" in reason or "field limit" in reason
    remedy = ": double the quotes inside cells, or remove them" if is_open or "expected after" in reason else ""
    return f"expected a row of a table, got a broken one ({'a quote is opened and never closed' if is_open else reason}){remedy}"


def _declared(line: str) -> str | None:
    """The separator of a `sep=;` line, which Excel writes and reads."""
    line = line.strip('\r\n"')
    return line[4] if len(line) == 5 and line.casefold().startswith("sep=") else None


def _parse(lines: list[str], separator: str) -> list[list[str]]:
    """The header and some rows, up to the first that is broken."""
    rows: list[list[str]] = []
    with suppress(csv.Error):
        rows.extend(islice(filter(None, csv.reader(lines, delimiter=separator)), _SAMPLE + 1))
    return rows


def _fit(rows: list[list[str]]) -> tuple[float, int]:
    """How well a separator fits: the share of rows as wide as the header, of a header with several columns; then its width."""
    widths = [len(row) for row in rows[:_SAMPLE]]
    if not widths or widths[0] < 2:
        return 0.0, 0
    return widths.count(widths[0]) / len(widths), widths[0]


def _not_unicode(row: list[str]) -> str | None:
    try:
        "".join(row).encode()
    except UnicodeEncodeError as error:
        remedy = "save the table as CSV UTF-8, or run iconv -f WINDOWS-1252 -t UTF-8 (with the encoding it has)"
        return f"expected UTF-8 text, got byte 0x{ord(error.object[error.start]) & 0xFF:02x}: {remedy}"
    return None


class _TableLines:
    """Lines of a table, however they end; a row longer than the bound is a `csv.Error`, and the next line follows it."""

    read: int | None
    """Bytes read so far; of UTF-16, which cannot be cut, that is not known."""
    taken = 0
    """Characters of the row so far; set to 0 where a row begins."""

    def __init__(self, file: Any) -> None:
        """Read from where an open file stands; its mark shows whether it is UTF-16."""
        head = file.peek(4)
        is_wide = head.startswith(UTF16_MARKS)
        self._text = BorrowedText(file, "utf-16" if is_wide else "utf-8-sig", "surrogateescape", newline="")
        self.read = None if is_wide else len(codecs.BOM_UTF8) * head.startswith(codecs.BOM_UTF8)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._line()
        self.taken += len(line)
        if self.taken > MOST_BYTES:
            while line and not line.endswith(("\r", "\n")):
                line = self._line()
            raise csv.Error(f"more than {MOST_BYTES >> 20} million characters")
        if not line:
            raise StopIteration
        return line

    def _line(self) -> str:
        line = self._text.readline(MOST_BYTES + 1)
        if self.read is not None:
            self.read += len(line) if line.isascii() else len(line.encode("utf-8", "surrogateescape"))
        return line
