"""Words that a user calls normal -> which words of a document these are.

An entry is a word, or several words that stand side by side. Case makes no difference; apart from that a word must be the same as
a whole: `Louise` does not allow `Louise's`, and there are no wildcards.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from difa.errors import InputError
from difa.runtime.parallel import check_cancelled
from difa.words import check_unicode, split_words

_LONGEST = 1_000  # characters of an entry: they bound the work on a word of a document


@dataclass(frozen=True)
class AllowList:
    """Words and phrases that are normal, each once, in alphabetical order."""

    entries: tuple[str, ...] = ()

    @classmethod
    def of(cls, words: AllowList | Iterable[object]) -> AllowList:
        """A list from words in any order; of those that differ only in case the first is kept."""
        if isinstance(words, AllowList):
            return words
        if isinstance(words, (str, bytes)):
            raise InputError("allow: expected a list of words, got a single string: put it into a list")
        found: dict[str, str] = {}
        for word in words:
            if not isinstance(word, str) or not word.strip():
                got = "an empty one" if isinstance(word, str) else type(word).__name__
                raise InputError(f"allow: expected words as strings, got {got}: remove it")
            if len(word) > _LONGEST:
                raise InputError(f"allow: expected words and phrases of at most {_LONGEST:,} characters, got {len(word):,}")
            check_unicode(word)
            found.setdefault(_fold(word), " ".join(word.split()))
        return cls(tuple(found[key] for key in sorted(found)))

    def plus(self, words: Iterable[object]) -> AllowList:
        """The list with more words."""
        return AllowList.of([*self.entries, *AllowList.of(words).entries])

    def minus(self, words: Iterable[object]) -> AllowList:
        """The list without some words; refuses a word that is not in it."""
        removed = {_fold(word): word for word in AllowList.of(words).entries}
        kept = {_fold(entry): entry for entry in self.entries}
        if missing := [word for key, word in removed.items() if key not in kept]:
            raise InputError(f"expected words that are allowed, got {missing[0]!r}, which is not: there is nothing to remove")
        return AllowList(tuple(entry for key, entry in kept.items() if key not in removed))

    def __bool__(self) -> bool:
        return bool(self.entries)

    def marks(self, words: Sequence[str]) -> NDArray[np.bool_]:
        """Which words of a document are allowed: (T,)."""
        if not self:
            return np.zeros(len(words), dtype=bool)
        folded = [_fold(word) for word in words]
        allowed = np.array([word in self._whole for word in folded], dtype=bool)
        steps, ends = self._phrases
        for at in range(len(folded) if steps else 0):
            if at % 256 == 0:
                check_cancelled()
            state, end = 0, at
            for place in range(at, len(folded)):
                state = steps.get((state, folded[place]), -1)
                if state < 0:
                    break
                end = place + 1 if state in ends else end
            allowed[at:end] = True
        return allowed

    @cached_property
    def _whole(self) -> frozenset[str]:
        """Entries as single words: in a document given as a list of words, a phrase may be one of the words."""
        return frozenset(map(_fold, self.entries))

    @cached_property
    def _phrases(self) -> tuple[Mapping[tuple[int, str], int], frozenset[int]]:
        """Phrases as one automaton: the next state after a state and a word, and the states in which a phrase is complete.

        So a document is read once, however many phrases begin alike.
        """
        steps: dict[tuple[int, str], int] = {}
        ends = set()
        for entry in self.entries:
            phrase = [_fold(word.text) for word in split_words(entry)]
            if len(phrase) > 1:
                state = 0
                for word in phrase:
                    state = steps.setdefault((state, word), len(steps) + 1)
                ends.add(state)
        return steps, frozenset(ends)


def _fold(word: str) -> str:
    """The form in which entries are compared: without case, accents composed, one space between words."""
    return " ".join(unicodedata.normalize("NFC", word.casefold()).split())
