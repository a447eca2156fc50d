"""A long result -> the part of it around its most unusual word."""

from __future__ import annotations

from dataclasses import dataclass, replace

from difa.document import Result
from difa.report.marks import unusual_words

LONGEST = 700  # characters shown of a text


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
