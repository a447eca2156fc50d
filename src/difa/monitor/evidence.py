"""Document scores, batch after batch -> running evidence that the feed has changed, which may be looked at at any time.

A conformal test martingale (Vovk et al., 2005). Each document is ranked among the reference of the model and all documents of the
feed before it, equals in a random order. While the feed is as the normal text was, these p-values are independent and uniform,
however small the reference: it is a part of what is compared, not the measure. (The p-values of results are ranks among the
reference alone. In the long run a test of these finds out what is peculiar about that one sample.)

A unit of capital is then bet on small p-values, by bets ε·p^(ε−1) and 1 + λ(1 − 2p), which are fair where p-values are uniform.
The first kind wins by a few very small p-values, the second by many that are a little too small. Fair bets multiply the capital
by 1/α with a chance of at most α, ever (Ville's inequality). With batch t a share of 1/(t(t+1)) of the capital is put into the
bets, the rest waits: so a change that comes late is found as well, at a cost that grows with the logarithm of t only.

One batch by itself is compared with the reference by the test of Kolmogorov and Smirnov for two samples: the reference is a
sample, too. In large samples the chance of as large a difference D is exp(−2mD²) for one side, with m = nN/(n + N).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from difa.document import FloatArray, IntArray

POWERS = (0.3, 0.5, 0.7, 0.85, 0.95, 0.98)
"""Exponents ε: small ones bet on few documents that are very unusual, large ones on more."""
SLOPES = (0.3, 0.6, 0.9)
"""Factors λ: bets on a feed that is a little more unusual as a whole."""
BETS = len(POWERS) + len(SLOPES)
STEPS = 4096
_STEP = 0.01  # scores are kept in steps, so that a feed of any length takes little room
_SEED = 20050  # of places among equals


def log_evidence(logs: Sequence[float], batches: int) -> float:
    """Logarithm of all capital, 0 at the start: the log odds against "as before"."""
    waiting = -math.log(batches + 1)
    return float(np.logaddexp.reduce([*logs, waiting]))


def draw_places(count: int, before: int) -> FloatArray:
    """Random places among equals for so many documents, the same whenever as many documents were seen before."""
    return 1.0 - np.random.default_rng([_SEED, before]).random(count)


def bet(logs: Sequence[float], number: int, p_values: FloatArray) -> tuple[float, ...]:
    """Logarithm of the capital in each bet after a batch of that number, from what it was before."""
    entering = -math.log(number * (number + 1) * BETS)
    total, count = float(np.log(p_values).sum()), len(p_values)
    gains = [count * math.log(power) + (power - 1) * total for power in POWERS]
    gains += [float(np.log1p(slope * (1 - 2 * p_values)).sum()) for slope in SLOPES]
    return tuple(float(np.logaddexp(log, entering)) + gain for log, gain in zip(logs, gains, strict=True))


def rank(scores: FloatArray, places: FloatArray, reference: FloatArray, feed: Mapping[int, int]) -> FloatArray:
    """P-values of documents in their order, each ranked among the reference, the feed so far, and those before it.

    Places are random numbers in (0, 1], each document's among those of the same step: they make p-values uniform.
    """
    counts = np.bincount(steps_of(reference), minlength=STEPS)
    for step, count in feed.items():
        counts[step] += count
    p_values, others = np.empty(len(scores)), counts.sum()
    for at, (step, place) in enumerate(zip(steps_of(scores).tolist(), places.tolist(), strict=True)):
        p_values[at] = (counts[step + 1 :].sum() + place * (counts[step] + 1)) / (1 + others + at)
        counts[step] += 1
    return p_values


def steps_of(scores: FloatArray) -> IntArray:
    """The steps that scores fall into."""
    return np.asarray(np.clip(np.floor(scores / _STEP), 0, STEPS - 1), dtype=np.int64)


def more_unusual(p_values: FloatArray, references: int) -> float:
    """Chance that normal text has as clear an excess of small p-values: one-sided."""
    excess, _ = _distances(p_values, references)
    return math.exp(-2 * max(excess, 0.0) ** 2)


def different(p_values: FloatArray, references: int) -> float:
    """Chance that normal text differs as much either way: two-sided."""
    square = 2 * max(_distances(p_values, references)) ** 2
    if square < 0.1:  # the series needs many terms, and the chance is 1 to many digits
        return 1.0
    return min(1.0, 2 * sum(math.copysign(math.exp(-square * j * j), j % 2 - 0.5) for j in range(1, 100)))


def _distances(p_values: FloatArray, references: int) -> tuple[float, float]:
    """The most by which the batch has a larger share at or above some score than the reference, and a smaller one: D·√m each."""
    places = np.append(np.sort(p_values), 1.0)
    at_most, below = (np.searchsorted(places[:-1], places, side=side) / len(p_values) for side in ("right", "left"))
    above = (places * (references + 1) - 1) / references  # share of the reference at or above each score
    root = math.sqrt(len(p_values) * references / (len(p_values) + references))
    return root * float(np.max((at_most - above)[:-1])), root * float(np.max(above - below))
