"""Faults view: does the word belong to a fault that has a name, such as a broken encoding or an unfilled placeholder?

Rules find the faults (`kinds`). How much one counts is learned: −log of the share of normal documents that have a fault of its
kind. A corpus of HTML pages has no HTML fault, and where half of the texts end without a full stop, one more is no news.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from difa.document import Encoded, FloatArray, IntArray, Reason, ReasonKind
from difa.views import AddedDocuments, SavedView, TrainingData, ViewKind, Wording
from difa.views.faults.kinds import KINDS, Found, Text

_RAREST = math.log(1000)  # a kind that one document in a thousand has counts like one that none has
_NO_FAULT = ReasonKind("no fault", "no fault that has a name")
_RANKS = {"no end": 60}  # in a sentence: what else is odd about the last word comes first
_REASONS = {
    kind: ReasonKind(kind, f"{kind}{{meant}}, as in {{share:.1%}} of normal texts", f"{said}{{meant}}", _RANKS.get(kind, 1))
    for kind, (_, said) in KINDS.items()
}


@dataclass(frozen=True)
class FaultsView:
    """Normal documents with a fault of each kind, in their order, and behind them all normal documents: (kinds + 1,)."""

    language: str | None
    counts: IntArray

    name = "faults"

    @classmethod
    def fit(cls, documents: Sequence[Encoded], language: str | None) -> FaultsView:
        """Count the documents that have faults."""
        return cls(language, np.zeros(len(KINDS) + 1, dtype=np.int64)).extended(documents)

    def extended(self, documents: Sequence[Encoded]) -> FaultsView:
        """The same with further documents."""
        has = [[*(bool(found) for found in self._find(document).values()), True] for document in documents]
        return FaultsView(self.language, self.counts + np.array(has, dtype=np.int64).reshape(-1, len(self.counts)).sum(axis=0))

    def raw(self, documents: Sequence[Encoded]) -> list[FloatArray]:
        """The rarity of the rarest fault that a word belongs to, 0 without one."""
        rarity = np.clip(-np.log(self._shares()), 0.0, _RAREST).tolist()
        raw: list[FloatArray] = []
        for document in documents:
            values = np.zeros(len(document))
            for rare, found in zip(rarity, self._find(document).values(), strict=True):
                for fault in found:
                    values[fault.first : fault.end] = np.maximum(values[fault.first : fault.end], rare)
            raw.append(values)
        return raw

    def explain(self, document: Encoded) -> list[list[Reason]]:
        """The faults that a word belongs to, rarest first."""
        reasons: list[list[Reason]] = [[] for _ in document.words]
        kinds = zip(self._shares().tolist(), self._find(document).items(), strict=True)
        for share, (kind, found) in sorted(kinds, key=lambda item: item[0]):
            for fault in found:
                meant = f": probably '{fault.meant}'" if fault.meant else ""
                for at in range(fault.first, fault.end):
                    weight = 0.0 if reasons[at] else 1.0
                    reasons[at].append(Reason(_REASONS[kind], {"meant": meant, "share": share}, weight))
        return [found or [Reason(_NO_FAULT, {}, 0.0)] for found in reasons]

    def name_faults(self, words: Sequence[str]) -> dict[int, str]:
        """The kind of the rarest fault that a word belongs to, by position; only of kinds that few normal documents have."""
        named: dict[int, str] = {}
        found = self._find_in(words)
        for share, kind in sorted(zip(self._shares().tolist(), found, strict=True)):
            for fault in found[kind] if share <= _NAMED else ():
                for at in range(fault.first, fault.end):
                    named.setdefault(at, kind)
        return named

    def tensors(self) -> Mapping[str, FloatArray | IntArray]:
        return {"counts": self.counts}

    def graph(self) -> bytes | None:
        return None

    def _shares(self) -> FloatArray:
        return np.asarray((self.counts[:-1] + 0.5) / (self.counts[-1] + 1.0))

    def _find(self, document: Encoded) -> dict[str, list[Found]]:
        return self._find_in(document.words)

    def _find_in(self, words: Sequence[str]) -> dict[str, list[Found]]:
        text = Text(words, self.language)
        return {kind: list(find(text)) for kind, (find, _) in KINDS.items()}


_NAMED = 0.05
"""Share of normal documents up to which a kind is named as a fault."""


def _restore(saved: SavedView) -> FaultsView:
    counts = saved.tensors["counts"]
    if counts.shape != (len(KINDS) + 1,) or (counts < 0).any() or (counts[:-1] > counts[-1]).any():
        raise ValueError(f"expected counts of {len(KINDS)} kinds of faults and of all documents")
    return FaultsView(saved.language, counts.astype(np.int64))


def _extend(view: FaultsView, added: AddedDocuments) -> FaultsView:
    return view.extended(added.documents)


def _fit(data: TrainingData) -> FaultsView:
    return FaultsView.fit(data.documents, data.language)


VIEW = ViewKind(
    _fit,
    _restore,
    _extend,
    knowledge=("words",),
    wording=Wording("faults such as broken encodings, markup or placeholders", "belongs to a fault", "it has a fault", 1),
)
