"""Another string for a word: the mutations of which pseudo anomalies are made.

Each takes a word and a generator and gives the changed word, or the word itself where the change does not apply.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from difa.knowledge.spelling import KEYBOARD

T = TypeVar("T")
Mutation = Callable[[str, np.random.Generator], str]

_NEAR = {key: row[max(0, at - 1) : at] + row[at + 1 : at + 2] for row in KEYBOARD for at, key in enumerate(row)}
_LEET = {"a": "4@", "b": "8", "e": "3", "g": "9", "i": "1!", "l": "1|", "o": "0", "s": "5$", "t": "7+", "z": "2"}
_LOOKALIKES = (
    ("rn", "m"), ("m", "rn"), ("cl", "d"), ("d", "cl"), ("vv", "w"), ("w", "vv"), ("l", "1"), ("O", "0"), ("o", "0"),
    ("i", "l"), ("e", "c"), ("h", "b"), ("S", "5"), ("B", "8"), ("g", "q"), ("u", "ii"), ("n", "ri"), ("t", "f"),
)  # fmt: skip

_DEBRIS = ("Ã©", "â€™", "â€œ", "Â", "Ã¼", "ï»¿", "&amp;", "&#39;", "\\u00e9", "Ã±", "<br>", "%20", "\\n")
MARKS = ("!!!", "??", "...", ",", ";", "#", "@", "*", "|", "~", "/", "=", "_", ")(")


def one_of(options: Sequence[T], rng: np.random.Generator) -> T:
    """One of the options, each as likely as the others."""
    return options[int(rng.integers(len(options)))]


def _change_one(word: str, rng: np.random.Generator, change: Callable[[str], str]) -> str:
    """The word with one of its characters, any, as it was changed."""
    at = int(rng.integers(len(word)))
    return word[:at] + change(word[at]) + word[at + 1 :]


def _letters(count: int, rng: np.random.Generator, letters: str = string.ascii_lowercase) -> str:
    return "".join(letters[i] for i in rng.integers(len(letters), size=count))


def swap(word: str, rng: np.random.Generator) -> str:
    """Exchange two neighbouring characters."""
    at = int(rng.integers(len(word) - 1)) if len(word) > 1 else 0
    return word[:at] + word[at : at + 2][::-1] + word[at + 2 :]


def drop(word: str, rng: np.random.Generator) -> str:
    """Leave a character out."""
    return _change_one(word, rng, lambda character: "")


def insert(word: str, rng: np.random.Generator) -> str:
    """Put in one to three random letters."""
    at = int(rng.integers(len(word) + 1))
    return word[:at] + _letters(int(rng.integers(1, 4)), rng) + word[at:]


def slip(word: str, rng: np.random.Generator) -> str:
    """Hit a neighbouring key."""
    return _change_one(word, rng, lambda key: one_of(_NEAR[key.lower()], rng) if key.lower() in _NEAR else key)


def stutter(word: str, rng: np.random.Generator) -> str:
    """Repeat a character two to six times."""
    return _change_one(word, rng, lambda character: character * (1 + int(rng.integers(2, 7))))


def leet(word: str, rng: np.random.Generator) -> str:
    """Write letters as the digits and signs that look like them."""
    return "".join(one_of(_LEET[c.lower()], rng) if c.lower() in _LEET and rng.random() < 0.7 else c for c in word)


def gibberish(word: str, rng: np.random.Generator) -> str:
    """Random letters, 4 to 16 of them."""
    return _letters(int(rng.integers(4, 17)), rng)


def scramble(word: str, rng: np.random.Generator) -> str:
    """The same characters in another order."""
    return "".join(word[at] for at in rng.permutation(len(word)))


def mangle_case(word: str, rng: np.random.Generator) -> str:
    """Change the case of about half the letters."""
    return "".join(c.swapcase() if rng.random() < 0.5 else c for c in word)


def pepper(word: str, rng: np.random.Generator) -> str:
    """Put in one to four punctuation marks."""
    for _ in range(rng.integers(1, 5)):
        mark, at = one_of(string.punctuation, rng), int(rng.integers(len(word) + 1))
        word = word[:at] + mark + word[at:]
    return word


def glue(word: str, rng: np.random.Generator) -> str:
    """Write the word twice in one."""
    return word + word


MUTATIONS: tuple[Mutation, ...] = (swap, drop, insert, slip, stutter, leet, gibberish, scramble, mangle_case, pepper, glue)


def twice(word: str, rng: np.random.Generator) -> str:
    """Write one character twice."""
    return _change_one(word, rng, lambda character: 2 * character)


def typo(word: str, rng: np.random.Generator) -> str:
    """One slip of a typing finger, in a word long enough to be recognised."""
    return one_of((swap, drop, slip, twice), rng)(word, rng) if len(word) > 2 else word


def misread(word: str, rng: np.random.Generator) -> str:
    """Take one group of characters for another that looks like it."""
    found = [(seen, read) for seen, read in _LOOKALIKES if seen in word]
    return word.replace(*one_of(found, rng), 1) if found else word


def mash(word: str, rng: np.random.Generator) -> str:
    """Random letters, or a hand falling on one row of the keyboard: 5 to 14 of them."""
    row = one_of((string.ascii_lowercase, *KEYBOARD), rng)
    return _letters(int(rng.integers(5, 15)), rng, row)


def mojibake(word: str, rng: np.random.Generator) -> str:
    """What is left of a word after its bytes were read in the wrong encoding, or escaped once too often."""

    def break_up(character: str) -> str:
        way = rng.random()
        if way < 0.4:
            return one_of(_DEBRIS, rng) + character
        return "\ufffd" if way < 0.7 else chr(int(rng.integers(0xA1, 0x17F)))

    return _change_one(word, rng, break_up)


def miscase(word: str, rng: np.random.Generator) -> str:
    """Capitals where there should be none, or none where there should be."""
    ways: Sequence[Callable[[str], str]] = (str.upper, str.swapcase, str.capitalize, lambda each: mangle_case(each, rng))
    return one_of(ways, rng)(word) if word.isalpha() and len(word) > 1 else word


def misdigit(word: str, rng: np.random.Generator) -> str:
    """A number with digits too many, or with a letter in it."""
    digits = [at for at, character in enumerate(word) if character.isdigit()]
    if not digits:
        return word
    if rng.random() < 0.5:
        return word + _letters(int(rng.integers(1, 4)), rng, string.digits)
    at = one_of(digits, rng)
    return word[:at] + one_of("xlOB", rng) + word[at + 1 :]
