"""How words are spelled: a character n-gram model of distinct words, interpolated, with Witten–Bell smoothing."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

_START, _END = "\x02", "\x03"
_SPARE_LETTERS = 50  # letters that the words may not have shown yet


def fold(word: str) -> str:
    """The word as counts know it: lower case, every digit a zero."""
    return word.lower() if word.isalpha() else "".join("0" if character.isdigit() else character for character in word.lower())


class Letters:
    """Chances of a letter after the letters before it."""

    def __init__(self, words: Sequence[str], order: int) -> None:
        self._order = order
        self._next: list[dict[str, Counter[str]]] = [defaultdict(Counter) for _ in range(order)]
        for word in words:
            spelled = _START + word + _END
            for at in range(1, len(spelled)):
                for size in range(min(order, at + 1)):
                    self._next[size][spelled[at - size : at]][spelled[at]] += 1
        self._alphabet = len({character for word in words for character in word}) + _SPARE_LETTERS
        self._totals = [{context: sum(after.values()) for context, after in level.items()} for level in self._next]

    def surprises(self, word: str) -> list[float]:
        """−log of the probability of each letter of the word, and of its end, after the letters before it."""
        spelled = _START + word + _END
        surprises = []
        for at in range(1, len(spelled)):
            probability = 1 / self._alphabet
            for size in range(min(self._order, at + 1)):
                context = spelled[at - size : at]
                total = self._totals[size].get(context)
                if total is None:
                    break
                after = self._next[size][context]
                probability = (after.get(spelled[at], 0) + len(after) * probability) / (total + len(after))
            surprises.append(-math.log(probability))
        return surprises
