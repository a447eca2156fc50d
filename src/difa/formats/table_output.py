"""Results as JSON lines -> the file that was asked for: JSON lines, CSV, TSV or Parquet, packed or not.

Runs write JSON lines, which can be cut back and gone on with; what they wrote becomes a table when it is complete, in one pass
and in bounded memory. CSV is for spreadsheets: it begins with a byte-order mark, and no cell can be taken for a formula.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from difa.document import Result
from difa.errors import ConfigError, InputError
from difa.formats.packed import PACKED, is_packed, packed, suffix_of
from difa.formats.shape import SUMMARISED, Shape, flagged_words, suggestions
from difa.formats.write import read_lines

FORMATS = ("jsonl", "csv", "tsv", "parquet")
_ENDINGS = f"{', '.join(f'.{name}' for name in FORMATS)} (all but Parquet also with {' or '.join(PACKED)})"
BETWEEN_WORDS = " | "
_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")  # and the full-width signs, which some spreadsheets take for them
_BLOCK = 1 << 20


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
    """Gives complete results their name, in the format that was asked for."""

    def __init__(self, format: str, shape: Shape) -> None:
        self._format, self._shape = format, shape

    def __call__(self, lines: Path, final: Path) -> None:
        """Turn a file of JSON lines into the final one; the lines stay until that is safely on disk."""
        if self._format == "jsonl" and suffix_of(final) == final.suffix.lower():
            lines.replace(final)
            return
        fresh = lines.with_name(f"{lines.name}.table")
        try:
            with fresh.open("wb") as raw:
                self.convert(lines, final, raw)
            with fresh.open("r+b") as raw:  # whatever packs it has closed it
                os.fsync(raw.fileno())
            fresh.replace(final)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
        lines.unlink()

    def convert(self, lines: Path, final: Path, raw: BinaryIO) -> None:
        """Write JSON lines as a file of that name has them."""
        try:
            self._convert(lines, final, raw)
        except (ValueError, TypeError) as error:  # of pyarrow, among others
            raise InputError(f"{final}: cannot be written as {self._format} ({error}): jsonl keeps everything") from None

    def _convert(self, lines: Path, final: Path, raw: BinaryIO) -> None:
        if self._format == "parquet":
            from difa.formats.parquet_output import write_parquet

            write_parquet(raw, lines, self._shape)
            return
        with packed(final, raw) as stream:
            if self._format == "jsonl":
                with lines.open("rb") as content:
                    while block := content.read(_BLOCK):
                        stream.write(block)
            else:
                _write_csv(stream, lines, self._shape, "\t" if self._format == "tsv" else ",")


def _write_csv(stream: BinaryIO, lines: Path, shape: Shape, separator: str) -> None:
    shape = shape.holding(read_lines(lines))
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=separator, lineterminator="\r\n")
    writer.writerow(_safe([*shape.columns, *map(shape.own, SUMMARISED)]))
    stream.write("\ufeff".encode())
    for result in read_lines(lines):
        writer.writerow(_safe([*shape.row(result).values(), *_summarised(result)]))
        if buffer.tell() > _BLOCK:
            _drain(buffer, stream)
    _drain(buffer, stream)


def _drain(buffer: io.StringIO, stream: BinaryIO) -> None:
    stream.write(buffer.getvalue().encode())
    buffer.seek(0)
    buffer.truncate()


def _summarised(result: Result) -> Sequence[Any]:
    words, meant = BETWEEN_WORDS.join(flagged_words(result)), BETWEEN_WORDS.join(suggestions(result))
    return result.score, result.p_value, result.is_anomaly, words, meant, result.summary


def _safe(cells: Sequence[Any]) -> list[str]:
    return [_cell(cell) for cell in cells]


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
