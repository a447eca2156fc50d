"""Files -> documents, and results -> files.

`.txt` has one document a line, `.jsonl` one JSON object a line with `text` or `tokens`, `.csv`, `.tsv` and `.parquet` one row a
document, `.json` is a Label Studio export; `-` is standard input; a folder stands for all text and JSON lines in it, a pattern
for what matches it. Lines are read one at a time. What cannot be read is named by file and line (or row, or task).
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from difa.document import Document
from difa.errors import InputError
from difa.formats import delimited, parquet
from difa.formats.labelstudio import parse_task
from difa.formats.lines import parse_json_line, parse_text_line
from difa.formats.sources import Source, find_sources
from difa.formats.streams import WHOLE, Span
from difa.formats.tables import Columns, Table, row_document

Parser = Callable[[bytes, str, int], Document | None]

PARSERS: dict[str, Parser] = {".txt": parse_text_line, ".jsonl": parse_json_line, ".json": parse_task}


@dataclass(frozen=True, slots=True)
class Position:
    """How far the inputs have been read: whole files, and lines of the next one."""

    file: int = 0
    line: int = 0


@dataclass(frozen=True, slots=True)
class Entry:
    """A line that was read, or a pause of the sender: a document, a complaint, or neither."""

    position: Position
    """Where the next line begins."""
    bytes: int
    """Bytes of all files read so far, packed ones as they lie on disk."""
    document: Document | None = None
    bad: str | None = None
    pause: bool = False


def read_entries(sources: Sequence[Source], start: Position | None = None) -> Iterator[Entry]:
    """Every line of the sources from a position on, in order."""
    start = start or Position()
    before = sum(source.size for source in sources[: start.file])
    for index, source in enumerate(sources[start.file :], start.file):
        yield from _Reader(source, index, before).entries(start.line if index == start.file else 0, WHOLE)
        before += source.size


def read_span(source: Source, span: Span, bad: list[str] | None = None) -> Iterator[Document]:
    """The documents in a span of a file; `bad` is as `read_documents` has it."""
    return _documents(_Reader(source, 0, 0).entries(0, span), bad)


def read_documents(inputs: Sequence[str], bad: list[str] | None = None, columns: Columns | None = None) -> Iterator[Document]:
    """All documents of the inputs, in order.

    Args:
        inputs: files, folders, patterns or `-`.
        bad: if given, bad lines are added to it and skipped; otherwise the first one raises `InputError`.
        columns: the columns of tables that hold text and ids; without it they are guessed.
    """
    yield from _documents(read_entries(find_sources(inputs, columns, skip_bad=bad is not None)), bad)


def _documents(entries: Iterator[Entry], bad: list[str] | None) -> Iterator[Document]:
    for entry in entries:
        if entry.bad is not None:
            if bad is None:
                raise bad_line(entry.bad)
            bad.append(entry.bad)
        elif entry.document is not None:
            yield entry.document


def bad_line(complaint: str) -> InputError:
    """The error for a bad line that must not be skipped."""
    return InputError(f"{complaint} (skip_bad goes on without such lines)")


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the file of that number, before which so many bytes lie in others."""

    source: Source
    index: int
    before: int

    def entries(self, skip: int, span: Span) -> Iterator[Entry]:
        """The lines or rows of a span, without those of the first numbers."""
        if self.source.unreadable is None:
            yield from self._lines(skip, span) if self.source.table is None else self._rows(self.source.table, skip, span)
        elif not skip:
            bad = f"{self.source.label}: cannot be read: {self.source.unreadable}"
            yield Entry(Position(self.index, 1), self.before, bad=bad)

    def _lines(self, skip: int, span: Span) -> Iterator[Entry]:
        number, parse = span.first - 1, PARSERS.get(self.source.suffix)
        with self.source.open(span) as (lines, tell):
            for line in lines:
                if line is None:
                    yield Entry(Position(self.index, number), self.before, pause=True)
                    continue
                number += 1
                if number > skip and line.strip():
                    parse = parse or _guess(line)
                    yield self._entry(number, tell(), partial(parse, line))

    def _rows(self, table: Table, skip: int, span: Span) -> Iterator[Entry]:
        source = self.source
        if source.suffix == ".parquet":
            share = source.size / max(1, table.rows)
            for number, row in parquet.read_rows(source.path, max(skip, span.start), span.end, label=source.label):
                yield self._entry(number, round(share * number), partial(row_document, table, row))
            return
        with source.open_bytes() as (file, tell):
            if span.start:
                file.seek(span.start)
            for number, cells in delimited.read_cells(file, table, span):
                if number > skip:
                    yield self._entry(number, tell(), partial(row_document, table, cells))

    def _entry(self, number: int, read: int, parse: Callable[[str, int], Document | None]) -> Entry:
        """What was parsed, or a complaint that names the line; so many bytes of the file have been read."""
        position, done, name = Position(self.index, number), self.before + read, self.source.label
        try:
            return Entry(position, done, parse(name, number))
        except InputError as error:
            return Entry(position, done, bad=f"{name}:{number}: {error}")
        except RecursionError:
            return Entry(position, done, bad=f"{name}:{number}: expected JSON of a few levels, got very deep nesting")


def _guess(first: bytes) -> Parser:
    """Standard input is JSON lines if its first line is a JSON object with the right keys, and text otherwise."""
    try:
        is_object = first.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"{")
        return parse_json_line if is_object and parse_json_line(first, "stdin", 1) else parse_text_line
    except InputError:
        return parse_text_line
