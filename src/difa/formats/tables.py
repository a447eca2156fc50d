"""Tables: which column holds the text and which the ids; a row -> a document; and the columns of a table of results.

A column is taken for the text without being named only where one candidate is obvious, and the reader of the table can say which.
All other columns are kept with the document. A table of results has them first, in their order and under their names, and ours
behind them; where a column of the user's has a name of ours, ours is called `difa_…`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from difa.document import Document, Scored
from difa.errors import InputError
from difa.formats.lines import MARKS, are_strings, row_document

if TYPE_CHECKING:
    from difa.formats.sources import Source


class AmbiguousTextError(InputError):
    """A table without one obvious text column; `columns` are those that it has."""

    def __init__(self, message: str, columns: Sequence[str]) -> None:
        super().__init__(message)
        self.columns = tuple(columns)


TEXT_TABLES = (".csv", ".tsv")
TABLES = (*TEXT_TABLES, ".parquet")
WORDS = "tokens"  # the column, or key, of words
SUMMARISED = ("score", "p_value", "is_anomaly", "flagged_words", "suggestions", "summary")
"""What a row of a text table says of its document."""
_TEXT_NAMES = (
    *("text", "body", "message", "content", "comment", "review"),
    *("description", "sentence", "document", "tweet", "abstract"),
)
_PROSE = 3.0  # words a cell, on average, that make a column look like text


@dataclass(frozen=True, slots=True)
class Columns:
    """What a user says of the columns of tables; None leaves the choice to us."""

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
    """Whether we chose the text column among several."""
    has_words: bool = False
    """Whether the text column holds lists of words."""
    separator: str = ""
    """The character between the cells of a text table."""
    types: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Arrow types of the columns, where they are known."""
    rows: int = 0
    """How many rows it has, and its bytes when unpacked, where the file says so."""
    size: int = 0


def choose_columns(
    names: Sequence[str], asked: Columns, sample: Mapping[str, Sequence[str]], lists: Collection[str], source: str
) -> Table:
    """The table with these columns; `sample` has cells of the columns of strings, `lists` names the columns of lists of words."""
    listed = ", ".join(map(repr, names)) or "none"
    if len(set(names)) < len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise InputError(f"{source}: expected a header with different names, got {twice!r:.80} twice: rename one")
    for key, name in (("text", asked.text), ("id", asked.id)):
        if name is not None and name not in names:
            is_json = bool(names) and names[0].startswith("{")
            remedy = f': this is JSON, so rename the key to "{key}" and name no column' if is_json else ""
            raise InputError(f"{source}: {key} column: expected one of the columns {listed}, got {name!r}{remedy}")
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
    """Whether there are cells, and all are lists of words, as they are or as JSON."""
    return all([are_strings(as_list(cell)) for cell in cells] or [False])


def parse_row(table: Table, cells: Mapping[str, Any] | list[str] | str, name: str) -> Document:
    """A document from a row, given by its cells or by the complaint about it; without text it has no words."""
    if isinstance(cells, str):
        raise InputError(cells)
    columns = dict(zip(table.columns, cells, strict=True)) if isinstance(cells, list) else dict(cells)
    text = columns.pop(table.text)
    given = None if table.id is None else columns.pop(table.id, text)  # one column may hold both
    own_id = None if given in (None, "") else given if type(given) in (str, int) else str(given)
    marks = {key: as_list(columns[key]) for key in MARKS if key in columns}
    if table.has_words:
        marks[WORDS], text = as_list(text or None), ""
        if marks[WORDS] is not None and not are_strings(marks[WORDS]):
            raise InputError(f"expected a list of words in the column {table.text!r}, got something else")
    return row_document("" if text is None else text, own_id, marks, columns, name)


def as_list(cell: Any) -> Any:
    """The list that a cell of text holds as JSON; anything else as it is."""
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        try:
            return json.loads(cell)
        except (ValueError, RecursionError):
            return cell
    return cell


@dataclass(frozen=True)
class Shape:
    """The columns of a table of results."""

    columns: tuple[str, ...]
    """The user's, text and ids among them."""
    text: str = "text"
    id: str = "id"
    types: Mapping[str, Any] = field(default_factory=dict)
    """Arrow types of the columns for which they are known."""
    is_complete: bool = False
    """Whether no document can have other columns; those of JSON lines are only known at the end."""

    @classmethod
    def of_sources(cls, sources: Sequence[Source]) -> Shape:
        """The columns for all inputs: those of tables with the same text and id, or else `id`, `text` and all others."""
        tables = [source.table for source in sources if source.table is not None]
        is_complete = all(source.table is not None or source.suffix == ".txt" for source in sources)
        alike = len(tables) == len(sources) > 0 and len({(table.text, table.id) for table in tables}) == 1
        if not alike or tables[0].has_words:
            others = (name for table in tables for name in table.columns if name not in (table.text, table.id, "text", "id"))
            return cls(tuple(dict.fromkeys(("id", "text", *others))), types=_types(tables), is_complete=is_complete)
        names, own_id = dict.fromkeys(name for table in tables for name in table.columns), tables[0].id
        if own_id is None:
            own_id = free_name("id", names)
            names = {own_id: None, **names}
        return cls(tuple(names), tables[0].text, own_id, _types(tables), is_complete)

    def own(self, name: str) -> str:
        """What a column of ours is called."""
        return free_name(name, self.columns)

    def holding(self, names: Iterable[str]) -> Shape:
        """The same with more of the user's columns, behind the others."""
        return replace(self, columns=tuple(dict.fromkeys((*self.columns, *names))))

    def row(self, document: Document) -> dict[str, Any]:
        """The user's cells of a document."""
        cells = {**document.columns, self.id: document.id, self.text: document.text}
        return {name: cells.get(name) for name in self.columns}


def free_name(name: str, taken: Iterable[str]) -> str:
    """The name of a column of ours, changed until no other column has it."""
    names = set(taken)
    while name in names:
        name = f"difa_{name}"
    return name


def flagged_words(scored: Scored, at: int) -> list[str]:
    """The flagged words of a document, in the order of the text."""
    words, start = scored.documents[at].words, scored.starts[at]
    return [words.texts[position - start] for position in scored.flagged(at)]


def suggestions(scored: Scored, at: int) -> list[str]:
    """The suggestions for flagged words, as `word → suggestion`."""
    found = map(scored.suggestions.get, scored.flagged(at))
    return [f"{word} → {suggestion}" for word, suggestion in zip(flagged_words(scored, at), found, strict=True) if suggestion]


def _types(tables: Sequence[Table]) -> dict[str, Any]:
    """Types on which all Parquet files agree; a text table's cells are strings."""
    found: dict[str, Any] = {}
    for table in tables:
        kinds = table.types or dict.fromkeys(table.columns)
        found = {**kinds, **{name: kind if kinds.get(name, kind) == kind else None for name, kind in found.items()}}
    return {name: kind for name, kind in found.items() if kind is not None}
