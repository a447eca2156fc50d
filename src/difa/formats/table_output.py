"""Results as columns -> the file that was asked for: JSON lines, CSV, TSV or Parquet, packed or not.

Runs append blocks to a part, which can be cut back and gone on with. Where all columns are known, a part has the rows of a text
table; otherwise it has columns, and becomes a table when it is complete. CSV is for spreadsheets: it begins with a byte-order
mark, and no cell can be taken for a formula.
"""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from difa.document import Scored
from difa.errors import ConfigError, InputError
from difa.formats.columns import column_kinds, pack_columns, read_columns
from difa.formats.packed import PACKED, is_packed, packed, suffix_of
from difa.formats.shape import SUMMARISED, Shape, flagged_words, suggestions
from difa.formats.write import json_lines
from difa.storage.atomic import fresh_file, scratch_folder

FORMATS = ("jsonl", "csv", "tsv", "parquet")
COLUMNS = "columns"
"""The format of files that are not final."""
_ENDINGS = f"{', '.join(f'.{name}' for name in FORMATS)} (all but Parquet also with {' or '.join(PACKED)})"
BETWEEN_WORDS = " | "
_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")  # and the full-width signs, which some spreadsheets take for them


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
        return csv_rows(scored, self._shape, self._separator) if self._has_rows else pack_columns(scored)

    def is_plain(self, final: str | Path) -> bool:
        """Whether a file of that name is its blocks, one behind the other."""
        return self._format in ("jsonl", COLUMNS) and not is_packed(final)

    def __call__(self, part: Path, final: Path) -> None:
        """Turn a complete part into the final file; the part stays until that is safely on disk."""
        if self.is_plain(final):
            part.replace(final)
            return
        fresh = part.with_name(f"{part.name}.table")
        try:
            with fresh.open("wb") as raw:
                self.convert(part, final, raw)
            with fresh.open("r+b") as raw:  # whatever packs it has closed it
                os.fsync(raw.fileno())
            fresh.replace(final)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
        part.unlink()

    def convert(self, part: Path, final: Path, raw: BinaryIO) -> None:
        """Write a part as a file of that name has it."""
        try:
            if self._format == "parquet":
                from difa.formats.parquet_output import write_parquet

                write_parquet(raw, part, self._shape)
                return
            with packed(final, raw) as stream:
                if self._format != "jsonl":
                    shape = self._shape if self._has_rows else self._shape.holding(column_kinds(part))
                    stream.write(b"\xef\xbb\xbf" + _csv([[*shape.columns, *map(shape.own, SUMMARISED)]], self._separator))
                    if not self._has_rows:
                        stream.writelines(csv_rows(scored, shape, self._separator) for scored in read_columns(part))
                        return
                with part.open("rb") as content:
                    shutil.copyfileobj(content, stream)
        except (ValueError, TypeError) as error:  # of pyarrow, among others
            raise InputError(f"{final}: cannot be written as {self._format} ({error}): jsonl keeps everything") from None


def write_results(out: Path, format: str, shape: Shape, parts: Iterable[Scored]) -> None:
    """Write results into a new file, whole or not at all."""
    publish = Publisher(format, shape)
    with scratch_folder() as folder:
        with (folder / "part").open("wb") as part:
            part.writelines(map(publish.block, parts))
        with fresh_file(out) as fresh, fresh.open("wb") as raw:
            publish.convert(folder / "part", out, raw)


def csv_rows(scored: Scored, shape: Shape, separator: str) -> bytes:
    """The rows of documents in a text table."""
    numbers = scored.document_scores.tolist(), scored.document_p.tolist(), scored.document_flags.tolist()
    rows = []
    for at, row in enumerate(zip(*numbers, strict=True)):
        words, meant = BETWEEN_WORDS.join(flagged_words(scored, at)), BETWEEN_WORDS.join(suggestions(scored, at))
        rows.append([*shape.row(scored.documents[at]).values(), *row, words, meant, scored.summary(at)])
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
    return f"'{value}" if value.startswith(_FORMULA) and not _is_number(value) else value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and not text[0].isspace()
