"""Document scores, batch after batch -> running evidence that the feed has changed, which may be looked at at any time.

A conformal test martingale (Vovk et al., 2005). Each document is ranked among the reference of the model and all documents of the
feed before it, equals in a random order. While the feed is as the normal text was, these p-values are independent and uniform,
however small the reference: it is a part of what is compared, not the measure. (The p-values of results are ranks among the
reference alone. In the long run a test of these finds out what is peculiar about that one sample.)

Then a game against "as before": a unit of capital is bet on small p-values, by bets ε·p^(ε−1) and 1 + λ(1 − 2p), which are fair
where p-values are uniform. The first kind wins by a few very small p-values, the second by many that are a little too small.
Whoever plays a fair game reaches 1/α times the capital with a chance of at most α, ever (Ville's inequality). With batch t a
share of 1/(t(t+1)) of the capital enters the game, the rest waits: so a change that comes late is found as well, at a cost that
grows with the logarithm of t only.

One batch by itself is compared with the reference by the test of Kolmogorov and Smirnov for two samples: the reference is a
sample, too. In large samples the chance of as large a difference D is exp(−2mD²) for one side, with m = nN/(n + N).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from difa.document import FloatArray, IntArray

POWERS = (0.3, 0.5, 0.7, 0.85, 0.95, 0.98)
"""Exponents ε: small ones bet on few documents that are very unusual, large ones on more."""
SLOPES = (0.3, 0.6, 0.9)
"""Factors λ: bets on a feed that is a little more unusual as a whole."""
BETS = len(POWERS) + len(SLOPES)
_TERMS = 100  # of Kolmogorov's series
_SEED = 20050  # of places among equals
_STEP, _STEPS = 0.01, 4096  # scores are kept in steps, so that a feed of any length takes little room


@dataclass(frozen=True)
class Evidence:
    """What the running game has come to."""

    logs: tuple[float, ...] = (-math.inf,) * BETS
    """Logarithm of the capital in each bet."""
    batches: int = 0

    @property
    def log_capital(self) -> float:
        """Logarithm of all capital, 0 at the start: the log odds against "as before"."""
        waiting = -math.log(self.batches + 1)
        return float(np.logaddexp.reduce([*self.logs, waiting]))

    def after(self, p_values: FloatArray) -> Evidence:
        """The evidence when one more batch has been seen."""
        number = self.batches + 1
        entering = -math.log(number * (number + 1) * BETS)
        total, count = float(np.log(p_values).sum()), len(p_values)
        gains = [count * math.log(power) + (power - 1) * total for power in POWERS]
        gains += [float(np.log1p(slope * (1 - 2 * p_values)).sum()) for slope in SLOPES]
        logs = [float(np.logaddexp(log, entering)) + gain for log, gain in zip(self.logs, gains, strict=True)]
        return Evidence(tuple(logs), number)

    def is_alarm(self, false_alarm: float) -> bool:
        """Whether the capital is what it reaches by chance with this probability at most."""
        return self.log_capital >= -math.log(false_alarm)


class Pool:
    """Scores of the reference and of the feed so far, which each new document is ranked among.

    Args:
        reference: scores of normal documents.
        feed: how many documents of the feed have a score of each step.
    """

    def __init__(self, reference: FloatArray, feed: Mapping[int, int]) -> None:
        self._feed = np.zeros(_STEPS, dtype=np.int64)
        self._feed[list(feed)] = list(feed.values())
        self._all = self._feed + np.bincount(_steps(reference), minlength=_STEPS)
        self._count = int(self._all.sum())

    def rank(self, scores: FloatArray, places: FloatArray) -> FloatArray:
        """P-values of documents in their order, each ranked among all before it, which it then joins.

        Places are random numbers in (0, 1], each document's among those of the same step: they make p-values uniform.
        """
        p_values = np.empty(len(scores))
        for at, (step, place) in enumerate(zip(_steps(scores).tolist(), places.tolist(), strict=True)):
            above, alike = self._all[step + 1 :].sum(), self._all[step]
            p_values[at] = (above + place * (alike + 1)) / (1 + self._count)
            self._all[step] += 1
            self._feed[step] += 1
            self._count += 1
        return p_values

    @property
    def feed(self) -> dict[int, int]:
        """How many documents of the feed have a score of each step."""
        return {step: int(self._feed[step]) for step in np.flatnonzero(self._feed).tolist()}


def draw_places(count: int, seen: int) -> FloatArray:
    """Places among equals for so many documents, the same whenever so many were seen before."""
    return 1.0 - np.random.default_rng([_SEED, seen]).random(count)


def is_step(value: int) -> bool:
    """Whether a number is one of the steps."""
    return 0 <= value < _STEPS


def _steps(scores: FloatArray) -> IntArray:
    return np.asarray(np.clip(np.floor(scores / _STEP), 0, _STEPS - 1), dtype=np.int64)


def more_unusual(p_values: FloatArray, references: int) -> float:
    """Chance that normal text has as clear an excess of small p-values: one-sided."""
    excess, _ = _distances(p_values, references)
    return math.exp(-2 * _size(p_values, references) * max(excess, 0.0) ** 2)


def different(p_values: FloatArray, references: int) -> float:
    """Chance that normal text differs as much either way: two-sided."""
    square = 2 * _size(p_values, references) * max(_distances(p_values, references)) ** 2
    if square < 0.1:  # the series needs many terms, and the chance is 1 to many digits
        return 1.0
    return min(1.0, 2 * sum(math.copysign(math.exp(-square * j * j), j % 2 - 0.5) for j in range(1, _TERMS)))


def _size(p_values: FloatArray, references: int) -> float:
    return len(p_values) * references / (len(p_values) + references)


def _distances(p_values: FloatArray, references: int) -> tuple[float, float]:
    """The most by which the batch has a larger share at or above some score than the reference, and by which a smaller one."""
    places = np.append(np.sort(p_values), 1.0)
    at_most, below = (np.searchsorted(places[:-1], places, side=side) / len(p_values) for side in ("right", "left"))
    above = (places * (references + 1) - 1) / references  # share of the reference at or above each score
    return float(np.max((at_most - above)[:-1])), float(np.max(above - below))
