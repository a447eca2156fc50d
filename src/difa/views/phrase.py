"""Phrase view: does the word fit between its neighbours in general English?

How much likelier the words around it become when it is left out, less its own rarity, by the trigrams of the language. Doubled
words, missing ones and wrong function words show here, in any corpus. A word that the trigrams do not have, and every word of
a corpus in another language, has no evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from difa.document import Encoded, FloatArray, Reason, ReasonKind
from difa.knowledge import ENGLISH
from difa.knowledge.trigrams import trigrams
from difa.knowledge.word_cache import Batch
from difa.views import View, ViewKind, Wording, silence

_LOWEST = -30.0  # gains below this are all the same: raw evidence starts here
_UNKNOWN = ReasonKind("unknown", "unknown to the trigrams")
_REPEATS = ReasonKind("repeats", "repeats the word before it", "repeats the word before it", 0)
_BETTER = ReasonKind(
    "better without", "reads better without it, between {before} and {after}", "is one that the text reads better without", 40
)
_AT_START = ReasonKind("unusual at the start", "unusual after the start in English", "is unusual at the start of a text", 41)
_AT_END = ReasonKind("unusual at the end", "unusual before the end in English", "is unusual at the end of a text", 41)
_AFTER = ReasonKind("unusual after", "unusual after {word!r} in English", "is unusual after {word!r}", 42)
_BEFORE = ReasonKind("unusual before", "unusual before {word!r} in English", "is unusual before {word!r}", 42)


@dataclass(frozen=True)
class PhraseView(View):
    """Nothing is learned; it speaks English or is silent."""

    language: str | None

    name = "phrase"

    def raw(self, documents: Sequence[Encoded]) -> FloatArray:
        """The gain when the word is left out, from the lowest possible on."""
        if self.language != ENGLISH:
            return np.zeros(sum(map(len, documents)))
        numbers = trigrams().describe(Batch.of(documents))
        return np.where(numbers[:, 3] == 0, numbers[:, 2] - _LOWEST, 0.0).clip(0.0)

    def explain(self, document: Encoded) -> list[list[Reason]]:
        """What the neighbours say."""
        if self.language != ENGLISH:
            return silence(document)
        numbers = trigrams().describe(Batch([document]))
        return [[_reason(document.words, at, *row)] for at, row in enumerate(numbers.tolist())]


def _reason(words: Sequence[str], at: int, left: float, right: float, gain: float, unknown: float) -> Reason:
    if unknown:
        return Reason(_UNKNOWN, {}, 0.0)
    if at and words[at].lower() == words[at - 1].lower():
        return Reason(_REPEATS, {}, 1.0)
    is_last = at + 1 == len(words)
    if gain > 0:
        before, after = repr(words[at - 1]) if at else "the start", "the end" if is_last else repr(words[at + 1])
        return Reason(_BETTER, {"before": before, "after": after}, 1.0)
    if left <= right:
        return Reason(_AFTER, {"word": words[at - 1]}, 1.0) if at else Reason(_AT_START, {}, 1.0)
    return Reason(_AT_END, {}, 1.0) if is_last else Reason(_BEFORE, {"word": words[at + 1]}, 1.0)


VIEW = ViewKind(
    lambda data: PhraseView(data.language),
    lambda saved: PhraseView(saved.language),
    lambda view, data, seen: view,
    knowledge=("trigrams",),
    english_only=True,
    wording=Wording(
        "words that do not fit between their neighbours",
        "does not fit between its neighbours",
        "several of its phrases are unusual",
    ),
)
