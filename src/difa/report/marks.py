"""How strongly a word is marked, wherever results are shown; and text made safe to show.

Strength is the word's p-value: nothing above 1 in 20, then deeper in four steps.
"""

from __future__ import annotations

from difa.decide import UNUSUAL
from difa.document import Result, WordScore

FAINT = UNUSUAL
"""P-value up to which a word is marked."""
STEPS = (0.02, 0.005, 0.001, 0.0)
"""Least p-value of each step of strength."""
_BREAKS = {"\n": "↵", "\r": " "}  # how line breaks are shown


def strength_of(word: WordScore) -> int:
    """0 for a word that is not marked, then 1 to 4."""
    return 0 if word.p_value > FAINT else 1 + next(step for step, least in enumerate(STEPS) if word.p_value >= least)


def unusual_words(result: Result, most: int | None = None) -> list[int]:
    """Places of the words that are marked or flagged, the most unusual first."""
    order = sorted(range(len(result.words)), key=lambda t: (result.words[t].p_value, -result.words[t].score))
    return [t for t in order if result.words[t].is_anomaly or result.words[t].p_value <= FAINT][:most]


def visible(text: str) -> str:
    """Control characters as visible ones, one for one: a text must not be able to steer what shows it."""
    return "".join(c if c.isprintable() or c in "\t\u200d\ufe0f" else _BREAKS.get(c, "\ufffd") for c in text)
