"""Results of one batch, one by one -> its counts, and what is more or less frequent in it than in normal text; no text is kept.

Traits and views are ranked among normal text, so it is known how much of it is unusual by each. The normal share of a word is
known where the model has counted words: a share of documents then follows from the share of words and the documents' length.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import compress
from typing import Any

import numpy as np

from difa.detector import Detector
from difa.document import Result
from difa.errors import InputError
from difa.fuse import speak_of
from difa.knowledge.letters import fold
from difa.report.sentences import visible
from difa.report.summary import value_of
from difa.views.language import LanguageView

RARE = 0.05
"""The share of normal text that has as much evidence as what is counted as unusual."""
_EVIDENCE = -math.log(RARE)
MOST = 5
"""Differences of each kind that are named at most."""
_CLEAR = 4.0  # standard deviations from which a change is named: so many, since thousands of words are compared
_TRAITS = {
    "highest": "documents with single",
    "three highest": "documents with several",
    "passage": "documents with",
    "mean": "documents full of",
}


@dataclass
class Excess:
    """How many words or documents are unusual, and how much of the excess belongs together: words of one document do."""

    unusual: int = 0
    count: int = 0
    square: float = 0.0
    """The sum of the squares of the documents' own excesses."""

    def add(self, unusual: int, count: int) -> None:
        """One document's."""
        self.unusual, self.count = self.unusual + unusual, self.count + count
        self.square += (unusual - RARE * count) ** 2

    @property
    def share(self) -> float:
        return self.unusual / max(1, self.count)

    @property
    def deviations(self) -> float:
        """The excess in standard deviations, documents being independent."""
        return (self.unusual - RARE * self.count) / math.sqrt(self.square) if self.square else 0.0


@dataclass
class BatchCounts:
    """What a batch has, without its texts."""

    flagged: int = 0
    words: int = 0
    scores: list[float] = field(default_factory=list)
    traits: defaultdict[str, Excess] = field(default_factory=lambda: defaultdict(Excess))
    views: defaultdict[str, Excess] = field(default_factory=lambda: defaultdict(Excess))
    documents_with: Counter[str] = field(default_factory=Counter)
    """Documents in which a word stands, folded."""
    flagged_with: Counter[str] = field(default_factory=Counter)
    """Documents in which it is flagged."""
    spelling: dict[str, str] = field(default_factory=dict)
    _content: Any = field(default_factory=sha256)

    @property
    def documents(self) -> int:
        return len(self.scores)

    @property
    def digest(self) -> str:
        """Checksum of the texts, in order."""
        return str(self._content.hexdigest()[:16])

    def add(self, result: Result) -> None:
        """Count one result, with its flags."""
        scored, at = result.place
        words, rows = scored.documents[at].words.texts, slice(*scored.starts[at : at + 2])
        self.scores.append(result.score)
        self.flagged += result.is_anomaly
        self.words += len(words)
        self._content.update(f"{len(result.text)}:{result.text}".encode(errors="surrogatepass"))
        for trait, value in result.evidence.items():
            self.traits[trait].add(value >= _EVIDENCE, 1)
        for view, unusual in zip(scored.views, np.sum(scored.evidence[rows] >= _EVIDENCE, axis=0).tolist(), strict=True):
            self.views[view].add(unusual, len(words))
        folded = list(map(fold, words))
        for key, word in zip(folded, words, strict=True):
            self.spelling.setdefault(key, word)
        self.documents_with.update(set(folded))
        self.flagged_with.update(set(compress(folded, scored.word_flags[rows])))


def batch_of(result: Result, by: str, source: str) -> str:
    """The name of the batch that a result of a source belongs to: the value of a column, or the day."""
    if name := value_of(result, by):
        return name
    columns = ", ".join(map(repr, result.columns)) or "none"
    raise InputError(
        f"by {by}: expected a column of {source}, or one with a day in it for 'day'; {result.id or 'a document'} has "
        f"neither, its columns are {columns}"
    )


