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
from typing import Any

import numpy as np

from difa.config import LanguageConfig
from difa.document import Encoded, FloatArray, IntArray, Reason, ReasonKind, split_by
from difa.knowledge.letters import Letters, fold, plain_address
from difa.knowledge.spelling import FLOOR
from difa.knowledge.word_cache import WordCache, distinct_words
from difa.knowledge.wordlist import word_list
from difa.views import ViewKind, Wording
from difa.views.stored_words import Mask, most_frequent, pack, rare_words, readable, shared_runs, unpack_values

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


class LanguageView:
    """The words of normal text with their counts, the letters they are made of, and the language's own list."""

    name = "language"

    def __init__(
        self,
        config: LanguageConfig,
        words: Sequence[str],
        counts: IntArray,
        language: str | None,
        mask: Mask | None = None,
        runs: Mapping[str, int] | None = None,
    ) -> None:
        """Take counts over.

        Args:
            config: settings.
            words: by the names that the mask gives them.
            counts: of the words: (words,).
            language: the corpus' language.
            mask: names of words.
            runs: runs of letters in words whose names cannot be read.
        """
        self.config, self._mask, self._runs = config, mask or Mask(), runs or {}
        self._known = word_list(language)
        self._counts: dict[str, int] = dict(zip(words, counts.tolist(), strict=True))
        self._total = sum(self._counts.values())
        self._letters = Letters(readable(words), config.order, self._runs)
        self._surprises = WordCache(lambda word: (self.surprise(word), not plain_address(word)), 2)

    @classmethod
    def fit(
        cls, documents: Sequence[Encoded], config: LanguageConfig, language: str | None, min_documents: int = 1
    ) -> LanguageView:
        """Count the words; of a very large vocabulary the most frequent are kept, readable if `min_documents` have them."""
        counted = Counter(fold(word) for document in documents for word in document.words)
        rare = rare_words(documents, min_documents, language)
        mask = Mask.of(counted) if rare else Mask()
        kept = mask.apply(most_frequent(counted, config.vocabulary), rare)
        runs = shared_runs(documents, rare, config.order, min_documents)
        return cls(config, list(kept), np.array(list(kept.values()), dtype=np.int64), language, mask, runs)

    def extended(self, documents: Sequence[Encoded], min_documents: int) -> LanguageView:
        """The same with the words of further documents; new ones are readable if `min_documents` of these have them."""
        counted = Counter(fold(word) for document in documents for word in document.words)
        rare = rare_words(documents, min_documents, self._known.language)
        mask = self._mask if self._mask.key or not rare else Mask.of(counted)
        kept = most_frequent(mask.add(self._counts, counted, rare), self.config.vocabulary)
        new = {word for word in rare if not self._count(word)}
        runs = Counter(self._runs) + Counter(shared_runs(documents, new, self.config.order, min_documents))
        counts = np.array(list(kept.values()), dtype=np.int64)
        return LanguageView(self.config, list(kept), counts, self._known.language, mask, dict(sorted(runs.items())))

    @classmethod
    def restore(cls, config: LanguageConfig, tensors: Mapping[str, FloatArray], language: str | None) -> LanguageView:
        counts = unpack_values(tensors)
        runs = unpack_values(tensors, prefix="runs.") if "runs.bytes" in tensors else {}
        if any(not 1 <= len(run) <= config.order for run in runs):
            raise ValueError(f"expected runs of 1 to {config.order} letters")
        return cls(config, list(counts), np.array(list(counts.values())), language, Mask.restore(tensors), runs)

    def raw(self, documents: Sequence[Encoded]) -> list[FloatArray]:
        """Rarity, strange spelling, and pieces beyond the first."""
        if not documents:
            return []
        surprises, breaks = self._surprises.of_each(distinct_words(documents)).T
        extra = (np.concatenate([document.pieces for document in documents]) - 1) * breaks  # the pieces of an address say nothing
        return split_by(map(len, documents), surprises + self.config.piece_weight * extra)

    def surprise(self, word: str) -> float:
        """Rarity and strange spelling of a word."""
        return self._rarity(word) + self._strangeness(fold(word))

    def explain(self, document: Encoded) -> list[list[Reason]]:
        """Whether the word is known, how it is spelled, and how many pieces it falls into."""
        return [self._reasons(word, int(pieces)) for word, pieces in zip(document.words, document.pieces, strict=True)]

    def tensors(self) -> Mapping[str, FloatArray | IntArray]:
        counts = np.array(list(self._counts.values()), dtype=np.int64)
        runs = {f"runs.{name}": value for name, value in pack(list(self._runs)).items()} if self._runs else {}
        if runs:
            runs["runs.counts"] = np.array(list(self._runs.values()), dtype=np.int64)
        return {**pack(list(self._counts)), "counts": counts, **runs, **self._mask.tensors()}

    def graph(self) -> bytes | None:
        return None

    def share(self, word: str) -> float:
        """How much of running text the word makes up, here and in the language."""
        here = float(self._count(fold(word)) / self._total)
        if not self._known:
            return float(max(here, 0.5 / self._total))
        return float(CORPUS_SHARE * here + (1 - CORPUS_SHARE) * max(self._known.frequency(word), FLOOR))

    @property
    def corpus_words(self) -> int:
        """Words of normal text that were counted."""
        return int(self._total)

    def corpus_share(self, word: str) -> float:
        """How much of the normal text alone the word makes up; 0 if it does not stand in it."""
        return float(self._count(fold(word)) / self._total)

    def _count(self, folded: str) -> int:
        return self._counts.get(self._mask.name(folded, self._counts), 0)

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
        values: dict[str, Any] = {"total": self._total}
        if address:
            kind, values = _ADDRESS, {"count": count, **values, "what": "a mail address" if "@" in address else "a web address"}
        elif count:
            kind, values = (_ONCE, values) if count == 1 else (_SEEN, {"count": count, **values})
        elif frequency:
            kind, values = _NEW, {"commonness": _commonness(frequency), **values}
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


def _commonness(frequency: float) -> str:
    return "common" if frequency > 1e-5 else "uncommon" if frequency > 3e-7 else "rare"


VIEW = ViewKind(
    fit=lambda data: LanguageView.fit(data.documents, data.config.language, data.language, data.config.privacy.least_documents),
    restore=lambda saved: LanguageView.restore(saved.config.language, saved.tensors, saved.language),
    extend=lambda view, added: view.extended(added.documents, added.config.privacy.least_documents),
    knowledge=("words",),
    wording=Wording("rare and unknown words", "is rare", "its words are rare"),
)
