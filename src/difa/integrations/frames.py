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
from difa.words import as_document

if TYPE_CHECKING:
    from difa.estimator import DiFA

MISSING = ("empty", "error")
_CHUNK = 1024  # rows whose full results are held at a time
_SAMPLE = 50


@dataclass(frozen=True)
class Frame:
    """What all kinds of frames have in common."""

    names: Sequence[Any]
    cells: Callable[[Any], list[Any]]
    """A column's cells, by its name."""
    extend: Callable[[Mapping[str, list[Any]]], Any]
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
    documents, cells = [], table.cells(column)
    for row, cell in enumerate(cells):
        if _is_missing(cell) and missing == "error":
            line = f"expected a text in row {row} of {column!r}, got a missing value: fill it, or leave missing='empty'"
            raise InputError(line)
        documents.append(_document("" if _is_missing(cell) else cell, row, column))
    if empty := sum(map(_is_missing, cells)):
        warnings.warn(f"{empty} of {len(documents)} rows have no text in {column!r}: they are scored as no text", stacklevel=3)
    added = _added(model, documents, fpr, fdr, AllowList.of(allow))
    return table.extend({free_name(name, map(str, table.names)): added[name] for name in SUMMARISED})


def open_frame(frame: Any) -> Frame:
    """What can be done with a frame; raises `InputError` for anything that is none."""
    library, kind = type(frame).__module__.split(".")[0], type(frame).__name__
    if (library, kind) == ("pandas", "DataFrame"):
        return Frame(list(frame.columns), partial(_pandas_cells, frame), partial(_extend_pandas, frame))
    if (library, kind) == ("polars", "DataFrame"):
        return Frame(frame.columns, lambda name: frame[name].to_list(), partial(_extend_polars, frame))
    if (library, kind) in (("pyarrow", "Table"), ("datasets", "Dataset")):
        return Frame(frame.column_names, lambda name: _listed(frame[name]), partial(_extend_arrow, frame))
    if kind == "LazyFrame":
        raise InputError("expected a polars DataFrame, got a LazyFrame: collect() it first")
    if isinstance(frame, (Mapping, str, bytes)) or not isinstance(frame, Iterable):
        raise InputError(f"expected a data frame or rows (dictionaries), got {kind}: put rows into a list, or a split of it")
    return _open_rows(frame)


def _pandas_cells(frame: Any, name: Any) -> list[Any]:
    """The cells of the first column of that name, since pandas lets several have one; lists read from a file are arrays there."""
    cells: list[Any] = frame.iloc[:, list(frame.columns).index(name)].tolist()
    return [cell.tolist() if type(cell).__name__ == "ndarray" else cell for cell in cells]


def _listed(column: Any) -> list[Any]:
    cells: list[Any] = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    return cells


def _open_rows(rows: Iterable[Any]) -> Frame:
    kept = list(rows)
    for at, row in enumerate(kept):
        if not isinstance(row, Mapping):
            raise InputError(
                f"expected rows as dictionaries, got {type(row).__name__} in row {at}: score(texts) takes plain texts"
            )
    names = list(dict.fromkeys(name for row in kept for name in row))

    def extend(added: Mapping[str, list[Any]]) -> list[dict[Any, Any]]:
        return [{**row, **{name: cells[at] for name, cells in added.items()}} for at, row in enumerate(kept)]

    return Frame(names, lambda name: [row.get(name) for row in kept], extend)


def _text_column(table: Frame, text: Any) -> Any:
    listed = ", ".join(map(repr, table.names)) or "none"
    if text is not None and text not in list(table.names):
        raise InputError(f"text: expected one of the columns {listed}, got {text!r}")
    column = _guess_text(table) if text is None else text
    if column is None:
        raise InputError(f'expected one obvious text column, got the columns {listed}: name it by text="…"')
    if list(table.names).count(column) > 1:
        raise InputError(f"expected one column {column!r}, got several of that name: rename one")
    return column


def _guess_text(table: Frame) -> Any:
    cells = {name: [cell for cell in table.cells(name)[:_SAMPLE] if not _is_missing(cell)] for name in table.names}
    strings = {name: [cell for cell in held if isinstance(cell, str)] for name, held in cells.items()}
    lists = [name for name, held in cells.items() if not strings[name] and are_words(held)]
    return guess_text({name: held for name, held in strings.items() if held} or strings, lists)


def _is_missing(cell: Any) -> bool:
    """None, and what pandas has for it: NaN, NaT, NA."""
    if cell is None or (isinstance(cell, float) and cell != cell):
        return True
    return type(cell).__name__ in ("NAType", "NaTType")


def _document(cell: Any, row: int, column: Any) -> Document:
    try:
        return as_document(cell, row)
    except InputError:
        raise InputError(f"expected a string or a list of words in row {row} of {column!r}, got {type(cell).__name__}") from None


def _added(
    model: DiFA, documents: Sequence[Document], fpr: float | None, fdr: float | None, allow: AllowList
) -> dict[str, list[Any]]:
    """Our columns; a false-discovery rate looks at all rows at once, anything else goes chunk by chunk."""
    over_all = fdr is not None or (fpr is None and model.fdr is not None)
    size = max(1, len(documents)) if over_all else _CHUNK
    rows: list[tuple[Any, ...]] = []
    for start in range(0, len(documents), size):
        for result in model.score(documents[start : start + size], fpr=fpr, fdr=fdr, allow=allow.entries):
            words, meant = flagged_words(*result.place), suggestions(*result.place)
            rows.append((result.score, result.p_value, result.is_anomaly, words, meant, result.summary))
    return {name: [row[at] for row in rows] for at, name in enumerate(SUMMARISED)}


def _extend_pandas(frame: Any, added: Mapping[str, list[Any]]) -> Any:
    import pandas

    kinds = ("float64", "float64", "bool", "object", "object", "str")  # as `SUMMARISED` has the columns
    columns = zip(added.items(), kinds, strict=True)
    return frame.assign(**{name: pandas.Series(cells, index=frame.index, dtype=kind) for (name, cells), kind in columns})


def _extend_polars(frame: Any, added: Mapping[str, list[Any]]) -> Any:
    import polars as pl

    kinds = (pl.Float64, pl.Float64, pl.Boolean, pl.List(pl.String), pl.List(pl.String), pl.String)
    return frame.with_columns(pl.Series(name, cells, kind) for (name, cells), kind in zip(added.items(), kinds, strict=True))


def _extend_arrow(frame: Any, added: Mapping[str, list[Any]]) -> Any:
    import pyarrow as pa

    kinds = (pa.float64(), pa.float64(), pa.bool_(), pa.list_(pa.string()), pa.list_(pa.string()), pa.string())
    more = pa.table({name: pa.array(cells, kind) for (name, cells), kind in zip(added.items(), kinds, strict=True)})
    if isinstance(frame, pa.Table):
        for name in added:
            frame = frame.append_column(name, more[name])
        return frame
    from datasets import Dataset, concatenate_datasets

    return concatenate_datasets([frame, Dataset(more)], axis=1)
