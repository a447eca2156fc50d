"""The errors of real text, made in normal documents from words alone, in any language.

Each takes the words of a document, how many to change, the material and a generator, and gives the changed words with a label
each; all labels are zero where the error cannot be made. What stands for function words are the corpus' most frequent words,
for inflected forms its words that begin alike, and for words of other topics those that the encoder's tokenizer knows
and the corpus does not.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from difa.perturb.strings import Mutation, leet, mash, misread, typo

_COMMON = 40  # most frequent words that are taken for function words
_STEM = 4  # letters that two forms of a word share at least
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

    @classmethod
    def of(cls, documents: Sequence[Sequence[str]], vocabulary: Sequence[str]) -> Material:
        """Collect it from a corpus and an encoder's vocabulary."""
        counts = Counter(word.lower() for words in documents for word in words if word.isalpha())
        common = [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_COMMON]]
        by_stem = defaultdict(list)
        for word in sorted(counts):
            by_stem[word[:_STEM]].append(word)
        forms = {}
        for word in counts:
            alike = [other for other in by_stem[word[:_STEM]] if other != word and _same_stem(word, other)]
            if len(word) >= _STEM and alike:
                forms[word] = alike
        known = set(counts)
        strangers = [word for word in vocabulary if 4 <= len(word) <= 12 and word.lower() not in known]
        return cls(documents, common, forms, strangers or common)


Error = Callable[[list[str], int, Material, np.random.Generator], Changed]


def _same_stem(word: str, other: str) -> bool:
    shared = next((at for at, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), min(len(word), len(other)))
    return shared >= _STEM and max(len(word), len(other)) - shared <= _ENDING


def _replace(words: list[str], count: int, rng: np.random.Generator, change: Callable[[str], str]) -> Changed:
    """Change up to `count` words to which the change applies, chosen at random."""
    labels = [0] * len(words)
    for position in rng.permutation(len(words)).tolist():
        changed = change(words[position]) if words[position][:1].isalnum() else words[position]
        if changed and changed != words[position]:
            words[position], labels[position] = changed, 1
        if sum(labels) == count:
            break
    return Changed(words, labels)


def _spelling(mutate: Mutation) -> Error:
    return lambda words, count, material, rng: _replace(words, count, rng, lambda word: mutate(word, rng))


def double(words: list[str], count: int, material: Material, rng: np.random.Generator) -> Changed:
    """Write words twice; the second is wrong."""
    labels = [0] * len(words)
    for position in _places(len(words), count, rng):
        words.insert(position + 1, words[position])
        labels.insert(position + 1, 1)
    return Changed(words, labels)


def leave_out(words: list[str], count: int, material: Material, rng: np.random.Generator) -> Changed:
    """Leave words out; the one that now stands in their place is wrong."""
    labels = [0] * len(words)
    for position in _places(len(words) - 1 if len(words) > 3 else 0, count, rng):
        del words[position], labels[position]
        labels[position] = 1
    return Changed(words, labels)


def wrong_function_word(words: list[str], count: int, material: Material, rng: np.random.Generator) -> Changed:
    """Put another of the most frequent words in the place of one, or in between."""
    if rng.random() < 0.5:
        known = set(material.common)
        return _replace(words, count, rng, lambda word: _pick(material.common, rng, word) if word.lower() in known else word)
    labels = [0] * len(words)
    for position in _places(len(words), count, rng):
        words.insert(position, _pick(material.common, rng, words[position]))
        labels.insert(position, 1)
    return Changed(words, labels)


def wrong_form(words: list[str], count: int, material: Material, rng: np.random.Generator) -> Changed:
    """Put another form of a word in its place: one of the corpus, or one with an ending more or less."""
    return _replace(words, count, rng, lambda word: _inflect(word, material, rng))


def other_topic(words: list[str], count: int, material: Material, rng: np.random.Generator) -> Changed:
    """Put words that the corpus does not know in the place of some, or a run of them in between."""
    if rng.random() < 0.5:
        return _replace(words, count, rng, lambda word: _pick(material.strangers, rng, word))
    return _put_in(words, [_pick(material.strangers, rng, "") for _ in range(int(rng.integers(3, 9)))], rng)


def splice(words: list[str], count: int, material: Material, rng: np.random.Generator) -> Changed:
    """Put a phrase of another document in."""
    donor = material.documents[int(rng.integers(len(material.documents)))]
    size = min(len(donor), int(rng.integers(3, 9)))
    start = int(rng.integers(len(donor) - size + 1))
    return _put_in(words, list(donor[start : start + size]), rng)


ERRORS: dict[str, Error] = {
    "typo": _spelling(typo),
    "ocr": _spelling(misread),
    "gibberish": _spelling(mash),
    "leet": _spelling(leet),
    "double": double,
    "drop": leave_out,
    "function": wrong_function_word,
    "inflection": wrong_form,
    "topic": other_topic,
    "splice": splice,
}


def _places(length: int, count: int, rng: np.random.Generator) -> list[int]:
    """Different positions, the last one first: what is put in or left out there does not move the others."""
    return sorted(rng.permutation(length)[:count].tolist(), reverse=True)


def _put_in(words: list[str], foreign: list[str], rng: np.random.Generator) -> Changed:
    at = int(rng.integers(len(words) + 1))
    labels = [0] * at + [1] * len(foreign) + [0] * (len(words) - at)
    return Changed(words[:at] + foreign + words[at:], labels)


def _pick(words: Sequence[str], rng: np.random.Generator, like: str) -> str:
    """One of the words, with a capital where `like` has one."""
    word = words[int(rng.integers(len(words)))] if words else like
    return word.capitalize() if like[:1].isupper() else word


def _inflect(word: str, material: Material, rng: np.random.Generator) -> str:
    if len(word) < _STEM or not word.isalpha():
        return word
    if forms := material.forms.get(word.lower()):
        return _pick(forms, rng, word)
    return word[:-1] if word.endswith("s") else word + "s"
