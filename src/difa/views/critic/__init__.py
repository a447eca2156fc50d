"""Critic view: does the word look like an error?

Two small networks are taught to find the errors that were made on purpose in the corpus' own documents (`difa.perturb`). One
sees plain statistics of a word (`statistics`) and carries over to errors of any kind; the other sees its vector as well, and
so its meaning. The mean of their logits is the evidence. Both are blind to what they were not taught. Without vectors there is
the first alone.

The critic of all documents has the networks of the folds, and takes the mean of what they say, with counts of all documents. One
network taught by all documents is surer of itself, on new text too, than those that p-values come from, and raised more false
alarms than promised. The networks are trained and run in NumPy: a framework would cost more to load than it saves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from itertools import pairwise

import numpy as np

from difa.document import IMPLIED, Encoded, FloatArray, IntArray, Reason, ReasonKind
from difa.knowledge.word_cache import Batch
from difa.views import SavedView, TrainingData, View, ViewKind, Wording, all_vectors
from difa.views.critic.counts import CorpusCounts
from difa.views.critic.statistics import STATISTICS, Statistics

_BATCH = 512
_WARM = 0.3  # share of the steps in which the learning rate rises
_MEAN_DECAY, _SQUARE_DECAY, _WEIGHT_DECAY = 0.9, 0.999, 1e-3  # of AdamW
_FARTHEST = 6.0  # standard deviations at which an input is cut
_ROWS = 4096  # rows that are run at a time
_FEW_ROWS = 256  # the same for few weights, by all networks: so small a product is not spread over threads
_FEW_WEIGHTS = 1024
_TOGETHER = 1024  # rows for which all but the products is done at once: they stay in the processor's cache

_ERROR = "looks like an error"
_CASES = STATISTICS[-6:-1]  # all but the lower one
_PLAIN: dict[str, tuple[str, int]] = {
    "repeats the word before it": ("repeats the word before it", 0),
    "part of a word torn apart": ("looks like part of a word torn apart", 21),
    **dict.fromkeys(("odd letters", "oddest letter"), ("is spelt oddly", 30)),
    **dict.fromkeys(("odd capitals, digits or marks", *_CASES), ("has odd capitals, digits or marks", 31)),
    **dict.fromkeys(("rare after the word before it", "rare before the word after it"), ("is unusual beside its neighbours", 43)),
    "length": ("is unusually long", 57),
}
"""What a sentence says where a statistic speaks against a word, and its place among others."""
_KINDS = tuple(ReasonKind(name, f"{_ERROR}: {name}", *_PLAIN.get(name, (_ERROR, IMPLIED + 1))) for name in STATISTICS)
_SLIP = ReasonKind("slip", "one letter from {word!r}", _ERROR, IMPLIED + 1)
_RUN_TOGETHER = ReasonKind(
    "run together", "perhaps {first!r} and {second!r} run together", "looks like two words run together", 20
)
_NO_REASON = Reason(ReasonKind("no error", "looks like no error"), {}, 0.0)


@dataclass(frozen=True)
class Networks:
    """Networks of one kind along the first axis: standardised inputs -> rectified hidden units -> one logit."""

    mean: FloatArray  # (networks, inputs)
    scale: FloatArray  # (networks, inputs)
    w1: FloatArray  # (networks, inputs, hidden)
    b1: FloatArray  # (networks, hidden)
    w2: FloatArray  # (networks, hidden)
    b2: FloatArray  # (networks,)

    @classmethod
    def restore(cls, tensors: Mapping[str, FloatArray]) -> Networks:
        """Networks from their weights."""
        counts = {len(values) for values in tensors.values()}
        if len(counts) != 1 or not counts.pop():
            raise ValueError("expected as many of each weight as there are networks")
        return cls(**tensors)

    @classmethod
    def join(cls, parts: Sequence[Networks]) -> Networks:
        """All networks of several."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))

    def __len__(self) -> int:
        return len(self.w1)

    def logits(self, inputs: FloatArray) -> FloatArray:
        """What they say on average: (rows, inputs) -> (rows,), in double precision, so that other rows do not change a score."""
        size = max(1, _FEW_ROWS // len(self)) if self.w1[0].size <= _FEW_WEIGHTS else _ROWS
        logits = np.empty(len(inputs))
        step = size * max(1, _TOGETHER // size)
        for start in range(0, len(inputs), step):
            part = slice(start, start + step)
            logits[part] = self._run(inputs[part].astype(np.float64, copy=False), size)
        return logits

    def _run(self, inputs: FloatArray, size: int) -> FloatArray:
        """The same for some rows; matrix products take `size` of them at a time, the rest is done for all at once."""
        weights, offsets = self._folded
        centred = inputs - self.mean[0]
        hidden, logits = np.empty((len(inputs), weights.shape[1])), np.empty(len(inputs))  # (rows, networks · hidden), (rows,)
        blocks = [slice(start, start + size) for start in range(0, len(inputs), size)]
        for block in blocks:
            np.matmul(centred[block], weights, out=hidden[block])
        hidden += offsets
        self._cut_far(inputs, hidden, size)
        np.maximum(hidden, 0.0, out=hidden)
        shares = (self.w2 / len(self)).ravel()  # each network has as much a say as the others
        for block in blocks:
            np.matmul(hidden[block], shares, out=logits[block])
        return np.asarray(logits + self.b2.mean())

    def _cut_far(self, inputs: FloatArray, hidden: FloatArray, size: int) -> None:
        """Put right the hidden units of rows with an input that is cut."""
        low, high = self._uncut
        far = np.flatnonzero(((inputs < low) | (inputs > high)).any(axis=1))
        if not len(far):
            return
        cut = standardise(inputs[far], self.mean[:, None], self.scale[:, None])  # (networks, far, inputs)
        products = np.empty((len(self), len(far), self.w1.shape[2]))
        ends = np.searchsorted(far, range(0, len(inputs) + size, size)).tolist()
        for first, last in pairwise(ends):
            if first < last:
                np.matmul(cut[:, first:last], self.w1, out=products[:, first:last])
        products += self.b1[:, None]
        hidden[far] = products.transpose(1, 0, 2).reshape(len(far), -1)

    @cached_property
    def _uncut(self) -> tuple[FloatArray, FloatArray]:
        """The lowest and the highest inputs that no network cuts: (inputs,) each."""
        reach = _FARTHEST * self.scale
        return (self.mean - reach).max(axis=0), (self.mean + reach).min(axis=0)

    @cached_property
    def _folded(self) -> tuple[FloatArray, FloatArray]:
        """Weights and offsets of all hidden units for inputs less the first mean: the scales are in the weights."""
        weights = (self.w1 / self.scale[:, :, None]).transpose(1, 0, 2).reshape(self.w1.shape[1], -1)
        moved = np.einsum("ni,nih->nh", (self.mean - self.mean[0]) / self.scale, self.w1)
        return weights, (self.b1 - moved).ravel()


def standardise(inputs: FloatArray, mean: FloatArray, scale: FloatArray) -> FloatArray:
    """Inputs in standard deviations from the mean, cut where they are far out."""
    return np.asarray(np.clip((inputs - mean) / scale, -_FARTHEST, _FARTHEST))


def train(
    inputs: FloatArray, labels: FloatArray, *, normal: int, scale: FloatArray, hidden: int, epochs: int, rate: float, seed: int
) -> Networks:
    """Teach a network to tell rows labelled 1 from rows labelled 0.

    Args:
        inputs: (rows, inputs).
        labels: (rows,).
        normal: how many rows, from the first on, are words of normal documents: inputs are centred on them.
        scale: (inputs,), what counts as one of each input.
        hidden: hidden units.
        epochs: passes over all rows.
        rate: highest learning rate.
        seed: of the start and of the order of rows.
    """
    rng = np.random.default_rng(seed)
    mean = inputs[:normal].mean(axis=0, dtype=np.float64)
    standard = inputs.astype(np.float32)  # from here on in place: these are the largest arrays of a fit
    standard -= mean.astype(np.float32)
    standard /= scale.astype(np.float32)
    np.clip(standard, -_FARTHEST, _FARTHEST, out=standard)
    targets, width = labels.astype(np.float32), standard.shape[1]

    def draw(fan_in: int, *shape: int) -> FloatArray:
        return rng.uniform(-1, 1, shape).astype(np.float32) / np.float32(np.sqrt(fan_in))

    weights = [draw(width, width, hidden), draw(width, hidden), draw(hidden, hidden), np.zeros(1, np.float32)]
    means, squares = ([np.zeros_like(weight) for weight in weights] for _ in range(2))  # of the gradients
    steps = epochs * -(-len(standard) // _BATCH)
    orders = (rng.permutation(len(standard)) for _ in range(epochs))
    batches = (order[start : start + _BATCH] for order in orders for start in range(0, len(order), _BATCH))
    for step, rows in enumerate(batches, 1):
        speed = rate * _cycle(step / steps)
        gradients = _gradients(standard[rows], targets[rows], weights)
        for weight, gradient, m, v in zip(weights, gradients, means, squares, strict=True):
            m += (1 - _MEAN_DECAY) * (gradient - m)
            v += (1 - _SQUARE_DECAY) * (gradient**2 - v)
            weight *= 1 - speed * _WEIGHT_DECAY
            corrected = np.sqrt(v / (1 - _SQUARE_DECAY**step)) + 1e-8
            weight -= speed / (1 - _MEAN_DECAY**step) * m / corrected
    w1, b1, w2, b2 = (weight.astype(np.float64) for weight in weights)
    return Networks(mean[None], scale.astype(np.float64)[None], w1[None], b1[None], w2[None], b2)


def _gradients(inputs: FloatArray, targets: FloatArray, weights: list[FloatArray]) -> list[FloatArray]:
    """Gradients of the mean cross-entropy."""
    w1, b1, w2, b2 = weights
    hidden = np.maximum(inputs @ w1 + b1, 0)  # (rows, hidden)
    logits = hidden @ w2 + b2
    error = (1 / (1 + np.exp(-np.clip(logits, -30, 30))) - targets) / len(inputs)  # (rows,)
    back = error[:, None] * w2 * (hidden > 0)  # (rows, hidden)
    return [inputs.T @ back, back.sum(axis=0), hidden.T @ error, error.sum(keepdims=True)]


def _cycle(done: float) -> float:
    """Share of the highest learning rate after a share of the steps: up, then down, along cosines."""
    if done < _WARM:
        return float(0.04 + 0.96 * 0.5 * (1 - np.cos(np.pi * done / _WARM)))
    return float(0.5 * (1 + np.cos(np.pi * (done - _WARM) / (1 - _WARM))))


@dataclass(frozen=True)
class CriticView(View):
    """Counts of normal text, and the networks that read them, one or more of each kind."""

    statistics: Statistics
    networks: Mapping[str, Networks]

    name = "critic"

    @classmethod
    def fit(cls, data: TrainingData) -> CriticView:
        """Teach the networks on normal documents and on errors made in them."""
        config, pseudos = data.config.critic, data.pseudos
        statistics = Statistics(CorpusCounts.of(data), data.language)
        chosen = _draw_documents([len(document) for document in data.documents], config.words, np.random.default_rng(data.seed))
        normal = [data.documents[index] for index in chosen]
        documents = [*normal, *(pseudo.document for pseudo in pseudos)]
        plain = statistics.describe(documents, [*normal, *(data.documents[pseudo.source] for pseudo in pseudos)])
        words = sum(map(len, normal))
        labels = np.concatenate([np.zeros(words), *(pseudo.labels for pseudo in pseudos)])
        plain_scale = plain[:words].std(axis=0) + 1e-6
        teach = partial(train, labels=labels, normal=words, rate=config.rate, seed=data.seed)
        networks = {"plain": teach(plain, scale=plain_scale, hidden=config.plain_hidden, epochs=config.plain_epochs)}
        vectors = all_vectors(documents)
        if vectors.shape[1]:
            vector_scale = np.full(vectors.shape[1], max(float(vectors[:words].std()), 1e-6))
            inputs = np.concatenate([plain, vectors], axis=1, dtype=np.float32)
            del vectors
            networks["vector"] = teach(
                inputs,
                scale=np.concatenate([plain_scale, vector_scale]),
                hidden=config.vector_hidden,
                epochs=config.vector_epochs,
            )
        return cls(statistics, networks)

    @classmethod
    def join(cls, data: TrainingData, parts: Sequence[CriticView]) -> CriticView:
        """The networks of critics that were taught by parts of the documents, beside counts of all documents."""
        networks = {kind: Networks.join([part.networks[kind] for part in parts]) for kind in parts[0].networks}
        return cls(Statistics(CorpusCounts.of(data), data.language), networks)

    def extended(self, data: TrainingData, seen: int) -> CriticView:
        """The same networks, beside counts that know further documents."""
        return CriticView(Statistics(self.statistics.corpus.extended(data), data.language), self.networks)

    @classmethod
    def restore(cls, saved: SavedView) -> CriticView:
        networks = {}
        for kind in ("plain", "vector"):
            names = [name for name in saved.tensors if name.startswith(f"{kind}.")]
            if names:
                networks[kind] = Networks.restore({name.removeprefix(f"{kind}."): saved.tensors[name] for name in names})
        return cls(Statistics(CorpusCounts.restore(saved.tensors), saved.language), networks)

    def raw(self, documents: Sequence[Encoded]) -> FloatArray:
        """The softplus of the networks' mean logit."""
        batch = Batch.of(documents)
        plain = self.statistics.describe(batch)
        logits = self.networks["plain"].logits(plain)
        if "vector" in self.networks:
            inputs = np.concatenate([plain, all_vectors(batch)], axis=1)
            logits = (logits + self.networks["vector"].logits(inputs)) / 2
        return np.logaddexp(0.0, logits).round(9)

    def explain(self, document: Encoded) -> list[list[Reason]]:
        """What the word may have been, and which statistics speak against it."""
        plain = self.statistics.describe([document])
        networks = self.networks["plain"]
        usual = networks.mean.mean(axis=0)
        rows = []
        for at, word in enumerate(document.words):
            # How much the logit falls when a statistic is put at its normal mean.
            changed = np.repeat(plain[at : at + 1], len(STATISTICS) + 1, axis=0)
            np.fill_diagonal(changed, usual)
            logits = networks.logits(changed)
            falls = np.maximum(logits[-1] - logits[:-1], 0.0)
            shares = falls / max(float(falls.sum()), 1e-9)
            order = np.argsort(-shares, kind="stable")[:3]
            rows.append([self._reason(int(i), word, float(shares[i])) for i in order if shares[i] > 0] or [_NO_REASON])
        return rows

    def tensors(self) -> Mapping[str, FloatArray | IntArray]:
        names = [(kind, field.name) for kind in self.networks for field in fields(Networks)]
        weights = {f"{kind}.{name}": getattr(self.networks[kind], name) for kind, name in names}
        return {**self.statistics.corpus.tensors(), **weights}

    def _reason(self, statistic: int, word: str, share: float) -> Reason:
        name = STATISTICS[statistic]
        if name == "a common word is one letter away" and (slip := self.statistics.slip_of(word)):
            return Reason(_SLIP, {"word": slip}, share)
        if name == "two words run together" and (halves := self.statistics.halves_of(word)):
            return Reason(_RUN_TOGETHER, {"first": halves[0], "second": halves[1]}, share)
        return Reason(_KINDS[statistic], {}, share)


def _draw_documents(lengths: Sequence[int], max_words: int, rng: np.random.Generator) -> list[int]:
    """Documents, drawn at random, up to a total number of words; at least one."""
    chosen: list[int] = []
    words = 0
    for index in rng.permutation(len(lengths)).tolist():
        if chosen and words + lengths[index] > max_words:
            continue
        chosen.append(index)
        words += lengths[index]
    return sorted(chosen)


VIEW = ViewKind(
    CriticView.fit,
    CriticView.restore,
    CriticView.extended,
    CriticView.join,
    knowledge=("words", "trigrams"),
    learnt_from=("valence",),
    needs_errors=True,
    wording=Wording("words that look like errors", _ERROR, "it reads as if it had errors", IMPLIED + 1),
)
