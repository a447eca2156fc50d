"""Results as columns -> the file that was asked for: JSON lines, CSV, TSV or Parquet, packed or not.

Runs append blocks to a part, which can be cut back and gone on with. JSON lines, and rows of a text table whose columns are all
known, are blocks as they are. Other blocks hold columns: their length, and arrays as `numpy.savez` writes them. Flags that depend
on all documents, and tables whose columns are known at the end only, are made from these in a second pass. CSV is for
spreadsheets: it begins with a byte-order mark, and no cell can be taken for a formula.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
import orjson

from difa.document import DOCUMENT_COLUMNS, WORD_COLUMNS, Document, Result, Scored, Words, WordScore
from difa.errors import ConfigError, InputError
from difa.formats.streams import PACKED, is_packed, packed, suffix_of
from difa.formats.tables import SUMMARISED, Shape, flagged_words, suggestions
from difa.storage.atomic import fresh_file, scratch_folder

FORMATS = ("jsonl", "csv", "tsv", "parquet")
COLUMNS = "columns"  # the format of files that are not final
FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
"""How a formula begins; some spreadsheets take the full-width signs for them."""
_ENDINGS = f"{', '.join(f'.{name}' for name in FORMATS)} (all but Parquet also with {' or '.join(PACKED)})"
_BETWEEN = " | "  # words of a cell
_SIZE = 8  # bytes that say how long a block of columns is
_DATE = re.compile(r"\d{4}-")  # with a year that Arrow can read: none of more digits, none before Christ
_ARRAYS = (*WORD_COLUMNS, *DOCUMENT_COLUMNS)
_NAMES, _MAPPINGS, _VALUES = ("views", "traits"), ("suggestions", "faults"), ("judged_by", "rule", "rate")
"""The other fields of `Scored` but its documents."""


def format_of(out: Path | None, format: str | None) -> str:
    """The format of a file of results, by what was asked or else by its ending."""
    if format is not None and format not in FORMATS:
        raise ConfigError(f"format: expected one of {', '.join(FORMATS)}, got {format!r}")
    ending = suffix_of(out).removeprefix(".") if out is not None else ""
    if format is not None and ending in FORMATS and ending != format:
        raise ConfigError(f"format {format}: expected a file ending in .{format}, got {out}")
    if format is None and ending and ending not in FORMATS:
        raise ConfigError(f"{out}: expected a file ending in {_ENDINGS}, got .{ending}: choose one of these, or give the format")
    found = format or ending or "jsonl"
    if found == "parquet" and out is None:
        raise ConfigError("format parquet: expected a file to write to, got standard output")
    if found == "parquet" and out is not None and is_packed(out):
        raise ConfigError(f"{out}: expected Parquet as it is, got {out.suffix}: leave that ending out, it is packed inside")
    return found


class Publisher:
    """Writes results in the format that was asked for: first appended to a part, then under their name."""

    def __init__(self, format: str, shape: Shape) -> None:
        self._format, self._shape = format, shape
        self._separator = "\t" if format == "tsv" else ","
        self._has_rows = format in ("csv", "tsv") and shape.is_complete

    def block(self, scored: Scored) -> bytes:
        """What documents append to a part: lines and rows as they are, or columns where a table's are not all known yet."""
        if self._format == "jsonl":
            return json_lines(scored)
        return _table_rows(scored, self._shape, self._separator) if self._has_rows else pack_columns(scored)

    def is_plain(self, final: str | Path) -> bool:
        """Whether a file of that name is its blocks, one behind the other."""
        return self._format in ("jsonl", COLUMNS) and not is_packed(final)

    def __call__(self, part: Path, final: Path) -> None:
        """Turn a complete part into the final file; the part stays until that is safely on disk."""
        if self.is_plain(final):
            part.replace(final)
            return
        with fresh_file(final, part.with_name(f"{part.name}.table")) as fresh:
            with fresh.open("wb") as raw:
                self.convert(part, final, raw)
            with fresh.open("r+b") as raw:  # whatever packs it has closed it
                os.fsync(raw.fileno())
        part.unlink()

    def convert(self, part: Path, final: Path, raw: BinaryIO) -> None:
        """Write a part as a file of that name has it."""
        try:
            if self._format == "parquet":
                from difa.formats.parquet import write_parquet

                write_parquet(raw, part, self._shape)
                return
            with packed(final, raw) as stream:
                if self._format != "jsonl":
                    shape = self._shape if self._has_rows else self._shape.holding(column_kinds(part))
                    stream.write(b"\xef\xbb\xbf" + _csv([[*shape.columns, *map(shape.own, SUMMARISED)]], self._separator))
                    if not self._has_rows:
                        stream.writelines(_table_rows(scored, shape, self._separator) for scored in read_columns(part))
                        return
                with part.open("rb") as content:
                    shutil.copyfileobj(content, stream)
        except (ValueError, TypeError) as error:  # of pyarrow, among others
            raise InputError(f"{final}: cannot be written as {self._format} ({error}): jsonl keeps everything") from None

    @contextmanager
    def writer(self, final: Path, raw: BinaryIO) -> Iterator[Callable[[Scored], object]]:
        """Write results as a file of that name has them: a function that takes them; all is there behind the block."""
        if self.is_plain(final):
            yield lambda scored: raw.write(self.block(scored))
            return
        with scratch_folder() as folder:
            with (folder / "part").open("wb") as part:
                yield lambda scored: part.write(self.block(scored))
            self.convert(folder / "part", final, raw)


