"""The paper's fusion and aggregation, in the preset `paper` alone: learned gates, a learned mixture, and how both learn.

Fusion of two views, by gates: α, β = σ(q(u)) with u = log evidences, their difference, agreement, maximum, and
s = α·e_sem + (1−α)·e_form + β·√(e_sem·e_form).

Aggregation: S_max, S_topk, S_lse and S_adp summarise the word scores in four ways; a 9-number descriptor of their shape (the
four, mean, peakness, support, geometry gate, log length) lets a small network choose: π = softmax(r(a)), S = Σ π_m S_m. The paper
calls S_lse log-sum-exp; it is log-mean-exp here, so that a long document does not score high for its length alone.

The formulas are written once, over `xp`: NumPy when scoring, torch when learning. q and r learn together, from word and document
labels of pseudo anomalies, while everything below them is frozen. Normal documents serve as negatives. Words and documents of
both classes weigh the same in the loss, however rare the anomalous ones are.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from difa.config import AggregationConfig, Config, FusionConfig
from difa.document import FloatArray, split_by
from difa.runtime.parallel import one_torch_thread

Array = Any  # a NumPy array or a torch tensor
Weights = Mapping[str, Array]

FEATURES = 5
_UNIT = 0.2  # brings evidences, 0 to about 12, to the scale of the network
_TINY = 1e-12
CANDIDATES = ("max", "topk", "lse", "adp")
DESCRIPTOR = (*CANDIDATES, "mean", "peakness", "support", "geometry", "log_length")
UNITS = (*[0.2] * 5, 0.5, 1.0, 1.0, 0.2)  # of the descriptor's entries: they bring all nine to the scale of the network
BATCH_DOCUMENTS = 64  # normal documents in a step at most, and as many pseudo-anomalous ones


@dataclass(frozen=True, slots=True)
class Example:
    """One document for learning: the evidences of its words (T, 2), and their labels (T,)."""

    evidence: FloatArray
    labels: FloatArray


@dataclass(frozen=True)
class PaperWeights:
    """The learned weights of q (fusion) and r (aggregation)."""

    fusion: Mapping[str, FloatArray]
    aggregation: Mapping[str, FloatArray]


def _initial_network(inputs: int, hidden: int, outputs: int, rng: np.random.Generator) -> dict[str, Array]:
    """Two layers whose output is 0 for every input at the start."""
    first = rng.normal(0, 0.3, (inputs, hidden))
    return {"w1": first, "b1": np.zeros(hidden), "w2": np.zeros((hidden, outputs)), "b2": np.zeros(outputs)}


def _run(inputs: Array, weights: Weights, xp: Any) -> Array:
    """Logits of a network: (…, inputs) -> (…, outputs)."""
    return xp.tanh(inputs @ weights["w1"] + weights["b1"]) @ weights["w2"] + weights["b2"]


def initial_gates(config: FusionConfig, rng: np.random.Generator) -> dict[str, Array]:
    """The network q at its start: both gates at one half for every word."""
    return _initial_network(FEATURES, config.hidden, 2, rng)


def gate(evidence: Array, weights: Weights, config: FusionConfig, xp: Any = np) -> Array:
    """Word scores from the evidences of two views (…, 2), or of the only one (…, 1): (…,)."""
    if evidence.shape[-1] == 1:
        return evidence[..., 0]
    e_sem, e_form = evidence[..., 0], evidence[..., 1]
    gates = open_gates(evidence, weights, xp)
    alpha, beta = gates[..., 0], gates[..., 1]
    fused = alpha * e_sem + (1 - alpha) * e_form  # s = α·e_sem + (1−α)·e_form …
    return fused + beta * _agreement(evidence, xp) if config.agreement else fused  # … + β·√(e_sem·e_form)


def open_gates(evidence: Array, weights: Weights, xp: Any = np) -> Array:
    """α and β of each word, by the evidences of two views: (…, 2) -> (…, 2)."""
    e_sem, e_form = evidence[..., 0], evidence[..., 1]
    shared = [_UNIT * (e_sem - e_form), _UNIT * _agreement(evidence, xp), _UNIT * xp.maximum(e_sem, e_form)]
    u = xp.stack([xp.log1p(e_sem), xp.log1p(e_form), *shared], -1)  # (…, 5)
    return 1 / (1 + xp.exp(-_run(u, weights, xp)))  # σ(q(u))


def _agreement(evidence: Array, xp: Any) -> Array:
    return xp.sqrt(evidence[..., 0] * evidence[..., 1] + _TINY)


def fuse(evidence: FloatArray, lengths: Sequence[int], weights: Weights, config: FusionConfig) -> FloatArray:
    """Scores of the words of all documents: (T, views) -> (T,)."""
    # How a matrix product rounds depends on its rows: each document by itself.
    return np.concatenate([np.empty(0), *(gate(item, weights, config) for item in split_by(lengths, evidence))])


def initial_mixture(config: AggregationConfig, rng: np.random.Generator) -> dict[str, Array]:
    """The network r at its start: all four rules weigh the same."""
    network = _initial_network(len(DESCRIPTOR), config.hidden, len(CANDIDATES), rng)
    return network | {"log_sharpness": np.array(math.log(0.5))}


def pool(scores: Array, mask: Array, log_sharpness: Array, config: AggregationConfig, xp: Any = np) -> Array:
    """The 9-number descriptor of each row: scores (B, T) ≥ 0, mask (B, T) of 0 and 1 -> (B, 9).

    The first four entries are the candidates; `lse` is log-mean-exp, log(Σ exp(s) / T). `geometry` is (Σs)² / (T·Σs²): 1
    where all words carry the same evidence, 1/T where one word carries it all.
    """
    scores = scores * mask
    length = xp.sum(mask, -1)  # (B,), as all that follow
    maximum = xp.amax(scores, -1)  # S_max
    mean = xp.sum(scores, -1) / length
    k = min(config.top_k, scores.shape[-1])
    top = xp.sum(_largest(scores, k, xp), -1) / xp.minimum(length, length * 0 + k)  # S_topk: padding is zero, it adds nothing
    shifted = mask * xp.exp(scores - maximum[..., None])
    lse = maximum + xp.log(xp.sum(shifted, -1) / length)  # S_lse, of the mean, not the sum
    attention = mask * xp.exp(xp.exp(log_sharpness) * (scores - maximum[..., None]))
    adaptive = xp.sum(attention * scores, -1) / xp.sum(attention, -1)  # S_adp
    support = xp.sum(mask * (scores > -math.log(config.support_p)), -1) / length
    geometry = (mean * length) ** 2 / (length * xp.sum(scores**2, -1) + 1e-12)
    peakness = maximum / (mean + 1)
    return xp.stack([maximum, top, lse, adaptive, mean, peakness, support, geometry, xp.log1p(length)], -1)


def mix(descriptor: Array, weights: Weights, xp: Any = np) -> Array:
    """Document scores from descriptors: (B, 9) -> (B,)."""
    return xp.sum(mixture(descriptor, weights, xp) * descriptor[..., : len(CANDIDATES)], -1)  # S = Σ π_m S_m


def mixture(descriptor: Array, weights: Weights, xp: Any = np) -> Array:
    """π: how much each candidate counts, by descriptors: (B, 9) -> (B, 4)."""
    logits = _run(xp.stack([descriptor[..., column] * unit for column, unit in enumerate(UNITS)], -1), weights, xp)
    shares = xp.exp(logits - xp.amax(logits, -1)[..., None])
    return shares / xp.sum(shares, -1)[..., None]


def aggregate(word_scores: Sequence[FloatArray], weights: Weights, config: AggregationConfig) -> FloatArray:
    """One score per document; a document without words scores 0."""
    by_length = defaultdict(list)
    for index, scores in enumerate(word_scores):
        by_length[len(scores)].append(index)
    document_scores = np.zeros(len(word_scores))
    for length, members in by_length.items():
        if length:  # rows of one length need no padding, and do not depend on the batch
            stacked = np.stack([word_scores[index] for index in members])
            descriptor = pool(stacked, np.ones_like(stacked), weights["log_sharpness"], config)
            document_scores[members] = mix(descriptor, weights)
    return document_scores


def _largest(scores: Array, k: int, xp: Any) -> Array:
    """The k largest of each row, largest first: (B, T) -> (B, k). A partition finds them; only those k are sorted."""
    if xp is not np:
        return xp.topk(scores, k, dim=-1).values
    return np.sort(np.partition(scores, -k, axis=-1)[..., -k:], axis=-1)[..., ::-1]


def learn_paper(normal: Sequence[Example], pseudo: Sequence[Example], config: Config, seed: int) -> PaperWeights:
    """Train q and r; the same examples and seed give the same weights."""
    import torch

    rng = np.random.default_rng(seed)
    start = {
        "fusion": initial_gates(config.fusion, rng),
        "aggregation": initial_mixture(config.aggregation, rng),
        "word": {"slope": np.array(0.0), "bias": np.array(-3.0)},
        "document": {"slope": np.array(0.0), "bias": np.array(-5.0)},
    }
    weights = {
        part: {name: torch.tensor(value, dtype=torch.float32, requires_grad=True) for name, value in values.items()}
        for part, values in start.items()
    }
    optimiser = torch.optim.Adam([tensor for part in weights.values() for tensor in part.values()], lr=config.learn.learning_rate)
    outputs = [weights[part][name] for part in ("fusion", "aggregation") for name in ("w2", "b2")]
    with one_torch_thread():
        for _ in range(config.learn.steps):
            batch = [*_draw(normal, rng), *_draw(pseudo, rng)]
            evidence = _pad([example.evidence for example in batch], torch)  # (B, T, 2)
            labels = _pad([example.labels for example in batch], torch)  # (B, T)
            mask = _pad([np.ones(len(example.labels)) for example in batch], torch)  # (B, T)
            word_scores = gate(evidence, weights["fusion"], config.fusion, torch)
            descriptor = pool(word_scores, mask, weights["aggregation"]["log_sharpness"], config.aggregation, torch)
            document_scores = mix(descriptor, weights["aggregation"], torch)
            word_loss = _balanced_loss(word_scores[mask > 0], labels[mask > 0], weights["word"], torch)
            document_loss = _balanced_loss(document_scores, labels.amax(dim=1), weights["document"], torch)
            penalty = sum((tensor**2).sum() for tensor in outputs)
            loss = word_loss + config.learn.document_weight * document_loss + config.learn.shrinkage * penalty
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    learned = {part: {name: tensor.detach().numpy() for name, tensor in values.items()} for part, values in weights.items()}
    return PaperWeights(learned["fusion"], learned["aggregation"])


def _balanced_loss(scores: Any, labels: Any, line: Mapping[str, Any], torch: Any) -> Any:
    """Cross-entropy of σ(slope·score + bias), the mean over both classes; the slope is positive."""
    losses = torch.nn.functional.binary_cross_entropy_with_logits(
        torch.exp(line["slope"]) * scores + line["bias"], labels, reduction="none"
    )
    classes = [losses[labels == label] for label in (0, 1)]
    return sum(part.mean() for part in classes if len(part)) / 2


def _draw(examples: Sequence[Example], rng: np.random.Generator) -> list[Example]:
    return [examples[i] for i in rng.choice(len(examples), size=min(BATCH_DOCUMENTS, len(examples)), replace=False)]


def _pad(arrays: Sequence[FloatArray], torch: Any) -> Any:
    """Arrays of several documents as one tensor, with zeros behind the shorter ones: (B, T, …)."""
    return torch.nn.utils.rnn.pad_sequence([torch.from_numpy(array.astype(np.float32)) for array in arrays], batch_first=True)
