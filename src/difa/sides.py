"""Evidences of any number of views -> evidences of two sides: what a word means here, and what form it has.

Views of one side see the same things: where a word is unknown, meaning, spelling, neighbours and pairs are all surprised at once.
Taken as equals they would outvote the form, which sees what none of them sees. So the views of a side are combined first,
without anything learned: their mean, and half the agreement of the two strongest. The result is ranked among normal words
again, so that both sides speak the language of tail evidence, and fusion then weighs two sides, as in the paper. A side
of a single view is that view.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from difa.calibrate import TailReference
from difa.document import FloatArray

SIDES = ("meaning", "form")
_AGREEMENT = 0.5


@dataclass(frozen=True)
class Sides:
    """Which views belong to which side, and a reference for each side of several views."""

    members: Mapping[str, tuple[int, ...]]
    references: Mapping[str, TailReference]
    epsilon: float

    @classmethod
    def fit(cls, evidence: Sequence[FloatArray], side_of: Sequence[str], epsilon: float) -> Sides:
        """References from the evidences of normal documents, (T, views) each."""
        members = members_of(side_of)
        stacked = np.concatenate(evidence)
        references = {side: TailReference.of(combine(stacked[:, views])) for side, views in members.items() if len(views) > 1}
        return cls(members, references, epsilon)

    @property
    def names(self) -> tuple[str, ...]:
        """The sides that have views."""
        return tuple(self.members)

    def evidence(self, views: FloatArray) -> FloatArray:
        """Evidences of the sides (T, sides) from those of the views (T, views)."""
        columns = []
        for side, members in self.members.items():
            reference = self.references.get(side)
            column = views[:, members[0]]
            columns.append(column if reference is None else reference.evidence(combine(views[:, members]), self.epsilon))
        return np.stack(columns, axis=-1)


def members_of(side_of: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """The positions of each side's views; sides without views are left out."""
    members = {side: tuple(view for view, its in enumerate(side_of) if its == side) for side in SIDES}
    return {side: views for side, views in members.items() if views}


def combine(evidence: FloatArray) -> FloatArray:
    """One number per word from the evidences of several views: (T, views) -> (T,)."""
    second, strongest = np.partition(evidence, (-2, -1), axis=1)[:, -2:].T
    return np.asarray(evidence.mean(axis=1) + _AGREEMENT * np.sqrt(strongest * second))
