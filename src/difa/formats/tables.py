"""The columns of a table -> which of them holds the text and which the ids, and a row -> a document.

A column is taken for the text without being named only where one candidate is obvious; who reads the table can then say which
was taken. All other columns are kept with the document.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from difa.document import Document
from difa.errors import InputError
from difa.formats.lines import MARKS, are_strings, parse_row_text, with_columns


class AmbiguousTextError(InputError):
    """A table without one obvious text column; `columns` are those that it has."""

    def __init__(self, message: str, columns: Sequence[str]) -> None:
        super().__init__(message)
        self.columns = tuple(columns)


TABLES = (".csv", ".tsv", ".parquet")
WORDS = "tokens"  # the column, or key, of words
_TEXT_NAMES = (
    *("text", "body", "message", "content", "comment", "review"),
    *("description", "sentence", "document", "tweet", "abstract"),
)
_PROSE = 3.0  # words a cell, on average, that make a column look like text


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns that a user named; None leaves the choice to us."""

    text: str | None = None
    id: str | None = None
    stdin: str | None = None
    """What standard input holds: `csv`, `parquet` and so on; without it text or JSON lines, by its first line."""

    @property
    def is_open(self) -> bool:
        """Whether no column was named."""
        return self.text is None and self.id is None


@dataclass(frozen=True, slots=True)
class Table:
    """How a table is read: its columns in order, and which of them hold text and ids."""

    columns: tuple[str, ...]
    text: str
    id: str | None = None
    is_guess: bool = False
    """Whether the text column was chosen by us, and was not the only column."""
    has_words: bool = False
    """Whether the text column holds lists of words."""
    separator: str = ""
    """What stands between the cells of a text table."""
    types: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Arrow types of the columns, where they are known."""
    rows: int = 0
    """How many rows it has, and its bytes when unpacked, where the file says so."""
    size: int = 0


def choose_columns(
    names: Sequence[str],
    asked: Columns,
    sample: Mapping[str, Sequence[str]],
    lists: Collection[str],
    source: str,
    types: Mapping[str, Any] | None = None,
) -> Table:
    """The table with these columns.

    Args:
        names: all columns, in order.
        asked: what the user named.
        sample: some cells of each column that holds strings.
        lists: the columns that hold lists of words.
        source: the table's name.
        types: what the columns hold, if that is known.
    """
    listed = ", ".join(map(repr, names)) or "none"
    if len(set(names)) < len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise InputError(f"{source}: expected a header with different names, got {twice!r} twice: rename one")
    for key, name in (("text", asked.text), ("id", asked.id)):
        if name is not None and name not in names:
            is_json = bool(names) and names[0].startswith("{")
            remedy = f': this is JSON, so rename the key to "{key}" and name no column' if is_json else ""
            raise InputError(f"{source}: {key} column: expected one of the columns {listed}, got {name!r}{remedy}")
    if asked.text is not None and asked.text not in sample and asked.text not in lists:
        held = f"{asked.text!r} holds {(types or {}).get(asked.text, 'something else')}"
        raise InputError(f"{source}: expected a column of strings as text, {held}: name another column, or turn it into strings")
    text = asked.text if asked.text is not None else guess_text(sample, lists)
    if text is None:
        raise AmbiguousTextError(
            f"{source}: expected one obvious text column, got the columns {listed}: name the text column", names
        )
    own = next((name for name in names if name.casefold() == "id" and name != text), None)
    is_guess = asked.text is None and len(names) > 1
    return Table(tuple(names), text, own if asked.id is None else asked.id, is_guess, text in lists)


def guess_text(sample: Mapping[str, Sequence[str]], lists: Collection[str]) -> str | None:
    """The column to score, by one rule for every reader.

    It is called `text`, or else `tokens` and holds lists of words, or else is the one obvious candidate: alone in holding
    strings, in its name, or in holding prose.
    """
    by_name = [name for name in sample if str(name).strip().casefold() in _TEXT_NAMES]
    exact = [name for name in by_name if str(name).strip().casefold() == "text"]
    if len(exact) != 1 and WORDS in lists:
        return WORDS
    if len(sample) == 1:
        return next(iter(sample))
    prose = [name for name, cells in sample.items() if cells and sum(len(cell.split()) for cell in cells) / len(cells) >= _PROSE]
    return next((found[0] for found in (exact, by_name, prose) if len(found) == 1), None)


def are_words(cells: Iterable[Any]) -> bool:
    """Whether cells are lists of words, as they are or as JSON; of nothing that is not known."""
    return all([are_strings(as_list(cell)) for cell in cells] or [False])


def row_document(table: Table, cells: Mapping[str, Any] | list[str] | str, source: str, number: int) -> Document:
    """A row, given by its cells or by the complaint about it, as a document; a cell without text gives one without words."""
    if isinstance(cells, str):
        raise InputError(cells)
    row = dict(zip(table.columns, cells, strict=True)) if isinstance(cells, list) else cells
    held = row[table.text]
    given = None if table.id is None else row[table.id]
    columns = {name: value for name, value in row.items() if name not in (table.text, table.id)}
    own_id = None if given in (None, "") else given if type(given) in (str, int) else str(given)
    marks = {key: as_list(columns[key]) for key in MARKS if key in columns}
    if table.has_words:
        marks[WORDS], held = as_list(held or None), ""
        if marks[WORDS] is not None and not are_strings(marks[WORDS]):
            raise InputError(f"expected a list of words in the column {table.text!r}, got something else")
    document = parse_row_text("" if held is None else held, own_id, marks, f"{source}:{number}")
    return with_columns(document, columns)


def as_list(cell: Any) -> Any:
    """A list that a cell of text holds as JSON; anything else as it is."""
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        try:
            return json.loads(cell)
        except (ValueError, RecursionError):
            return cell
    return cell
