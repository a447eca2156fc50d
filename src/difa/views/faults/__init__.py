"""Faults view: does the word belong to a fault that has a name, such as a broken encoding or an unfilled placeholder?

Rules find the faults (`kinds`). How much one counts is learned: −log of the share of normal documents that have a fault of its
kind. A corpus of HTML pages has no HTML fault, and where half of the texts end without a full stop, one more is no news. A string
that looks like a misspelling or like two words, but stands in several normal documents, is a term of theirs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, chain
from typing import Any

import numpy as np

from difa.document import Encoded, FloatArray, IntArray, Reason, ReasonKind
from difa.knowledge.word_cache import WordCache
from difa.knowledge.wordlist import plain
from difa.views import SavedView, TrainingData, View, ViewKind, Wording
from difa.views.faults.kinds import GATES, IN_PIECES, KINDS, LEAST_TELLING, OF_STRINGS, PASSAGES, Found, Text
from difa.views.stored_words import pack, unpack

_RAREST = math.log(1000)  # a kind that one document in a thousand has counts like one that none has
_LEAST = 2  # documents that make a string a term
_NO_FAULT = ReasonKind("no fault", "no fault that has a name")
_RANKS = {"no end": 60}  # in a sentence: what else is odd about the last word comes first
FAULT_REASONS = {
    kind: ReasonKind(kind, f"{kind}{{meant}}, as in {{share:.1%}} of normal texts", f"{said}{{meant}}", _RANKS.get(kind, 1))
    for kind, (_, said) in KINDS.items()
}
"""What is said of a word that belongs to a fault, by its kind."""


@dataclass(frozen=True)
class _Words:
    """A document's words without their vectors."""

    words: Sequence[str]
    gaps: frozenset[int]


@dataclass(frozen=True)
class FaultsView(View):
    """Normal documents with a fault of each kind, in their order, and behind them all normal documents: (kinds + 1,)."""

    language: str | None
    counts: IntArray
    terms: frozenset[str] = frozenset()
    """Strings of several normal documents that are no faults."""
    least: int = _LEAST
    """Documents that make a string a term."""

    name = "faults"

    @classmethod
    def fit(cls, data: TrainingData) -> FaultsView:
        """Count the documents that have faults."""
        none, least = np.zeros(len(KINDS) + 1, dtype=np.int64), max(data.config.privacy.least_documents, _LEAST)
        return cls(data.language, none, least=least).extended(data, 0)

    def extended(self, data: TrainingData, seen: int) -> FaultsView:
        """The same with further documents."""
        documents, found = data.documents, list(self._find(data.documents))
        pairs = list(zip(documents, found, strict=True))
        strings = [
            {_string(document.words, fault) for kind in _OF_STRINGS for fault in of_document.get(kind, ())}
            for document, of_document in pairs
        ]
        having = Counter(chain.from_iterable(strings))
        terms = self.terms | {string for string, count in having.items() if count >= self.least}
        counts = self.counts.copy()
        counts[-1] += len(documents)
        for document, of_document in pairs:
            counts[list(_without(of_document, document.words, terms))] += 1
        return replace(self, counts=counts, terms=terms)

    @classmethod
    def restore(cls, saved: SavedView) -> FaultsView:
        counts = saved.tensors["counts"]
        if counts.shape != (len(KINDS) + 1,) or (counts < 0).any() or (counts[:-1] > counts[-1]).any():
            raise ValueError(f"expected counts of {len(KINDS)} kinds of faults and of all documents")
        terms = frozenset(unpack(saved.tensors["bytes"], saved.tensors["lengths"]))
        return cls(saved.language, counts.astype(np.int64), terms, max(int(saved.tensors["least"].item()), _LEAST))

    def raw(self, documents: Sequence[Encoded]) -> FloatArray:
        """The rarity of the rarest fault that a word belongs to, 0 without one."""
        rarity = np.clip(-np.log(self._shares()), 0.0, _RAREST).tolist()
        raw = np.zeros(sum(map(len, documents)))
        starts = accumulate(map(len, documents), initial=0)
        for start, found in zip(starts, self._find(documents), strict=False):
            for kind, faults in found.items():
                for fault in faults:
                    words = slice(start + fault.first, start + fault.end)
                    raw[words] = np.maximum(raw[words], rarity[kind])
        return raw

    def explain(self, document: Encoded) -> list[list[Reason]]:
        """The faults that a word belongs to, the most telling first; of a fault in pieces `span` is where it begins and ends."""
        reasons: list[list[Reason]] = [[] for _ in document.words]
        for share, kind, faults in self._most_telling_first(document.words, document.gaps):
            for fault in faults:
                meant = f": probably '{fault.meant}'" if fault.meant else ""
                values: dict[str, Any] = {"meant": meant, "share": share}
                if kind in IN_PIECES:  # of a doubled word one is enough
                    values["span"] = fault.first, fault.first + 1 if kind == "doubled word" else fault.end
                for at in range(fault.first, fault.end):
                    weight = 0.0 if reasons[at] else 1.0
                    reasons[at].append(Reason(FAULT_REASONS[kind], values, weight))
        return [found or [Reason(_NO_FAULT, {}, 0.0)] for found in reasons]

    def name_faults(self, words: Sequence[str], gaps: frozenset[int] = frozenset()) -> dict[int, tuple[str, int]]:
        """The kind of the most telling fault of a word and where that begins, by position; only of kinds that are rare."""
        named: dict[int, tuple[str, int]] = {}
        for share, kind, faults in self._most_telling_first(words, gaps):
            for fault in faults if share <= _NAMED else ():
                for at in range(fault.first, fault.end):
                    named.setdefault(at, (kind, fault.first))
        return named

    def tensors(self) -> Mapping[str, FloatArray | IntArray]:
        return {"counts": self.counts, "least": np.array([self.least]), **pack(sorted(self.terms))}

    def _shares(self) -> FloatArray:
        return np.asarray((self.counts[:-1] + 0.5) / (self.counts[-1] + 1.0))

    def is_term(self, word: str) -> bool:
        """Whether it looks like a fault, but several normal documents have it."""
        return _is_term(plain(word), self.terms)

    def _most_telling_first(self, words: Sequence[str], gaps: frozenset[int]) -> Iterator[tuple[float, str, list[Found]]]:
        """The faults of a document by kind, each with the share of normal documents that have such, rarest first among equals."""
        shares, names = self._shares().tolist(), list(KINDS)
        (found,) = self._find([_Words(words, gaps)])
        for kind in sorted(found, key=lambda kind: (_tier(names[kind]), shares[kind], names[kind])):
            yield shares[kind], names[kind], found[kind]

    def _find(self, documents: Sequence[Encoded | _Words]) -> Iterator[dict[int, list[Found]]]:
        """The faults of each document, by the position of their kind; only rules that can find something are asked."""
        rows = _gates(self.language).of(chain.from_iterable(document.words for document in documents))
        sums = np.concatenate([np.zeros((1, len(KINDS))), np.cumsum(rows, axis=0)])
        ends = np.cumsum([0, *(len(document.words) for document in documents)])
        fulfilled = np.diff(sums[ends], axis=0) >= _NEEDED  # (documents, kinds)
        for document, kinds in zip(documents, fulfilled, strict=True):
            text = Text(document.words, self.language, document.gaps)
            found = {kind: list(_RULES[kind](text)) for kind in np.flatnonzero(kinds).tolist()}
            yield _without(found, document.words, self.terms)


