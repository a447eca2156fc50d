"""The errors of real text, made in normal documents from words alone.

Each changes a `Draft` or a word of one; labels stay zero where the error cannot be made. In any language, the corpus' most
frequent words stand for function words, its words that begin alike for inflected forms, and words that the encoder's tokenizer
(or else the language) knows and the corpus does not for words of other topics. Some errors take knowledge of the language: real
words in the wrong place, and words of another tone or tongue. To add a kind, write a function, add a line to a table at the end,
and its name to `ERROR_KINDS` in `difa.config`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from difa.knowledge import ENGLISH, LISTS
from difa.knowledge.spelling import slips
from difa.knowledge.tone import valences
from difa.knowledge.wordlist import common_words, word_list
from difa.perturb.string_errors import MARKS, Mutation, leet, mash, miscase, misdigit, misread, mojibake, one_of, pepper, typo

_FUNCTION_WORDS = 40  # most frequent words that are taken for function words
_STEM = 4  # letters that two forms of a word share at least
_ENDING = 3  # letters in which they differ at most
_REAL_WORD = 3e-7  # frequency from which a string counts as one
_STRANGERS = 30_000  # words of the language that strangers are drawn from
_TONGUES = ("de", "fr", "es", "it", "nl", "pt", "en")
_HARSH = 1.2  # valence from which a word counts as an insult or a complaint

_GROUP = {word: group.split() for group in LISTS["confused"] for word in group.split()}


@dataclass(frozen=True)
class Material:
    """What errors are made of."""

    documents: Sequence[Sequence[str]]
    common: Sequence[str]
    """The most frequent words, most frequent first."""
    by_stem: Mapping[str, Sequence[str]]
    strangers: Sequence[str]
    language: str | None

    @classmethod
    def of(cls, documents: Sequence[Sequence[str]], vocabulary: Sequence[str], language: str | None = None) -> Material:
        """Collect it from a corpus and a vocabulary of words in general."""
        counts = Counter(word.lower() for words in documents for word in words if word.isalpha())
        common = sorted(counts, key=lambda word: (-counts[word], word))[:_FUNCTION_WORDS]
        strangers = [word for word in vocabulary if 4 <= len(word) <= 12 and word.lower() not in counts]
        return cls(documents, common, _group_by_stem(sorted(counts)), strangers or common, language)

    def forms_of(self, word: str) -> list[str]:
        """Other forms of a word in the corpus."""
        return [other for other in self.by_stem.get(word[:_STEM], ()) if _same_stem(word, other)]

    def is_topical(self, word: str) -> bool:
        """Whether it is a longer word, and none of the most frequent."""
        return len(word) > 3 and word.isalpha() and word.lower() not in self.common


@dataclass
class Draft:
    """A document in which an error is made: its words with a label each, 1 for wrong ones, and how many are to be changed."""

    words: list[str]
    count: int
    material: Material
    rng: np.random.Generator
    labels: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.labels = [0] * len(self.words)

    def put(self, start: int, end: int, wrong: Sequence[str]) -> None:
        """Put wrong words in the place of those from `start` to before `end`."""
        self.words[start:end], self.labels[start:end] = wrong, [1] * len(wrong)

    def put_in(self, wrong: Sequence[str]) -> None:
        """Put wrong words in at a random position."""
        at = int(self.rng.integers(len(self.words) + 1))
        self.put(at, at, wrong)

    def change(self, change: Callable[[str], str]) -> None:
        """Change up to `count` words to which the change applies, chosen at random."""
        for at in self.rng.permutation(len(self.words)).tolist():
            changed = change(self.words[at]) if self.words[at][:1].isalnum() else ""
            if changed and changed != self.words[at]:
                self.put(at, at + 1, [changed])
            if sum(self.labels) == self.count:
                break

    def pick(self, words: Sequence[str], like_word: str = "", power: float | None = None) -> str:
        """One of the words, with a capital where `like_word` has one; `like_word` itself where there are none.

        With a power above 1 those at the front are more likely.
        """
        if not words:
            return like_word
        at = int(self.rng.integers(len(words)) if power is None else len(words) * self.rng.random() ** power)
        return words[at].capitalize() if like_word[:1].isupper() else words[at]

    def positions(self, room: int) -> list[int]:
        """Different positions, the last one first: what is put in or left out there does not move the others."""
        return sorted(self.rng.permutation(max(room, 0))[: self.count].tolist(), reverse=True)

    def pairs(self) -> list[int]:
        """Positions of words of letters that have another one behind them, the last one first."""
        return [at for at in self.positions(len(self.words) - 1) if "".join(self.words[at : at + 2]).isalpha()]


def double(draft: Draft) -> None:
    """Write words twice; the second is wrong."""
    for at in draft.positions(len(draft.words)):
        draft.put(at + 1, at + 1, [draft.words[at]])


def leave_out(draft: Draft) -> None:
    """Leave words out; the one that now stands in their place is wrong."""
    for at in draft.positions(len(draft.words) - 1 if len(draft.words) > 3 else 0):
        draft.put(at, at + 2, [draft.words[at + 1]])


def function_word(draft: Draft) -> None:
    """Put another of the most frequent words in the place of one, or in between."""
    common = draft.material.common
    if draft.rng.random() < 0.5:
        draft.change(lambda word: draft.pick(common, word) if word.lower() in common else word)
    else:
        for at in draft.positions(len(draft.words)):
            draft.put(at, at, [draft.pick(common, draft.words[at])])


def other_topic(draft: Draft) -> None:
    """Put words that the corpus does not know in the place of some, or a run of them in between."""
    if draft.rng.random() < 0.5:
        draft.change(lambda word: draft.pick(draft.material.strangers, word))
    else:
        draft.put_in([draft.pick(draft.material.strangers) for _ in range(draft.rng.integers(3, 9))])


def splice(draft: Draft) -> None:
    """Put a phrase of another document in."""
    donor = one_of(draft.material.documents, draft.rng)
    size = min(len(donor), int(draft.rng.integers(3, 9)))
    start = int(draft.rng.integers(len(donor) - size + 1))
    draft.put_in(donor[start : start + size])


def stray_mark(draft: Draft) -> None:
    """Put punctuation where it does not belong: as a word of its own, or within words."""
    if draft.rng.random() < 0.5:
        draft.put_in([one_of(MARKS, draft.rng)])
    else:
        draft.change(lambda word: pepper(word, draft.rng))


def confused(draft: Draft) -> None:
    """Put another preposition, article, auxiliary or pronoun in the place of one."""
    if draft.material.language == ENGLISH:
        draft.change(lambda word: draft.pick(_GROUP.get(word.lower(), ()), word))


def insult(draft: Draft) -> None:
    """Put insults and complaints in the place of words, or one or two in between."""
    if draft.material.language != ENGLISH:
        return
    if draft.rng.random() < 0.5:
        draft.change(lambda word: draft.pick(_harsh(), word) if len(word) > 3 else word)
    else:
        draft.put_in([draft.pick(_harsh()) for _ in range(draft.rng.integers(1, 3))])


def other_tongue(draft: Draft) -> None:
    """Put a run of words of another language in."""
    own = draft.material.language
    foreign = _foreign(one_of([tongue for tongue in _TONGUES if tongue != own], draft.rng), own)
    draft.put_in([draft.pick(foreign, power=2) for _ in range(draft.rng.integers(2, 7))])


def swapped(draft: Draft) -> None:
    """Exchange neighbouring words."""
    for at in draft.pairs():
        one, other = draft.words[at : at + 2]
        if one.lower() != other.lower() and not draft.labels[at + 1]:
            draft.put(at, at + 2, [other, one])


def glued(draft: Draft) -> None:
    """Write neighbouring words as one."""
    for at in draft.pairs():
        draft.put(at, at + 2, ["".join(draft.words[at : at + 2])])


def torn(draft: Draft) -> None:
    """Write one word as two."""
    for at in draft.positions(len(draft.words)):
        word = draft.words[at]
        if word.isalpha() and len(word) > 3:
            cut = int(draft.rng.integers(1, len(word)))
            draft.put(at, at + 1, [word[:cut], word[cut:]])


def inflect(word: str, draft: Draft) -> str:
    """Another form of the word: one of the corpus, or one with an ending more or less."""
    if len(word) < _STEM or not word.isalpha():
        return word
    if forms := draft.material.forms_of(word.lower()):
        return draft.pick(forms, word)
    return word[:-1] if word.endswith("s") else word + "s"


def lookalike(word: str, draft: Draft) -> str:
    """A real word that is one slip away."""
    lowered, known = word.lower(), word_list(draft.material.language).exact
    if not 3 <= len(lowered) <= 12 or not lowered.isalpha():
        return word
    return draft.pick([other for other in slips(lowered) if other != lowered and known(other) > _REAL_WORD], word)


def other_ending(word: str, draft: Draft) -> str:
    """Another form of the word, as the language has it."""
    lowered = word.lower()
    if len(lowered) < _STEM or not lowered.isalpha():
        return word
    alike = _words_by_stem(draft.material.language).get(lowered[:_STEM], ())
    return draft.pick([other for other in alike if _forms_of_one(lowered, other)], word)


def stranger(word: str, draft: Draft) -> str:
    """Any word of the language, frequent ones more often, for a longer word."""
    common = common_words(draft.material.language, _STRANGERS)
    return draft.pick(common, word, power=1.5) if draft.material.is_topical(word) else word


def misplaced(word: str, draft: Draft) -> str:
    """A longer word of another document, for a longer word."""
    is_topical = draft.material.is_topical
    if not is_topical(word):
        return word
    donor = one_of(draft.material.documents, draft.rng)
    return draft.pick([other.lower() for other in donor if is_topical(other) and other.lower() != word.lower()], word)


SPELLINGS: dict[str, Mutation] = {
    "typo": typo, "ocr": misread, "gibberish": mash, "leet": leet, "mojibake": mojibake, "case": miscase, "digit": misdigit
}  # fmt: skip
CHANGES: dict[str, Callable[[str, Draft], str]] = {
    "inflection": inflect, "lookalike": lookalike, "ending": other_ending, "stranger": stranger, "misplaced": misplaced
}  # fmt: skip
REARRANGED: dict[str, Callable[[Draft], None]] = {
    "double": double, "drop": leave_out, "function": function_word, "topic": other_topic, "splice": splice, "mark": stray_mark,
    "confused": confused, "insult": insult, "tongue": other_tongue, "swapped": swapped, "glued": glued, "torn": torn,
}  # fmt: skip


def make_error(kind: str, draft: Draft) -> None:
    """Make an error in a document."""
    if kind in SPELLINGS:
        draft.change(lambda word: SPELLINGS[kind](word, draft.rng))
    elif kind in CHANGES:
        draft.change(lambda word: CHANGES[kind](word, draft))
    else:
        REARRANGED[kind](draft)


def _group_by_stem(words: Iterable[str]) -> dict[str, list[str]]:
    stems = defaultdict(list)
    for word in words:
        stems[word[:_STEM]].append(word)
    return stems


@lru_cache(maxsize=4)
def _words_by_stem(language: str | None) -> Mapping[str, Sequence[str]]:
    return _group_by_stem(common_words(language, _STRANGERS))


def _same_stem(word: str, other: str) -> bool:
    shared = max(_STEM, len(word) - _ENDING, len(other) - _ENDING)
    return other != word and other[:shared] == word[:shared]


def _forms_of_one(word: str, other: str) -> bool:
    shared = max(3, min(len(word), len(other)) - 2)
    return other != word and other[:shared] == word[:shared] and abs(len(word) - len(other)) <= 3


@lru_cache(maxsize=1)
def _harsh() -> Sequence[str]:
    known = word_list(ENGLISH).frequency
    return tuple(word for word, valence in valences().items() if valence <= -_HARSH and known(word) > 1e-7)


@lru_cache(maxsize=16)
def _foreign(tongue: str, language: str | None) -> Sequence[str]:
    own = word_list(language)
    common = common_words(tongue, 3000)
    return tuple(word for word in common if own.frequency(word) < 2e-6) or common
