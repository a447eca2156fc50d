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
from typing import Any

import numpy as np

from difa.document import BoolArray, Encoded, FloatArray, IntArray, Reason, ReasonKind
from difa.knowledge.word_cache import Batch, WordCache
from difa.knowledge.wordlist import plain
from difa.views import SavedView, TrainingData, View, ViewKind, Wording
from difa.views.faults.kinds import KINDS, Found, Text
from difa.views.stored_words import pack, unpack

_RAREST = math.log(1000)  # a kind that one document in a thousand has counts like one that none has
_LEAST = 2  # documents that make a string a term
_NAMED = 0.05
"""Share of normal documents up to which a kind is named as a fault."""
_NAMES = list(KINDS)
_LEAST_WORDS = [kind.least for kind in KINDS.values()]
_AT_END, _AT_REPETITION = (np.array([kind.at == at for kind in KINDS.values()]) for at in ("last word", "repetition"))
_LOWERED = WordCache(lambda words: [hash(word.lower()) for word in words], dtype=np.int64)
"""The same number for words that differ in capitals alone."""
_NO_FAULT = ReasonKind("no fault", "no fault that has a name")
_RANKS = {"no end": 60}  # in a sentence: what else is odd about the last word comes first
FAULT_REASONS = {
    name: ReasonKind(name, f"{name}{{meant}}, as in {{share:.1%}} of normal texts", f"{kind.said}{{meant}}", _RANKS.get(name, 1))
    for name, kind in KINDS.items()
}
"""What is said of a word that belongs to a fault, by its kind."""


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
        texts = Batch.of(data.documents)
        found = [(texts[at], of_text) for at, of_text in self.find(texts).items()]
        having = Counter(
            string
            for text, of_text in found
            for string in {_string(text, fault) for kind in of_text if KINDS[kind].of_strings for fault in of_text[kind]}
        )
        terms = self.terms | {string for string, count in having.items() if count >= self.least}
        counts = self.counts.copy()
        counts[-1] += len(texts)
        for text, of_text in found:
            counts[[_NAMES.index(kind) for kind in _without(of_text, text, terms)]] += 1
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
        rarity = dict(zip(_NAMES, np.clip(-np.log([*self._shares().values()]), 0.0, _RAREST).tolist(), strict=True))
        raw = np.zeros(sum(map(len, documents)))
        batch = Batch.of(documents)
        for at, found in self.find(batch).items():
            start = int(batch.starts[at])
            for kind, faults in found.items():
                for fault in faults:
                    words = slice(start + fault.first, start + fault.end)
                    raw[words] = np.maximum(raw[words], rarity[kind])
        return raw

    def explain(self, document: Encoded) -> list[list[Reason]]:
        """The faults that a word belongs to, the most telling first; of a fault in pieces `span` is where it begins and ends."""
        reasons: list[list[Reason]] = [[] for _ in document.words]
        for share, kind, faults in self._most_telling_first(self.find(Batch([document])).get(0, {})):
            for fault in faults:
                meant = f": probably '{fault.meant}'" if fault.meant else ""
                values: dict[str, Any] = {"meant": meant, "share": share}
                if KINDS[kind].in_pieces:  # of a doubled word one is enough
                    values["span"] = fault.first, fault.first + 1 if kind == "doubled word" else fault.end
                for at in range(fault.first, fault.end):
                    weight = 0.0 if reasons[at] else 1.0
                    reasons[at].append(Reason(FAULT_REASONS[kind], values, weight))
        return [found or [Reason(_NO_FAULT, {}, 0.0)] for found in reasons]

    def name_faults(self, documents: Sequence[Encoded]) -> list[dict[int, tuple[str, int]]]:
        """The kind of the most telling fault of a word and where that begins, by position; only of kinds that are rare."""
        all_named: list[dict[int, tuple[str, int]]] = [{} for _ in documents]
        for document, found in self.find(Batch.of(documents)).items():
            named = all_named[document]
            for share, kind, faults in self._most_telling_first(found):
                for fault in faults if share <= _NAMED else ():
                    for at in range(fault.first, fault.end):
                        named.setdefault(at, (kind, fault.first))
        return all_named

    def tensors(self) -> Mapping[str, FloatArray | IntArray]:
        return {"counts": self.counts, "least": np.array([self.least]), **pack(sorted(self.terms))}

    def _shares(self) -> dict[str, float]:
        """How many normal documents have a fault of each kind."""
        return dict(zip(_NAMES, ((self.counts[:-1] + 0.5) / (self.counts[-1] + 1.0)).tolist(), strict=True))

    def is_term(self, word: str) -> bool:
        """Whether it looks like a fault, but several normal documents have it."""
        return _is_term(plain(word), self.terms)

    def _most_telling_first(self, found: Mapping[str, list[Found]]) -> Iterator[tuple[float, str, list[Found]]]:
        """The faults of a document by kind, each with the share of normal documents that have such, rarest first among equals."""
        shares = self._shares()
        for kind in sorted(found, key=lambda kind: (KINDS[kind].tier, shares[kind], kind)):
            yield shares[kind], kind, found[kind]

    def find(self, batch: Batch) -> dict[int, dict[str, list[Found]]]:
        """The faults of documents that have some, by document and kind; only rules that can find something are asked."""
        words, kinds = np.nonzero(self._may_be_fault(batch))
        documents = np.searchsorted(batch.starts, words, side="right") - 1
        places: dict[int, dict[int, list[int]]] = {}
        for at, kind, place in zip(documents.tolist(), kinds.tolist(), (words - batch.starts[documents]).tolist(), strict=True):
            places.setdefault(at, {}).setdefault(kind, []).append(place)
        found = {}
        for at, by_kind in places.items():
            text = Text(batch[at].words, self.language, batch[at].gaps)
            asked = [(_NAMES[kind], by_kind[kind]) for kind in sorted(by_kind) if len(by_kind[kind]) >= _LEAST_WORDS[kind]]
            faults = {name: list(KINDS[name].find(text, of_kind)) for name, of_kind in asked}
            if kept := _without(faults, text, self.terms):
                found[at] = kept
        return found

    def _may_be_fault(self, batch: Batch) -> BoolArray:
        """Which words pass the gates of which kinds: (T, kinds)."""
        rows, lowered = _gates(self.language).of(batch), _LOWERED.of(batch)
        rows[~batch.is_last[:, None] & _AT_END] = False
        is_repetition = ~batch.is_first & (np.append(0, lowered[:-1])[: len(rows)] == lowered)
        rows[~is_repetition[:, None] & _AT_REPETITION] = False
        return rows


