"""What the detector says of documents -> the same with p-values -> the same with flags, all on columns.

`rank` gives p-values among normal text and sets no flag. A `Rule` says which rate is in force. A `Cutoff` has the largest
p-values that are still flagged, and sets the flags. Python, the command line, the service and Ray all go this way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from difa.calibrate import check_rate
from difa.detector import Detector
from difa.document import FloatArray, Result, Scored, columns_of
from difa.errors import ConfigError
from difa.views.faults.kinds import NO_SLIPS

UNUSUAL = 0.05  # p-value up to which a word is looked at for what it may have been meant to be


@dataclass(frozen=True)
class Rule:
    """How flags are set: at a false-alarm rate, or at a false-discovery rate over all results that are flagged together."""

    name: Literal["fpr", "fdr"]
    rate: float

    def __str__(self) -> str:
        return f"{self.name} {self.rate!r}"

    @classmethod
    def in_force(cls, fpr: float | None, fdr: float | None, *, own: tuple[float, float | None]) -> Rule:
        """The rule of a call.

        Args:
            fpr: the call's false-alarm rate, if it gives one.
            fdr: the call's false-discovery rate, if it gives one instead.
            own: the model's `fpr` and `fdr`, for a call that gives neither; its `fdr` comes first.
        """
        if fpr is not None and fdr is not None:
            raise ConfigError("expected one of fpr and fdr, got both")
        if fpr is None and fdr is None:
            fpr, fdr = own
        return cls("fpr", check_rate("fpr", fpr)) if fdr is None else cls("fdr", check_rate("fdr", fdr))


@dataclass(frozen=True)
class Cutoff:
    """The largest p-values that are flagged, of documents and of words; below zero where nothing is."""

    document: float
    word: float
    rule: Rule

    @classmethod
    def of(cls, parts: Iterable[Scored], rule: Rule) -> Cutoff:
        """The cutoffs of a rule for all these documents together, which are looked at once and not kept."""
        if rule.name == "fpr":
            return cls(rule.rate, rule.rate, rule)
        documents, words = Tally(), Tally()
        for part in parts:
            documents.add(part.document_p)
            words.add(part.word_p)
        return cls(documents.cutoff(rule.rate), words.cutoff(rule.rate), rule)

    def flag(self, scored: Scored) -> Scored:
        """The same documents with flags, and those of their words."""
        return replace(
            scored,
            document_flags=scored.document_p <= self.document,
            word_flags=scored.word_p <= self.word,
            rule=self.rule.name,
            rate=self.rule.rate,
        )


class Tally:
    """How often each p-value has occurred. There are only so many: memory depends on the model, not on how much was scored."""

    def __init__(self) -> None:
        self._counts = Counter[float]()

    def add(self, p_values: FloatArray) -> None:
        values, counts = np.unique(p_values, return_counts=True)
        self._counts.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))

    def cutoff(self, rate: float) -> float:
        """The largest p-value that Benjamini and Hochberg flag at a false-discovery rate; below zero where they flag nothing."""
        values, counts = np.array(sorted(self._counts.items())).reshape(-1, 2).T
        up_to = np.cumsum(counts)  # of equal p-values the last one decides
        passing = np.flatnonzero(values <= rate * up_to / max(1, self._counts.total()))
        return float(values[passing[-1]]) if len(passing) else -1.0


def flag(results: Sequence[Result], rule: Rule) -> list[Result]:
    """Results with the flags of a rule; a false-discovery rate looks at all of them together."""
    return [result for part in flag_columns(columns_of(results), rule) for result in part.results()]


def flag_columns(parts: Sequence[Scored], rule: Rule) -> list[Scored]:
    """The same on columns."""
    cutoff = Cutoff.of(parts, rule)
    return [cutoff.flag(part) for part in parts]


def rank(detector: Detector, scored: Scored) -> Scored:
    """The documents with p-values among normal text, and with what unusual words may have been meant to be; without flags."""
    document_p = detector.document_reference.p_values(scored.document_scores)
    word_p = detector.word_reference.p_values(scored.word_scores)
    unusual = np.flatnonzero(word_p <= UNUSUAL)
    documents = np.searchsorted(scored.starts, unusual, side="right") - 1
    faults: dict[int, str] = {}
    faulty = np.unique(documents[detector.in_faults(scored.evidence[unusual])]).tolist()
    for at, found in zip(faulty, detector.name_faults([scored.documents[at] for at in faulty]), strict=True):
        start = scored.starts[at]
        seen = {fault for position, fault in found.items() if word_p[start + position] <= UNUSUAL}
        faults |= {start + position: fault[0] for position, fault in found.items() if fault in seen}  # all of its words
    suggestions: dict[int, str] = {}
    for place, at in zip(unusual.tolist(), documents.tolist(), strict=True):
        meant = detector.suggest(scored.documents[at], place - scored.starts[at])
        if meant is not None and faults.get(place) not in NO_SLIPS:
            suggestions[place] = meant
    for at, text in suggestions.items():
        if faults.get(at) in (None, "no end"):
            faults[at] = "glued words" if " " in text else "misspelling"
    return replace(
        scored,
        word_p=word_p,
        document_p=document_p,
        suggestions=suggestions,
        faults=faults,
        word_flags=np.zeros(len(word_p), bool),
        document_flags=np.zeros(len(document_p), bool),
    )
