"""How many documents reviewers have time for, and the p-values of a recent feed -> the rate that flags no more.

The rate is the p-value up to which a recent feed has as many documents as the budget allows. What the next day brings is then a
question of ranks alone, whatever the feed is like, as long as the next documents come from the same source: the count has an
exact interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from difa.decide.confidence import CONFIDENCE, future_interval
from difa.document import FloatArray
from difa.errors import ConfigError, InputError


@dataclass(frozen=True)
class ReviewRate:
    """A rate, and what it would flag."""

    rate: float
    budget: int  # documents that reviewers have time for, out of `documents`
    documents: int
    recent: int  # documents of the recent feed
    recent_flagged: int  # of them, those that the rate flags
    expected: float  # how many of the next `documents` it flags on average
    interval: tuple[int, int]  # of that count
    confidence: float = CONFIDENCE


def parse_budget(text: str, recent: int) -> tuple[int, int]:
    """A budget such as `30/2000` as numbers; `30` alone is out of as many documents as the recent feed has."""
    budget, slash, documents = text.partition("/")
    try:
        numbers = int(budget), int(documents) if slash else recent
    except ValueError:
        raise ConfigError(f"budget: expected documents to review out of all, such as 30/2000, got {text!r}") from None
    if not 0 < numbers[0] < numbers[1]:
        raise ConfigError(f"budget: expected fewer documents to review than there are, and at least 1, got {text!r}")
    return numbers


def rate_for_budget(p_values: FloatArray, budget: int, documents: int, references: int) -> ReviewRate:
    """The highest rate that flags no larger share of a recent feed than the budget is of the documents.

    Args:
        p_values: of the documents of the feed: (recent,).
        budget: documents that reviewers have time for.
        documents: out of so many.
        references: normal documents that the p-values are ranked among.
    """
    ordered, recent = np.sort(p_values), len(p_values)
    allowed = recent * budget // documents
    if allowed < 1:
        needed = math.ceil(documents / budget)
        raise InputError(f"expected at least {needed} recent documents for a budget of {budget}/{documents}, got {recent}")
    # Documents with equal p-values are flagged together or not at all.
    flagged = allowed if allowed == recent else int(np.searchsorted(ordered, ordered[allowed], side="left"))
    if flagged < 1:
        alike = int(np.searchsorted(ordered, ordered[0], side="right"))
        raise InputError(
            f"no rate keeps to {budget}/{documents}: the {alike} most unusual of {recent} documents have the same p-value, "
            "the lowest there is; fit on more normal documents, or ask for the most unusual ones by their number"
        )
    last = float(ordered[flagged - 1])
    if last >= 1:
        raise InputError(f"no rate is needed for {budget}/{documents}: it takes in documents that nothing is unusual about")
    return ReviewRate(
        rate=shortest_between(last, min(last + 1 / (references + 1), 1.0)),
        budget=budget,
        documents=documents,
        recent=recent,
        recent_flagged=flagged,
        expected=documents * flagged / (recent + 1),
        interval=future_interval(flagged, recent, documents),
    )


def shortest_between(low: float, high: float) -> float:
    """The number with the fewest digits that is at least `low` and below `high`."""
    for digits in range(1, 16):  # more than a number holds
        step = 10.0**-digits
        candidate = round(math.ceil(low / step - 1e-9) * step, digits)
        if low <= candidate < high:
            return candidate
    return low