def _without(found: Mapping[int, list[Found]], words: Sequence[str], terms: Collection[str]) -> dict[int, list[Found]]:
    """Faults without strings that are terms; only kinds that there are."""
    kept = {
        kind: [fault for fault in faults if kind not in _OF_STRINGS or not _is_term(_string(words, fault), terms)]
        for kind, faults in found.items()
    }
    return {kind: faults for kind, faults in kept.items() if faults}


def _is_term(string: str, terms: Collection[str]) -> bool:
    """Whether a string is a term, or the singular or plural of one."""
    forms = (string, string + "s", string + "es", string.removesuffix("s"), string.removesuffix("es"))
    return any(form in terms for form in forms)


def _tier(kind: str) -> int:
    return 2 if kind in LEAST_TELLING else 1 if kind in PASSAGES else 0


def _string(words: Sequence[str], fault: Found) -> str:
    return plain(words[fault.first])


_NAMED = 0.05
"""Share of normal documents up to which a kind is named as a fault."""
_RULES = [rule for rule, _ in KINDS.values()]
_OF_STRINGS = frozenset(at for at, kind in enumerate(KINDS) if kind in OF_STRINGS)
_NEEDED = np.array([GATES[kind][1] if kind in GATES else 0 for kind in KINDS])


@lru_cache(maxsize=4)
def _gates(language: str | None) -> WordCache:
    """Which of the kinds a word may be part of."""
    gates = [GATES[kind][0] if kind in GATES else None for kind in KINDS]
    return WordCache(lambda word: [gate is not None and gate(word, language) for gate in gates], len(gates))


VIEW = ViewKind(
    FaultsView.fit,
    FaultsView.restore,
    FaultsView.extended,
    knowledge=("words", "trigrams"),
    wording=Wording("faults such as broken encodings, HTML or placeholders", "belongs to a fault", "it has a fault", 1),
)
