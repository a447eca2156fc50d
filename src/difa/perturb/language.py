"""Errors that take knowledge of the language to make: real words in the wrong place, and words of another tone or tongue.

Like all errors: words of a document, how many to change, the material, a generator -> changed words with labels, all zero where
the error cannot be made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from difa.errors import MissingExtraError
from difa.knowledge import ENGLISH
from difa.knowledge.spelling import slips
from difa.knowledge.valence import valences
from difa.knowledge.wordlist import common_words, word_list
from difa.perturb.changes import Changed, Error, Material, draw_positions, like, pick, put_in, replace_words, shared_start

_STEM = 4  # letters that two forms of a word share at least
_REAL = 3e-7  # frequency from which a string counts as a real word
_COMMON = 30_000  # words of the language that strangers are drawn from
_FOREIGN = ("de", "fr", "es", "it", "nl", "pt", "en")
_HARSH = 1.2  # valence from which a word counts as an insult or a complaint

# Words that learners and hasty writers take for each other.
_CONFUSED = tuple(
    tuple(group.split())
    for group in (
        "in on at of to for by with from about into over under between through after before during without against",
        "a an the this that these those some any",
        "is are was were be been being has have had do does did will would can could should may might must",
        "i you he she it we they me him her us them his its our their your my",
    )
)
_GROUP = {word: group for group in _CONFUSED for word in group}


def confused(words: list[str], count: int, material: Material, rng: np.random.Generator) -> Changed:
    """Put another preposition, article, auxiliary or pronoun in the place of one."""
    if material.language != ENGLISH:
        return Changed(words, [0] * len(words))
    return replace_words(words, count, rng, lambda word: pick(_GROUP.get(word.lower(), ()), rng, word))


def lookalike(words: list[str], count: int, material: Material, rng: np.random.Generator) -> Changed:
    """Put a real word that is one slip away in the place of one."""
    known = word_list(material.language).exact

    def change(word: str) -> str:
        lowered = word.lower()
        if not 3 <= len(lowered) <= 12 or not lowered.isalpha():
            return word
        return pick([other for other in slips(lowered) if other != lowered and known(other) > _REAL], rng, word)

    return replace_words(words, count, rng, change)


def other_ending(words: list[str], count: int, material: Material, rng: np.random.Generator) -> Changed:
    """Put another form of a word, as the language has it, in its place."""
    by_stem = _by_stem(material.language)

    def change(word: str) -> str:
        lowered = word.lower()
        if len(lowered) < _STEM or not lowered.isalpha():
            return word
        return pick([other for other in by_stem.get(lowered[:_STEM], ()) if _forms_of_one(lowered, other)], rng, word)

    return replace_words(words, count, rng, change)


def stranger(words: list[str], count: int, material: Material, rng: np.random.Generator) -> Changed:
    """Put any word of the language in the place of a longer one."""
    common = word_list(material.language).common(_COMMON)

    def change(word: str) -> str:
        if not common or len(word) < 4 or not word.isalpha() or word.lower() in material.frequent:
            return word
        return like(common[int(len(common) * rng.random() ** 1.5)], word)  # frequent ones more often

    return replace_words(words, count, rng, change)


def insult(words: list[str], count: int, material: Material, rng: np.random.Generator) -> Changed:
    """Put insults and complaints in the place of words, or one or two in between."""
    harsh = _harsh() if material.language == ENGLISH else ()
    if not harsh:
        return Changed(words, [0] * len(words))
    if rng.random() < 0.5:
        return replace_words(words, count, rng, lambda word: pick(harsh, rng, word) if len(word) > 3 else word)
    return put_in(words, [pick(harsh, rng, "") for _ in range(int(rng.integers(1, 3)))], rng)


def other_tongue(words: list[str], count: int, material: Material, rng: np.random.Generator) -> Changed:
    """Put a run of words of another language in."""
    tongues = [tongue for tongue in _FOREIGN if tongue != material.language]
    foreign = _foreign(tongues[int(rng.integers(len(tongues)))], material.language)
    return put_in(words, [foreign[int(len(foreign) * rng.random() ** 2)] for _ in range(int(rng.integers(2, 7)))], rng)


def misplaced(words: list[str], count: int, material: Material, rng: np.random.Generator) -> Changed:
    """Put a longer word of another document in the place of one."""

    def change(word: str) -> str:
        if len(word) < 4 or not word.isalpha() or word.lower() in material.frequent:
            return word
        donor = material.documents[int(rng.integers(len(material.documents)))]
        others = [o.lower() for o in donor if len(o) > 3 and o.isalpha() and o.lower() not in material.frequent]
        return pick([other for other in others if other != word.lower()], rng, word)

    return replace_words(words, count, rng, change)


def swapped(words: list[str], count: int, material: Material, rng: np.random.Generator) -> Changed:
    """Exchange neighbouring words."""
    labels = [0] * len(words)
    for at in draw_positions(len(words) - 1, count, rng):
        one, other = words[at], words[at + 1]
        if one.isalpha() and other.isalpha() and one.lower() != other.lower() and not labels[at + 1]:
            words[at], words[at + 1] = other, one
            labels[at] = labels[at + 1] = 1
    return Changed(words, labels)


def glued(words: list[str], count: int, material: Material, rng: np.random.Generator) -> Changed:
    """Write neighbouring words as one."""
    labels = [0] * len(words)
    for at in draw_positions(len(words) - 1, count, rng):
        if at + 1 < len(words) and words[at].isalpha() and words[at + 1].isalpha():
            words[at : at + 2], labels[at : at + 2] = [words[at] + words[at + 1]], [1]
    return Changed(words, labels)


def torn(words: list[str], count: int, material: Material, rng: np.random.Generator) -> Changed:
    """Write one word as two."""
    labels = [0] * len(words)
    for at in draw_positions(len(words), count, rng):
        word = words[at]
        if word.isalpha() and len(word) > 3:
            cut = int(rng.integers(1, len(word)))
            words[at : at + 1], labels[at : at + 1] = [word[:cut], word[cut:]], [1, 1]
    return Changed(words, labels)


LANGUAGE_ERRORS: dict[str, Error] = {
    "confused": confused,
    "lookalike": lookalike,
    "ending": other_ending,
    "stranger": stranger,
    "misplaced": misplaced,
    "swapped": swapped,
    "glued": glued,
    "torn": torn,
    "insult": insult,
    "tongue": other_tongue,
}


def _forms_of_one(word: str, other: str) -> bool:
    shared = shared_start(word, other)
    return other != word and shared >= max(3, min(len(word), len(other)) - 2) and abs(len(word) - len(other)) <= 3


@lru_cache(maxsize=4)
def _by_stem(language: str | None) -> dict[str, list[str]]:
    stems = defaultdict(list)
    for word in word_list(language).common(_COMMON):
        stems[word[:_STEM]].append(word)
    return dict(stems)


@lru_cache(maxsize=1)
def _harsh() -> Sequence[str]:
    known = word_list(ENGLISH).frequency
    try:
        return tuple(word for word, valence in valences().items() if valence <= -_HARSH and known(word) > 1e-7)
    except MissingExtraError:
        return ()


@lru_cache(maxsize=16)
def _foreign(tongue: str, language: str | None) -> Sequence[str]:
    own = word_list(language)
    common = common_words(tongue, 3000)
    return tuple(word for word in common if own.frequency(word) < 2e-6) or common
