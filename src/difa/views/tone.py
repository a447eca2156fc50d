"""Tone view: does the word praise, insult or complain more than normal text does?

With vectors: lexicons of valence and of insults give a direction in the encoder's space along which words turn negative or
hostile, and one along which they turn positive (ridge regression on the lexicons' words, each read in a short phrase). A word in
its context is measured along both. Without vectors: the lexicons, which rate a few thousand words, are looked up and stored in
the model; words that they have in no form are neutral.

Either way a word is measured in units of what one normal word in a hundred reaches. Praise must be ten times as rare to count as
much, since most people look for the other. An insult that hides in a word counts like the insult: a part of a compound, letters
masked by signs, letters with spaces between them. Lexicons and phrase are English: in other languages the view is silent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from difa.document import IMPLIED, Encoded, FloatArray, IntArray, Reason, ReasonKind, all_words
from difa.encoders import Encoder
from difa.knowledge import ENGLISH
from difa.knowledge.letters import plain_address
from difa.knowledge.tone import SPACED, hidden_insult, rated_words, spaced_insults, valences
from difa.knowledge.word_cache import Batch, WordCache
from difa.knowledge.wordlist import common_words, plain, word_list
from difa.storage.atomic import kept
from difa.views import TrainingData, View, ViewKind, Wording, silence
from difa.views.stored_words import pack_values, unpack_values
from difa.words import from_tokens

UNITS = (0.99, 0.999)
"""The quantile of normal words that is one unit: of complaint, of praise."""
_ENDINGS = ("s", "es", "d", "ed", "ing", "ly")  # a word that the lexicon has without one of these is rated like that one
_STEM = 4  # letters that such a word has at least without it
_MIN_UNIT = 1.0  # in normal text without any valence, a word of little still says little
_NOT_RATED = ReasonKind("neutral", "neutral, or unknown to the lexicon")
_RATED = ReasonKind("rated", "a {side} word, {strength:.0%} of the strongest", "is an unusually {side} word", 23)
_PHRASE = "is"  # stands before each word of the lexicon
_KNOWN = 1e-7  # rarer words of the lexicon are left out
_NEUTRAL = 12_000  # common words, of which every fifth that the lexicon does not have counts as neutral
_SHRINKAGE = 1000.0
_QUANTILES = np.linspace(0, 1, 1001)
_ARE_LETTERS = WordCache(lambda words: [len(word) == 1 and word.isalpha() for word in words], dtype=bool)
_HAS_TONE = 1e-6  # share of running text from which a word is known for its tone; of rarer ones a vector guesses it
_SOUNDS = ReasonKind("sounds", "sounds more {side} than {share:.1%} of normal words", "sounds unusually {side}", 22)
_LEANS = ReasonKind("leans", "leans more {side} than {share:.1%} of normal words", "is used like {side} words", IMPLIED + 1)


@dataclass(frozen=True)
class ToneView(View):
    """Directions of complaint and praise (d + 1, 2), and the quantiles of normal words along them (1001, 2)."""

    directions: FloatArray
    quantiles: FloatArray

    name = "tone"

    @classmethod
    def fit(cls, data: TrainingData) -> ToneView:
        """Measure normal words along both directions."""
        encoder = data.encoder
        directions = learn_directions(encoder) if data.language == ENGLISH else np.zeros((encoder.spec.dimension + 1, 2))
        return cls(directions, np.quantile(_measure(data.documents, directions), _QUANTILES, axis=0))

    def extended(self, data: TrainingData, seen: int) -> ToneView:
        """The same directions, measured with further words beside the `seen` ones."""
        more = _measure(data.documents, self.directions)
        weights = np.concatenate([np.full(len(self.quantiles), seen / len(self.quantiles)), np.ones(len(more))])
        sides = np.concatenate([self.quantiles, more]).T
        return ToneView(self.directions, np.stack([_weighted_quantiles(values, weights) for values in sides], axis=1))

    @property
    def is_silent(self) -> bool:
        """Whether it does not speak the corpus' language."""
        return not self.directions.any()

    def raw(self, documents: Sequence[Encoded]) -> FloatArray:
        """The stronger of both, from the middle of normal text on."""
        if self.is_silent:
            return np.zeros(sum(map(len, documents)))
        units = self._units(_measure(documents, self.directions))
        return np.asarray(np.maximum(units.max(axis=1), 0.0).round(9))

    def explain(self, document: Encoded) -> list[list[Reason]]:
        """Which way the word leans, and how many normal words do so as much."""
        if self.is_silent:
            return silence(document)
        values, known = _measure([document], self.directions), word_list(ENGLISH)
        reasons = []
        for word, value, side in zip(document.words, values, self._units(values).argmax(axis=1).tolist(), strict=True):
            share = float(np.mean(self.quantiles[:, side] < value[side]))
            kind = _SOUNDS if known.exact(plain(word)) >= _HAS_TONE or hidden_insult(word) else _LEANS
            reasons.append([Reason(kind, {"side": ("negative", "positive")[side], "share": share}, 1.0)])
        return reasons

    def _units(self, values: FloatArray) -> FloatArray:
        middle = self.quantiles[len(_QUANTILES) // 2]
        reach = np.array([np.interp(unit, _QUANTILES, self.quantiles[:, side]) for side, unit in enumerate(UNITS)])
        return np.asarray((values - middle) / np.maximum(reach - middle, 1e-9))


def learn_directions(encoder: Encoder) -> FloatArray:
    """The directions of complaint and praise in an encoder's space: (d + 1, 2); kept in the cache folder."""
    spec = encoder.spec

    def learn() -> bytes:
        rated = _examples()
        vectors = np.stack([item.vectors[1] for item in encoder.encode([from_tokens([_PHRASE, word]) for word in rated])])
        return _ridge(vectors.astype(np.float64), np.array(list(rated.values()))).tobytes()

    name = f"tone-{spec.fingerprint[:16]}-layer{spec.layer}-v3"
    return kept(name, learn, lambda content: np.frombuffer(content).reshape(spec.dimension + 1, 2))


def _examples() -> dict[str, tuple[float, float]]:
    """Words with how negative and how positive they are: rated ones that are not too rare, all insults, and neutral ones."""
    known, lexicon = word_list(ENGLISH), valences()
    examples = {word: sides for word, sides in rated_words().items() if word not in lexicon or known.frequency(word) >= _KNOWN}
    neutral = [word for word in common_words(ENGLISH, _NEUTRAL) if word not in lexicon and len(word) > 1][::5]
    return examples | {word: (0.0, 0.0) for word in neutral if word not in examples}


def _ridge(inputs: FloatArray, targets: FloatArray) -> FloatArray:
    """Weights and, in the last row, the constant of a ridge regression on inputs of mean square 1."""
    mean, middle = inputs.mean(axis=0), targets.mean(axis=0)
    centred = inputs - mean
    scale = max(float(np.sqrt((centred**2).mean())), 1e-9)
    centred /= scale
    gram = centred.T @ centred + _SHRINKAGE * np.eye(centred.shape[1])
    weights = np.linalg.solve(gram, centred.T @ (targets - middle)) / scale
    return np.concatenate([weights, (middle - mean @ weights)[None]])


def _measure(documents: Sequence[Encoded], directions: FloatArray) -> FloatArray:
    """Words along both directions, a hidden insult at least as the lexicon rates it: (T, 2)."""
    # Document by document: how large a product is decides on its last bits.
    values = np.concatenate([item.vectors.astype(np.float64) @ directions[:-1] + directions[-1] for item in documents])
    batch = Batch.of(documents)
    words = batch.words
    values[[at for at, word in enumerate(words) if plain_address(word)]] = 0.0  # of which vectors know nothing
    hidden = {at: complaint for at, complaint in enumerate(map(hidden_insult, words)) if complaint}
    for at, complaint in (hidden | _spaced(batch)).items():
        values[at, 0] = max(values[at, 0], complaint)
    return values


def _spaced(batch: Batch) -> dict[int, float]:
    """The complaint of insults that are written with spaces, by the positions of their letters among all words."""
    letters = np.append(0, np.cumsum(_ARE_LETTERS.of(batch)))[batch.starts]
    found = ((at, spaced_insults(batch[at].words)) for at in np.flatnonzero(np.diff(letters) >= SPACED).tolist())
    return {int(batch.starts[at]) + place: complaint for at, insults in found for place, complaint in insults.items()}


def _weighted_quantiles(values: FloatArray, weights: FloatArray) -> FloatArray:
    """The quantiles of values, each of which counts as much as its weight says: (1001,)."""
    order = np.argsort(values, kind="stable")
    middles = np.cumsum(weights[order]) - weights[order] / 2
    reach = (middles - middles[0]) / max(float(middles[-1] - middles[0]), 1e-12)
    return np.interp(_QUANTILES, reach, values[order])


@dataclass(frozen=True)
class LexiconView(View):
    """Words with their valences, and what is one unit of complaint and of praise: (2,)."""

    valence: Mapping[str, float]
    units: FloatArray

    name = "tone"

    @classmethod
    def fit(cls, data: TrainingData) -> LexiconView:
        """Measure normal words."""
        rated = rated_words() if data.language == ENGLISH else {}  # of which what is negative in any way is negative
        view = cls({word: -complaint or praise for word, (complaint, praise) in rated.items()}, np.ones(2))
        sides = np.array([view._sides(word) for word in all_words(data.documents)])
        units = [np.quantile(sides[:, side], unit) for side, unit in enumerate(UNITS)]
        return cls(view.valence, np.maximum(units, _MIN_UNIT))

    def extended(self, data: TrainingData, seen: int) -> LexiconView:
        """The same: of the lexicon nothing is the corpus' own but its units, which stay."""
        return self

    @classmethod
    def restore(cls, tensors: Mapping[str, FloatArray]) -> LexiconView:
        units = tensors["units"]
        if units.shape != (2,) or not (units > 0).all():
            raise ValueError(f"expected two positive units, got {units.tolist()!r:.40}")
        return cls(unpack_values(tensors, "valences"), units)

    def raw(self, documents: Sequence[Encoded]) -> FloatArray:
        """The stronger of complaint and praise."""
        batch = Batch.of(documents)
        raw = self._raw_of_words.of(batch)
        for place, complaint in _spaced(batch).items() if self.valence else ():
            raw[place] = max(raw[place], complaint / self.units[0])
        return raw

    def explain(self, document: Encoded) -> list[list[Reason]]:
        """Which way the word leans."""
        if not self.valence:
            return silence(document)
        spaced = spaced_insults(document.words)
        return [[_lexicon_reason(*self._sides(word), spaced.get(at, 0.0))] for at, word in enumerate(document.words)]

    def tensors(self) -> Mapping[str, FloatArray | IntArray]:
        return {**pack_values(self.valence, "valences"), "units": self.units}

    @cached_property
    def _raw_of_words(self) -> WordCache:
        return WordCache(lambda words: (np.array(list(map(self._sides, words))) / self.units).max(axis=1))

    def _sides(self, word: str) -> tuple[float, float]:
        """Complaint and praise, 0 to 8 and 0 to 4."""
        folded = plain(word)
        valence = self.valence.get(folded)
        if valence is None:
            stems = (folded.removesuffix(ending) for ending in _ENDINGS if folded.endswith(ending))
            valence = next((self.valence[stem] for stem in stems if len(stem) >= _STEM and stem in self.valence), 0.0)
        hidden = hidden_insult(word) if self.valence else 0.0
        return max(-valence, hidden), max(valence, 0.0)


def _lexicon_reason(complaint: float, praise: float, spaced: float) -> Reason:
    complaint = max(complaint, spaced)
    if complaint == praise:
        return Reason(_NOT_RATED, {}, 0.0)
    side, strength = ("negative", complaint / 8) if complaint else ("positive", praise / 4)
    return Reason(_RATED, {"side": side, "strength": strength}, 1.0)


def _prepare(data: TrainingData) -> None:
    if data.language == ENGLISH and data.encoder.spec.dimension:
        learn_directions(data.encoder)


VIEW = ViewKind(
    lambda data: (ToneView if data.encoder.spec.dimension else LexiconView).fit(data),
    lambda saved: ToneView(**saved.tensors) if "directions" in saved.tensors else LexiconView.restore(saved.tensors),
    lambda view, data, seen: view.extended(data, seen),
    learnt_from=("valence",),
    english_only=True,
    prepare=_prepare,
    wording=Wording("hostile or emotional words", "stands out in tone", "its tone is unlike theirs"),
)
