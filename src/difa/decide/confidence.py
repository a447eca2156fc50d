"""Counts -> exact statements about the shares behind them, by sums of binomial probabilities.

Intervals of a share, what a future count will be, and a bound on the false-alarm rate of the model at hand. The latter is the
calibration-conditional one of Bates et al. (2023): the promise of a rate is kept on average over reference samples, while a
model has one of them. Where n reference scores are exchangeable with new ones, the share of normal documents that p ≤ α flags
has the distribution Beta(k, n + 1 − k) with k = ⌊α(n + 1)⌋, and a quantile of it is the bound.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from difa.document import FloatArray

CONFIDENCE = 0.95  # of every bound and interval


def rate_bound(references: int, rate: float) -> float:
    """The share of normal documents that a rate flags at most, for all but 1 − `CONFIDENCE` of the reference samples.

    Args:
        references: normal documents that p-values are ranked among.
        rate: false-alarm rate in force.
    """
    rank = math.floor(rate * (references + 1) * (1 + 1e-12))
    if rank < 1:
        return 0.0
    return 1.0 if rank > references else beta_quantile(CONFIDENCE, rank, references + 1 - rank)


def say_bound(references: int, rate: float) -> str:
    """The bound in words."""
    return f"at most {100 * rate_bound(references, rate):.2g} % with {100 * CONFIDENCE:.0f} % confidence"


def share_interval(count: int, trials: int) -> tuple[float, float]:
    """Clopper and Pearson's interval of a share, which holds for every share and number of trials."""
    outside = (1 - CONFIDENCE) / 2
    low = beta_quantile(outside, count, trials - count + 1) if count else 0.0
    high = beta_quantile(1 - outside, count + 1, trials - count) if count < trials else 1.0
    return low, high


def future_interval(rank: int, seen: int, future: int, confidence: float = CONFIDENCE) -> tuple[int, int]:
    """How many of the next documents will be at least as unusual as a seen one: lowest and highest count.

    Args:
        rank: of the seen document, 1 for the most unusual.
        seen: documents seen.
        future: documents to come, from the same source.
        confidence: chance that the count lies between.
    """
    counts, rest = np.arange(future + 1), seen + 1 - rank
    log = log_factorials(future + seen + 1)
    # The share beyond a ranked document has the distribution Beta(rank, rest), so the count is beta-binomial.
    chance = log[future] - log[counts] - log[future - counts]
    chance += log[counts + rank - 1] + log[future - counts + rest - 1] - log[future + seen]
    chance += log[seen] - log[rank - 1] - log[rest - 1]
    below = np.cumsum(np.exp(chance))
    outside = (1 - confidence) / 2
    low, high = np.searchsorted(below, (outside, 1 - outside)).tolist()
    return low, min(high, future)


def beta_quantile(level: float, a: int, b: int) -> float:
    """The value below which Beta(a, b) lies with a chance of `level`, for whole a and b of at least 1."""
    low, high = 0.0, 1.0
    for _ in range(60):  # as often as a number can be halved
        middle = (low + high) / 2
        low, high = (middle, high) if at_least(a, a + b - 1, middle) < level else (low, middle)
    return high


def at_least(count: int, trials: int, share: float) -> float:
    """The chance that a binomial count is `count` or more."""
    if count <= 0 or not 0 < share < 1:
        return float(count <= 0 or share >= 1)
    counts, log = np.arange(count, trials + 1), log_factorials(trials)
    chance = log[trials] - log[counts] - log[trials - counts] + counts * math.log(share) + (trials - counts) * math.log1p(-share)
    return min(1.0, float(np.exp(chance).sum()))


@lru_cache(maxsize=4)
def log_factorials(largest: int) -> FloatArray:
    """Log k! for k = 0 … largest."""
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, largest + 1)))])
