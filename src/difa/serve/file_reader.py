"""A file that someone opens on the page -> lines of JSON: its columns, then its documents. It runs apart, and loads no server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from difa.document import Document
from difa.formats import read_entries
from difa.formats.sandbox import TooLargeError
from difa.formats.sources import Source, place_source
from difa.formats.tables import AmbiguousTextError, Columns
from difa.words import split_words


def described_lines(name: str, place: str, text: str | None, id: str | None, room: int) -> Iterator[str]:
    """Columns and documents of the file of that name at a place; documents of more characters than there is room are refused."""
    try:
        source = place_source(name, place, Columns(text, id))
    except AmbiguousTextError as error:
        yield _head(error.columns, None, None)
        return
    table = source.table
    yield _head(table.columns, table.text, table.id) if table else _head((), None, None)
    for record in _records(source):
        line = json.dumps(record, ensure_ascii=False)
        room -= len(line)
        if room < 0:
            raise TooLargeError("the file holds more than fits into a page")
        yield line


def _head(columns: tuple[str, ...], text: str | None, id: str | None) -> str:
    return json.dumps({"columns": columns, "text_column": text, "id_column": id}, ensure_ascii=False)


def _records(source: Source) -> Iterator[dict[str, Any]]:
    for entry in read_entries([source]):
        if entry.bad is not None:
            yield {"id": f"{source.label}:{entry.position.line}", "error": entry.bad}
        elif entry.document is not None:
            yield _record(entry.document)


def _record(document: Document) -> dict[str, Any]:
    record: dict[str, Any] = {"id": document.id, "text": document.text}
    if document.words != split_words(document.text):
        record["tokens"] = [word.text for word in document.words]
    if document.columns:
        record["columns"] = dict(document.columns)
    return record
