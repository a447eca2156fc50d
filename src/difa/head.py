"""What a word looks like -> how much it is like the odd words of new text: a linear head, one for each fold of documents.

It sees the word's vector, or without an encoder the word's letters, and the critic's plain statistics. Its direction is that of
Fisher's discriminant: the mean of the odd words less that of normal words, in units of how much normal words vary. The variation
is shrunk strongly towards that of a sphere, since odd words are few. Its rarity among normal words is the evidence.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from difa.calibrate import TailReference
from difa.config import FeedConfig
from difa.document import Encoded, FloatArray, IntArray, all_words
from difa.knowledge.letters import fold, runs_of
from difa.knowledge.word_cache import Batch, WordCache

LETTERS = 256
"""Numbers that stand for the letters of a word."""
_RUNS = (2, 3, 4)  # lengths of the runs of letters
_WHOLE = 2.0  # how much the whole word counts beside its runs
_MEMO = 1 << 14  # words whose letters are remembered
_LONGEST = 64  # letters of a word that are read
_FARTHEST = 6.0  # standard deviations at which a statistic is cut
_BLOCK = 256  # documents whose words are held at a time
_LEAST_WORDS = 5  # odd words from which a head can learn


@lru_cache(maxsize=_MEMO)
def letter_vector(word: str) -> FloatArray:
    """Runs of letters and the whole word, added up at places and with signs that their checksums give; of length √256."""
    folded = fold(word)[:_LONGEST]
    parts = [(f"word {folded}", _WHOLE), *((run, 1.0) for size in _RUNS for run in runs_of(folded, size))]
    vector = np.zeros(LETTERS)
    for part, weight in parts:
        checksum = zlib.crc32(part.encode("utf-8", "surrogatepass"))
        vector[checksum % LETTERS] += weight if checksum >> 20 & 1 else -weight
    return np.asarray(vector * (np.sqrt(LETTERS) / max(float(np.linalg.norm(vector)), 1e-9)), dtype=np.float32)


@dataclass(frozen=True)
class WordTable:
    """The words of many documents, one document behind the other, as fusion and heads see them."""

    documents: Sequence[Encoded]
    evidence: FloatArray  # (T, views)
    statistics: FloatArray
    """Plain statistics, as the critic describes words: (T, statistics); no columns without a critic."""
    folds: IntArray  # (documents,)

    @property
    def lengths(self) -> list[int]:
        """Words of each document."""
        return [len(document) for document in self.documents]

    @property
    def word_folds(self) -> IntArray:
        """(T,)"""
        return np.repeat(self.folds, self.lengths)

    @property
    def has_vectors(self) -> bool:
        """Whether words have vectors; otherwise their letters stand in."""
        return bool(self.documents) and self.documents[0].vectors.shape[1] > 0

    def blocks(self) -> Iterator[Block]:
        """All words, some thousands at a time, of one fold each."""
        ends = np.cumsum(self.lengths)
        for of_fold in np.unique(self.folds).tolist():
            members = np.flatnonzero(self.folds == of_fold).tolist()
            for start in range(0, len(members), _BLOCK):
                yield self._block(of_fold, members[start : start + _BLOCK], ends)

    def _block(self, of_fold: int, indices: Sequence[int], ends: IntArray) -> Block:
        documents = [self.documents[index] for index in indices]
        places = np.concatenate([np.arange(ends[i] - len(self.documents[i]), ends[i]) for i in indices])
        if self.has_vectors:
            first = np.concatenate([document.vectors for document in documents])
        else:
            words, numbers = np.unique(all_words(documents), return_inverse=True)
            first = np.array([letter_vector(word) for word in words.tolist()]).reshape(-1, LETTERS)[numbers]
        return Block(of_fold, places, np.concatenate([first, self.statistics[places]], axis=1, dtype=np.float64))


@dataclass(frozen=True)
class Block:
    """Some words of one fold."""

    fold: int
    places: IntArray  # (rows,), among all words
    rows: FloatArray  # (rows, inputs)


@dataclass(frozen=True)
class Head:
    """A direction for each fold, and what normal words reach along it."""

    mean: FloatArray  # (inputs,), of normal words
    scale: FloatArray  # (inputs,)
    weights: FloatArray  # (folds, inputs), of standardised inputs
    width: int
    """Inputs that are the vector or the letters; the statistics come behind."""
    reference: TailReference

    def evidence(self, words: WordTable) -> FloatArray:
        """Tail evidence of every word: (T,)."""
        return self.reference.evidence(self.raw(words), 0.0)

    def raw(self, words: WordTable) -> FloatArray:
        """How far each word lies along the direction of its document's fold: (T,), the same alone or in a batch."""
        word_folds = words.word_folds
        standard = standardise(words.statistics, self.mean[self.width :], self.scale[self.width :], 0)
        of_statistics = (standard * self.weights[word_folds, self.width :]).sum(axis=1)
        if words.has_vectors:
            parts = [
                np.einsum("td,d->t", document.vectors.astype(np.float64), self._slopes[of_fold])
                for document, of_fold in zip(words.documents, words.folds.tolist(), strict=True)
            ]
            along = np.concatenate([np.empty(0), *parts])
        else:
            by_fold = self._letters.of(Batch.of(words.documents))
            along = by_fold[np.arange(len(by_fold)), word_folds]
        return np.asarray((along - self._offsets[word_folds] + of_statistics).round(9))

    @cached_property
    def _slopes(self) -> FloatArray:
        return np.asarray(self.weights[:, : self.width] / self.scale[: self.width])

    @cached_property
    def _offsets(self) -> FloatArray:
        return np.asarray(self._slopes @ self.mean[: self.width])

    @cached_property
    def _letters(self) -> WordCache:
        def project(words: Sequence[str]) -> list[FloatArray]:
            return [self._slopes @ letter_vector(word).astype(np.float64) for word in words]

        return WordCache(project, len(self.weights))

    def tensors(self) -> Mapping[str, FloatArray]:
        return {"mean": self.mean, "scale": self.scale, "weights": self.weights, "reference": self.reference.values}

    @classmethod
    def restore(cls, tensors: Mapping[str, FloatArray], dimension: int, folds: int) -> Head:
        """A head from what was saved, beside an encoder of so many dimensions."""
        mean, scale, weights = (tensors[name].astype(np.float64) for name in ("mean", "scale", "weights"))
        width = dimension or LETTERS
        if mean.ndim != 1 or len(mean) < width or scale.shape != mean.shape or weights.shape != (folds, len(mean)):
            raise ValueError(f"expected a head of {folds} folds and at least {width} inputs")
        if (scale <= 0).any():
            raise ValueError("expected scales of a head that are positive")
        return cls(mean, scale, weights, width, TailReference.restore(tensors["reference"]))


