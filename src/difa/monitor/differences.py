"""A batch and the model -> what is more frequent, or less, than in normal text: traits, views and words, in plain words.

Traits and views are ranked among normal text, so it is known how many of it are unusual by each. Of words it is known where the
model has counted them; a share of documents is then estimated from the share of words and the length of the documents.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from difa.detector import Detector
from difa.fuse import speak_of
from difa.monitor.batch import RARE, BatchCounts, Excess
from difa.report.highlight import visible
from difa.views.language import LanguageView

MOST = 5
"""Of each kind that are named at most."""
_CLEAR = 4.0  # standard deviations from which a change is named: many are looked at
_TRAITS = {"highest": "documents with single", "three highest": "documents with several", "mean": "documents full of"}


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
        """What a person would say."""
        here = percent(self.share)
        if self.kind == "view":
            return f"{in_plain_words(self.name)}: {here} of words, {percent(self.normal or 0.0)} of normal ones"
        if self.kind == "trait":
            return f"{in_plain_words(self.name)}: {here} of documents, {percent(self.normal or 0.0)} of normal ones"
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
    """A share with two digits that say something."""
    return f"{100 * share:.2g} %" if share < 0.995 else "100 %"


def find_differences(batch: BatchCounts, detector: Detector) -> list[Difference]:
    """What differs most, of each kind the clearest first."""
    return [*_excesses("trait", batch.traits), *_excesses("view", batch.views), *_words(batch, detector)]


def _excesses(kind: str, found: dict[str, Excess]) -> Iterable[Difference]:
    differences = [Difference(kind, name, excess.share, RARE, excess.deviations) for name, excess in found.items()]
    return _clearest(difference for difference in differences if difference.deviations > 0)  # that less is unusual is no news


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
        _term(share * of, expected * of)
        for has, of in ((count, total), (other_count, other_total))
        for share, expected in ((has / of, pooled), (1 - has / of, 1 - pooled))
    )
    return math.copysign(math.sqrt(max(2 * ratio, 0.0)), count / total - other_count / other_total)


def _term(count: float, expected: float) -> float:
    return count * math.log(count / expected) if count > 0 else 0.0
