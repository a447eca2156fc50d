"""Results -> JSON lines; a file appears under its name only when it is complete."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TextIO

from difa.document import Result, WordScore
from difa.errors import InputError

_MEMO = 1 << 17  # numbers whose text is remembered


class _Numbers(dict[float, str]):
    """Numbers as JSON has them. Evidence and p-values are ranks, so the same ones come again and again."""

    def __missing__(self, number: float) -> str:
        if len(self) >= _MEMO:
            self.clear()
        text = self[number] = _number(number)
        return text


def _number(number: float) -> str:
    if not math.isfinite(number):
        raise ValueError(f"expected a finite number, got {number}: JSON has no other")
    return float.__repr__(number or 0.0)  # −0.0 is 0.0, whichever comes first


_NUMBERS = _Numbers()
_FLAGS = {True: "true", False: "false"}
_quote: Callable[[str], str] = json.encoder.encode_basestring


def to_json_line(result: Result) -> str:
    """One result as one line of JSON: what `json.dumps` makes of `result.to_dict()`, in less time."""
    words = ", ".join([_word_json(word) for word in result.words])
    return (
        f'{{"id": {_text(result.id)}, "text": {_quote(result.text)}, "score": {_number(result.score)}, '
        f'"p_value": {_number(result.p_value)}, "is_anomaly": {_FLAGS[result.is_anomaly]}, '
        f'"summary": {_quote(result.summary)}, "evidence": {_evidence(result.evidence)}, "words": [{words}]}}\n'
    )


def _word_json(word: WordScore) -> str:
    return (
        f'{{"text": {_quote(word.text)}, "start": {word.start}, "end": {word.end}, "score": {_number(word.score)}, '
        f'"p_value": {_NUMBERS[word.p_value]}, "is_anomaly": {_FLAGS[word.is_anomaly]}, '
        f'"suggestion": {_text(word.suggestion)}, "evidence": {_evidence(word.evidence)}}}'
    )


def _evidence(evidence: Mapping[str, float]) -> str:
    return _pattern(tuple(evidence)) % tuple(map(_NUMBERS.__getitem__, evidence.values()))


@lru_cache(maxsize=64)
def _pattern(names: tuple[str, ...]) -> str:
    return "{" + ", ".join([f"{_quote(name).replace('%', '%%')}: %s" for name in names]) + "}"


def _text(text: str | None) -> str:
    return "null" if text is None else _quote(text)


def from_json_line(line: str | bytes) -> Result:
    """The result that such a line was made from."""
    record = json.loads(line)
    del record["summary"]  # follows from the rest
    return Result(**record | {"words": tuple(WordScore(**word) for word in record["words"])})


@contextmanager
def atomic_writer(path: Path | None) -> Iterator[TextIO]:
    """A text file that takes its name only if all goes well; standard output for None."""
    if path is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        file = partial.open("w", encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
