"""Words of documents -> plain statistics of each: what the critic sees beside the vector.

Counts come from normal documents, the rest from knowledge of the language. A document that was counted itself is described
without its own counts, as if it were new: otherwise no normal word would ever look rare. Edges of a document count as neighbours.
What a word says of itself is computed once and remembered; the rest is arithmetic on all words of many documents at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import add

import numpy as np

from difa.document import Encoded, FloatArray, IntArray
from difa.knowledge import ENGLISH, version_of
from difa.knowledge.letters import Letters, fold
from difa.knowledge.spelling import (
    CLEAR_SLIP,
    EVERYDAY,
    FAR,
    FLOOR,
    UNLIKELY_SLIP,
    SlipIndex,
    is_abbreviation,
    is_doubtful,
    is_inflected,
    is_misspelling,
    is_written_apart,
    known_slips,
    run_together,
    slip_chance,
    two_words,
)
from difa.knowledge.trigrams import FEATURES, trigrams
from difa.knowledge.word_cache import Batch, PairCache, WordCache
from difa.knowledge.wordlist import WordList, common_words, everyday_languages, plain, plain_words, word_list
from difa.storage.atomic import kept
from difa.views.critic.counts import EDGE, CorpusCounts, OwnCounts, nats_beside, shape_of
from difa.views.language import CORPUS_SHARE
from difa.views.stored_words import readable

STATISTICS = (
    "rare here and in the language",
    "rare in the language",
    "often seen here",
    "length",
    "odd letters",
    "oddest letter",
    "a common word is one letter away",
    "two words run together",
    "odd capitals, digits or marks",
    "rare after the word before it",
    "rare before the word after it",
    "repeats the word before it",
    "part of a word torn apart",
    "first word",
    *FEATURES,
    "lower case",
    "a capital within a sentence",
    "all capitals",
    "has digits",
    "only marks",
    "letters with other characters",
    "pieces",
)
_NO_SLIP = 1e-5  # words as common as this are no slips of others
_NO_PAIR = 1e-6  # words as common as this are not two words in one
_SECOND_WORD = 9.0  # what a second word of ordinary frequency costs, in nats
_REAL_WORD = 2e-6  # words that common are never taken for slips of others by a suggestion
_FARTHER = 5.0  # nats by which a suggestion must be more common than a word that the language's list has
_MIN_LOG_SHARE = -16.0  # log share that a suggestion must have
_SHORT = 5  # letters below which a slip must be clear
_CLEARLY_MEANT = 1e-5  # share that a word must have for it
NEIGHBOURS = 2  # words on each side by which suggestions are compared
_MEMO = 1 << 14  # words whose suggestions are remembered
_REAL_JOIN = 1e-7  # rarer words are not what two neighbours are parts of
_ENDS = frozenset('.!?"')  # after these a capital says nothing
OF_STRING = ("general", "length", "letters", "oddest letter", "letters only", "plain letters only", "ends a sentence")
CASES = ("lower case", "capital", "capitals", "digits", "marks", "mixed")
_LONGEST = 25  # letters beyond which a word is just long
_LETTERS_OF = 20_000  # words of the language whose letters are learned
_RUN = 4  # letters of the longest run


def _read_strings(known: WordList, letters: Letters) -> WordCache:
    """What the string of a word says, whatever the corpus counts: the numbers of OF_STRING and CASES."""

    def describe(word: str) -> tuple[float, ...]:
        surprises = letters.surprises(fold(word)[: 2 * _LONGEST])
        lowered = plain(word)
        return (
            known.frequency(word),
            min(len(word), _LONGEST),
            sum(surprises) / len(surprises),
            max(surprises),
            word.isalpha(),
            lowered.isalpha(),
            word in _ENDS,
            *_cases(word),
        )

    return WordCache(lambda words: list(map(describe, words)), len(OF_STRING) + len(CASES))


def _cases(word: str) -> tuple[bool, ...]:
    """Which of CASES a word is."""
    letters, some = word.isalpha(), any(map(str.isalpha, word))
    digits = any(map(str.isdigit, word))
    capital = letters and word[0].isupper() and word[1:].islower()
    return (
        letters and word.islower(),
        capital,
        letters and len(word) > 1 and word.isupper(),
        digits,
        not some and not digits,
        some and not letters,
    )


@lru_cache(maxsize=2)
def spelling_of(language: str | None) -> WordCache:
    """What strings say in a language, shared by all that ask."""
    known = word_list(language)
    name = f"letters-{language}-{version_of('words')}-v2.msgpack"
    return _read_strings(known, kept(name, lambda: Letters.of(common_words(language, _LETTERS_OF), _RUN).pack(), Letters.restore))


class Statistics:
    """Counts of words, pairs and shapes in normal documents."""

    def __init__(self, counts: CorpusCounts, language: str | None) -> None:
        self.corpus, words = counts, counts.words
        self._total = sum(words.values())
        self._number = {word: number for number, word in enumerate([EDGE, *words])}
        self._unknown = len(self._number)  # the number of all other words
        self._counts = np.array([0, *words.values(), 0], dtype=np.int64)
        self._known = word_list(language)
        readable_words = readable(words)
        self._index = SlipIndex(word for word in readable_words if not self._known.exact(word))
        self._english = language == ENGLISH
        own = None if self._known else Letters.of(sorted(readable_words), _RUN)
        self._strings = _read_strings(self._known, own) if own else spelling_of(language)
        self._of_word = WordCache(lambda words: list(map(self._describe_word, words)), 2, dtype=np.int64)
        self._meant = WordCache(lambda words: list(map(self._describe_meant, words)), 2)
        self._suggestions = lru_cache(_MEMO)(self._find_suggestions)

    def describe(self, documents: Sequence[Encoded], counted: Sequence[Encoded] = ()) -> FloatArray:
        """The numbers of STATISTICS for each word of all documents: (all words, 25).

        Args:
            documents: the documents.
            counted: for each of them, if they are not new, the counted document that it is, or is a copy of with errors.
        """
        batch = Batch.of(documents)
        return self._describe(batch, counted) if counted else batch.once(self, lambda: self._describe(batch, ()))

    def _describe(self, batch: Batch, counted: Sequence[Encoded]) -> FloatArray:
        number, shape = self._of_word.of(batch).T
        strings = self._strings.of(batch)
        of_string = dict(zip(OF_STRING, strings.T, strict=False))
        own = OwnCounts.of(batch, counted)
        phrases = trigrams().describe(batch) if self._english else np.zeros((len(number), len(FEATURES)))
        counted_ones = self._counted(batch, number, shape, of_string, own)
        columns = [*counted_ones, *self._around(batch, number, of_string, own)]
        cases = strings[:, len(OF_STRING) :]
        cases[batch.is_first | np.roll(of_string["ends a sentence"] > 0, 1), CASES.index("capital")] = 0.0
        return np.concatenate([np.stack(columns, axis=1), phrases, cases, batch.pieces[:, None] - 1], axis=1)

    def slip_of(self, word: str) -> str | None:
        """The word one slip away that it may have been meant to be."""
        folded = plain(word)
        candidates = self._slips_of(folded)
        return max(sorted(candidates), key=self._share) if candidates else None

    def halves_of(self, word: str) -> tuple[str, str] | None:
        """The two words that it may be, run together."""
        return run_together(plain(word), self._share)

    def suggest(self, words: Sequence[str], position: int) -> str | None:
        """What a word may have been meant to be: a word one slip away, or two words, far more common and at home here."""
        word = words[position]
        is_within = position > 0 and words[position - 1] not in _ENDS
        likely = self._suggestions(word, word[:1].isupper() and is_within)
        if not likely:
            return None
        if len(likely) == 1:
            best = next(iter(likely))
        else:
            at_home = self._at_home(list(likely), words, position)
            best = max(zip(at_home, likely, strict=True), key=lambda found: found[0] + likely[found[1]])[1]
        return best.capitalize() if word[:1].isupper() else best

    def _find_suggestions(self, word: str, is_name: bool) -> dict[str, float]:
        """What a word may have been meant to be anywhere, with its log share, in alphabetical order."""
        folded = plain(word)
        here, general = max(self._share(folded), (1 - CORPUS_SHARE) * FLOOR), self._known.exact(folded)
        is_word = folded.replace("'", "").isalpha() and (word[1:].islower() or self._known.language is None)
        if general >= _REAL_WORD or here >= _NO_SLIP or not is_word or (general and is_name):
            return {}  # capitals within it make it an abbreviation or a name
        if self._known and is_abbreviation(folded):
            return {}
        pair = two_words(folded, self._known.language) if self._known else None
        slips = [] if pair else self._possible_slips(folded)
        if len(folded) < _SHORT or (general and word[:1].isupper()) or (self._known and everyday_languages(folded)):
            # Two letters of a common word exchanged, or one too often or not often enough.
            slips = [slip for slip in slips if slip_chance(folded, slip) >= CLEAR_SLIP and self._share(slip) >= _CLEARLY_MEANT]
        candidates = {slip: math.log(self._share(slip) * slip_chance(folded, slip)) for slip in slips}
        if halves := self._glued(folded, pair):
            candidates[" ".join(halves)] = sum(math.log(self._share(half)) for half in halves) + _SECOND_WORD
        doubtful = is_doubtful(folded, self._known.language)  # common misspellings are in the list, too
        margins = {
            text: FAR if not general or (doubtful and text in slips and is_misspelling(folded, text)) else _FARTHER
            for text in sorted(candidates)
        }
        return {
            text: candidates[text] for text in margins if candidates[text] > max(math.log(here) + margins[text], _MIN_LOG_SHARE)
        }

    def _possible_slips(self, folded: str) -> list[str]:
        """Words one slip away, without slips that hardly anybody makes and, for a known word, other forms of it."""
        is_known = self._known.exact(folded) > 0
        return [
            slip
            for slip in self._slips_of(folded)
            if slip_chance(folded, slip) > UNLIKELY_SLIP and not (is_known and is_inflected(folded, [slip]))
        ]

    def _glued(self, folded: str, pair: tuple[str, str] | None) -> tuple[str, str] | None:
        """Two words that were run together; terms are made of two words, but not of the commonest."""
        if not self._known:
            return run_together(folded, self._share)
        is_glued = pair and max(map(self._known.exact, pair)) >= EVERYDAY and is_written_apart(pair, self._known.language)
        return pair if is_glued else None

    def _slips_of(self, folded: str) -> set[str]:
        return {*known_slips(folded, self._known.language), *self._index.find(folded)}

    def _at_home(self, texts: Sequence[str], words: Sequence[str], position: int) -> list[float]:
        """How well each text fits between the neighbours of a position, by the trigrams."""
        if not self._english:
            return [0.0] * len(texts)
        before, after = words[max(0, position - NEIGHBOURS) : position], words[position + 1 : position + NEIGHBOURS + 1]
        changed = [[*before, *text.split(), *after] for text in texts]
        return [trigrams().support(words, len(before), len(words) - len(after)) for words in changed]

    def _share(self, folded: str) -> float:
        """How much of running text a word makes up, here and in the language; 0 if it is unknown to both."""
        here = self.corpus.words.get(self.corpus.mask.name(folded, self.corpus.words), 0) / max(self._total, 1)
        return CORPUS_SHARE * here + (1 - CORPUS_SHARE) * self._known.exact(folded)

    def _counted(
        self, batch: Batch, number: IntArray, shape: IntArray, of_string: Mapping[str, FloatArray], own: OwnCounts
    ) -> list[FloatArray]:
        """What counts say of each word, and what its letters say: nine numbers, (T,) each."""
        count = np.maximum(self._counts[number] - own.words, 0)
        total = np.maximum(max(self._total, 1) - own.total, 1)
        general = of_string["general"]
        rarity = -np.log(CORPUS_SHARE * count / total + (1 - CORPUS_SHARE) * np.maximum(general, FLOOR))
        slip, split = np.zeros((2, len(general)))
        new = np.flatnonzero((count == 0) & (general < _NO_SLIP))  # only a new word is asked what it may have been meant to be
        if len(new):
            meant = self._meant.of(batch, new)
            slip[new], split[new] = np.maximum(meant + rarity[new, None], 0.0).T
        return [
            rarity,
            -np.log(np.maximum(general, FLOOR)),
            np.log1p(count),
            of_string["length"],
            of_string["letters"],
            of_string["oddest letter"],
            slip,
            split,
            -np.log((np.maximum(shape - own.shapes, 0) + 0.5) / total),
        ]

    def _describe_word(self, word: str) -> tuple[int, int]:
        """The word's number in the vocabulary, and how often its shape was counted."""
        words, shapes, name_in = self.corpus.words, self.corpus.shapes, self.corpus.mask.name
        number = self._number.get(name_in(fold(word), words), self._unknown)
        return number, shapes.get(name_in(shape_of(word), shapes), 0)

    def _describe_meant(self, word: str) -> tuple[float, float]:
        """Log share of the commonest word one slip away, and of the two words that it may be, with what a second word costs."""
        slip = self.slip_of(word)
        halves = self.halves_of(word) if self._known.frequency(word) < _NO_PAIR else None
        return (
            math.log(self._share(slip)) if slip else -math.inf,
            sum(math.log(max(self._share(half), FLOOR)) for half in halves) + _SECOND_WORD if halves else -math.inf,
        )

    def _around(self, batch: Batch, number: IntArray, of_string: Mapping[str, FloatArray], own: OwnCounts) -> list[FloatArray]:
        """What neighbours say of each word: five numbers, (T,) each."""
        edge, pairs, words = self._number[EDGE], self.corpus, batch.words
        left = np.where(batch.is_first, edge, np.roll(number, 1))
        right = np.where(batch.is_last, edge, np.roll(number, -1))
        chance = np.maximum(self._counts[number] - own.words, 0) + 0.5
        chance = chance / (np.maximum(self._total - own.total, 0) + 0.5 * (len(self.corpus.words) + 1))
        inside = ~batch.is_apart[1:]  # between neighbours of one document: (T − 1,)
        repeats = inside & (of_string["letters only"][1:] > 0)
        repeats &= number[1:] == number[:-1]  # so do the numbers of a word and of its repetition
        for at in np.flatnonzero(repeats & (batch.numbers[1:] != batch.numbers[:-1])).tolist():
            repeats[at] = plain(words[at]) == plain(words[at + 1])
        letters, gains = of_string["plain letters only"] > 0, np.zeros(len(inside))
        places = np.flatnonzero(inside & letters[1:] & letters[:-1])
        gains[places] = _join_gains(self._known.language).of(batch, places)
        joins = np.pad(gains, 1)
        beside_left = pairs.together(left, number)
        beside_right = np.append(beside_left[1:], 0)[: len(number)]  # the same pairs, but for the last words
        beside_right[batch.is_last] = pairs.together(number[batch.is_last], right[batch.is_last])
        return [
            nats_beside(chance, beside_left, pairs.totals[left, :2], own.left_pairs, own.left_words),
            nats_beside(chance, beside_right, pairs.totals[right, 2:], own.right_pairs, own.right_words),
            np.pad(repeats, (1, 0)).astype(float)[: len(number)],
            np.maximum(joins[1:], joins[:-1])[: len(number)],
            batch.is_first.astype(float),
        ]


@lru_cache(maxsize=2)
def _join_gains(language: str | None) -> PairCache:
    """By how much two words made of letters are likelier as one word."""
    known = word_list(language)

    def compute(left: Sequence[str], right: Sequence[str]) -> FloatArray:
        parts = plain_words(left), plain_words(right)
        joined = known.exact_of(list(map(add, *parts)))
        rarest = np.minimum(*(np.maximum(known.exact_of(part), FLOOR) for part in parts))
        return np.where(joined > _REAL_JOIN, np.maximum(np.log(np.maximum(joined, FLOOR) / rarest), 0.0), 0.0)

    return PairCache(compute)
