"""A data frame, or any rows -> the same with what DiFA says of each row's text.

pandas, polars, pyarrow and Hugging Face datasets are recognised by the frame itself: none of them is imported before it is there.
Anything else must be an iterable of dictionaries, and a list of dictionaries comes back.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from difa.corpus.allow import AllowList
from difa.document import Document
from difa.errors import ConfigError, InputError
from difa.formats.tables import SUMMARISED, are_words, flagged_words, free_name, guess_text, suggestions
from difa.words import as_document, is_missing

if TYPE_CHECKING:
    from difa.estimator import DiFA

MISSING = ("empty", "error")
_CHUNK = 1024  # rows whose full results are held at a time
_SAMPLE = 50

Added = Mapping[str, list[Any]]  # the cells of our columns, which come in the order of `SUMMARISED`


@dataclass(frozen=True)
class Frame:
    """What all kinds of frames have in common."""

    names: Sequence[Any]
    cells: Callable[[Any], list[Any]]
    """A column's cells, by its name."""
    extend: Callable[[Added], Any]
    """The frame with more columns; the original stays as it is."""


def score_frame(
    model: DiFA,
    frame: Any,
    text: Any,
    *,
    missing: str,
    fpr: float | None,
    fdr: float | None,
    allow: Iterable[str],
) -> Any:
    """The frame with what a text table of results has of ours, for each row; see `DiFA.score_frame`."""
    if missing not in MISSING:
        raise ConfigError(f"missing: expected one of {', '.join(MISSING)}, got {missing!r}")
    table = open_frame(frame)
    column = _text_column(table, text)
    documents = _documents(table.cells(column), column, missing)
    over_all = fdr is not None or (fpr is None and model.fdr is not None)  # such a rate looks at all rows at once
    size, allowed = max(1, len(documents)) if over_all else _CHUNK, AllowList.of(allow).entries
    columns: list[list[Any]] = [[] for _ in SUMMARISED]
    for start in range(0, len(documents), size):
        for result in model.score(documents[start : start + size], fpr=fpr, fdr=fdr, allow=allowed):
            flagged, meant = flagged_words(*result.place), suggestions(*result.place)
            row = (result.score, result.p_value, result.is_anomaly, flagged, meant, result.summary)
            for cells, cell in zip(columns, row, strict=True):
                cells.append(cell)
    names = [free_name(name, map(str, table.names)) for name in SUMMARISED]
    return table.extend(dict(zip(names, columns, strict=True)))


def open_frame(frame: Any) -> Frame:
    """What can be done with a frame; raises `InputError` for anything that is none."""
    match type(frame).__module__.split(".")[0], type(frame).__name__:
        case "pandas", "DataFrame":
            return Frame(list(frame.columns), partial(_pandas_cells, frame), partial(_extend_pandas, frame))
        case "polars", "DataFrame":
            return Frame(frame.columns, lambda name: frame[name].to_list(), partial(_extend_polars, frame))
        case "pyarrow", "Table":
            return Frame(frame.column_names, lambda name: frame[name].to_pylist(), partial(_extend_arrow, frame))
        case "datasets", "Dataset":
            return Frame(frame.column_names, lambda name: list(frame[name]), partial(_extend_arrow, frame))
        case _, "LazyFrame":
            raise InputError("expected a polars DataFrame, got a LazyFrame: collect() it first")
        case _, kind:
            if isinstance(frame, (Mapping, str, bytes)) or not isinstance(frame, Iterable):
                line = f"expected a data frame or rows (dictionaries), got {kind}: put rows into a list, or a split of it"
                raise InputError(line)
            return _open_rows(list(frame))


def _open_rows(rows: list[Any]) -> Frame:
    for at, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise InputError(
                f"expected rows as dictionaries, got {type(row).__name__} in row {at}: score(texts) takes plain texts"
            )
    names = list(dict.fromkeys(name for row in rows for name in row))

    def extend(added: Added) -> list[dict[Any, Any]]:
        return [{**row, **{name: cells[at] for name, cells in added.items()}} for at, row in enumerate(rows)]

    return Frame(names, lambda name: [row.get(name) for row in rows], extend)


def _text_column(table: Frame, text: Any) -> Any:
    listed = ", ".join(map(repr, table.names)) or "none"
    if text is not None and text not in list(table.names):
        raise InputError(f"text: expected one of the columns {listed}, got {text!r}")
    column = text
    if text is None:
        cells = {name: [cell for cell in table.cells(name)[:_SAMPLE] if not is_missing(cell)] for name in table.names}
        strings = {name: [cell for cell in held if isinstance(cell, str)] for name, held in cells.items()}
        lists = [name for name, held in cells.items() if not strings[name] and are_words(held)]
        column = guess_text({name: held for name, held in strings.items() if held} or strings, lists)
    if column is None:
        raise InputError(f'expected one obvious text column, got the columns {listed}: name it by text="…"')
    if list(table.names).count(column) > 1:
        raise InputError(f"expected one column {column!r}, got several of that name: rename one")
    return column


def _documents(cells: Sequence[Any], column: Any, missing: str) -> list[Document]:
    documents, empty = [], [row for row, cell in enumerate(cells) if is_missing(cell)]
    if empty and missing == "error":
        line = f"expected a text in row {empty[0]} of {column!r}, got a missing value: fill it, or leave missing='empty'"
        raise InputError(line)
    for row, cell in enumerate(cells):
        try:
            documents.append(as_document("" if is_missing(cell) else cell))
        except InputError:
            kind = type(cell).__name__
            raise InputError(f"expected a string or a list of words in row {row} of {column!r}, got {kind}") from None
    if empty:
        warnings.warn(f"{len(empty)} of {len(cells)} rows have no text in {column!r}: they are scored as no text", stacklevel=4)
    return documents


def _pandas_cells(frame: Any, name: Any) -> list[Any]:
    """The cells of the first column of that name, since pandas lets several have one; lists read from a file are arrays there."""
    cells: list[Any] = frame.iloc[:, list(frame.columns).index(name)].tolist()
    return [cell.tolist() if type(cell).__name__ == "ndarray" else cell for cell in cells]


def _extend_pandas(frame: Any, added: Added) -> Any:
    import pandas

    kinds = ("float64", "float64", "bool", "object", "object", "str")
    columns = zip(added.items(), kinds, strict=True)
    return frame.assign(**{name: pandas.Series(cells, index=frame.index, dtype=kind) for (name, cells), kind in columns})


def _extend_polars(frame: Any, added: Added) -> Any:
    import polars as pl

    kinds = (pl.Float64, pl.Float64, pl.Boolean, pl.List(pl.String), pl.List(pl.String), pl.String)
    return frame.with_columns(pl.Series(name, cells, kind) for (name, cells), kind in zip(added.items(), kinds, strict=True))


def _extend_arrow(frame: Any, added: Added) -> Any:
    """A pyarrow Table, or a dataset, which is made of one."""
    import pyarrow as pa

    kinds = (pa.float64(), pa.float64(), pa.bool_(), pa.list_(pa.string()), pa.list_(pa.string()), pa.string())
    for (name, cells), kind in zip(added.items(), kinds, strict=True):
        append = frame.append_column if isinstance(frame, pa.Table) else frame.add_column
        frame = append(name, pa.array(cells, kind))
    return frame
