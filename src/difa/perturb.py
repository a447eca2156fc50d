"""Normal documents -> pseudo anomalies with word labels, to teach fusion and aggregation.

Three kinds, as in the paper: `form` mutates the string of a word (its vectors are then computed anew), `semantic` puts
the vector of a word of another document in its place, `mixed` does both. Each hits a single word or, in diffuse
variants, several. Everything random comes from the generator that is passed in.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from difa.config import PerturbConfig
from difa.document import Document, Encoded, FloatArray
from difa.encoders import Encoder
from difa.words import from_tokens

Mutation = Callable[[str, np.random.Generator], str]

_KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_NEAR = {key: row[max(0, at - 1) : at] + row[at + 1 : at + 2] for row in _KEYBOARD for at, key in enumerate(row)}
_LEET = {"a": "4@", "b": "8", "e": "3", "g": "9", "i": "1!", "l": "1|", "o": "0", "s": "5$", "t": "7+", "z": "2"}


@dataclass(frozen=True, slots=True)
class Pseudo:
    """A pseudo-anomalous document: which normal one it came from, and which of its words were changed."""

    source: int
    kind: str
    document: Encoded
    labels: FloatArray  # (T,) of 0 and 1


def make_pseudo_anomalies(
    documents: Sequence[Encoded], encoder: Encoder, config: PerturbConfig, rng: np.random.Generator
) -> list[Pseudo]:
    """Up to `config.documents` pseudo anomalies, spread evenly over the normal documents and the kinds."""
    usable = [index for index, document in enumerate(documents) if len(document)]
    total = min(config.documents, 3 * len(usable))
    sources = np.concatenate([rng.permutation(usable) for _ in range(-(-total // max(1, len(usable))))])[:total]
    plans = []
    for number, source in enumerate(sources):
        kind = config.kinds[number % len(config.kinds)]
        positions = choose_positions(len(documents[source]), config, rng)
        words = list(documents[source].words)
        if kind != "semantic":
            for position in positions:
                words[position] = mutate_at(words, position, rng)
        plans.append((int(source), kind, positions, words))
    fresh = iter(encoder.encode([_document(words) for _, kind, _, words in plans if kind != "semantic"]))
    pseudos = []
    for source, kind, positions, _ in plans:
        base = documents[source] if kind == "semantic" else next(fresh)
        vectors = base.vectors.copy()
        if kind != "form":
            for position in positions:
                vectors[position] = _foreign_vector(documents, usable, source, rng)
        labels = np.zeros(len(base))
        labels[positions] = 1
        pseudos.append(Pseudo(source, kind, Encoded(base.words, vectors), labels))
    return pseudos


def choose_positions(length: int, config: PerturbConfig, rng: np.random.Generator) -> list[int]:
    """One word, or in diffuse variants several: at least two, at most the configured share."""
    count = 1
    if length > 2 and rng.random() < config.diffuse:
        count = int(rng.integers(2, max(2, int(config.max_share * length)) + 1))
    return sorted(rng.choice(length, size=min(count, length), replace=False).tolist())


def mutate_at(words: Sequence[str], position: int, rng: np.random.Generator) -> str:
    """Another string for one word: a mutation of it, or a repetition of the word before."""
    word = words[position]
    for _ in range(8 if word else 0):
        choice = int(rng.integers(len(MUTATIONS) + 1))
        mutated = words[position - 1] if choice == len(MUTATIONS) and position else MUTATIONS[choice % len(MUTATIONS)](word, rng)
        if mutated and mutated != word:
            return mutated
    return gibberish(word, rng)


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


def _letters(count: int, rng: np.random.Generator) -> str:
    return "".join(string.ascii_lowercase[i] for i in rng.integers(26, size=count))


def _document(words: Sequence[str]) -> Document:
    return from_tokens(words)


def _foreign_vector(documents: Sequence[Encoded], usable: Sequence[int], source: int, rng: np.random.Generator) -> FloatArray:
    donor = source
    while donor == source and len(usable) > 1:
        donor = usable[int(rng.integers(len(usable)))]
    vectors = documents[donor].vectors
    return np.asarray(vectors[int(rng.integers(len(vectors)))])
