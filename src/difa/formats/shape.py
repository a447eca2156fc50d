"""Inputs -> the columns of a table of their results: the user's own first, in their order and under their names, then ours.

Where a column of the user's has a name of ours, ours is called `difa_…`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from difa.document import Document, Scored
from difa.formats.sources import Source
from difa.formats.tables import Table

SUMMARISED = ("score", "p_value", "is_anomaly", "flagged_words", "suggestions", "summary")
"""What a row says of its document."""


@dataclass(frozen=True)
class Shape:
    """Columns of a table of results."""

    columns: tuple[str, ...]
    """The user's, text and ids among them."""
    text: str = "text"
    id: str = "id"
    types: Mapping[str, Any] = field(default_factory=dict)
    """Arrow types of the columns for which they are known."""
    is_complete: bool = False
    """Whether no document can have other columns."""

    @classmethod
    def of_sources(cls, sources: Sequence[Source]) -> Shape:
        """The shape that fits all inputs; what other columns JSON lines have is known at the end only."""
        is_complete = all(source.table is not None or source.suffix == ".txt" for source in sources)
        return replace(cls.of([source.table for source in sources]), is_complete=is_complete)

    @classmethod
    def of(cls, inputs: Sequence[Table | None]) -> Shape:
        """The shape that fits all inputs, tables or not: the one table's own, or a common one of several or of words."""
        tables = [table for table in inputs if table is not None]
        alike = len(tables) == len(inputs) > 0 and len({(table.text, table.id) for table in tables}) == 1
        alike = alike and not tables[0].has_words
        names = dict.fromkeys(name for table in tables for name in (table.columns if alike else _others(table)))
        if not alike:
            return cls(tuple(dict.fromkeys(("id", "text", *names))), types=_types(tables))
        table = tables[0]
        if table.id is None:
            own_id = free_name("id", names)
            return cls((own_id, *names), table.text, own_id, _types(tables))
        return cls(tuple(names), table.text, table.id, _types(tables))

    def own(self, name: str) -> str:
        """The name of a column of ours."""
        return free_name(name, self.columns)

    def holding(self, names: Iterable[str]) -> Shape:
        """The shape with other columns behind its own."""
        return replace(self, columns=tuple(dict.fromkeys((*self.columns, *names))))

    def row(self, document: Document) -> dict[str, Any]:
        """The user's cells of a document."""
        named = {self.id: document.id, self.text: document.text}
        return {name: named[name] if name in named else document.columns.get(name) for name in self.columns}


def free_name(name: str, taken: Iterable[str]) -> str:
    """A name of ours that no column has."""
    names = set(taken)
    while name in names:
        name = f"difa_{name}"
    return name


def flagged_words(scored: Scored, at: int) -> list[str]:
    """The flagged words of a document, in the order of the text."""
    words, start = scored.documents[at].words, scored.starts[at]
    return [words[position - start].text for position in scored.flagged(at)]


def suggestions(scored: Scored, at: int) -> list[str]:
    """What flagged words may have been meant to be, as `word → suggestion`."""
    words, start, meant = scored.documents[at].words, scored.starts[at], scored.suggestions
    return [f"{words[place - start].text} → {meant[place]}" for place in scored.flagged(at) if meant.get(place)]


def _others(table: Table) -> list[str]:
    return [name for name in table.columns if name not in (table.text, table.id, "text", "id")]


def _types(tables: Sequence[Table]) -> dict[str, Any]:
    """Types that all Parquet files agree on; a text table's cells are strings."""
    found: dict[str, Any] = {}
    for table in tables:
        kinds = table.types or dict.fromkeys(table.columns)
        found = {**kinds, **{name: kind if kinds.get(name, kind) == kind else None for name, kind in found.items()}}
    return {name: kind for name, kind in found.items() if kind is not None}