def write_results(out: Path, format: str, shape: Shape, parts: Iterable[Scored]) -> None:
    """Write results into a new file, whole or not at all."""
    with fresh_file(out) as fresh, fresh.open("wb") as raw, Publisher(format, shape).writer(out, raw) as write:
        for scored in parts:
            write(scored)


def json_lines(scored: Scored) -> bytes:
    """One line of JSON for each document."""
    for numbers in (scored.document_scores, scored.document_evidence, scored.word_scores, scored.evidence):
        if not np.isfinite(numbers).all():
            raise ValueError("expected finite scores and evidence, got others: JSON has no number for them")
    return b"".join([to_json(record, line=True) for record in scored.records()])


def to_json(record: dict[str, Any], *, line: bool = False) -> bytes:
    """An object as JSON, which may be a line."""
    try:
        return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE if line else None)
    except TypeError:  # a column holds a number of more than 64 bits, or nests very deep
        text = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=dict)
        return text.encode() + b"\n" * line


def from_json_line(line: str | bytes) -> Result:
    """The result that such a line was made from."""
    record = json.loads(line)
    del record["summary"]  # follows from the rest
    return Result(**record | {"words": tuple(WordScore(**word) for word in record["words"])})


def _table_rows(scored: Scored, shape: Shape, separator: str) -> bytes:
    numbers = scored.document_scores.tolist(), scored.document_p.tolist(), scored.document_flags.tolist()
    rows = []
    for at, row in enumerate(zip(*numbers, strict=True)):
        words = flagged_words(scored, at)
        pairs = suggestions(scored, at)
        cells = shape.row(scored.documents[at]).values()
        rows.append([*cells, *row, _BETWEEN.join(words), _BETWEEN.join(pairs), scored.summary(at)])
    return _csv(rows, separator)


def _csv(rows: Iterable[Sequence[Any]], separator: str) -> bytes:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=separator, lineterminator="\r\n").writerows(map(_cell, row) for row in rows)
    return buffer.getvalue().encode()


def _cell(value: Any) -> str:
    """A cell as text; what a spreadsheet would take for a formula gets an apostrophe before it, numbers do not need it."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return f"'{value}" if value.startswith(FORMULA) and not _is_number(value) else value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and not text[0].isspace()


def pack_columns(scored: Scored) -> bytes:
    """One block."""
    documents = [[document.id, document.text, len(document.words), document.columns] for document in scored.documents]
    mappings = {name: list(getattr(scored, name).items()) for name in _MAPPINGS}
    head = {"documents": documents, **mappings, **{name: getattr(scored, name) for name in (*_NAMES, *_VALUES)}}
    offsets = [pair for document in scored.documents for pair in zip(document.words.starts, document.words.ends, strict=True)]
    buffer = io.BytesIO()
    np.savez(
        buffer,
        head=np.frombuffer(to_json(head), np.uint8),
        offsets=np.array(offsets, dtype=np.int64).reshape(-1, 2),
        **{name: getattr(scored, name) for name in _ARRAYS},
    )
    return len(buffer.getvalue()).to_bytes(_SIZE, "little") + buffer.getvalue()


def column_kinds(path: Path) -> dict[str, set[str]]:
    """The user's columns in a file, in the order in which they appear, and the types of their values."""
    found: dict[str, set[str]] = {}
    with path.open("rb") as file:
        for arrays in _blocks(file):
            for *_, columns in json.loads(arrays["head"].tobytes())["documents"]:
                for name, value in columns.items():
                    found.setdefault(name, set()).add(_kind(value))
    return found


def _kind(value: Any) -> str:
    """The type of a value; `date` is a string that may be one, `str` also a number too large for any column of numbers."""
    if isinstance(value, str):
        return "date" if _DATE.match(value) else "str"
    return "str" if isinstance(value, int) and abs(value) >> 63 else type(value).__name__


def read_columns(path: Path) -> Iterator[Scored]:
    """All blocks of a file, in order."""
    with path.open("rb") as file:
        yield from unpack_columns(file)


def unpack_columns(file: IO[bytes]) -> Iterator[Scored]:
    """The same from an open file."""
    for arrays in _blocks(file):
        head, offsets = json.loads(arrays["head"].tobytes()), iter(arrays["offsets"].tolist())
        documents = []
        for name, text, count, others in head["documents"]:
            places = list(islice(offsets, count))
            words = Words(tuple([text[start:end] for start, end in places]), [start for start, _ in places])
            documents.append(Document(text, words, name, columns=others))
        held = {name: arrays[name] for name in _ARRAYS} | {name: head[name] for name in _VALUES}
        held |= {name: tuple(head[name]) for name in _NAMES} | {name: dict(head[name]) for name in _MAPPINGS}
        yield Scored(documents, **held)


def _blocks(file: IO[bytes]) -> Iterator[Any]:
    """The arrays of each block, of which only those that are asked for are read."""
    while block := file.read(int.from_bytes(file.read(_SIZE), "little")):
        with np.load(io.BytesIO(block)) as arrays:
            yield arrays
