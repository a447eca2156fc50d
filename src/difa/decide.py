"""What the detector says of documents -> results with p-values -> results with flags.

`rank` gives p-values among normal text and sets no flag. A `Rule` says which rate is in force; `flag` turns it into cutoffs,
the largest p-values that are still flagged, and sets the flags. Python, the command line, the service and Ray all go this way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from difa.calibrate import check_rate, discovery_cutoff
from difa.detector import Detector, Scored
from difa.document import Document, Result, WordScore
from difa.errors import ConfigError

UNUSUAL = 0.05
"""P-value up to which a word is looked at for what it may have been meant to be."""


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

    @classmethod
    def of(cls, results: Sequence[Result], rule: Rule) -> Cutoff:
        """The cutoffs of a rule for these results."""
        if rule.name == "fpr":
            return cls(rule.rate, rule.rate)
        documents = np.array([result.p_value for result in results])
        words = np.array([word.p_value for result in results for word in result.words])
        return cls(discovery_cutoff(documents, rule.rate), discovery_cutoff(words, rule.rate))

    def flag(self, result: Result) -> Result:
        """The result with its flags, and those of its words."""
        words = tuple(self._flag_word(word) for word in result.words)
        return replace(result, is_anomaly=result.p_value <= self.document, words=words)

    def _flag_word(self, word: WordScore) -> WordScore:
        is_anomaly = word.p_value <= self.word
        return word if word.is_anomaly == is_anomaly else replace(word, is_anomaly=is_anomaly)  # most stay as they are


def flag(results: Sequence[Result], rule: Rule) -> list[Result]:
    """Results with the flags of a rule; a false-discovery rate looks at all of them together."""
    cutoff = Cutoff.of(results, rule)
    return [cutoff.flag(result) for result in results]


def rank(detector: Detector, documents: Sequence[Document], scored: Sequence[Scored]) -> list[Result]:
    """Results of documents in their order: scores and p-values, without flags.

    Args:
        detector: what scored them.
        documents: the documents.
        scored: what it says of each.
    """
    document_p = detector.document_reference.p_values(np.array([item.document_score for item in scored])).tolist()
    word_p = detector.word_reference.p_values(np.concatenate([np.empty(0), *(item.word_scores for item in scored)])).tolist()
    traits, results, at = detector.traits, [], 0
    for document, item, p_value in zip(documents, scored, document_p, strict=True):
        words = _rank_words(detector, document, item, word_p[at : at + len(document.words)])
        at += len(words)
        evidence = dict(zip(traits, item.document_evidence.tolist(), strict=True))
        results.append(
            Result(document.text, item.document_score, p_value, False, words, document.id, evidence, columns=document.columns)
        )
    return results


def _rank_words(detector: Detector, document: Document, scored: Scored, p_values: Sequence[float]) -> tuple[WordScore, ...]:
    names = detector.evidence_names
    columns = zip(
        document.words, scored.word_scores.tolist(), p_values, scored.evidence.tolist(), scored.allowed.tolist(), strict=True
    )
    return tuple(
        WordScore(
            word.text,
            word.start,
            word.end,
            score,
            p_value,
            False,
            dict(zip(names, evidence, strict=True)),
            detector.suggest(document, position) if p_value <= UNUSUAL else None,
            allowed,
        )
        for position, (word, score, p_value, evidence, allowed) in enumerate(columns)
    )
