"""Lexical view: is the word itself surprising, as a word of this corpus and as a string of letters?

Three things add up to the raw evidence. How rare the word is: −log((c(w) + ½) / (N + ½V)), for N words of which V are
distinct. How strangely it is spelled: half its surprise per square root of its length, under a character n-gram model of the
distinct words with Witten–Bell smoothing. And in how many pieces the encoder's tokenizer breaks it, beyond the first. Case is
folded and every digit is the same digit. A corpus full of new words (names, numbers) is not surprised by one more, since the
evidence is ranked among words of normal documents that the view has not seen.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from difa.config import LexicalConfig
from difa.document import Encoded, FloatArray, IntArray, Reason
from difa.views.strings import pack, unpack

_START, _END = "\x02", "\x03"
_SPARE_LETTERS = 50  # letters the corpus may not have shown yet
_UNSEEN = 0.5  # added to every count
_MEMO = 1 << 17


def fold(word: str) -> str:
    """The word as the model knows it: lower case, every digit a zero."""
    return word.lower() if word.isalpha() else "".join("0" if character.isdigit() else character for character in word.lower())


class Letters:
    """Character n-gram model of distinct words: interpolated, Witten–Bell smoothed."""

    def __init__(self, words: Sequence[str], order: int) -> None:
        self._order = order
        self._next: list[dict[str, Counter[str]]] = [defaultdict(Counter) for _ in range(order)]
        for word in words:
            spelled = _START + word + _END
            for at in range(1, len(spelled)):
                for size in range(min(order, at + 1)):
                    self._next[size][spelled[at - size : at]][spelled[at]] += 1
        self._alphabet = len({character for word in words for character in word}) + _SPARE_LETTERS
        self._totals = [{context: sum(after.values()) for context, after in level.items()} for level in self._next]

    def surprises(self, word: str) -> list[float]:
        """−log of the probability of each letter of the word, and of its end, after the letters before it."""
        spelled = _START + word + _END
        surprises = []
        for at in range(1, len(spelled)):
            probability = 1 / self._alphabet
            for size in range(min(self._order, at + 1)):
                context = spelled[at - size : at]
                total = self._totals[size].get(context)
                if total is None:
                    break
                after = self._next[size][context]
                probability = (after.get(spelled[at], 0) + len(after) * probability) / (total + len(after))
            surprises.append(-math.log(probability))
        return surprises


class LexicalView:
    """The words of normal text with their counts, and the letters they are made of."""

    name = "lexical"
    side = "meaning"

    def __init__(self, config: LexicalConfig, words: Sequence[str], counts: IntArray) -> None:
        self.config = config
        self._counts = dict(zip(words, counts.tolist(), strict=True))
        self._total = sum(self._counts.values())
        self._letters = Letters(words, config.order)
        self._memo: dict[str, float] = {}

    @classmethod
    def fit(cls, documents: Sequence[Encoded], config: LexicalConfig) -> LexicalView:
        """Count the words; of a very large vocabulary the most frequent are kept."""
        counted = Counter(fold(word) for document in documents for word in document.words)
        kept = sorted(counted.items(), key=lambda item: (-item[1], item[0]))[: config.vocabulary]
        return cls(config, [word for word, _ in kept], np.array([count for _, count in kept], dtype=np.int64))

    @classmethod
    def restore(cls, config: LexicalConfig, tensors: Mapping[str, FloatArray]) -> LexicalView:
        return cls(config, unpack(tensors["bytes"], tensors["lengths"]), tensors["counts"].astype(np.int64))

    def raw(self, documents: Sequence[Encoded]) -> list[FloatArray]:
        """Rarity, strange spelling, and pieces beyond the first."""
        return [
            np.array([self.surprise(word) for word in document.words], dtype=float)
            + self.config.piece_weight * (document.pieces - 1)
            for document in documents
        ]

    def surprise(self, word: str) -> float:
        """Rarity and strange spelling of a word."""
        folded = fold(word)
        known = self._memo.get(folded)
        if known is None:
            known = self._rarity(folded) + self._strangeness(folded)
            if len(self._memo) >= _MEMO:
                self._memo.clear()
            self._memo[folded] = known
        return known

    def explain(self, document: Encoded) -> list[list[Reason]]:
        """Whether the word is known, how it is spelled, and how many pieces it falls into."""
        return [self._reasons(word, int(pieces)) for word, pieces in zip(document.words, document.pieces, strict=True)]

    def tensors(self) -> Mapping[str, FloatArray | IntArray]:
        return {**pack(list(self._counts)), "counts": np.array(list(self._counts.values()), dtype=np.int64)}

    def graph(self) -> bytes | None:
        return None

    def _rarity(self, folded: str) -> float:
        return math.log((self._total + _UNSEEN * (len(self._counts) + 1)) / (self._counts.get(folded, 0) + _UNSEEN))

    def _strangeness(self, folded: str) -> float:
        return self.config.spelling_weight * sum(self._letters.surprises(folded)) / math.sqrt(len(folded) + 1)

    def _reasons(self, word: str, pieces: int) -> list[Reason]:
        folded = fold(word)
        count = self._counts.get(folded, 0)
        seen = "never seen" if count == 0 else "seen once" if count == 1 else f"seen {count} times"
        extra = self.config.piece_weight * (pieces - 1)
        total = max(self.surprise(word) + extra, 1e-12)
        reasons = [Reason(f"{seen} among {self._total} normal words", self._rarity(folded) / total)]
        if count == 0 and folded:
            surprises = self._letters.surprises(folded)
            at = int(np.argmax(surprises))
            place = f"{folded[max(0, at - 2) : at + 1]!r}" if at < len(folded) else f"it ends in {folded[-2:]!r}"
            reasons.append(Reason(f"unusual spelling: {place}", self._strangeness(folded) / total))
        if pieces > 1:
            reasons.append(Reason(f"falls into {pieces} pieces", extra / total))
        return sorted(reasons, key=lambda reason: -reason.weight)
