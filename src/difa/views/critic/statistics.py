"""Words of a document -> plain statistics of each: what the critic sees beside the vector.

Counts come from normal documents, the rest from knowledge of the language. A document that was counted itself is described
without its own counts, as if it were new: otherwise no normal word would ever look rare. Edges of a document count as neighbours.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import groupby, pairwise

import numpy as np

from difa.document import Encoded, FloatArray, IntArray
from difa.knowledge import ENGLISH
from difa.knowledge.letters import Letters, fold
from difa.knowledge.spelling import FLOOR, SlipIndex, join_gain, known_slips, run_together
from difa.knowledge.trigrams import FEATURES, trigrams
from difa.knowledge.wordlist import plain, word_list
from difa.views.language import CORPUS_SHARE
from difa.views.strings import pack, unpack

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
    "pieces",
)
_EDGE = "\x00"
_LONGEST = 25  # letters beyond which a word is just long
_NO_SLIP = 1e-5  # words as common as this are no slips of others
_NO_PAIR = 1e-6  # words as common as this are not two words in one
_SECOND_WORD = 9.0  # what a second word of ordinary frequency costs, in nats
_REAL_WORD = 2e-6  # words that common are never taken for slips of others by a suggestion
_FAR = 3.0  # nats by which a suggestion must be more common than an unknown word
_FARTHER = 5.0  # and than a known one: common misspellings are in the lists too
_LEAST = -16.0  # log share that a suggestion must have
_LETTERS_OF = 20_000  # words of the language whose letters are learned
_MEMO = 1 << 16


class Own:
    """Counts of one document, to be taken off those of the corpus it is part of."""

    def __init__(self, document: Encoded) -> None:
        folded = [fold(word) for word in document.words]
        self.words = Counter(folded)
        self.pairs = Counter(pairwise([_EDGE, *folded, _EDGE]))
        self.shapes = Counter(map(shape_of, document.words))
        self.total = len(folded)


class Statistics:
    """Counts of words, pairs and shapes in normal documents."""

    def __init__(
        self,
        words: Mapping[str, int],
        pairs: Mapping[tuple[str, str], int],
        shapes: Mapping[str, int],
        language: str | None,
    ) -> None:
        self._words, self._pairs, self._shapes = words, pairs, shapes
        self._total = sum(words.values())
        self._after: Counter[str] = Counter()  # how often a word has a right neighbour, and how many different ones
        self._after_kinds: Counter[str] = Counter()
        self._before: Counter[str] = Counter()
        self._before_kinds: Counter[str] = Counter()
        for (left, right), count in pairs.items():
            self._after[left] += count
            self._after_kinds[left] += 1
            self._before[right] += count
            self._before_kinds[right] += 1
        self._known = word_list(language)
        self._index = SlipIndex(word for word in words if not self._known.exact(word))
        self._english = language == ENGLISH
        self._letters = _letters(language) if self._known else Letters(sorted(words), 4)
        self._spelled: dict[str, tuple[float, ...]] = {}

    @classmethod
    def count(cls, documents: Sequence[Encoded], vocabulary: int, most_pairs: int, language: str | None) -> Statistics:
        """Count normal documents; of very many words or pairs the most frequent are kept."""
        words: Counter[str] = Counter()
        pairs: Counter[tuple[str, str]] = Counter()
        shapes: Counter[str] = Counter()
        for document in documents:
            own = Own(document)
            words.update(own.words)
            pairs.update(own.pairs)
            shapes.update(own.shapes)
        return cls(_most(words, vocabulary), _most(pairs, most_pairs), dict(sorted(shapes.items())), language)

    def describe(self, document: Encoded, own: Own | None = None) -> FloatArray:
        """The numbers of STATISTICS for each word: (T, 19)."""
        rows = [self._of_word(word, own) for word in document.words]
        words = np.array(rows, dtype=float).reshape(len(document), 9)
        around = np.array(self._around(document, own), dtype=float).reshape(len(document), 5)
        if self._english and len(document):
            phrases = trigrams().describe(document.words)
        else:
            phrases = np.zeros((len(document), len(FEATURES)))
        return np.concatenate([words, around, phrases, (document.pieces - 1)[:, None]], axis=1)

    def tensors(self) -> dict[str, FloatArray | IntArray]:
        """The counts as arrays."""
        number = {word: at for at, word in enumerate([_EDGE, *self._words])}
        pairs = [(number.get(a, -1), number.get(b, -1), count) for (a, b), count in self._pairs.items()]
        kept = [pair for pair in pairs if min(pair[:2]) >= 0]
        return {
            **{f"words.{name}": value for name, value in pack(list(self._words)).items()},
            "words.counts": np.array(list(self._words.values()), dtype=np.int64),
            "pairs": np.array(kept, dtype=np.int64).reshape(-1, 3),
            **{f"shapes.{name}": value for name, value in pack(list(self._shapes)).items()},
            "shapes.counts": np.array(list(self._shapes.values()), dtype=np.int64),
        }

    @classmethod
    def restore(cls, tensors: Mapping[str, FloatArray], language: str | None) -> Statistics:
        words = unpack(tensors["words.bytes"], tensors["words.lengths"])
        names = [_EDGE, *words]
        shapes = unpack(tensors["shapes.bytes"], tensors["shapes.lengths"])
        return cls(
            dict(zip(words, tensors["words.counts"].astype(int).tolist(), strict=True)),
            {(names[a], names[b]): count for a, b, count in tensors["pairs"].astype(int).tolist()},
            dict(zip(shapes, tensors["shapes.counts"].astype(int).tolist(), strict=True)),
            language,
        )

    def slip_of(self, word: str) -> str | None:
        """The word one slip away that it may have been meant to be."""
        folded = plain(word)
        candidates = self._slips_of(folded)
        return max(sorted(candidates), key=self._share) if candidates else None

    def halves_of(self, word: str) -> tuple[str, str] | None:
        """The two words that it may be, run together."""
        return run_together(plain(word), self._share)

    def suggest(self, words: Sequence[str], place: int) -> str | None:
        """What a word may have been meant to be: a word one slip away, or two words, far more common and at home here."""
        word = words[place]
        folded = plain(word)
        own, general = max(self._share(folded), (1 - CORPUS_SHARE) * FLOOR), self._known.exact(folded)
        if general >= _REAL_WORD or own >= _NO_SLIP or not any(map(str.isalpha, folded)):
            return None
        candidates = {slip: math.log(self._share(slip)) for slip in self._slips_of(folded)}
        if not general and (halves := run_together(folded, self._share)):
            candidates[" ".join(halves)] = sum(math.log(self._share(half)) for half in halves) + _SECOND_WORD
        least = max(math.log(own) + (_FARTHER if general else _FAR), _LEAST)
        likely = {text: log for text, log in candidates.items() if log > least}
        if not likely:
            return None
        best = max(sorted(likely), key=lambda text: likely[text] + self._at_home(text, words, place))
        return best.capitalize() if word[:1].isupper() else best

    def _slips_of(self, folded: str) -> set[str]:
        return {*known_slips(folded, self._known.language), *self._index.find(folded)}

    def _at_home(self, text: str, words: Sequence[str], place: int) -> float:
        """How well a text fits between the neighbours of a place, by the trigrams."""
        if not self._english:
            return 0.0
        changed = (*words[max(0, place - 2) : place], *text.split(), *words[place + 1 : place + 3])
        at = min(place, 2)
        return float(trigrams().describe(changed)[at : at + len(text.split()), :2].mean())

    def _share(self, folded: str) -> float:
        """How much of running text a word makes up, here and in the language; 0 if it is unknown to both."""
        here = self._words.get(folded, 0) / max(self._total, 1)
        return CORPUS_SHARE * here + (1 - CORPUS_SHARE) * self._known.exact(folded)

    def _of_word(self, word: str, own: Own | None) -> tuple[float, ...]:
        """What counts say of a word, and what its letters say."""
        folded = fold(word)
        count, total = self._words.get(folded, 0), max(self._total, 1)
        shape = shape_of(word)
        shapes = self._shapes.get(shape, 0)
        if own is not None:
            count, total = max(count - own.words[folded], 0), max(total - own.total, 1)
            shapes -= own.shapes[shape]
        general, letters, oddest, slip, split = self._of_spelling(word)
        rarity = -math.log(CORPUS_SHARE * count / total + (1 - CORPUS_SHARE) * max(general, FLOOR))
        log_share = -rarity
        is_new = count == 0
        return (
            rarity,
            -math.log(max(general, FLOOR)),
            math.log1p(count),
            min(len(word), _LONGEST),
            letters,
            oddest,
            max(0.0, slip - log_share) if is_new else 0.0,
            max(0.0, split - log_share) if is_new else 0.0,
            -math.log((max(shapes, 0) + 0.5) / total),
        )

    def _of_spelling(self, word: str) -> tuple[float, ...]:
        """What does not depend on the corpus' counts of this word: remembered for each word.

        Its frequency in the language; mean and largest surprise of its letters; log share of the commonest word one slip away,
        and of the two words that it may be, with what a second word costs.
        """
        known = self._spelled.get(word)
        if known is None:
            surprises = self._letters.surprises(fold(word)[: 2 * _LONGEST])
            general = self._known.frequency(word)
            slip = self.slip_of(word) if general < _NO_SLIP else None
            halves = self.halves_of(word) if general < _NO_PAIR else None
            known = (
                general,
                sum(surprises) / len(surprises),
                max(surprises),
                math.log(self._share(slip)) if slip else -math.inf,
                sum(math.log(max(self._share(half), FLOOR)) for half in halves) + _SECOND_WORD if halves else -math.inf,
            )
            if len(self._spelled) >= _MEMO:
                self._spelled.clear()
            self._spelled[word] = known
        return known

    def _around(self, document: Encoded, own: Own | None) -> list[tuple[float, ...]]:
        """What neighbours say of each word."""
        folded = [_EDGE, *(fold(word) for word in document.words), _EDGE]
        lowered = [plain(word) for word in document.words]
        rows: list[tuple[float, ...]] = []
        for at, word in enumerate(document.words):
            here, left, right = folded[at + 1], folded[at], folded[at + 2]
            near = lowered[max(0, at - 1) : at + 2] if self._known else []
            rows.append(
                (
                    self._ratio(here, (left, here), left, self._after, self._after_kinds, own),
                    self._ratio(here, (here, right), right, self._before, self._before_kinds, own),
                    float(at > 0 and word.isalpha() and lowered[at] == lowered[at - 1]),
                    max((join_gain(one, other, self._known.exact) for one, other in pairwise(near)), default=0.0),
                    float(at == 0),
                )
            )
        return rows

    def _ratio(
        self, word: str, pair: tuple[str, str], beside: str, totals: Counter[str], kinds: Counter[str], own: Own | None
    ) -> float:
        """How much rarer (in nats) a word is beside a neighbour than on the whole; Witten–Bell smoothed."""
        together, beside_total, beside_kinds = self._pairs.get(pair, 0), totals[beside], kinds[beside]
        count, total = self._words.get(word, 0), self._total
        if own is not None:
            in_own = own.pairs[pair]
            beside_kinds -= bool(in_own) and in_own >= together
            together, count, total = max(together - in_own, 0), max(count - own.words[word], 0), total - own.total
            beside_total -= 1 if beside == _EDGE else own.words[beside]
        if beside_total <= 0:
            return 0.0
        chance = (count + 0.5) / (max(total, 0) + 0.5 * (len(self._words) + 1))
        return math.log(chance * (beside_total + beside_kinds) / (together + max(beside_kinds, 1) * chance))


@lru_cache(maxsize=1 << 16)
def shape_of(word: str) -> str:
    """Capitals, letters, digits and marks of a word, runs taken together: "Mar-2024" is "Xx-0"."""
    kinds = ["X" if c.isupper() else "x" if c.isalpha() else "0" if c.isdigit() else c for c in word[:60]]
    return "".join(kind for kind, _ in groupby(kinds))


@lru_cache(maxsize=2)
def _letters(language: str | None) -> Letters:
    return Letters(word_list(language).common(_LETTERS_OF), 4)


def _most(counts: Counter, most: int) -> dict:  # type: ignore[type-arg]
    """The most frequent entries, in an order that does not depend on the documents'."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most])