def _without(found: Mapping[str, list[Found]], text: Text | Encoded, terms: Collection[str]) -> dict[str, list[Found]]:
    """Faults without strings that are terms; only kinds that there are."""
    kept = {
        kind: [fault for fault in faults if not (KINDS[kind].of_strings and _is_term(_string(text, fault), terms))]
        for kind, faults in found.items()
    }
    return {kind: faults for kind, faults in kept.items() if faults}


def _is_term(string: str, terms: Collection[str]) -> bool:
    """Whether a string is a term, or the singular or plural of one."""
    forms = (string, string + "s", string + "es", string.removesuffix("s"), string.removesuffix("es"))
    return any(form in terms for form in forms)


def _string(text: Text | Encoded, fault: Found) -> str:
    return plain(text.words[fault.first])


@lru_cache(maxsize=4)
def _gates(language: str | None) -> WordCache:
    """Which of the kinds a word may be part of."""
    gates = [kind.gate for kind in KINDS.values()]
    return WordCache(lambda words: [[gate(word, language) for gate in gates] for word in words], len(gates), dtype=bool)


VIEW = ViewKind(
    FaultsView.fit,
    FaultsView.restore,
    FaultsView.extended,
    knowledge=("words", "trigrams"),
    wording=Wording("faults such as misspellings, doubled words or HTML", "belongs to a fault", "it has a fault", 1),
)
