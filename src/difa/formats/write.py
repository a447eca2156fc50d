"""Results <-> JSON lines."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from difa.document import Result, WordScore

_MEMO = 1 << 17  # numbers whose text is remembered


class _Numbers(dict[float, str]):
    """Numbers as JSON has them. Evidence and p-values are ranks, so the same ones come again and again."""

    def __missing__(self, number: float) -> str:
        if len(self) >= _MEMO:
            self.clear()
        text = self[number] = number_json(number)
        return text


def number_json(number: float) -> str:
    """Any number, as JSON has it."""
    if not math.isfinite(number):
        raise ValueError(f"expected a finite number, got {number}: JSON has no other")
    return float.__repr__(number or 0.0)  # −0.0 is 0.0, whichever comes first


_NUMBERS = _Numbers()
_FLAGS = {True: "true", False: "false"}
ALLOWED_JSON = ("", ', "allowed": true')
"""What is said at the end of a word that is not allowed, and of one that is."""
_quote: Callable[[str], str] = json.encoder.encode_basestring


def to_json_line(result: Result) -> str:
    """One result as one line of JSON: what `json.dumps` makes of `result.to_dict()`, in less time."""
    words = ", ".join([_word_json(word) for word in result.words])
    judge = "" if result.judged_by is None else f'"judged_by": {_quote(result.judged_by)}, '
    return (
        f'{{"id": {text_json(result.id)}, "text": {_quote(result.text)}, {columns_json(result.columns)}'
        f'"score": {number_json(result.score)}, '
        f'"p_value": {number_json(result.p_value)}, "is_anomaly": {_FLAGS[result.is_anomaly]}, '
        f'"summary": {_quote(result.summary)}, "evidence": {traits_json(result.evidence)}, {judge}"words": [{words}]}}\n'
    )


def _word_json(word: WordScore) -> str:
    return (
        f'{{"text": {_quote(word.text)}, "start": {word.start}, "end": {word.end}, "score": {number_json(word.score)}, '
        f'"p_value": {_NUMBERS[word.p_value]}, "is_anomaly": {_FLAGS[word.is_anomaly]}, '
        f'"suggestion": {text_json(word.suggestion)}, "evidence": {traits_json(word.evidence)}{ALLOWED_JSON[word.allowed]}}}'
    )


def traits_json(evidence: Mapping[str, float]) -> str:
    """Numbers by name."""
    return _pattern(tuple(evidence)) % tuple(map(_NUMBERS.__getitem__, evidence.values()))


@lru_cache(maxsize=64)
def _pattern(names: tuple[str, ...]) -> str:
    return "{" + ", ".join([f"{_quote(name).replace('%', '%%')}: %s" for name in names]) + "}"


def ranks_json(numbers: Iterable[float]) -> Iterator[str]:
    """Evidence or p-values, each as JSON has it."""
    return map(_NUMBERS.__getitem__, numbers)


def columns_json(columns: Mapping[str, Any]) -> str:
    """What else stands in a document's row, with a comma behind it; nothing where there is nothing."""
    return f'"columns": {json.dumps(dict(columns), ensure_ascii=False, allow_nan=False)}, ' if columns else ""


def text_json(text: str | None) -> str:
    """A text in quotes, or null."""
    return "null" if text is None else _quote(text)


def from_json_line(line: str | bytes) -> Result:
    """The result that such a line was made from."""
    record = json.loads(line)
    del record["summary"]  # follows from the rest
    return Result(**record | {"words": tuple(WordScore(**word) for word in record["words"])})


def read_lines(lines: Path, skip: int = 0) -> Iterator[Result]:
    """Results from a file of such lines."""
    with lines.open("rb") as content:
        yield from map(from_json_line, islice(content, skip, None))
