"""Form-structural view: is the word unusual in its string or in its local geometry?

A 16-number descriptor per word, 10 surface statistics of the string and 6 statistics of its vector among two neighbours
on each side, and its Mahalanobis distance to normal words: s_form = sqrt((d−μ)ᵀ Σ⁻¹ (d−μ)). Without vectors the ten remain.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from difa.config import FormConfig
from difa.document import Encoded, FloatArray, IntArray, Reason, ReasonKind, split_by
from difa.knowledge.word_cache import WordCache
from difa.views.form.context_statistics import CONTEXT, describe_context
from difa.views.view import ViewKind, Wording

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
_TINY = 1e-9


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
        standard = self._standardise(describe(documents, self.config))
        squared = np.einsum("ti,ti->t", np.einsum("ti,ij->tj", standard, self.precision), standard)
        return split_by(map(len, documents), np.sqrt(np.maximum(squared, 0.0)))

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
    statistics = _SURFACES.of(word for document in documents for word in document.words)
    surface = statistics[:, : len(SURFACE)]
    if config.letters == "changes":
        surface = surface.copy()
        surface[:, _LETTERS] = statistics[:, -1]
    if not any(document.vectors.shape[1] for document in documents):
        return surface
    return np.concatenate([surface, describe_context([document.vectors for document in documents], config.window)], axis=1)


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


_SURFACES = WordCache(describe_surface, len(SURFACE) + 1)


def _longest(flags: object) -> int:
    return max((len(list(run)) for flag, run in groupby(flags) if flag), default=0)  # type: ignore[call-overload]


VIEW = ViewKind(
    fit=lambda data: FormView.fit(data.documents, data.config.form),
    restore=lambda saved: FormView(config=saved.config.form, **saved.tensors),
    extend=lambda view, added: view.extended(added.documents, added.seen),
    wording=Wording("words of unusual form", "has an unusual form", "its words have unusual forms"),
)
