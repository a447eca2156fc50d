"""Words that someone says are normal -> which words of a document they are.

An entry is a word, or several words that stand side by side. Capitals make no difference; apart from that a word must be the
same as a whole: `Louise` does not allow `Louise's`, and there are no wildcards.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from difa.errors import InputError
from difa.words import check_unicode, split_words


@dataclass(frozen=True)
class AllowList:
    """Words and phrases that are normal, in alphabetical order, each once."""

    entries: tuple[str, ...] = ()

    @classmethod
    def of(cls, words: Iterable[object]) -> AllowList:
        """A list from words in any order; of those that differ in capitals alone the first stays."""
        if isinstance(words, (str, bytes)):
            raise InputError("allow: expected a list of words, got a single string: put it into a list")
        found: dict[str, str] = {}
        for word in words:
            if not isinstance(word, str) or not word.strip():
                got = "an empty one" if isinstance(word, str) else type(word).__name__
                raise InputError(f"allow: expected words as strings, got {got}: remove it")
            check_unicode(word)
            found.setdefault(_fold(word), " ".join(word.split()))
        return cls(tuple(found[key] for key in sorted(found)))

    def plus(self, words: Iterable[object]) -> AllowList:
        """The list with more words."""
        return AllowList.of([*self.entries, *AllowList.of(words).entries])

    def minus(self, words: Iterable[object]) -> AllowList:
        """The list without some words; raises `InputError` for one that is not in it."""
        removed = {_fold(word): word for word in AllowList.of(words).entries}
        kept = {_fold(entry): entry for entry in self.entries}
        if missing := [word for key, word in removed.items() if key not in kept]:
            raise InputError(f"expected words that are allowed, got {missing[0]!r}, which is not: there is nothing to remove")
        return AllowList(tuple(entry for key, entry in kept.items() if key not in removed))

    def __bool__(self) -> bool:
        return bool(self.entries)

    def marks(self, words: Sequence[str]) -> NDArray[np.bool_]:
        """Which words of a document are allowed: (T,)."""
        folded = [_fold(word) for word in words]
        allowed = np.array([word in self._whole for word in folded], dtype=bool)
        for at, word in enumerate(folded):
            for phrase in self._phrases.get(word, ()):
                if folded[at : at + len(phrase)] == phrase:
                    allowed[at : at + len(phrase)] = True
        return allowed

    @cached_property
    def _whole(self) -> frozenset[str]:
        """Entries as single words; one of several words may be a single one in a document that came as a list of words."""
        return frozenset(map(_fold, self.entries))

    @cached_property
    def _phrases(self) -> Mapping[str, list[list[str]]]:
        """Entries of several words, by the first of them."""
        found = defaultdict(list)
        for entry in self.entries:
            phrase = [_fold(word.text) for word in split_words(entry)]
            if len(phrase) > 1:
                found[phrase[0]].append(phrase)
        return dict(found)


def _fold(word: str) -> str:
    """The word as entries are compared: without case, accents composed, one space between its parts."""
    return " ".join(unicodedata.normalize("NFC", word.casefold()).split())
