"""Results <-> JSON lines."""

from __future__ import annotations

import json

from difa.document import Result, WordScore


def to_json_line(result: Result) -> str:
    """One result as one line of JSON."""
    return json.dumps(result.to_dict(), ensure_ascii=False, allow_nan=False) + "\n"


def from_json_line(line: str | bytes) -> Result:
    """The result that such a line was made from."""
    record = json.loads(line)
    del record["summary"]  # follows from the rest
    return Result(**record | {"words": tuple(WordScore(**word) for word in record["words"])})
