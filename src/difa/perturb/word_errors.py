"""The errors of real text, made in normal documents from words alone.

Each takes the words of a document, how many to change, the material and a generator, and gives the changed words with a label
each; all labels are zero where the error cannot be made. In any language, the corpus' most frequent words stand for function
words, its words that begin alike for inflected forms, and words that the encoder's tokenizer (or else the language) knows and
the corpus does not for words of other topics. Some errors take knowledge of the language: real words in the wrong place, and
words of another tone or tongue.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from difa.errors import MissingExtraError
from difa.knowledge import ENGLISH
from difa.knowledge.spelling import slips
from difa.knowledge.tone import valences
from difa.knowledge.wordlist import common_words, word_list
from difa.perturb.string_errors import MARKS, Mutation, leet, mash, miscase, misdigit, misread, mojibake, pepper, typo

_COMMON = 40  # most frequent words that are taken for function words
STEM = 4  # letters that two forms of a word share at least
_ENDING = 3  # letters in which they differ at most
_REAL = 3e-7  # frequency from which a string counts as a real word
_STRANGERS = 30_000  # words of the language that strangers are drawn from
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


def _spelling(mutate: Mutation) -> Error:
    return lambda words, count, material, rng: replace_words(words, count, rng, lambda word: mutate(word, rng))


def double(words: list[str], count: int, material: Material, rng: np.random.Generator) -> Changed:
    """Write words twice; the second is wrong."""
    labels = [0] * len(words)
    for position in draw_positions(len(words), count, rng):
        words.insert(position + 1, words[position])
        labels.insert(position + 1, 1)
    return Changed(words, labels)


def leave_out(words: list[str], count: int, material: Material, rng: np.random.Generator) -> Changed:
    """Leave words out; the one that now stands in their place is wrong."""
    labels = [0] * len(words)
    for position in draw_positions(len(words) - 1 if len(words) > 3 else 0, count, rng):
        del words[position], labels[position]
        labels[position] = 1
    return Changed(words, labels)


def wrong_function_word(words: list[str], count: int, material: Material, rng: np.random.Generator) -> Changed:
    """Put another of the most frequent words in the place of one, or in between."""
    if rng.random() < 0.5:
        known = set(material.common)
        return replace_words(words, count, rng, lambda word: pick(material.common, rng, word) if word.lower() in known else word)
    labels = [0] * len(words)
    for position in draw_positions(len(words), count, rng):
        words.insert(position, pick(material.common, rng, words[position]))
        labels.insert(position, 1)
    return Changed(words, labels)


def wrong_form(words: list[str], count: int, material: Material, rng: np.random.Generator) -> Changed:
    """Put another form of a word in its place: one of the corpus, or one with an ending more or less."""
    return replace_words(words, count, rng, lambda word: _inflect(word, material, rng))


def other_topic(words: list[str], count: int, material: Material, rng: np.random.Generator) -> Changed:
    """Put words that the corpus does not know in the place of some, or a run of them in between."""
    if rng.random() < 0.5:
        return replace_words(words, count, rng, lambda word: pick(material.strangers, rng, word))
    return put_in(words, [pick(material.strangers, rng, "") for _ in range(int(rng.integers(3, 9)))], rng)


def splice(words: list[str], count: int, material: Material, rng: np.random.Generator) -> Changed:
    """Put a phrase of another document in."""
    donor = material.documents[int(rng.integers(len(material.documents)))]
    size = min(len(donor), int(rng.integers(3, 9)))
    start = int(rng.integers(len(donor) - size + 1))
    return put_in(words, list(donor[start : start + size]), rng)


def stray_mark(words: list[str], count: int, material: Material, rng: np.random.Generator) -> Changed:
    """Put punctuation where it does not belong: as a word of its own, or within words."""
    if rng.random() < 0.5:
        return put_in(words, [MARKS[int(rng.integers(len(MARKS)))]], rng)
    return replace_words(words, count, rng, lambda word: pepper(word, rng))


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
        if len(lowered) < STEM or not lowered.isalpha():
            return word
        return pick([other for other in by_stem.get(lowered[:STEM], ()) if _forms_of_one(lowered, other)], rng, word)

    return replace_words(words, count, rng, change)


def stranger(words: list[str], count: int, material: Material, rng: np.random.Generator) -> Changed:
    """Put any word of the language in the place of a longer one."""
    common = word_list(material.language).common(_STRANGERS)

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
    "mojibake": _spelling(mojibake),
    "case": _spelling(miscase),
    "digit": _spelling(misdigit),
    "mark": stray_mark,
}


def _inflect(word: str, material: Material, rng: np.random.Generator) -> str:
    if len(word) < STEM or not word.isalpha():
        return word
    if forms := material.forms.get(word.lower()):
        return pick(forms, rng, word)
    return word[:-1] if word.endswith("s") else word + "s"


def _forms_of_one(word: str, other: str) -> bool:
    shared = shared_start(word, other)
    return other != word and shared >= max(3, min(len(word), len(other)) - 2) and abs(len(word) - len(other)) <= 3


@lru_cache(maxsize=4)
def _by_stem(language: str | None) -> dict[str, list[str]]:
    stems = defaultdict(list)
    for word in word_list(language).common(_STRANGERS):
        stems[word[:STEM]].append(word)
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
