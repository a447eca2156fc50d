"""A feed and verdicts -> documents that may teach, each content once; and what they taught, in words.

The feed is new text that nobody has labelled, anomalies among it. Copies count once, or a message that is sent a thousand times
would be all that is learned. Documents that stand among the normal ones teach nothing. A feed that leaves too few documents is
left alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from difa.config import FeedConfig
from difa.corpus.copies import content_of
from difa.corpus.verdicts import Verdict
from difa.document import Document, Encoded, FloatArray, split_by
from difa.fuse import Trust, speak_of
from difa.head import WordTable
from difa.knowledge.letters import fold
from difa.knowledge.wordlist import word_list
from difa.views.stored_words import document_counts, rare_words

_LEVELS = -np.log([0.05, 0.02, 0.01, 0.005, 0.002, 0.001])  # evidence at which new text is compared with normal text
_CLEAR_ERRORS = 4.0  # standard errors by which new text must differ
_NOTABLE_RATIO = 1.5  # times as many that are worth saying
_COMMON_DOCUMENTS = 5  # of the feed that would have a word if it were normal text: it then tells little by itself
_MIN_EXCESS = 0.5  # documents that a word must have beyond what is expected
_EVERYDAY_SHARE = 1e-3  # of the language's running text from which a word tells nothing by itself
_MAX_NAMED = 5  # words that a finding names

_NORMAL, _COPY, _REVIEWED = "stand among the normal ones", "are copies of others", "have verdicts"
"""Why documents of a feed teach nothing, as a message says it."""


@dataclass(frozen=True)
class NewText:
    """Documents to learn from: those of the feed, then those that were reviewed."""

    documents: list[Document]
    verdicts: list[Verdict]  # on the last documents, in their order
    given: int = 0  # documents of the feed as it came
    copies: int = 0  # of them, those that say what another says
    known: int = 0  # of them, those that stand among the normal documents

    @property
    def feed(self) -> int:
        """Documents of the feed that may teach."""
        return len(self.documents) - len(self.verdicts)

    def document_counts(self, config: FeedConfig) -> FloatArray:
        """For how many documents of the feed each document counts: (documents,)."""
        judged = [config.verdict_weight if verdict.odd else 0.0 for verdict in self.verdicts]
        return np.array([1.0] * self.feed + judged)

    def trust(self, config: FeedConfig) -> Trust:
        """What is known of each word: (T,)."""
        words = sum(len(document.words) for document in self.documents[: self.feed])
        weights, certain = [np.ones(words)], [np.zeros(words, dtype=bool)]
        for verdict in self.verdicts:
            length, marked = len(verdict.document.words), verdict.marked
            odd = np.full(length, verdict.odd) if marked is None else marked
            weights.append(np.where(odd, config.verdict_weight, 0.0))
            certain.append(np.zeros(length, dtype=bool) if marked is None else marked)
        return Trust(np.concatenate(weights), np.concatenate(certain))

    def summary(
        self, normal: WordTable, new: WordTable, names: Sequence[str], min_documents: int, language: str | None
    ) -> FeedSummary:
        """What they taught, once their words have evidence; the arguments are those of `find_differences`."""
        words = sum(new.lengths[: self.feed])
        feed = replace(new, documents=new.documents[: self.feed], evidence=new.evidence[:words])
        findings = find_differences(normal, feed, names, min_documents, language)
        odd = sum(verdict.odd for verdict in self.verdicts)
        return FeedSummary(self.feed, words, self.given, self.copies, self.known, len(self.verdicts), odd, findings)


def choose(
    normal: Iterable[Document], feed: Sequence[Document], verdicts: Sequence[Verdict], config: FeedConfig
) -> tuple[NewText, str]:
    """Documents that may teach, and why the feed does not, if it has too few of them; empty if it does or there is none."""
    taken = {content_of(verdict.document.words.texts): _REVIEWED for verdict in verdicts}
    taken |= {content_of(document.words.texts): _NORMAL for document in normal}
    counts = dict.fromkeys((_NORMAL, _COPY, _REVIEWED), 0)
    chosen: list[Document] = []
    for document in feed:
        content = content_of(document.words.texts)
        if content in taken:
            counts[taken[content]] += 1
        elif document.words:
            chosen.append(document)
        if document.words and taken.get(content) != _NORMAL:
            taken[content] = _COPY  # what others are that come later
    why = ""
    if feed and len(chosen) < config.least_documents:
        reasons = ", ".join(f"{count} {reason}" for reason, count in counts.items() if count)
        why = (
            f"nothing was learned from the feed: expected at least {config.least_documents} different documents, got "
            f"{len(chosen)} of {len(feed)}{f' ({reasons})' if reasons else ''}; the model is as without a feed"
        )
        chosen = []
    judged = [verdict for verdict in verdicts if verdict.document.words]
    documents = [*chosen, *(verdict.document for verdict in judged)]
    return NewText(documents, judged, len(feed), counts[_COPY], counts[_NORMAL]), why


@dataclass(frozen=True)
class Finding:
    """A view that new text has more extreme words of than normal text has."""

    view: str
    times: float
    words: tuple[str, ...]  # some that carry it, as far as they may be read

    @property
    def subject(self) -> str:
        """What there is more of."""
        return speak_of(self.view).subject

    @property
    def extent(self) -> str:
        """How much more, and the words that carry it."""
        named = f" ({', '.join(self.words)})" if self.words else ""
        return f"{self.times:.2g} times as many as in normal text{named}"


@dataclass(frozen=True)
class FeedSummary:
    """How much a model learned from beside its normal documents, and what."""

    documents: int  # different ones of the feed
    words: int
    given: int
    copies: int
    known: int
    reviewed: int = 0
    odd: int = 0  # reviewed documents that were called odd
    findings: tuple[Finding, ...] = ()

    def sentences(self) -> list[str]:
        """What was learned, most striking first."""
        if not self.findings:
            return ["In the new text nothing stands out that normal text does not have."] if self.documents else []
        first, *others = self.findings
        return [
            f"In the new text, {first.subject} stand out: {first.extent}.",
            *(f"So do {finding.subject}: {finding.extent}." for finding in others),
        ]

    @property
    def extent(self) -> str:
        """What was learned from."""
        reviewed = "1 reviewed document" if self.reviewed == 1 else f"{self.reviewed:,} reviewed documents"
        parts = [f"{self.documents:,} documents of a feed, {self.words:,} words"] if self.documents else []
        parts += [f"{reviewed}, {self.odd:,} of them odd"] if self.reviewed else []
        return " and ".join(parts) or "nothing"

    @classmethod
    def from_dict(cls, entries: Mapping[str, Any]) -> FeedSummary:
        """The same from plain values, which a stranger may have written."""
        counts = {name: entries[name] for name in ("documents", "words", "given", "copies", "known", "reviewed", "odd")}
        if any(type(count) is not int or count < 0 for count in counts.values()):
            raise ValueError("feed: expected counts that are whole numbers of at least 0")
        findings = tuple(
            Finding(str(item["view"]), float(item["times"]), tuple(str(word) for word in item["words"]))
            for item in entries["findings"]
        )
        if not all(finding.view.isidentifier() and math.isfinite(finding.times) for finding in findings):
            raise ValueError("feed: expected findings that name a view")
        return cls(**counts, findings=findings)


def find_differences(
    normal: WordTable, feed: WordTable, names: Sequence[str], min_documents: int, language: str | None
) -> tuple[Finding, ...]:
    """The views by which a feed differs from normal text, most striking first.

    Args:
        normal: words of calibration documents.
        feed: words of documents of the feed.
        names: of the views.
        min_documents: documents that must have a word for it to be named, unless the language's list knows it.
        language: of the normal documents.
    """
    words, candidates = len(feed.evidence), _nameable(normal, feed, min_documents, language)
    expected = words * np.exp(-_LEVELS)  # among normal words, evidence −log p reaches x in a share exp(−x) of cases
    errors = np.sqrt(np.maximum(expected, 1e-9) * (1 + words / max(len(normal.evidence), 1)))
    findings = []
    for view, name in enumerate(names):
        reached = np.array([(feed.evidence[:, view] >= level).sum() for level in _LEVELS])
        at = int(np.argmax((reached - expected) / errors))
        if reached[at] - expected[at] >= _CLEAR_ERRORS * errors[at] and reached[at] >= _NOTABLE_RATIO * expected[at]:
            telling = _telling_words(normal, feed, view, _LEVELS[at], candidates)
            findings.append(Finding(name, round(float(reached[at] / expected[at]), 2), telling))
    return tuple(sorted(findings, key=lambda finding: (-finding.times, finding.view)))


def _nameable(normal: WordTable, feed: WordTable, min_documents: int, language: str | None) -> dict[str, bool]:
    """Words of the feed that may be read and tell something by themselves, and whether each is common in normal text as well."""
    hidden, known = rare_words(feed.documents, min_documents, language), word_list(language)
    usual = document_counts(normal.documents, _folded)
    return {
        word: usual[word] * len(feed.documents) >= _COMMON_DOCUMENTS * len(normal.documents)
        for word in document_counts(feed.documents, _folded)
        if word not in hidden and any(map(str.isalpha, word)) and known.frequency(word) <= _EVERYDAY_SHARE
    }


def _telling_words(
    normal: WordTable, feed: WordTable, view: int, level: float, candidates: Mapping[str, bool]
) -> tuple[str, ...]:
    """Candidates whose evidence reaches a level in more documents of the feed than expected, the clearest first."""
    usual, scale = _reaching(normal, view, level), len(feed.documents) / max(len(normal.documents), 1)
    excess = {}
    for word, count in _reaching(feed, view, level).items():
        expected = scale * usual[word]
        if word in candidates and count - expected > _MIN_EXCESS and (not candidates[word] or count > 3 * (expected + 1)):
            excess[word] = count - expected
    return tuple(sorted(excess, key=lambda word: (-excess[word], word))[:_MAX_NAMED])


def _reaching(words: WordTable, view: int, level: float) -> Counter[str]:
    """Documents by the words whose evidence reaches a level."""
    marks = split_by(words.lengths, words.evidence[:, view] >= level)
    pairs = zip(words.documents, marks, strict=True)
    return Counter(chain.from_iterable({fold(document.words[at]) for at in np.flatnonzero(marked)} for document, marked in pairs))


def _folded(document: Encoded) -> Iterable[str]:
    return map(fold, document.words)
