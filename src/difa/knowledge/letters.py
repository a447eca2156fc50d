"""How words are spelled: a character n-gram model of distinct words, interpolated, with Witten–Bell smoothing."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgpack

_START, _END = "\x02", "\x03"
_BETWEEN = "\udfff"  # half a surrogate pair, which no valid text has
_SPARE_LETTERS = 50  # letters that the words may not have shown yet
_MEMO = 1 << 16  # runs of letters whose surprise is remembered
# Web and mail addresses that look like most: no numbers for a host, no port, no password, no rare signs.
_PLAIN_ADDRESS = re.compile(
    r"(?:https?://|www\.)(?!\d+\.\d)[\w-]+(?:\.[\w-]+)+(?P<path>/[\w./~+%#=-]*)?(?P<query>\?[\w./~+%#=&-]*)?"
    r"|(?P<mail>[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+)"
)


def plain_address(word: str) -> str:
    """The shape of a web or mail address that looks like most; empty for any other word.

    Which page or person it leads to is no news: addresses are judged by their shape.
    """
    if "." not in word or (match := _PLAIN_ADDRESS.fullmatch(word)) is None:
        return ""
    if match["mail"]:
        return "a@a.a"
    return "http://a.a" + ("/a" if len(match["path"] or "") > 1 else "") + ("?a" if match["query"] else "")


def fold(word: str) -> str:
    """The word as counts know it: lower case, every digit a zero, an address as its shape."""
    if shape := plain_address(word):
        return shape
    return word.lower() if word.isalpha() else "".join("0" if character.isdigit() else character for character in word.lower())


def runs_of(word: str, size: int) -> list[str]:
    """Runs of letters of one length in a word with its start and its end; the start by itself is no letter."""
    spelled = _START + word + _END
    return [spelled[at : at + size] for at in range(size == 1, len(spelled) - size + 1)]


def count_runs(words: Sequence[str], order: int) -> Counter[str]:
    """How often each of `runs_of` all words occurs, for all lengths up to `order`."""
    spelled = _BETWEEN.join(f"{_START}{word}{_END}" for word in words)
    counts: Counter[str] = Counter()
    for size in range(1, order + 1):
        counts.update(map("".join, zip(*(spelled[at:] for at in range(size)), strict=False)))
    # All runs of one long string were counted: those across words are left out again.
    return Counter({run: count for run, count in counts.items() if _BETWEEN not in run and run != _START})


class Letters:
    """Chances of a letter after the letters before it."""

    def __init__(self, order: int, counts: Mapping[str, int], totals: Mapping[str, int], kinds: Mapping[str, int]) -> None:
        """Take what was counted.

        Args:
            order: longest run, the predicted letter included.
            counts: how often each run occurs.
            totals: how often a letter stands behind each context.
            kinds: how many different ones do.
        """
        self._order, self._counts, self._totals, self._kinds = order, counts, totals, kinds
        self._alphabet = kinds.get("", 0) - (_END in counts) + _SPARE_LETTERS
        self._surprise = lru_cache(_MEMO)(self._compute_surprise)

    @classmethod
    def of(cls, words: Sequence[str], order: int, more: Mapping[str, int] | None = None) -> Letters:
        """Count the runs of letters of distinct words, beside counts of runs in further words."""
        counts = count_runs(words, order)
        counts.update(more or {})
        totals, kinds = Counter[str](), Counter[str]()
        for run, count in counts.items():
            totals[run[:-1]] += count
            kinds[run[:-1]] += 1
        return cls(order, counts, totals, kinds)

    @classmethod
    def restore(cls, content: bytes) -> Letters:
        """Letters from what `pack` gave."""
        return cls(*msgpack.unpackb(content))

    def pack(self) -> bytes:
        """All that was counted: reading it takes less time than counting."""
        return bytes(msgpack.packb([self._order, self._counts, self._totals, self._kinds]))

    def surprises(self, word: str) -> list[float]:
        """−log of the probability of each letter of the word, and of its end, after the letters before it."""
        spelled = _START + word + _END
        return [self._surprise(spelled[max(0, end - self._order) : end]) for end in range(2, len(spelled) + 1)]

    def _compute_surprise(self, run: str) -> float:
        """−log of the probability of the last letter after the others."""
        probability = 1 / self._alphabet
        for start in range(len(run) - 1, -1, -1):
            context = run[start:-1]
            if context not in self._totals:
                break
            kinds = self._kinds[context]
            probability = (self._counts.get(run[start:], 0) + kinds * probability) / (self._totals[context] + kinds)
        return -math.log(probability)
