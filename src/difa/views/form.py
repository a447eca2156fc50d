"""Form-structural view: is the word unusual in its string or in its local geometry?

A 16-number descriptor per word, 10 surface statistics of the string and 6 statistics of its vector among two neighbours
on each side, and its Mahalanobis distance to normal words: s_form = sqrt((d−μ)ᵀ Σ⁻¹ (d−μ)). Without vectors the ten remain.

The six follow from dot products of vectors that stand close together: lengths, angles, gaps, and sums of neighbours. These are
taken once, in double precision, in blocks of words of many documents; the rest is arithmetic on one number per word. A neighbour
counts only within the word's own document, so a batch changes nothing, bit for bit.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np

from difa.config import FormConfig
from difa.document import BoolArray, Encoded, FloatArray, Reason, ReasonKind
from difa.knowledge.letters import plain_address
from difa.knowledge.word_cache import Batch, WordCache
from difa.views import TrainingData, View, ViewKind, Wording

CONTEXT = (
    "similarity to its context",
    "distance to its neighbours",
    "norm against its neighbours",
    "agreement of left and right context",
    "similarity to its nearest neighbour",
    "spread of similarity to its neighbours",
)
SURFACE = (
    "length",
    "share of digits",
    "share of letters",
    "share of capitals",
    "share of punctuation",
    "share of its longest run of one character",
    "share of distinct characters",
    "character entropy",
    "share of vowels among letters",
    "longest run of consonants",
)
_PLAIN = {
    "high longest run of consonants": "has many consonants in a row",
    "low share of vowels among letters": "has few vowels",
    "high share of vowels among letters": "has many vowels",
    "high share of its longest run of one character": "repeats its letters",
    "high share of digits": "has many digits or marks",
    "low share of letters": "has many digits or marks",
    "high share of capitals": "is written in capitals",
    "high share of punctuation": "has many marks",
    "high length": "is unusually long",
    "low length": "is unusually short",
}
_RANKS = {plain: 50 + rank for rank, plain in enumerate(dict.fromkeys(_PLAIN.values()))}
_TINY = 1e-9
_BLOCK = 1024  # words at a time, with vectors in double precision: they stay in the processor's cache


def describe_context(documents: Sequence[FloatArray], window: int) -> FloatArray:
    """The statistics of each vector (T, d) among `window` neighbours on each side, in the order of CONTEXT: (all words, 6).

    NaN where a statistic does not exist: all of them for a word alone, the agreement of both sides for the first and the last.
    """
    lengths = np.array([len(vectors) for vectors in documents], dtype=np.int64)
    window = max(1, min(window, lengths.max(initial=0) - 1))
    # The words stand in a row of vectors, with as many zeros between documents as a word has neighbours on each side.
    place = np.arange(lengths.sum()) + window * np.repeat(np.arange(1, len(lengths) + 1), lengths)
    table = np.empty((len(place), len(CONTEXT)))
    vectors = documents[0] if len(documents) == 1 else np.concatenate(documents)
    for start in range(0, len(place), _BLOCK):
        words = slice(start, start + _BLOCK)
        low, high = place[start] - window, place[words][-1] + window
        near = slice(*np.searchsorted(place, (low, high + 1)).tolist())
        row = np.zeros((high - low + 1, vectors.shape[1]))
        row[place[near] - low] = vectors[near]
        is_word = np.zeros(len(row), dtype=bool)
        is_word[place[near] - low] = True
        table[words] = _describe_row(row, is_word, window)[place[words] - low - window]
    return table


def _describe_row(row: FloatArray, is_word: BoolArray, window: int) -> FloatArray:
    """The six statistics of what stands in a row, but for `window` places at each of its ends: (places, 6)."""
    dots: list[FloatArray] = [np.einsum("td,td->t", row[: len(row) - apart], row[apart:]) for apart in range(2 * window + 1)]
    count = len(row) - 2 * window
    left, right = range(-window, 0), range(1, window + 1)
    around = [*left, *right]
    has = {o: is_word[window + o : window + o + count] for o in around}

    def product(one: int, other: int) -> FloatArray:
        """Dot products of the vectors `one` and `other` places from each; 0 where one of them is missing: (places,)."""
        first = window + min(one, other)
        return dots[abs(one - other)][first : first + count]

    def product_of_sums(some: Sequence[int], others: Sequence[int]) -> FloatArray:
        return _total([product(one, other) for one in some for other in others])

    square = product(0, 0)
    norm = np.maximum(np.sqrt(square), _TINY)
    neighbours = np.maximum(_total([has[o] for o in around]), 1.0)
    norms = [np.maximum(np.sqrt(product(o, o)), _TINY) for o in around]
    cosines = [product(0, o) / (norm * its_norm) for o, its_norm in zip(around, norms, strict=True)]  # 0 without a neighbour
    gaps = [np.sqrt(np.maximum(square + product(o, o) - 2 * product(0, o), 0.0)) for o in around]

    def mean(values: Sequence[FloatArray]) -> FloatArray:
        """That of neighbours, left ones first, that there are."""
        return _total([np.where(has[o], value, 0.0) for o, value in zip(around, values, strict=True)]) / neighbours

    middle = mean(cosines)
    across = product_of_sums(left, right)
    of_left, of_right = product_of_sums(left, left), product_of_sums(right, right)
    columns = np.stack(
        [
            _cosine(product_of_sums([0], around), square, of_left + 2 * across + of_right),
            mean(gaps),
            np.log(norm / np.maximum(mean(norms), _TINY)),
            _cosine(across, of_left, of_right),
            np.max([np.where(has[o], cosine, -np.inf) for o, cosine in zip(around, cosines, strict=True)], axis=0),
            np.sqrt(mean([(cosine - middle) ** 2 for cosine in cosines])),
        ],
        axis=1,
    )
    columns[~(has[-1] & has[1]), 3] = np.nan
    columns[~(has[-1] | has[1])] = np.nan
    return columns


def _total(values: Sequence[FloatArray | BoolArray]) -> FloatArray:
    """The sum, in their order, which decides on the last bit."""
    total: FloatArray = np.zeros(len(values[0]))
    for value in values:
        total = total + value
    return total


def _cosine(dot: FloatArray, square: FloatArray, other_square: FloatArray) -> FloatArray:
    """Cosines from a dot product and two squared lengths, which rounding may have left a little below zero."""
    norms = np.sqrt(np.maximum(square, 0.0)) * np.sqrt(np.maximum(other_square, 0.0))
    return np.asarray(dot / np.maximum(norms, _TINY))


def _kind(name: str) -> ReasonKind:
    plain = _PLAIN.get(name, "does not fit its surroundings" if name.partition(" ")[2] in CONTEXT else "")
    return ReasonKind(name, f"{name}: {{value:.3g}}, normal {{mean:.2g}} ± {{scale:.2g}}", plain, _RANKS.get(plain, 70))


CHANGES = "changes between small letters, capitals, digits and marks"
"""Takes the place of the share of letters in the preset `paper`."""
_KINDS = {name: _kind(name) for entry in (*SURFACE, *CONTEXT, CHANGES) for name in (f"high {entry}", f"low {entry}")}
_LETTERS = SURFACE.index("share of letters")
_VOWEL_SHARE = SURFACE.index("share of vowels among letters")
_FEW_LETTERS = 4  # fewer say nothing about vowels
_VOWELS = frozenset("aeiouyàáâãäåæèéêëìíîïòóôõöøùúûüýœ")


@dataclass(frozen=True)
class FormView(View):
    """Gaussian reference of normal descriptors: mean, scale per entry, and inverse correlation."""

    config: FormConfig
    mean: FloatArray  # (16,), or (10,) without vectors
    scale: FloatArray  # (16,)
    precision: FloatArray  # (16, 16), of standardised entries

    name = "form"

    @classmethod
    def fit(cls, data: TrainingData) -> FormView:
        """Mean and covariance of the normal words' descriptors."""
        config = data.config.form
        descriptors = describe(data.documents, config)
        mean = np.zeros(descriptors.shape[1])
        present = ~np.isnan(descriptors)
        known = present.any(axis=0)
        mean[known] = np.nanmean(descriptors[:, known], axis=0)
        centred = np.where(present, descriptors - mean, 0.0)
        scale = np.maximum(centred.std(axis=0), config.min_scale)
        standard = centred / scale
        correlation = standard.T @ standard / len(standard)
        return cls(config, mean, scale, _invert(correlation, config.shrinkage))

    def extended(self, data: TrainingData, seen: int) -> FormView:
        """The same with further words, beside the `seen` ones that it is made of."""
        more, added = FormView.fit(data), sum(map(len, data.documents))
        share = np.array([seen, added]) / (seen + added)
        mean = share @ np.stack([self.mean, more.mean])
        spread = sum(
            (part * (view._covariance() + np.outer(view.mean - mean, view.mean - mean)))
            for part, view in zip(share, (self, more), strict=True)
        )
        scale = np.maximum(np.sqrt(np.diag(spread)), self.config.min_scale)
        return FormView(self.config, mean, scale, _invert(spread / np.outer(scale, scale), self.config.shrinkage))

    def _covariance(self) -> FloatArray:
        shrinkage = self.config.shrinkage
        correlation = (np.linalg.inv(self.precision) - shrinkage * np.eye(len(self.mean))) / (1 - shrinkage)
        return np.asarray(correlation * np.outer(self.scale, self.scale))

    def raw(self, documents: Sequence[Encoded]) -> FloatArray:
        """Mahalanobis distances."""
        if _have_vectors(documents):
            return self._distances(describe(documents, self.config))
        return self._distances_of_words.of(Batch.of(documents))  # a word's form is the same everywhere

    @cached_property
    def _distances_of_words(self) -> WordCache:
        return WordCache(lambda words: self._distances(_describe_surfaces(np.array(list(map(_measure, words))), self.config)))

    def _distances(self, descriptors: FloatArray) -> FloatArray:
        standard = self._standardise(descriptors)
        squared = np.einsum("ti,ti->t", np.einsum("ti,ij->tj", standard, self.precision), standard)
        return np.asarray(np.sqrt(np.maximum(squared, 0.0)))

    def explain(self, document: Encoded) -> list[list[Reason]]:
        """The descriptor entries that deviate most, in words."""
        descriptors = describe([document], self.config)
        standard = self._standardise(descriptors)
        # x·(Px) splits the squared distance over the entries.
        shares = np.maximum(standard * (standard @ self.precision), 0.0)
        shares /= np.maximum(shares.sum(axis=1, keepdims=True), _TINY)
        few = [sum(map(str.isalpha, word)) < _FEW_LETTERS for word in document.words]
        shares[few, _VOWEL_SHARE] = 0.0
        return [
            [
                self._reason(entry, descriptors[t, entry], standard[t, entry], float(shares[t, entry]))
                for entry in np.argsort(-shares[t], kind="stable")
                if shares[t, entry] > 0 and abs(standard[t, entry]) >= 1
            ]
            for t in range(len(document))
        ]

    def _standardise(self, descriptors: FloatArray) -> FloatArray:
        # An entry that does not exist (no left neighbour, say) is not evidence: it stands at the mean.
        return np.where(np.isnan(descriptors), 0.0, descriptors - self.mean) / self.scale

    def _reason(self, entry: int, value: float, deviation: float, share: float) -> Reason:
        name = CHANGES if entry == _LETTERS and self.config.letters == "changes" else (SURFACE + CONTEXT)[entry]
        kind = _KINDS[f"{'high' if deviation > 0 else 'low'} {name}"]
        values = {"value": float(value), "mean": float(self.mean[entry]), "scale": float(self.scale[entry])}
        return Reason(kind, values, share)


