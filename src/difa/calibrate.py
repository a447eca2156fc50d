"""Raw evidence -> tail evidence, p-values and thresholds.

A score is ranked among scores of normal text: p = (1 + #{r ∈ R : r ≥ s}) / (1 + |R|), e = −log(p + ε). R is sorted once, a
look-up costs O(log |R|). Where R comes from documents that played no part in what gave the scores, p is a valid (conformal)
p-value, and flagging p ≤ α raises a false alarm on a share α of normal text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from difa.document import FloatArray
from difa.errors import ConfigError


@dataclass(frozen=True)
class TailReference:
    """Scores of normal text, sorted."""

    values: FloatArray

    @classmethod
    def of(cls, scores: FloatArray) -> TailReference:
        """A reference from scores in any order."""
        return cls(np.sort(np.asarray(scores, dtype=np.float64)))

    @classmethod
    def restore(cls, values: FloatArray) -> TailReference:
        """A reference from what was saved."""
        if values.ndim != 1 or not len(values) or (np.diff(values) < 0).any():
            raise ValueError("expected a reference of sorted scores")
        return cls(values.astype(np.float64))

    def p_values(self, scores: FloatArray) -> FloatArray:
        """Upper-tail probabilities in (0, 1]."""
        return np.asarray((1.0 + self._at_least(scores)) / (1.0 + len(self.values)))

    def evidence(self, scores: FloatArray, epsilon: float, *, members: bool = False) -> FloatArray:
        """Tail evidence −log(p + ε), never below zero; a member of the reference is ranked among the others."""
        # p of a member: 1 + those of the others at or above it, out of 1 + the others. It counts as one at or above itself.
        p_values = self._at_least(scores) / len(self.values) if members else self.p_values(scores)
        return np.asarray(np.maximum(-np.log(p_values + epsilon), 0.0))

    def threshold(self, rate: float) -> float:
        """The score above which p ≤ rate; infinite where the reference is too small for the rate."""
        # References that may lie at or above a flagged score.
        allowed = math.floor(rate * (1 + len(self.values)) * (1 + 1e-12)) - 1
        if allowed < 0:
            return math.inf
        return -math.inf if allowed >= len(self.values) else float(self.values[-1 - allowed])

    def _at_least(self, scores: FloatArray) -> FloatArray:
        order = np.argsort(scores)  # looked up in order, scores are found four times as fast: neighbours lie close together
        below = np.empty(len(scores), np.intp)
        below[order] = np.searchsorted(self.values, scores[order], side="left")
        return np.asarray(len(self.values) - below, dtype=np.float64)

    def why_too_small(self, rate: float, of: str = "document") -> str:
        """Why no document, or word, can be flagged at a rate; empty where some can."""
        if self.least_p <= rate:
            return ""
        return (
            f"no {of} can be flagged at a rate of {rate:g}: {len(self.values)} normal {of}s allow {self.least_p:.2g} at "
            "best; fit on more documents or raise the rate"
        )

    @property
    def least_p(self) -> float:
        """The smallest p-value it can give."""
        return 1.0 / (1.0 + len(self.values))


def tail_evidence(raw: FloatArray, references: Sequence[TailReference], epsilon: float) -> FloatArray:
    """Tail evidence of every view, each ranked in its own reference: (T, views)."""
    columns = [reference.evidence(raw[:, view], epsilon) for view, reference in enumerate(references)]
    return np.stack(columns, axis=-1)


def check_rate(name: str, rate: object) -> float:
    """A rate as a number strictly between 0 and 1."""
    if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 < rate < 1:
        raise ConfigError(f"{name}: expected a number between 0 and 1, both excluded, got {rate!r}")
    return float(rate)
