"""Results <-> JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from difa.document import Result, Scored, WordScore


def json_lines(scored: Scored) -> bytes:
    """One line of JSON for each document."""
    _check_finite(scored)
    return b"".join(map(_line, scored.records()))


def to_json_line(result: Result) -> str:
    """The line of one result."""
    _check_finite(result.place[0])
    return _line(result.to_dict()).decode()


def _line(record: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # a column holds a number of more than 64 bits, or nests very deep
        return json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def _check_finite(scored: Scored) -> None:
    for numbers in (scored.document_scores, scored.document_evidence, scored.word_scores, scored.evidence):
        if not np.isfinite(numbers).all():
            raise ValueError("expected finite scores and evidence, got others: JSON has no number for them")


def from_json_line(line: str | bytes) -> Result:
    """The result that such a line was made from."""
    record = json.loads(line)
    del record["summary"]  # follows from the rest
    return Result(**record | {"words": tuple(WordScore(**word) for word in record["words"])})


def read_lines(lines: Path, skip: int = 0) -> Iterator[Result]:
    """Results from a file of such lines."""
    with lines.open("rb") as content:
        yield from map(from_json_line, islice(content, skip, None))
