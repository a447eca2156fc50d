"""How negative and how positive English words are: the valences of a lexicon, and insults on top of them.

Valences from −4 to 4 come from the lexicon file of the package vaderSentiment; only the file is read, the package is never
imported. A valence lexicon does not tell an insult from bad news: "war" and "tax" are as negative as "idiot". The insults of
`lists.toml`, written for this project, do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import groupby

from difa.knowledge import LISTS, folder_of

INSULTS: Mapping[str, float] = {word: float(strength) for strength, words in LISTS["insults"].items() for word in words.split()}
"""Insults and scorn: words in lower case with a strength from 2 to 4."""
_STRONG = {word: strength for word, strength in INSULTS.items() if strength >= 3}  # they are looked for where they hide
_USUAL_VALENCE = 2.0  # what a lexicon adds to the strength of most insults
SPACED = 4  # letters that an insult written with spaces has at least
_NO_LETTER = re.compile(r"[\W\d_]+")
_MASKS = frozenset("*#@$%&+=~^|-_")


@lru_cache(maxsize=1 << 15)
def hidden_insult(word: str) -> float:
    """The complaint of an insult that is a part of a word ("order-bitch", "idiot's") or masked ("a*****e"); 0 without one."""
    if word.isalpha():
        return 0.0
    folded = word.lower()
    parts = [strength for part in _NO_LETTER.split(folded) if (strength := _STRONG.get(part))]
    if not parts and folded[:1].isalpha() and not _MASKS.isdisjoint(folded):
        parts = [strength for insult, strength in _STRONG.items() if _is_mask(folded, insult)]
    return max(parts) + _USUAL_VALENCE if parts else 0.0


def _is_mask(masked: str, insult: str) -> bool:
    letters = zip(masked, insult, strict=False)
    return len(masked) == len(insult) and all(shown == letter or shown in _MASKS for shown, letter in letters)


def spaced_insults(words: Sequence[str]) -> dict[int, float]:
    """The complaint of the letters of insults that are written with spaces between them ("i d i o t"), by position."""
    found: dict[int, float] = {}
    single = [at for at, length in enumerate(map(len, words)) if length == 1 and words[at].isalpha()]
    if len(single) < SPACED:
        return found
    for _, numbered in groupby(enumerate(single), key=lambda item: item[1] - item[0]):  # runs of neighbours
        places = [at for _, at in numbered]
        letters = "".join(words[at] for at in places).lower()
        for insult, strength in _STRONG.items() if len(letters) >= SPACED else ():
            if len(insult) >= SPACED and (at := letters.find(insult)) >= 0:
                found |= dict.fromkeys(range(places[0] + at, places[0] + at + len(insult)), strength + _USUAL_VALENCE)
    return found


@lru_cache(maxsize=1)
def valences() -> Mapping[str, float]:
    """Words made of letters, in lower case, with their mean valence."""
    text = (folder_of("valence") / "vader_lexicon.txt").read_text(encoding="utf-8")
    entries = (line.split("\t") for line in text.splitlines())
    return {entry[0]: float(entry[1]) for entry in entries if len(entry) > 1 and entry[0].isalpha() and entry[0].islower()}


def rated_words() -> dict[str, tuple[float, float]]:
    """Words in lower case with their complaint (0 to 8) and their praise (0 to 4).

    A negative word that is an insult is the sum of both; a word that the lexicon likes and that is used as an insult ("silly")
    counts on both sides.
    """
    lexicon, hostile = valences(), INSULTS
    valence = {word: lexicon.get(word, 0.0) for word in dict.fromkeys([*lexicon, *hostile])}
    return {word: (max(-value, 0.0) + hostile.get(word, 0.0), max(value, 0.0)) for word, value in valence.items()}