def _invert(correlation: FloatArray, shrinkage: float) -> FloatArray:
    # Shrinkage keeps collinear and constant entries invertible.
    return np.linalg.inv((1 - shrinkage) * correlation + shrinkage * np.eye(len(correlation)))


def describe(documents: Sequence[Encoded], config: FormConfig) -> FloatArray:
    """The descriptors of all words: (T, 16), or (T, 10) without vectors; NaN where an entry does not exist."""
    surface = _describe_surfaces(_SURFACES.of(Batch.of(documents)), config)
    if not _have_vectors(documents):
        return surface
    return np.concatenate([surface, describe_context([document.vectors for document in documents], config.window)], axis=1)


def _have_vectors(documents: Sequence[Encoded]) -> bool:
    return any(document.vectors.shape[1] for document in documents)


def _describe_surfaces(statistics: FloatArray, config: FormConfig) -> FloatArray:
    """The entries of SURFACE from what `_SURFACES` holds."""
    surface = statistics[:, : len(SURFACE)].copy()
    if config.letters == "changes":
        surface[:, _LETTERS] = statistics[:, -2]
    else:
        surface[statistics[:, -1] > 0] = np.nan  # a plain address is long and full of marks by nature
    return surface


def describe_surface(word: str) -> tuple[float, ...]:
    """Ten statistics of a word's characters, in the order of SURFACE, and CHANGES."""
    length = len(word)
    if length == 0:
        return (0.0,) * (len(SURFACE) + 1)
    letters = sum(map(str.isalpha, word))
    digits = sum(map(str.isdigit, word))
    spaces = sum(map(str.isspace, word))
    counts = Counter(lowered := word.lower())
    vowels = sum(character in _VOWELS for character in lowered)
    return (
        float(length),
        digits / length,
        letters / length,
        sum(map(str.isupper, word)) / length,
        (length - letters - digits - spaces) / length,
        max(len(list(run)) for _, run in groupby(word)) / length if length > 1 else 0.0,
        len(counts) / length,
        -sum(n / len(lowered) * math.log2(n / len(lowered)) for n in counts.values()),
        vowels / letters if letters else 0.0,
        float(_longest(character.isalpha() and character not in _VOWELS for character in lowered)),
        float(len(list(groupby(word, lambda c: (c.isalpha(), c.isupper(), c.isdigit(), c.isspace())))) - 1),
    )


def _measure(word: str) -> tuple[float, ...]:
    return (*describe_surface(word), bool(plain_address(word)))


_SURFACES = WordCache(lambda words: list(map(_measure, words)), len(SURFACE) + 2)


def _longest(flags: Iterable[bool]) -> int:
    return max((len(list(run)) for flag, run in groupby(flags) if flag), default=0)


VIEW = ViewKind(
    FormView.fit,
    lambda saved: FormView(saved.config.form, **saved.tensors),
    FormView.extended,
    wording=Wording("words of unusual form", "has an unusual form", "its words have unusual forms"),
)
