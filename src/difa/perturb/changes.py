"""What all errors are made with: the material of a corpus, and ways to change the words of a document."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

_COMMON = 40  # most frequent words that are taken for function words
STEM = 4  # letters that two forms of a word share at least
_ENDING = 3  # letters in which they differ at most


@dataclass(frozen=True)
class Changed:
    """The words of a document after an error was made in it, with their labels."""

    words: list[str]
    labels: list[int]


@dataclass(frozen=True)
class Material:
    """What errors are made of."""

    documents: Sequence[Sequence[str]]
    common: Sequence[str]
    forms: Mapping[str, Sequence[str]]
    strangers: Sequence[str]
    language: str | None
    frequent: frozenset[str]
    """The common words once more, for looking them up."""

    @classmethod
    def of(cls, documents: Sequence[Sequence[str]], vocabulary: Sequence[str], language: str | None = None) -> Material:
        """Collect it from a corpus and a vocabulary of words in general."""
        counts = Counter(word.lower() for words in documents for word in words if word.isalpha())
        common = [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_COMMON]]
        by_stem = defaultdict(list)
        for word in sorted(counts):
            by_stem[word[:STEM]].append(word)
        forms = {}
        for word in counts:
            alike = [other for other in by_stem[word[:STEM]] if other != word and _same_stem(word, other)]
            if len(word) >= STEM and alike:
                forms[word] = alike
        known = set(counts)
        strangers = [word for word in vocabulary if 4 <= len(word) <= 12 and word.lower() not in known]
        return cls(documents, common, forms, strangers or common, language, frozenset(common))


Error = Callable[[list[str], int, Material, np.random.Generator], Changed]


def replace_words(words: list[str], count: int, rng: np.random.Generator, change: Callable[[str], str]) -> Changed:
    """Change up to `count` words to which the change applies, chosen at random."""
    labels = [0] * len(words)
    for position in rng.permutation(len(words)).tolist():
        changed = change(words[position]) if words[position][:1].isalnum() else words[position]
        if changed and changed != words[position]:
            words[position], labels[position] = changed, 1
        if sum(labels) == count:
            break
    return Changed(words, labels)


def put_in(words: list[str], foreign: list[str], rng: np.random.Generator) -> Changed:
    """Put words in at a random position; they are all wrong."""
    at = int(rng.integers(len(words) + 1))
    labels = [0] * at + [1] * len(foreign) + [0] * (len(words) - at)
    return Changed(words[:at] + foreign + words[at:], labels)


def draw_positions(length: int, count: int, rng: np.random.Generator) -> list[int]:
    """Different positions, the last one first: what is put in or left out there does not move the others."""
    return sorted(rng.permutation(max(length, 0))[:count].tolist(), reverse=True)


def pick(words: Sequence[str], rng: np.random.Generator, like_word: str) -> str:
    """One of the words, with a capital where `like_word` has one; `like_word` itself where there are none."""
    return like(words[int(rng.integers(len(words)))], like_word) if words else like_word


def like(word: str, other: str) -> str:
    """The word with a capital where the other has one."""
    return word.capitalize() if other[:1].isupper() else word


def shared_start(word: str, other: str) -> int:
    """How many letters two words have in common from the first on."""
    return next((at for at, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), min(len(word), len(other)))


def _same_stem(word: str, other: str) -> bool:
    shared = shared_start(word, other)
    return shared >= STEM and max(len(word), len(other)) - shared <= _ENDING
