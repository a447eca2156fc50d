"""Language view: how surprising is the word itself, in this corpus and in its language?

Three things add up to the raw evidence. How rare the word is: −log(.9·c(w)/N + .1·f(w)), for c of N corpus words and the share f
of the language's running text that it makes up (at least 1e−9). How strangely it is spelled: half its surprise per square root
of its length, under a model of the letters of the corpus' distinct words, which decides among words unknown to both. And
in how many pieces the encoder's tokenizer breaks it, beyond the first. Case is folded, every digit is the same digit, and an
address is its shape: a new number or address is no news where such are common. Where no list covers the corpus, only the corpus
counts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from difa.config import LanguageConfig
from difa.document import Encoded, FloatArray, IntArray, Reason, ReasonKind
from difa.knowledge.letters import Letters, fold, plain_address
from difa.knowledge.spelling import FLOOR
from difa.knowledge.word_cache import Batch, WordCache
from difa.knowledge.wordlist import WordList, word_list
from difa.views import SavedView, TrainingData, View, ViewKind, Wording
from difa.views.stored_words import Mask, most_frequent, pack_values, readable, shared_runs, unpack_values

CORPUS_SHARE = 0.9
"""How much the corpus counts in the frequency of a word; the language has the rest."""
_UNSEEN = "never occurs in your normal text"
_NEVER = ReasonKind("never seen", "never seen among {total} normal words", _UNSEEN, 10)
_UNKNOWN = ReasonKind("unknown", "never seen among {total} normal words, and not a known word", _UNSEEN, 10)
_NEW = ReasonKind("new here", "never seen among {total} normal words, {commonness} in general", _UNSEEN, 10)
_ONCE = ReasonKind("seen once", "seen once among {total} normal words", "occurs only once in your normal text", 11)
_SEEN = ReasonKind(
    "seen", "seen {count} times among {total} normal words", "is rare in your normal text ({count} of {total} words)", 12
)
_ADDRESS = ReasonKind(
    "address",
    "an address, of a shape that {count} of {total} normal words have",
    "is {what}, and those are rare in your normal text",
    10,
)
_SPELLING = ReasonKind("spelling", "unusual spelling: {letters!r}", "is spelt oddly", 30)
_ENDING = ReasonKind("ending", "unusual spelling: it ends in {letters!r}", "is spelt oddly", 30)
_PIECES = ReasonKind("pieces", "falls into {pieces} pieces")


@dataclass(frozen=True)
class LanguageView(View):
    """The words of normal text with their counts, the letters they are made of, and the language's own list."""

    config: LanguageConfig
    counts: Mapping[str, int]
    """By the names that the mask gives them."""
    language: str | None
    mask: Mask = field(default_factory=Mask)
    runs: Mapping[str, int] = field(default_factory=dict)
    """Runs of letters in words whose names cannot be read."""

    name = "language"

    @classmethod
    def fit(cls, data: TrainingData) -> LanguageView:
        """Count the words; of a very large vocabulary the most frequent are kept."""
        config, least = data.config.language, data.config.privacy.least_documents
        counted, rare = data.word_counts, data.rare_words
        mask = Mask.of(counted) if rare else Mask()
        kept = mask.apply(most_frequent(counted, config.vocabulary), rare)
        return cls(config, kept, data.language, mask, shared_runs(data.documents, rare, config.order, least))

    def extended(self, data: TrainingData, seen: int) -> LanguageView:
        """The same with the words of further documents; new ones are readable if enough of these have them."""
        least = data.config.privacy.least_documents
        counted, rare = data.word_counts, data.rare_words
        mask = self.mask if self.mask.key or not rare else Mask.of(counted)
        kept = most_frequent(mask.add(self.counts, counted, rare), self.config.vocabulary)
        new = {word for word in rare if not self._count(word)}
        runs = Counter(self.runs) + Counter(shared_runs(data.documents, new, self.config.order, least))
        return replace(self, counts=kept, mask=mask, runs=dict(sorted(runs.items())))

    @classmethod
    def restore(cls, saved: SavedView) -> LanguageView:
        config, tensors = saved.config.language, saved.tensors
        runs = unpack_values(tensors, prefix="runs.") if "runs.bytes" in tensors else {}
        if any(not 1 <= len(run) <= config.order for run in runs):
            raise ValueError(f"expected runs of 1 to {config.order} letters")
        return cls(config, unpack_values(tensors), saved.language, Mask.restore(tensors), runs)

    def raw(self, documents: Sequence[Encoded]) -> FloatArray:
        """Rarity, strange spelling, and pieces beyond the first."""
        batch = Batch.of(documents)
        surprises, breaks = self._surprises.of(batch).T
        extra = (batch.pieces - 1) * breaks  # the pieces of an address say nothing
        return np.asarray(surprises + self.config.piece_weight * extra)

    def surprise(self, word: str) -> float:
        """Rarity and strange spelling of a word."""
        return self._rarity(word) + self._strangeness(fold(word))

    def explain(self, document: Encoded) -> list[list[Reason]]:
        """Whether the word is known, how it is spelled, and how many pieces it falls into."""
        return [self._reasons(word, int(pieces)) for word, pieces in zip(document.words, document.pieces, strict=True)]

    def tensors(self) -> Mapping[str, FloatArray | IntArray]:
        runs = pack_values(self.runs, prefix="runs.") if self.runs else {}
        return {**pack_values(self.counts), **runs, **self.mask.tensors()}

    @cached_property
    def corpus_words(self) -> int:
        """Words of normal text that were counted."""
        return sum(self.counts.values())

    @cached_property
    def _known(self) -> WordList:
        return word_list(self.language)

    @cached_property
    def _letters(self) -> Letters:
        return Letters.of(readable(self.counts), self.config.order, self.runs)

    @cached_property
    def _surprises(self) -> WordCache:
        return WordCache(lambda words: [(self.surprise(word), not plain_address(word)) for word in words], 2)

    def share(self, word: str) -> float:
        """How much of running text the word makes up, here and in the language."""
        here = self.corpus_share(word)
        if not self._known:
            return max(here, 0.5 / self.corpus_words)
        return CORPUS_SHARE * here + (1 - CORPUS_SHARE) * max(self._known.frequency(word), FLOOR)

    def corpus_share(self, word: str) -> float:
        """How much of the normal text alone the word makes up; 0 if it does not stand in it."""
        return self._count(fold(word)) / self.corpus_words

    def _count(self, folded: str) -> int:
        return self.counts.get(self.mask.name(folded, self.counts), 0)

    def _rarity(self, word: str) -> float:
        return max(0.0, -math.log(self.share(word)))

    def _strangeness(self, folded: str) -> float:
        return self.config.spelling_weight * sum(self._letters.surprises(folded)) / math.sqrt(len(folded) + 1)

    def _reasons(self, word: str, pieces: int) -> list[Reason]:
        folded, address = fold(word), plain_address(word)
        count = self._count(folded)
        pieces = 1 if address else pieces
        extra = self.config.piece_weight * (pieces - 1)
        total = max(self.surprise(word) + extra, 1e-12)
        frequency = self._known.frequency(word) if self._known else None
        values: dict[str, Any] = {"total": self.corpus_words}
        if address:
            kind, values = _ADDRESS, {"count": count, **values, "what": "a mail address" if "@" in address else "a web address"}
        elif count:
            kind, values = (_ONCE, values) if count == 1 else (_SEEN, {"count": count, **values})
        elif frequency:
            commonness = "common" if frequency > 1e-5 else "uncommon" if frequency > 3e-7 else "rare"
            kind, values = _NEW, {"commonness": commonness, **values}
        else:
            kind = _NEVER if frequency is None else _UNKNOWN
        reasons = [Reason(kind, values, self._rarity(word) / total)]
        if count == 0 and folded and not frequency and not address:
            surprises = self._letters.surprises(folded)
            at = int(np.argmax(surprises))
            is_end = at == len(folded)
            letters = folded[-2:] if is_end else folded[max(0, at - 2) : at + 1]
            reasons.append(Reason(_ENDING if is_end else _SPELLING, {"letters": letters}, self._strangeness(folded) / total))
        if pieces > 1:
            reasons.append(Reason(_PIECES, {"pieces": pieces}, extra / total))
        return sorted(reasons, key=lambda reason: -reason.weight)


VIEW = ViewKind(
    LanguageView.fit,
    LanguageView.restore,
    LanguageView.extended,
    knowledge=("words",),
    wording=Wording("rare and unknown words", "is rare", "its words are rare"),
)
