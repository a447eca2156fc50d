"""Results <-> JSON lines."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import orjson

from difa.document import Result, Scored, WordScore


def json_lines(scored: Scored) -> bytes:
    """One line of JSON for each document."""
    _check_finite(scored)
    return b"".join([to_json(record, line=True) for record in scored.records()])


def to_json_line(result: Result) -> str:
    """The line of one result."""
    _check_finite(result.place[0])
    return to_json(result.to_dict(), line=True).decode()


def to_json(record: dict[str, Any], *, line: bool = False) -> bytes:
    """An object as JSON, which may be a line."""
    try:
        return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE if line else None)
    except TypeError:  # a column holds a number of more than 64 bits, or nests very deep
        text = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=dict)
        return text.encode() + b"\n" * line


def _check_finite(scored: Scored) -> None:
    for numbers in (scored.document_scores, scored.document_evidence, scored.word_scores, scored.evidence):
        if not np.isfinite(numbers).all():
            raise ValueError("expected finite scores and evidence, got others: JSON has no number for them")


def from_json_line(line: str | bytes) -> Result:
    """The result that such a line was made from."""
    record = json.loads(line)
    del record["summary"]  # follows from the rest
    return Result(**record | {"words": tuple(WordScore(**word) for word in record["words"])})
