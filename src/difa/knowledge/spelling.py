"""What a misspelt word may have been: words one slip away, two words run together, one word torn apart.

Everything is measured by how common words are, as a number from `known` (a share of running text, 0 for unknown words).
"""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Iterator

Known = Callable[[str], float]

FLOOR = 1e-9
"""The frequency of a word that no list has."""
_COMMON = 1e-5  # more frequent words are not taken for slips
_RARE = 1e-6  # only rarer words are taken for two in one
_TWO_WORDS = 9.0  # −log of what a second word of ordinary frequency costs
_LONGEST = 24  # longer words are not compared letter by letter


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


def nearest(word: str, known: Known) -> str | None:
    """The most common word one slip away, if it is more common than the word itself."""
    if not word.isalpha() or not 3 <= len(word) <= _LONGEST or known(word) >= _COMMON:
        return None
    alphabet = string.ascii_lowercase if word.isascii() else "".join(sorted({*string.ascii_lowercase, *word}))
    best = max((candidate for candidate in slips(word, alphabet) if candidate != word), key=known)
    return best if known(best) > max(known(word), FLOOR) else None


def torn_apart(word: str, known: Known) -> tuple[str, str] | None:
    """The two words that a rare word may be, run together: the most common pair."""
    if not word.isalpha() or not 4 <= len(word) <= _LONGEST or known(word) >= _RARE:
        return None
    pairs = [(word[:at], word[at:]) for at in range(1, len(word))]
    best = max(pairs, key=lambda pair: log_known(pair[0], known) + log_known(pair[1], known))
    return best if min(map(known, best)) > 0 else None


def slip_gain(word: str, known: Known) -> float:
    """By how much (in nats) the most common word one slip away is more common; 0 if none is."""
    other = nearest(word, known)
    return log_known(other, known) - log_known(word, known) if other else 0.0


def split_gain(word: str, known: Known) -> float:
    """By how much two words are likelier than this one; 0 if they are not."""
    pair = torn_apart(word, known)
    if pair is None:
        return 0.0
    return max(0.0, log_known(pair[0], known) + log_known(pair[1], known) + _TWO_WORDS - log_known(word, known))


def join_gain(one: str, other: str, known: Known) -> float:
    """By how much two neighbouring words are likelier as one word; 0 if they are not, or that word is rare."""
    if not (one.isalpha() and other.isalpha()) or known(one + other) <= 1e-7:
        return 0.0
    return max(0.0, log_known(one + other, known) - min(log_known(one, known), log_known(other, known)))


def log_known(word: str, known: Known) -> float:
    """Logarithm of a word's frequency."""
    return math.log(max(known(word), FLOOR))
