"""A data frame, or any rows -> the same with what DiFA says of each row's text.

pandas, polars, pyarrow and Hugging Face datasets are recognised by the frame itself: none of them is imported before it is there.
Anything else must be an iterable of dictionaries, and a list of dictionaries comes back.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from difa.corpus.allow import AllowList
from difa.document import Document, Result
from difa.errors import ConfigError, InputError
from difa.formats.shape import flagged_words, free_name
from difa.formats.tables import are_words, guess_text
from difa.words import as_document, from_text

if TYPE_CHECKING:
    from difa.estimator import DiFA

MISSING = ("empty", "error")
ADDED = ("score", "p_value", "is_anomaly", "flagged_words", "summary")
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
    text: Any = None,
    *,
    missing: str = "empty",
    fpr: float | None = None,
    fdr: float | None = None,
    allow: Iterable[str] = (),
) -> Any:
    """The frame with a score, p-value, flag, flagged words and summary for each row; see `DiFA.score_frame`."""
    if missing not in MISSING:
        raise ConfigError(f"missing: expected one of {', '.join(MISSING)}, got {missing!r}")
    table = open_frame(frame)
    column = _text_column(table, text)
    documents, empty = [], 0
    for row, cell in enumerate(table.cells(column)):
        is_missing = _is_missing(cell)
        if is_missing and missing == "error":
            raise InputError(
                f"expected a text in row {row} of {column!r}, got a missing value: fill it, or leave missing='empty'"
            )
        empty += is_missing
        documents.append(from_text("") if is_missing else _document(cell, row, column))
    if empty:
        warnings.warn(f"{empty} of {len(documents)} rows have no text in {column!r}: they are scored as no text", stacklevel=3)
    added = _added(model, documents, fpr, fdr, AllowList.of(allow))
    return table.extend({free_name(name, map(str, table.names)): added[name] for name in ADDED})


def open_frame(frame: Any) -> Frame:
    """What can be done with a frame; raises `InputError` for anything that is none."""
    library, kind = type(frame).__module__.split(".")[0], type(frame).__name__
    if (library, kind) == ("pandas", "DataFrame"):
        return Frame(list(frame.columns), lambda name: _pandas_cells(frame, name), lambda added: _extend_pandas(frame, added))
    if (library, kind) == ("polars", "DataFrame"):
        return Frame(frame.columns, lambda name: frame[name].to_list(), lambda added: _extend_polars(frame, added))
    if (library, kind) == ("pyarrow", "Table"):
        return Frame(frame.column_names, lambda name: frame[name].to_pylist(), lambda added: _extend_arrow(frame, added))
    if (library, kind) == ("datasets", "Dataset"):
        return Frame(frame.column_names, lambda name: list(frame[name]), lambda added: _extend_dataset(frame, added))
    if kind == "LazyFrame":
        raise InputError("expected a polars DataFrame, got a LazyFrame: collect() it first")
    if isinstance(frame, (Mapping, str, bytes)) or not isinstance(frame, Iterable):
        raise InputError(f"expected a data frame or rows (dictionaries), got {kind}: put rows into a list, or a split of it")
    return _open_rows(frame)


def _pandas_cells(frame: Any, name: Any) -> list[Any]:
    """The cells of the first column of that name, since pandas lets several have one; lists read from a file are arrays there."""
    cells: list[Any] = frame.iloc[:, list(frame.columns).index(name)].tolist()
    return [cell.tolist() if type(cell).__name__ == "ndarray" else cell for cell in cells]


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
    if text is not None:
        if text not in list(table.names):
            raise InputError(f"text: expected one of the columns {listed}, got {text!r}")
        return _alone(table, text)
    cells = {name: table.cells(name)[:_SAMPLE] for name in table.names}
    samples = {name: [cell for cell in held if isinstance(cell, str)] for name, held in cells.items()}
    lists = [
        name for name, held in cells.items() if not samples[name] and are_words(cell for cell in held if not _is_missing(cell))
    ]
    found = guess_text({name: held for name, held in samples.items() if held} or samples, lists)
    if found is None:
        raise InputError(f'expected one obvious text column, got the columns {listed}: name it by text="…"')
    return _alone(table, found)


def _alone(table: Frame, column: Any) -> Any:
    if list(table.names).count(column) > 1:
        raise InputError(f"expected one column {column!r}, got several of that name: rename one")
    return column


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
    added: dict[str, list[Any]] = {name: [] for name in ADDED}
    for start in range(0, len(documents), size):
        for result in model.score(documents[start : start + size], fpr=fpr, fdr=fdr, allow=allow.entries):
            for name, cell in zip(ADDED, _cells(result), strict=True):
                added[name].append(cell)
    return added


def _cells(result: Result) -> Sequence[Any]:
    return result.score, result.p_value, result.is_anomaly, flagged_words(*result.place), result.summary


def _kind(name: str) -> str:
    return next(kind for kind in ADDED if name.endswith(kind))


def _extend_pandas(frame: Any, added: Mapping[str, list[Any]]) -> Any:
    import pandas

    kinds = {"score": "float64", "p_value": "float64", "is_anomaly": "bool", "summary": "str", "flagged_words": "object"}
    columns = {name: pandas.Series(cells, index=frame.index, dtype=kinds[_kind(name)]) for name, cells in added.items()}
    return frame.assign(**columns)


def _extend_polars(frame: Any, added: Mapping[str, list[Any]]) -> Any:
    import polars as pl

    kinds = {"score": pl.Float64, "p_value": pl.Float64, "is_anomaly": pl.Boolean, "summary": pl.String}
    columns = [pl.Series(name, cells, kinds.get(_kind(name), pl.List(pl.String))) for name, cells in added.items()]
    return frame.with_columns(columns)


def _extend_arrow(frame: Any, added: Mapping[str, list[Any]]) -> Any:
    for name, array in _arrays(added).items():
        frame = frame.append_column(name, array)
    return frame


def _extend_dataset(frame: Any, added: Mapping[str, list[Any]]) -> Any:
    import pyarrow as pa
    from datasets import Dataset, concatenate_datasets

    return concatenate_datasets([frame, Dataset(pa.table(_arrays(added)))], axis=1)


def _arrays(added: Mapping[str, list[Any]]) -> dict[str, Any]:
    import pyarrow as pa

    kinds = {"score": pa.float64(), "p_value": pa.float64(), "is_anomaly": pa.bool_(), "summary": pa.string()}
    return {name: pa.array(cells, kinds.get(_kind(name), pa.list_(pa.string()))) for name, cells in added.items()}
