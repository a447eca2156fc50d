"""Form-structural view: is the word unusual in its string or in its local geometry?

A 16-number descriptor per word, 10 surface statistics of the string and 6 statistics of its vector among two neighbours
on each side, and its Mahalanobis distance to normal words: s_form = sqrt((d−μ)ᵀ Σ⁻¹ (d−μ)). Without vectors the ten remain.

The six follow from dot products of vectors that stand close together: lengths, angles, gaps, and sums of neighbours. These
are taken once, in double precision and a block of words at a time; the rest is arithmetic on one number per word, over many
documents at once. A neighbour counts only within the word's own document, so a batch changes nothing, bit for bit.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from difa.config import FormConfig
from difa.document import Encoded, FloatArray, IntArray, Reason, ReasonKind, split_by
from difa.knowledge.letters import plain_address
from difa.knowledge.word_cache import WordCache, distinct_words
from difa.views import ViewKind, Wording

CONTEXT = (
    "similarity to its context",
    "distance to its neighbours",
    "norm against its neighbours",
    "agreement of left and right context",
    "similarity to its nearest neighbour",
    "spread of similarity to its neighbours",
)
_TINY = 1e-9
_GROUP = 4096  # words of documents that are looked at together
_BLOCK = 512  # vectors in double precision at a time: they stay in the processor's cache


def describe_context(documents: Sequence[FloatArray], window: int) -> FloatArray:
    """The statistics of each vector (T, d) among `window` neighbours on each side, in the order of CONTEXT: (all words, 6).

    NaN where a statistic does not exist: all of them for a word alone, the agreement of both sides for the first and the last.
    """
    groups = [_Neighbourhood(group, window).statistics() for group in _groups(documents)]
    return np.concatenate([np.empty((0, len(CONTEXT))), *groups])


def _groups(documents: Sequence[FloatArray]) -> Iterator[list[FloatArray]]:
    """Documents in order, some `_GROUP` words together; a longer one is by itself."""
    group: list[FloatArray] = []
    words = 0
    for vectors in documents:
        if group and words + len(vectors) > _GROUP:
            yield group
            group, words = [], 0
        if len(vectors):
            group.append(vectors)
            words += len(vectors)
    if group:
        yield group


class _Neighbourhood:
    """Some documents with words, one behind the other, and the dot products of what stands close together in them."""

    def __init__(self, documents: Sequence[FloatArray], window: int) -> None:
        lengths = np.array([len(vectors) for vectors in documents])
        reach = min(window, int(lengths.max()) - 1)
        self.left, self.right = range(-reach, 0), range(1, reach + 1)
        first = np.repeat(np.cumsum(lengths) - lengths, lengths)
        last = first + np.repeat(lengths, lengths) - 1
        position = np.arange(len(first))
        # For each distance: whether there is a word so far away in the same document, (T,).
        self.has: dict[int, NDArray[np.bool_]] = {
            o: (first <= position + o) & (position + o <= last) for o in range(-reach, reach + 1)
        }
        self._dots = _dots(documents[0] if len(documents) == 1 else np.concatenate(documents), 2 * reach)

    def product(self, one: int, other: int) -> FloatArray:
        """Dot products of the vectors `one` and `other` positions from each word; 0 where one of them is missing: (T,)."""
        near, far = min(one, other), max(one, other)
        return np.where(self.has[near] & self.has[far], np.roll(self._dots[far - near], -near), 0.0)

    def product_of_sums(self, some: Sequence[int], others: Sequence[int]) -> FloatArray:
        """Dot products of the sums of two sets of vectors: (T,)."""
        return self._total([self.product(one, other) for one in some for other in others])

    def statistics(self) -> FloatArray:
        """The six statistics of each word: (T, 6)."""
        around = [*self.left, *self.right]
        square = self._dots[0]
        norm = np.maximum(np.sqrt(square), _TINY)
        count = np.maximum(self._total([self.has[o] for o in around]), 1.0)
        cosines, gaps, norms = [], [], []
        for o in around:
            dot, its_square = self.product(0, o), self.product(o, o)
            norms.append(np.maximum(np.sqrt(its_square), _TINY))
            cosines.append(dot / (norm * norms[-1]))  # 0 where there is no neighbour
            gaps.append(np.sqrt(np.maximum(square + its_square - 2 * dot, 0.0)))
        mean = self._total(cosines) / count
        spread = self._of_present([(cosine - mean) ** 2 for cosine in cosines]) / count
        nearest = np.full(len(square), -np.inf)
        for o, cosine in zip(around, cosines, strict=True):
            nearest = np.where(self.has[o], np.maximum(nearest, cosine), nearest)
        left, right = self.product_of_sums(self.left, self.left), self.product_of_sums(self.right, self.right)
        across = self.product_of_sums(self.left, self.right)
        columns = np.stack(
            [
                _cosine(self.product_of_sums([0], around), square, left + 2 * across + right),
                self._of_present(gaps) / count,
                np.log(norm / np.maximum(self._of_present(norms) / count, _TINY)),
                _cosine(across, left, right),
                nearest,
                np.sqrt(spread),
            ],
            axis=1,
        )
        has_left, has_right = self._there(-1), self._there(1)
        columns[~(has_left & has_right), 3] = np.nan
        columns[~(has_left | has_right)] = np.nan
        return columns

    def _there(self, offset: int) -> NDArray[np.bool_]:
        return self.has.get(offset, np.zeros(len(self.has[0]), dtype=bool))

    def _of_present(self, values: Sequence[FloatArray]) -> FloatArray:
        """The sum over neighbours, left ones first, of those that exist: (T,)."""
        around = [*self.left, *self.right]
        return self._total([np.where(self.has[o], value, 0.0) for o, value in zip(around, values, strict=True)])

    def _total(self, values: Sequence[FloatArray | NDArray[np.bool_]]) -> FloatArray:
        total: FloatArray = np.zeros(len(self.has[0]))
        for value in values:
            total = total + value
        return total


def _dots(vectors: FloatArray, reach: int) -> FloatArray:
    """Dot products of each vector with itself and with those behind it, across documents too: (reach + 1, T)."""
    dots = np.zeros((reach + 1, len(vectors)))
    for start in range(0, len(vectors), _BLOCK):
        block = vectors[start : start + _BLOCK + reach].astype(np.float64)
        for step in range(min(reach + 1, len(block))):
            count = min(_BLOCK, len(block) - step)
            dots[step, start : start + count] = np.einsum("td,td->t", block[:count], block[step : step + count])
    return dots


def _cosine(dot: FloatArray, square: FloatArray, other_square: FloatArray) -> FloatArray:
    """Cosines from a dot product and two squared lengths, which rounding may have left a little below zero."""
    norms = np.sqrt(np.maximum(square, 0.0)) * np.sqrt(np.maximum(other_square, 0.0))
    return np.asarray(dot / np.maximum(norms, _TINY))


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


def _kind(name: str) -> ReasonKind:
    plain = _PLAIN.get(name, "does not fit its surroundings" if name.partition(" ")[2] in CONTEXT else "")
    return ReasonKind(name, f"{name}: {{value:.3g}}, normal {{mean:.2g}} ± {{scale:.2g}}", plain, _RANKS.get(plain, 70))


CHANGES = "changes between small letters, capitals, digits and marks"
"""Takes the place of the share of letters in the preset `paper`."""
_KINDS = {name: _kind(name) for entry in (*SURFACE, *CONTEXT, CHANGES) for name in (f"high {entry}", f"low {entry}")}
_LETTERS = SURFACE.index("share of letters")
_VOWELS = frozenset("aeiouyàáâãäåæèéêëìíîïòóôõöøùúûüýœ")


@dataclass(frozen=True)
class FormView:
    """Gaussian reference of normal descriptors: mean, scale per entry, and inverse correlation."""

    config: FormConfig
    mean: FloatArray  # (16,), or (10,) without vectors
    scale: FloatArray  # (16,)
    precision: FloatArray  # (16, 16), of standardised entries

    name = "form"

    @classmethod
    def fit(cls, documents: Sequence[Encoded], config: FormConfig) -> FormView:
        """Mean and covariance of the normal words' descriptors."""
        descriptors = describe(documents, config)
        mean = np.zeros(descriptors.shape[1])
        present = ~np.isnan(descriptors)
        known = present.any(axis=0)
        mean[known] = np.nanmean(descriptors[:, known], axis=0)
        centred = np.where(present, descriptors - mean, 0.0)
        scale = np.maximum(centred.std(axis=0), config.min_scale)
        standard = centred / scale
        correlation = standard.T @ standard / len(standard)
        return cls(config, mean, scale, _invert(correlation, config.shrinkage))

    def extended(self, documents: Sequence[Encoded], seen: int) -> FormView:
        """The same with further words, beside the `seen` ones that it is made of."""
        more = FormView.fit(documents, self.config)
        share = np.array([seen, sum(map(len, documents))]) / (seen + sum(map(len, documents)))
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

    def raw(self, documents: Sequence[Encoded]) -> list[FloatArray]:
        """Mahalanobis distances."""
        if not documents:
            return []
        if _have_vectors(documents):
            raw = self._distances(describe(documents, self.config))
        else:  # a word's form is the same everywhere
            words = distinct_words(documents)
            raw = self._distances(_describe_surfaces(_SURFACES.of(words.words), self.config))[words.numbers]
        return split_by(map(len, documents), raw)

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
        return [
            [
                self._reason(entry, descriptors[t, entry], standard[t, entry], float(shares[t, entry]))
                for entry in np.argsort(-shares[t], kind="stable")
                if shares[t, entry] > 0 and abs(standard[t, entry]) >= 1
            ]
            for t in range(len(document))
        ]

    def tensors(self) -> Mapping[str, FloatArray | IntArray]:
        return {"mean": self.mean, "scale": self.scale, "precision": self.precision}

    def graph(self) -> bytes | None:
        return None

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
    surface = _describe_surfaces(_SURFACES.of_each(distinct_words(documents)), config)
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
        float(len(list(groupby(word, _kind_of_character))) - 1),
    )


def _kind_of_character(character: str) -> tuple[bool, bool, bool, bool]:
    return character.isalpha(), character.isupper(), character.isdigit(), character.isspace()


_SURFACES = WordCache(lambda word: (*describe_surface(word), bool(plain_address(word))), len(SURFACE) + 2)


def _longest(flags: object) -> int:
    return max((len(list(run)) for flag, run in groupby(flags) if flag), default=0)  # type: ignore[call-overload]


VIEW = ViewKind(
    fit=lambda data: FormView.fit(data.documents, data.config.form),
    restore=lambda saved: FormView(config=saved.config.form, **saved.tensors),
    extend=lambda view, added: view.extended(added.documents, added.seen),
    wording=Wording("words of unusual form", "has an unusual form", "its words have unusual forms"),
)