def in_order(batches: Mapping[str, BatchCounts]) -> dict[str, BatchCounts]:
    """Batches by their names from low to high: as numbers where all are, as days and other texts otherwise."""
    try:
        names = sorted(batches, key=float)
    except ValueError:
        names = sorted(batches)
    return {name: batches[name] for name in names}


@dataclass(frozen=True)
class Difference:
    """Something that is more or less frequent than in normal text."""

    kind: str
    """`trait`, `view`, `word`, or `flagged` for a flagged word whose normal share is not known."""
    name: str
    share: float
    """Of the batch: of its words for a view, of its documents otherwise."""
    normal: float | None
    deviations: float
    """How clear the change is, in standard deviations; below zero where the share fell."""

    @property
    def sentence(self) -> str:
        """The difference in plain words."""
        here = percent(self.share)
        if self.kind in ("view", "trait"):
            what = "words" if self.kind == "view" else "documents"
            return f"{in_plain_words(self.name)}: {here} of {what}, {percent(self.normal or 0.0)} of normal ones"
        if self.normal is None:
            return f"'{visible(self.name)}' is flagged in {here} of documents"
        before = f"about {percent(self.normal)} of normal ones" if self.normal else "none of the normal ones"
        return f"'{visible(self.name)}' appears in {here} of documents, {before}"


def in_plain_words(name: str) -> str:
    """A view or a trait in plain words."""
    view, colon, how = name.partition(": ")
    plain = speak_of(view).subject
    return f"{_TRAITS.get(how, how)} {plain}" if colon else plain


def percent(share: float) -> str:
    """A share in percent, with two significant digits."""
    return f"{100 * share:.2g} %" if share < 0.995 else "100 %"


def find_differences(batch: BatchCounts, detector: Detector) -> list[Difference]:
    """What differs most, of each kind the clearest first."""
    return [*_excesses("trait", batch.traits), *_excesses("view", batch.views), *_words(batch, detector)]


def _excesses(kind: str, found: dict[str, Excess]) -> Iterable[Difference]:
    differences = [Difference(kind, name, excess.share, RARE, excess.deviations) for name, excess in found.items()]
    return _clearest(difference for difference in differences if difference.deviations > 0)  # less than usual is not worth a line


def _words(batch: BatchCounts, detector: Detector) -> Iterable[Difference]:
    counted = next((view for view in detector.views if isinstance(view, LanguageView)), None)
    documents = max(1, batch.documents)
    if counted is None:
        most = sorted(batch.flagged_with.items(), key=lambda item: (-item[1], item[0]))[:MOST]
        return [Difference("flagged", batch.spelling[key], count / documents, None, 0.0) for key, count in most]
    length = max(1.0, batch.words / documents)
    normal_documents = counted.corpus_words / length
    differences = []
    for key, count in batch.documents_with.items():
        if any(map(str.isalpha, key)):
            normal = 1 - math.exp(-counted.corpus_share(key) * length)
            clear = contrast(count, documents, normal * normal_documents, normal_documents)
            differences.append(Difference("word", batch.spelling[key], count / documents, normal, clear))
    return _clearest(differences)


def _clearest(differences: Iterable[Difference]) -> list[Difference]:
    clear = [difference for difference in differences if abs(difference.deviations) >= _CLEAR]
    return sorted(clear, key=lambda difference: (-abs(difference.deviations), difference.name))[:MOST]


def contrast(count: float, total: float, other_count: float, other_total: float) -> float:
    """How clearly two shares differ: the signed root of the likelihood ratio, about standard normal where they are equal."""
    pooled = (count + other_count) / (total + other_total)
    ratio = sum(
        share * of * math.log(share / expected)
        for has, of in ((count, total), (other_count, other_total))
        for share, expected in ((has / of, pooled), (1 - has / of, 1 - pooled))
        if share > 0
    )
    return math.copysign(math.sqrt(max(2 * ratio, 0.0)), count / total - other_count / other_total)
