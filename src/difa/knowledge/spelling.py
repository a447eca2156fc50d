"""What a misspelt word may have been: words one slip away, two words run together, one word torn apart.

Everything is measured by how common words are, as a number from `known` (a share of running text, 0 for unknown words).
"""

from __future__ import annotations

import math
import string
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import pairwise

from difa.knowledge import ENGLISH, LISTS, folder_of, version_of
from difa.knowledge.trigrams import trigrams
from difa.knowledge.wordlist import PackedWords, word_list
from difa.storage.atomic import kept

Known = Callable[[str], float]

FLOOR = 1e-9
"""The frequency of a word that no list has."""
EVERYDAY = 1e-3
"""Share of running text of the commonest words of a language: "the", "with"."""
UNLIKELY_SLIP = 0.05
"""Chance of a slip that hardly anybody makes: a letter before a word is a new word (ctypes)."""
CLEAR_SLIP = 1.0
"""Chance of letters that were exchanged, doubled, or written once instead of twice."""
FAR = 3.0
"""Nats by which a word must be more common than one that may be a slip of it."""
_DOUBTFUL = 2e-6  # share of running text below which a listed word may be a misspelling that many people make
_LONG = 7  # letters from which another vowel makes no other word
_LONGEST = 24  # longer words are not compared letter by letter
_MEANT = 5e-6  # share of running text from which a word is what an unknown one was probably meant to be
_JOINED = 1e-5  # and from which it was probably joined with a function word
_PART = 2e-6  # share of each part of words that were run together
_UNKNOWN = 3e-9  # share up to which a word is unknown
_OFTEN_GLUED = 1e-7  # share up to which a word may be two that are often written as one: "theoriginal"
_USUAL = 2.0  # nats by which a word is likelier behind another one, if they are usually written one after the other
_DERIVED = 1e-8  # share of a word whose new forms are no two words: "tracebacks"
_ENDINGS = ("s", "es", "ed", "er", "ers", "ing", "able")
KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
"""The rows of letters of a keyboard, whose neighbours fingers hit."""
_NEAR = frozenset(pair for row in KEYBOARD for a, b in pairwise(row) for pair in (a + b, b + a))
_VOWELS = frozenset("aeiouyäöüáéíóúàèìòùâêîôû")
FUNCTION_WORDS = frozenset(LISTS["function_words"].split())
"""English words that join others."""
_PREFIXES, _SUFFIXES = (frozenset(LISTS[name].split()) for name in ("prefixes", "suffixes"))


def slips(word: str, letters: str = string.ascii_lowercase) -> Iterator[str]:
    """All strings one slip away: a letter left out, added or changed, or two exchanged."""
    for at in range(len(word) + 1):
        head, tail = word[:at], word[at:]
        if tail:
            yield head + tail[1:]
            for letter in letters:
                yield head + letter + tail[1:]
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        for letter in letters:
            yield head + letter + tail


@lru_cache(maxsize=1 << 15)
def known_slips(word: str, language: str | None) -> tuple[str, ...]:
    """Words of a language one slip away from a word in plain form."""
    if not is_comparable(word):
        return ()
    alphabet = "".join(sorted({*string.ascii_lowercase, *word}))
    return tuple(word_list(language).among(slips(word, alphabet)) - {word})


def is_comparable(word: str) -> bool:
    """Whether a word is compared letter by letter."""
    return 3 <= len(word) <= _LONGEST and word.replace("'", "").isalpha()


@lru_cache(maxsize=1 << 15)
def likely_slip(word: str, language: str | None) -> str | None:
    """The common word that an unknown or doubtful one, in plain form, probably was meant to be; None for its mere inflections."""
    known = word_list(language)
    slips_of = {slip: known.exact(slip) for slip in known_slips(word, language)}
    if is_doubtful(word, language):
        slips_of = {slip: share for slip, share in slips_of.items() if is_misspelling(word, slip)}
        best = max(sorted(slips_of), key=slips_of.__getitem__, default=None)
        return best if best and slips_of[best] * slip_chance(word, best) >= known.exact(word) * math.exp(FAR) else None
    if not slips_of or is_inflected(word, slips_of):
        return None
    best = max(sorted(slips_of), key=lambda slip: slips_of[slip] * slip_chance(word, slip))
    return best if slips_of[best] >= _MEANT and slip_chance(word, best) > UNLIKELY_SLIP else None


def is_doubtful(word: str, language: str | None) -> bool:
    """Whether a word, in plain form, is rare in running text and in no dictionary: many people may misspell another one so."""
    return language == ENGLISH and 0 < word_list(language).exact(word) < _DOUBTFUL and not is_in_dictionary(word)


def is_in_dictionary(word: str) -> bool:
    """Whether the English dictionary of a speech recogniser has a word in plain form."""
    return _dictionary().find(word) > 0


@lru_cache(maxsize=1)
def _dictionary() -> PackedWords:
    def pack() -> bytes:
        with (folder_of("trigrams") / "model" / "en-us" / "cmudict-en-us.dict").open(encoding="utf-8") as lines:
            return PackedWords.pack({line.partition(" ")[0].partition("(")[0]: 1 for line in lines})

    return kept(f"dictionary-{version_of('trigrams')}-v1.words", pack, PackedWords)


