"""How words are spelled: a character n-gram model of distinct words, interpolated, with Witten–Bell smoothing."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache

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


def count_runs(words: Sequence[str], order: int) -> dict[str, int]:
    """How often each run of up to `order` letters occurs in all words."""
    return {run: count for size in range(1, order + 1) for run, count in _count_runs(words, size).items()}


def _count_runs(words: Sequence[str], size: int) -> Counter[str]:
    """How often each of `runs_of` all words occurs: all runs of one long string are counted, then those across words left out."""
    spelled = _BETWEEN.join(f"{_START}{word}{_END}" for word in words)
    counts = Counter(map("".join, zip(*(spelled[at:] for at in range(size)), strict=False)))
    return Counter({run: count for run, count in counts.items() if _BETWEEN not in run and run != _START})


class Letters:
    """Chances of a letter after the letters before it."""

    def __init__(self, words: Sequence[str], order: int, more: Mapping[str, int] | None = None) -> None:
        """Count runs of letters.

        Args:
            words: distinct words.
            order: longest run, the predicted letter included.
            more: counts of runs in further words.
        """
        self._order = order
        self._grams = [_count_runs(words, size) for size in range(1, order + 1)]  # runs of letters by their length
        for run, count in (more or {}).items():
            self._grams[len(run) - 1][run] += count
        self._alphabet = len(self._grams[0].keys() - {_END}) + _SPARE_LETTERS
        # For each context: how often it has a letter behind it, and how many different ones.
        self._totals: dict[str, int] = defaultdict(int)
        self._kinds: dict[str, int] = defaultdict(int)
        for grams in self._grams:
            for gram, count in grams.items():
                self._totals[gram[:-1]] += count
                self._kinds[gram[:-1]] += 1
        self._surprise = lru_cache(_MEMO)(self._compute_surprise)

    def surprises(self, word: str) -> list[float]:
        """−log of the probability of each letter of the word, and of its end, after the letters before it."""
        spelled = _START + word + _END
        return [self._surprise(spelled[max(0, end - self._order) : end]) for end in range(2, len(spelled) + 1)]

    def _compute_surprise(self, gram: str) -> float:
        """−log of the probability of the last letter after the others."""
        probability = 1 / self._alphabet
        for size in range(len(gram)):
            context = gram[len(gram) - 1 - size : -1]
            total = self._totals.get(context)
            if total is None:
                break
            kinds = self._kinds[context]
            probability = (self._grams[size].get(gram[len(gram) - 1 - size :], 0) + kinds * probability) / (total + kinds)
        return -math.log(probability)
