"""Files -> documents, and results -> files.

`.txt` has one document a line, `.jsonl` one JSON object a line with `text` or `tokens`, `.csv`, `.tsv` and `.parquet` one row a
document, `.json` is a Label Studio export; `-` is standard input; a folder means all text and JSON lines in it, a pattern all
files that match. Lines are read one at a time. What cannot be read is named by file and line (or row, or task).
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from difa.document import Document
from difa.errors import InputError
from difa.formats.delimited import read_cells
from difa.formats.labelstudio import parse_task, task_lines
from difa.formats.lines import parse_json_line, parse_text_line
from difa.formats.parquet import read_rows
from difa.formats.sandbox import lines_apart
from difa.formats.sources import Source, find_sources
from difa.formats.streams import lines_in, read_stdin
from difa.formats.tables import Columns, parse_row

Parser = Callable[[Any, str], Document | None]
"""Makes a document of a line, a row or a task; takes its name as well, the id of a document without one."""

PARSERS: dict[str, Parser] = {".txt": parse_text_line, ".jsonl": parse_json_line, ".json": parse_task}


@dataclass(frozen=True, slots=True)
class Position:
    """How far sources have been read: whole ones, and lines of the next one."""

    file: int = 0
    line: int = 0


@dataclass(frozen=True, slots=True)
class Entry:
    """A line that was read: a document, a complaint, or neither; or a pause of the sender."""

    position: Position
    """Where the next line begins."""
    bytes: int
    """Bytes of all sources read so far, packed ones as they lie on disk."""
    document: Document | None = None
    bad: str | None = None
    pause: bool = False


def read_entries(sources: Sequence[Source], start: Position | None = None) -> Iterator[Entry]:
    """Every line of the sources from a position on, in order."""
    start, before = start or Position(), 0
    for index, source in enumerate(sources):
        if index >= start.file:
            yield from _entries(source, index, before, start.line if index == start.file else 0)
        before += source.span_size


def read_documents(inputs: Sequence[str], bad: list[str] | None = None, columns: Columns | None = None) -> Iterator[Document]:
    """All documents of the inputs, in order.

    Args:
        inputs: files, folders, patterns or `-`.
        bad: if given, bad lines are added to it and skipped; otherwise the first one raises `InputError`.
        columns: the columns of tables that hold text and ids; without it they are guessed.
    """
    for entry in read_entries(find_sources(inputs, columns, skip_bad=bad is not None)):
        if entry.bad is not None:
            if bad is None:
                raise bad_line(entry.bad)
            bad.append(entry.bad)
        elif entry.document is not None:
            yield entry.document


def bad_line(complaint: str) -> InputError:
    """The error for a bad line that must not be skipped."""
    return InputError(f"{complaint} (skip_bad goes on without such lines)")


def _entries(source: Source, index: int, before: int, skip: int) -> Iterator[Entry]:
    """The lines or rows of a source from number `skip` + 1 on; `before` are the bytes of the sources before this one."""
    if source.unreadable is not None:
        if not skip:
            yield Entry(Position(index, 1), before, bad=f"{source.label}: cannot be read: {source.unreadable}")
        return
    parse = PARSERS.get(source.suffix) if source.table is None else partial(parse_row, source.table)
    for number, item, read in _items(source, skip):
        position, name = Position(index, number), f"{source.label}:{number}"
        if item is None:
            yield Entry(position, before, pause=True)
        elif number > skip and (not isinstance(item, bytes) or item.strip()):
            parse = parse or _guess(item)
            document = bad = None
            try:
                document = parse(item, name)
            except InputError as error:
                bad = f"{name}: {error}"
            except RecursionError:
                bad = f"{name}: expected JSON of a few levels, got very deep nesting"
            yield Entry(position, before + read, document, bad)


def _items(source: Source, skip: int) -> Iterator[tuple[int, Any, int]]:
    """Numbers, lines or cells (None where the sender pauses), and how many bytes of the source have been read."""
    span = source.span
    if source.table is not None and source.suffix == ".parquet":
        for number, row in read_rows(source, max(skip, span.start), span.end):
            yield number, row, round(source.bytes_per_row * (number - span.start))
    elif source.suffix == ".json":  # parsed as a whole, and as a whole it may be far larger than its bytes
        for number, task in enumerate(lines_apart(source.label, task_lines, source.label, source.absolute_path), 1):
            yield number, task, 0
    elif source.is_stdin and source.table is None:
        number = 0
        for line in read_stdin():
            number += line is not None
            yield number, line, 0
    else:
        with source.open_bytes() as (file, tell):
            found: Iterator[tuple[int, Any]] = (
                enumerate(lines_in(file, span), span.first) if source.table is None else read_cells(file, source.table, span)
            )
            for number, item in found:
                yield number, item, tell() - span.start


def _guess(first: bytes) -> Parser:
    """Standard input is JSON lines if its first line is a JSON object with the right keys, and text otherwise."""
    try:
        is_object = first.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"{")
        return parse_json_line if is_object and parse_json_line(first, "stdin") else parse_text_line
    except InputError:
        return parse_text_line
