"""Results, one by one -> what a report says of them all, in bounded memory.

Kept are counts, the worst documents, the flagged words with some of their documents, and the share flagged by group.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from difa.decide.confidence import share_interval
from difa.document import Result, WordScore
from difa.errors import InputError

BINS = 20
_EXAMPLES = 3  # documents named beside a word
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
FILE, DAY = "file", "day"
_NONE = "(none)"  # the group of documents without a value


@dataclass
class FlaggedWord:
    """A word, in capitals or not, and where it was flagged."""

    text: str
    documents: int = 0
    examples: list[str] = field(default_factory=list)
    suggestions: Counter[str] = field(default_factory=Counter)

    @property
    def is_plain(self) -> bool:
        """Whether it is a word of letters, and no number, code or mark."""
        return any(c.isalpha() for c in self.text) and not any(c.isdigit() for c in self.text)


@dataclass
class Group:
    """Documents that have something in common."""

    documents: int = 0
    flagged: int = 0

    def add(self, documents: int, flagged: int) -> None:
        self.documents, self.flagged = self.documents + documents, self.flagged + flagged

    @property
    def share(self) -> float:
        return self.flagged / max(1, self.documents)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the share."""
        return share_interval(self.flagged, self.documents)


@dataclass
class UnusualDocument:
    """One of the most unusual documents, and how often its text occurs."""

    result: Result
    times: int = 1


@dataclass
class Summary:
    """What a report says."""

    rates: set[tuple[str, float | None]] = field(default_factory=set)
    """The rules and rates by which flags were set; none are known of results of older versions."""
    all: Group = field(default_factory=Group)
    words: int = 0
    flagged_words: int = 0
    without_text: int = 0
    highest_flagged_p: float = 0.0
    histogram: list[int] = field(default_factory=lambda: [0] * BINS)
    """Documents by p-value, in equal steps from 0 to 1."""
    worst: list[UnusualDocument] = field(default_factory=list)
    vocabulary: dict[str, FlaggedWord] = field(default_factory=dict)
    views: Counter[str] = field(default_factory=Counter)
    """Flagged words by the view with the most evidence."""
    groups: dict[str, dict[str, Group]] = field(default_factory=dict)

    @property
    def rate(self) -> tuple[str, float] | None:
        """The rule, `fpr` or `fdr`, and the rate by which all flags were set, if that is known and one."""
        rule, rate = next(iter(self.rates), ("", None))
        return (rule, rate) if rule in ("fpr", "fdr") and rate is not None and len(self.rates) == 1 else None

    @property
    def flagged_up_to(self) -> float:
        """The p-value up to which documents are flagged: the rate that was asked for, or the highest of a flagged one."""
        return self.rate[1] if self.rate and self.rate[0] == "fpr" else self.highest_flagged_p

    def most_flagged(self, plain: bool, most: int) -> list[FlaggedWord]:
        """Words, or numbers and marks, by the documents in which they are flagged."""
        chosen = [word for word in self.vocabulary.values() if word.is_plain == plain]
        return sorted(chosen, key=lambda word: (-word.documents, word.text))[:most]


def summarise(results: Iterable[Result], by: Sequence[str] = (), most: int = 30) -> Summary:
    """Read all results.

    Args:
        results: what was scored.
        by: columns by whose values the share flagged is given; `file` and `day` are understood without such a column.
        most: worst documents to keep.
    """
    summary, kept = Summary(), dict[str, UnusualDocument]()
    grouped: dict[str, dict[str, Group]] = {name: defaultdict(Group) for name in by}
    columns: dict[str, None] = {}
    for result in results:
        _count(summary, result)
        _keep(kept, result, most)
        columns.update(dict.fromkeys(result.columns))
        for name, groups in grouped.items():
            groups[value_of(result, name)].add(1, result.is_anomaly)
    if not summary.all.documents:
        raise InputError("expected results of `difa score`, got none")
    for name, groups in grouped.items():
        without = groups.pop("", None)
        if not groups:
            listed = ", ".join(repr(known) for known in dict.fromkeys((FILE, DAY, *columns)) if known != name)
            hint = " (the ids do not name files)" if name == FILE else ""
            raise InputError(f"by {name}: expected a column that the results have{hint}, such as {listed}")
        if without is not None:
            groups[_NONE].add(without.documents, without.flagged)
    summary.worst, summary.groups = _sorted(kept)[:most], {name: dict(groups) for name, groups in grouped.items()}
    return summary


def value_of(result: Result, name: str) -> str:
    """The group of a result: the cell of that column, or the file or day that can be told without one; empty if none can."""
    if name in result.columns:
        cell = result.columns[name]
        return _NONE if cell in (None, "") else str(cell)
    if name == FILE:
        file, _, number = (result.id or "").rpartition(":")
        is_ours = number.isdigit() and (file in ("-", "stdin") or PurePath(file).suffix[1:].isalpha())
        return file if is_ours else ""
    if name == DAY:
        cells = (cell for cell in result.columns.values() if isinstance(cell, str))
        return next((found.group() for found in map(_DAY.match, cells) if found), "")
    return ""


def _count(summary: Summary, result: Result) -> None:
    summary.all.add(1, result.is_anomaly)
    summary.rates.add((str(result.rule), result.rate if isinstance(result.rate, float) else None))
    summary.words += len(result.words)
    summary.without_text += not result.words
    summary.histogram[min(BINS - 1, int(result.p_value * BINS))] += 1
    if result.is_anomaly:
        summary.highest_flagged_p = max(summary.highest_flagged_p, result.p_value)
    in_document: dict[str, WordScore] = {}
    for word in result.words:
        if word.is_anomaly:
            summary.flagged_words += 1
            in_document.setdefault(word.text.casefold(), word)
            if word.evidence:
                summary.views[max(word.evidence, key=word.evidence.__getitem__)] += 1
    for key, word in in_document.items():
        entry = summary.vocabulary.setdefault(key, FlaggedWord(word.text))
        entry.documents += 1
        if len(entry.examples) < _EXAMPLES and result.id is not None:
            entry.examples.append(result.id)
        if word.suggestion:
            entry.suggestions[word.suggestion] += 1


def _keep(kept: dict[str, UnusualDocument], result: Result, most: int) -> None:
    """Keep a document if it may be one of the most unusual, each text once."""
    if result.text in kept:
        kept[result.text].times += 1
    elif result.words:
        kept[result.text] = UnusualDocument(result)
        if len(kept) > 4 * most:  # cut back now and then
            for entry in _sorted(kept)[most:]:
                del kept[entry.result.text]


def _sorted(kept: Mapping[str, UnusualDocument]) -> list[UnusualDocument]:
    return sorted(kept.values(), key=lambda entry: (entry.result.p_value, -entry.result.score))