def is_misspelling(word: str, meant: str) -> bool:
    """Whether a doubtful word, one slip away from one of the dictionary, is what people write who do not know how that is spelt.

    They exchange letters, or write one twice or once; in long words they take another vowel, or write one more or less.
    """
    if word[0] != meant[0] or not is_in_dictionary(meant) or is_inflected(word, [meant]):
        return False
    if slip_chance(word, meant) >= CLEAR_SLIP or len(word) < _LONG:
        return slip_chance(word, meant) >= CLEAR_SLIP
    at = _first_difference(word, meant)
    return (
        {word[at : at + 1], meant[at : at + 1]} <= _VOWELS
        if len(word) == len(meant)
        else max(word, meant, key=len)[at] in _VOWELS
    )


def _first_difference(word: str, meant: str) -> int:
    """The first position where two words differ."""
    return next((at for at, (a, b) in enumerate(zip(word, meant, strict=False)) if a != b), min(len(word), len(meant)))


def is_inflected(word: str, others: Iterable[str]) -> bool:
    """Whether a word is one of some others with another ending: new forms of words are no slips."""
    last = word[-2:-1] != word[-1:] and word[:-1]  # a letter written twice is no ending
    return any(other[:-1] == word or other == last or (other[:-1] == word[:-1] and len(word) > 3) for other in others)


def is_abbreviation(word: str) -> bool:
    """Whether a word of Latin letters, in plain form, has no vowel."""
    return word.isascii() and _VOWELS.isdisjoint(word)


def slip_chance(word: str, meant: str) -> float:
    """How likely a slip is among slips: fingers exchange, double, leave out and add letters, and seldom miss the first."""
    at = _first_difference(word, meant)
    chance = 0.1 if at == 0 else 1.0
    if len(word) == len(meant):
        if word[at + 1 : at + 2] == meant[at : at + 1] and word[at] == meant[at + 1 : at + 2]:
            return chance
        likely = word[at] + meant[at] in _NEAR or {word[at], meant[at]} <= _VOWELS
        return chance * (0.5 if likely else 0.15)
    longer = max(word, meant, key=len)
    is_double = longer[at : at + 1] in (longer[at - 1 : at], longer[at + 1 : at + 2])
    return chance * (1.0 if is_double else 0.5 if len(word) < len(meant) else 0.3)


class SlipIndex:
    """Words by what is left of them when a letter is left out: finds those one slip away from any string."""

    def __init__(self, words: Iterable[str]) -> None:
        self._by_rest: dict[str, list[str]] = defaultdict(list)
        for word in words:
            if is_comparable(word):
                for rest in _rests(word):
                    self._by_rest[rest].append(word)

    def find(self, word: str) -> set[str]:
        """Words one slip away; a letter changed, added or left out, or two neighbours exchanged."""
        if not is_comparable(word) or not self._by_rest:
            return set()
        found = {other for rest in _rests(word) for other in self._by_rest.get(rest, ())}
        return {other for other in found if other != word and word in slips(other, "".join({*word}))}


def _rests(word: str) -> set[str]:
    return {word, *(word[:at] + word[at + 1 :] for at in range(len(word)))}


def run_together(word: str, known: Known) -> tuple[str, str] | None:
    """The two words that a word may be, written as one: the most common pair, if there is any."""
    if not word.isalpha() or not 4 <= len(word) <= _LONGEST:
        return None
    pairs = [(word[:at], word[at:]) for at in range(1, len(word))]
    best = max(pairs, key=lambda pair: log_known(pair[0], known) + log_known(pair[1], known))
    return best if min(map(known, best)) > 0 else None


@lru_cache(maxsize=1 << 14)
def two_words(word: str, language: str | None) -> tuple[str, str] | None:
    """The two common words that an unknown word, in plain form, probably is; prefixes and endings make new words."""
    known = word_list(language).exact
    pair = None if known(word) > _OFTEN_GLUED or _is_derived(word, known) else run_together(word, known)
    if pair is None or pair[0] in _PREFIXES or pair[1] in _SUFFIXES:  # "semilattice" and "hashable" are words, if new ones
        return None
    if known(word) > _UNKNOWN or pair[0] == "a":
        is_joined = not FUNCTION_WORDS.isdisjoint(pair) and known(max(pair, key=len)) >= _JOINED
        return pair if is_joined and len(word) > 5 and _is_usual_pair(pair, language) else None
    # The shorter a part, the more common it must be: nearly every unknown word has some short word at its end.
    shortest = min(map(len, pair))
    return pair if shortest > 1 and min(map(known, pair)) >= _PART * 10.0 ** max(0, 4 - shortest) else None


def is_written_apart(pair: tuple[str, str], language: str | None) -> bool:
    """Whether two words are hardly a term when written as one: one of them joins words, or they often stand in a row."""
    return language != ENGLISH or not FUNCTION_WORDS.isdisjoint(pair) or _is_usual_pair(pair, language)


def _is_usual_pair(pair: tuple[str, str], language: str | None) -> bool:
    """Whether English text often has one word behind the other."""
    if language != ENGLISH:
        return False
    first, second = map(trigrams().name_of, pair)
    return bool(first and second) and trigrams().chance(second, first) - trigrams().chance(second) >= _USUAL


def _is_derived(word: str, known: Known) -> bool:
    """Whether a word is a known one, and no rarer, with an ending."""
    stems = (word.removesuffix(ending) for ending in _ENDINGS if word.endswith(ending))
    least = max(_DERIVED, known(word))
    return any(len(stem) >= 5 and max(known(stem), known(stem + "e")) >= least for stem in stems)


def log_known(word: str, known: Known) -> float:
    """Logarithm of a word's frequency."""
    return math.log(max(known(word), FLOOR))