def standardise(rows: FloatArray, mean: FloatArray, scale: FloatArray, width: int) -> FloatArray:
    """Inputs of words as heads weigh them: statistics, behind `width` inputs, are cut where they are far out, vectors are not."""
    standard = np.asarray((rows - mean) / scale)
    standard[:, width:] = np.clip(standard[:, width:], -_FARTHEST, _FARTHEST)
    return standard


@dataclass(frozen=True)
class HeadLearner:
    """The normal words' side of the lesson: their mean, and how they vary in each fold."""

    normal: WordTable
    mean: FloatArray  # (inputs,)
    scale: FloatArray  # (inputs,)
    width: int
    products: FloatArray  # (folds, inputs, inputs), sums over the normal words of a fold
    words: IntArray  # (folds,)
    config: FeedConfig

    @classmethod
    def of(cls, normal: WordTable, config: FeedConfig) -> HeadLearner:
        """Measure normal words: vectors share one scale, each statistic has its own."""
        statistics = normal.statistics.shape[1]
        sums, squares, count = 0.0, 0.0, 0
        for block in normal.blocks():
            sums, squares, count = sums + block.rows.sum(axis=0), squares + (block.rows**2).sum(axis=0), count + len(block.rows)
        mean = np.asarray(sums / count)
        variance = np.maximum(squares / count - mean**2, 0.0)
        width = len(mean) - statistics
        scale = np.sqrt(variance) + 1e-6
        scale[:width] = max(float(np.sqrt(variance[:width].mean())), 1e-6) if normal.has_vectors else 1.0
        products = np.zeros((config.folds, len(mean), len(mean)))
        words = np.zeros(config.folds, dtype=np.int64)
        for block in normal.blocks():
            standard = standardise(block.rows, mean, scale, width).astype(np.float32)
            products[block.fold] += standard.T @ standard
            words[block.fold] += len(standard)
        return cls(normal, mean, scale, width, products, words, config)

    def learn(self, new: WordTable, weights: FloatArray) -> Head | None:
        """A head from new words that are odd with some weight each, (T,); None where those are too few in some fold."""
        inputs = len(self.mean)
        sums, totals = np.zeros((self.config.folds, inputs)), np.zeros(self.config.folds)
        odd = np.zeros(self.config.folds, dtype=np.int64)
        for block in new.blocks():
            chosen = weights[block.places] > 0
            weight = weights[block.places][chosen]
            sums[block.fold] += weight @ standardise(block.rows[chosen], self.mean, self.scale, self.width)
            totals[block.fold] += weight.sum()
            odd[block.fold] += len(weight)
        if (odd.sum() - odd < _LEAST_WORDS).any():
            return None
        directions = []
        for of_fold in range(self.config.folds):
            towards = (sums.sum(axis=0) - sums[of_fold]) / (totals.sum() - totals[of_fold])
            spread = (self.products.sum(axis=0) - self.products[of_fold]) / max(int(self.words.sum() - self.words[of_fold]), 1)
            sphere = self.config.shrinkage * max(float(np.trace(spread)) / inputs, 1e-9)
            directions.append(np.linalg.solve(spread + sphere * np.eye(inputs), towards))
        head = Head(self.mean, self.scale, np.stack(directions), self.width, TailReference(np.zeros(1)))
        return replace(head, reference=TailReference.of(head.raw(self.normal)))
