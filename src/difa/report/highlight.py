"""How results are shown anywhere: how strongly a word is highlighted, which part of a long text, and text made safe to show.

The strength of a word is its p-value: nothing above 1 in 20, then deeper in four steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from difa.decide import UNUSUAL
from difa.document import Result, WordScore

STEPS = (0.02, 0.005, 0.001, 0.0)
"""Smallest p-value of each step of strength."""
LONGEST = 700  # characters shown of a text
_BREAKS = {"\n": "↵", "\r": " "}  # how line breaks are shown


def strength_of(word: WordScore) -> int:
    """0 for a word that is not highlighted, then 1 to 4."""
    return 0 if word.p_value > UNUSUAL else 1 + next(step for step, lowest in enumerate(STEPS) if word.p_value >= lowest)


def unusual_words(result: Result, most: int | None = None) -> list[int]:
    """Positions of the words that are highlighted or flagged, the most unusual first."""
    order = sorted(range(len(result.words)), key=lambda t: (result.words[t].p_value, -result.words[t].score))
    return [t for t in order if result.words[t].is_anomaly or result.words[t].p_value <= UNUSUAL][:most]


def visible(text: str) -> str:
    """Control characters as visible ones, one for one: a text must not be able to steer what shows it."""
    return "".join(c if c.isprintable() or c in "\t\u200d\ufe0f" else _BREAKS.get(c, "\ufffd") for c in text)


@dataclass(frozen=True)
class Excerpt:
    """A part of a result, as a result, and whether something stands before and behind it."""

    result: Result
    is_cut_before: bool = False
    is_cut_behind: bool = False


def excerpt(result: Result, longest: int = LONGEST) -> Excerpt:
    """The result itself if it is short; otherwise an excerpt of about `longest` characters, cut between words."""
    if len(result.text) <= longest:
        return Excerpt(result)
    unusual = unusual_words(result, 1)
    middle = result.words[unusual[0]].start if unusual else 0
    start = max(0, min(middle - longest // 3, len(result.text) - longest))
    end = start + longest
    kept = [word for word in result.words if word.start >= start and word.end <= end]
    if not kept:
        return Excerpt(replace(result, text=result.text[start:end], words=()), start > 0, end < len(result.text))
    start, end = kept[0].start, kept[-1].end
    words = tuple(replace(word, start=word.start - start, end=word.end - start) for word in kept)
    return Excerpt(replace(result, text=result.text[start:end], words=words), start > 0, end < len(result.text))
