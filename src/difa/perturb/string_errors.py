"""Another string for a word: the mutations of which pseudo anomalies are made.

Each takes a word and a generator and gives the changed word, or the word itself where the change does not apply.
"""

from __future__ import annotations

import string
from collections.abc import Callable

import numpy as np

Mutation = Callable[[str, np.random.Generator], str]

_KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_NEAR = {key: row[max(0, at - 1) : at] + row[at + 1 : at + 2] for row in _KEYBOARD for at, key in enumerate(row)}
_LEET = {"a": "4@", "b": "8", "e": "3", "g": "9", "i": "1!", "l": "1|", "o": "0", "s": "5$", "t": "7+", "z": "2"}
_LOOKALIKES = (
    ("rn", "m"), ("m", "rn"), ("cl", "d"), ("d", "cl"), ("vv", "w"), ("w", "vv"), ("l", "1"), ("O", "0"), ("o", "0"),
    ("i", "l"), ("e", "c"), ("h", "b"), ("S", "5"), ("B", "8"), ("g", "q"), ("u", "ii"), ("n", "ri"), ("t", "f"),
)  # fmt: skip

_DEBRIS = ("Ã©", "â€™", "â€œ", "Â", "Ã¼", "ï»¿", "&amp;", "&#39;", "\\u00e9", "Ã±", "<br>", "%20", "\\n")
MARKS = ("!!!", "??", "...", ",", ";", "#", "@", "*", "|", "~", "/", "=", "_", ")(")


def swap(word: str, rng: np.random.Generator) -> str:
    """Exchange two neighbouring characters."""
    if len(word) < 2:
        return word
    at = int(rng.integers(len(word) - 1))
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def drop(word: str, rng: np.random.Generator) -> str:
    """Leave a character out."""
    at = int(rng.integers(len(word)))
    return word[:at] + word[at + 1 :]


def insert(word: str, rng: np.random.Generator) -> str:
    """Put in one to three random letters."""
    at = int(rng.integers(len(word) + 1))
    return word[:at] + _letters(int(rng.integers(1, 4)), rng) + word[at:]


def slip(word: str, rng: np.random.Generator) -> str:
    """Hit a neighbouring key."""
    at = int(rng.integers(len(word)))
    near = _NEAR.get(word[at].lower(), "")
    return word[:at] + near[int(rng.integers(len(near)))] + word[at + 1 :] if near else word


def stutter(word: str, rng: np.random.Generator) -> str:
    """Repeat a character two to six times."""
    at = int(rng.integers(len(word)))
    return word[:at] + word[at] * int(rng.integers(2, 7)) + word[at:]


def leet(word: str, rng: np.random.Generator) -> str:
    """Write letters as the digits and signs that look like them."""
    swapped = [
        _LEET[c.lower()][int(rng.integers(len(_LEET[c.lower()])))] if c.lower() in _LEET and rng.random() < 0.7 else c
        for c in word
    ]
    return "".join(swapped)


def gibberish(word: str, rng: np.random.Generator) -> str:
    """Random letters, 4 to 16 of them."""
    return _letters(int(rng.integers(4, 17)), rng)


def scramble(word: str, rng: np.random.Generator) -> str:
    """The same characters in another order."""
    return "".join(np.array(list(word))[rng.permutation(len(word))])


def mangle_case(word: str, rng: np.random.Generator) -> str:
    """Change the case of about half the letters."""
    return "".join(c.swapcase() if rng.random() < 0.5 else c for c in word)


def pepper(word: str, rng: np.random.Generator) -> str:
    """Put in one to four punctuation marks."""
    characters = list(word)
    for _ in range(int(rng.integers(1, 5))):
        mark = string.punctuation[int(rng.integers(len(string.punctuation)))]
        characters.insert(int(rng.integers(len(characters) + 1)), mark)
    return "".join(characters)


def glue(word: str, rng: np.random.Generator) -> str:
    """Write the word twice in one."""
    return word + word


MUTATIONS: tuple[Mutation, ...] = (swap, drop, insert, slip, stutter, leet, gibberish, scramble, mangle_case, pepper, glue)


def typo(word: str, rng: np.random.Generator) -> str:
    """One slip of a typing finger, in a word long enough to be recognised."""
    slips = (swap, drop, slip, twice)
    return slips[int(rng.integers(len(slips)))](word, rng) if len(word) > 2 else word


def twice(word: str, rng: np.random.Generator) -> str:
    """Write one character twice."""
    at = int(rng.integers(len(word)))
    return word[:at] + word[at] + word[at:]


def misread(word: str, rng: np.random.Generator) -> str:
    """Take one group of characters for another that looks like it."""
    found = [(seen, read) for seen, read in _LOOKALIKES if seen in word]
    if not found:
        return word
    seen, read = found[int(rng.integers(len(found)))]
    return word.replace(seen, read, 1)


def mash(word: str, rng: np.random.Generator) -> str:
    """Random letters, or a hand falling on one row of the keyboard: 5 to 14 of them."""
    row = (string.ascii_lowercase, *_KEYBOARD)[int(rng.integers(4))]
    return "".join(row[i] for i in rng.integers(len(row), size=int(rng.integers(5, 15))))


def mojibake(word: str, rng: np.random.Generator) -> str:
    """What is left of a word after its bytes were read in the wrong encoding, or escaped once too often."""
    at, way = int(rng.integers(len(word))), rng.random()
    if way < 0.4:
        return word[:at] + _DEBRIS[int(rng.integers(len(_DEBRIS)))] + word[at:]
    if way < 0.7:
        return word[:at] + "\ufffd" + word[at + 1 :]
    return word[:at] + chr(int(rng.integers(0xA1, 0x17F))) + word[at + 1 :]


def miscase(word: str, rng: np.random.Generator) -> str:
    """Capitals where there should be none, or none where there should be."""
    ways = (str.upper, str.swapcase, str.capitalize, lambda each: mangle_case(each, rng))
    return ways[int(rng.integers(len(ways)))](word) if word.isalpha() and len(word) > 1 else word


def misdigit(word: str, rng: np.random.Generator) -> str:
    """A number with digits too many, or with a letter in it."""
    digits = [at for at, character in enumerate(word) if character.isdigit()]
    if not digits:
        return word
    if rng.random() < 0.5:
        return word + "".join(str(digit) for digit in rng.integers(10, size=int(rng.integers(1, 4))))
    at = digits[int(rng.integers(len(digits)))]
    return word[:at] + "xlOB"[int(rng.integers(4))] + word[at + 1 :]


def _letters(count: int, rng: np.random.Generator) -> str:
    return "".join(string.ascii_lowercase[i] for i in rng.integers(26, size=count))
