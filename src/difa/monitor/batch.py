"""Results of one batch, one by one -> the counts that tests and comparisons need; texts are not kept."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np

from difa.document import FloatArray, Result
from difa.errors import InputError
from difa.knowledge.letters import fold
from difa.report.summary import value_of

RARE = 0.05
"""The share of normal text that has as much evidence as what is counted as unusual."""
_EVIDENCE = -math.log(RARE)


@dataclass
class Excess:
    """Of how many things a share is unusual, and how much of it belongs together: words of one document do."""

    unusual: int = 0
    count: int = 0
    difference: float = 0.0
    square: float = 0.0

    def add(self, unusual: int, count: int) -> None:
        """One document's."""
        difference = unusual - RARE * count
        self.unusual, self.count = self.unusual + unusual, self.count + count
        self.difference, self.square = self.difference + difference, self.square + difference**2

    @property
    def share(self) -> float:
        return self.unusual / max(1, self.count)

    @property
    def deviations(self) -> float:
        """The excess in standard deviations, documents being independent."""
        return self.difference / math.sqrt(self.square) if self.square else 0.0


@dataclass
class BatchCounts:
    """What a batch says."""

    flagged: int = 0
    words: int = 0
    p_list: list[float] = field(default_factory=list)
    score_list: list[float] = field(default_factory=list)
    traits: dict[str, Excess] = field(default_factory=dict)
    views: dict[str, Excess] = field(default_factory=dict)
    documents_with: Counter[str] = field(default_factory=Counter)
    """Documents in which a word stands, folded."""
    flagged_with: Counter[str] = field(default_factory=Counter)
    """Documents in which it is flagged."""
    spelling: dict[str, str] = field(default_factory=dict)
    _content: Any = field(default_factory=sha256)

    @property
    def documents(self) -> int:
        return len(self.p_list)

    @property
    def p_values(self) -> FloatArray:
        return np.array(self.p_list)

    @property
    def scores(self) -> FloatArray:
        return np.array(self.score_list)

    @property
    def digest(self) -> str:
        """Checksum of the texts, in order."""
        return str(self._content.hexdigest()[:16])

    def add(self, result: Result) -> None:
        """Count one result, with its flags."""
        self.p_list.append(result.p_value)
        self.score_list.append(result.score)
        self.flagged += result.is_anomaly
        self.words += len(result.words)
        self._content.update(f"{len(result.text)}:{result.text}".encode(errors="surrogatepass"))
        for trait, value in result.evidence.items():
            self.traits.setdefault(trait, Excess()).add(value >= _EVIDENCE, 1)
        for view in result.words[0].evidence if result.words else ():
            unusual = sum(word.evidence[view] >= _EVIDENCE for word in result.words)
            self.views.setdefault(view, Excess()).add(unusual, len(result.words))
        self._count_words(result)

    def _count_words(self, result: Result) -> None:
        found: dict[str, bool] = {}
        for word in result.words:
            key = fold(word.text)
            found[key] = found.get(key, False) or word.is_anomaly
            self.spelling.setdefault(key, word.text)
        self.documents_with.update(found.keys())
        self.flagged_with.update(key for key, is_flagged in found.items() if is_flagged)


def count_batch(results: Iterable[Result]) -> BatchCounts:
    """All results of a batch."""
    counted = BatchCounts()
    for result in results:
        counted.add(result)
    return counted


def cut_batches(results: Iterable[Result], by: str | None, source: str) -> Iterator[tuple[str, Result]]:
    """Each result with the name of its batch: the value of a column, or the source that they all come from."""
    for result in results:
        name = source if by is None else value_of(result, by)
        if not name:
            columns = ", ".join(map(repr, result.columns)) or "none"
            raise InputError(
                f"by {by}: expected a column of {source}, or one with a day in it for 'day'; {result.id or 'a document'} has "
                f"neither, its columns are {columns}"
            )
        yield name, result


def in_order(batches: Mapping[str, BatchCounts]) -> dict[str, BatchCounts]:
    """Batches by their names from low to high: as numbers where all are, as days and other texts otherwise."""
    try:
        names = sorted(batches, key=float)
    except ValueError:
        names = sorted(batches)
    return {name: batches[name] for name in names}
