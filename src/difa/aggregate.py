"""Word scores -> document score, by a learned mixture of four pooling rules.

S_max, S_topk, S_lse and S_adp summarise the scores in four ways; a 9-number descriptor of their shape (the four, mean,
peakness, support, geometry gate, log length) lets a small network choose: π = softmax(r(a)), S = Σ π_m S_m. The paper calls
S_lse log-sum-exp; it is log-mean-exp here, so that a long document does not score high for its length alone. Written over `xp`
like fusion: NumPy when scoring, torch when learning.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from difa.config import AggregationConfig
from difa.document import FloatArray
from difa.gates import Array, Weights

CANDIDATES = ("max", "topk", "lse", "adp")
DESCRIPTOR = (*CANDIDATES, "mean", "peakness", "support", "geometry", "log_length")
UNITS = (*[0.2] * 5, 0.5, 1.0, 1.0, 0.2)
"""What each entry of the descriptor is multiplied by before r sees it: it brings all nine to the scale of the network."""


def initial_weights(config: AggregationConfig, rng: np.random.Generator) -> dict[str, Array]:
    """The network r at its start: all four rules weigh the same."""
    return {
        "w1": rng.normal(0, 0.3, (len(DESCRIPTOR), config.hidden)),
        "b1": np.zeros(config.hidden),
        "w2": np.zeros((config.hidden, len(CANDIDATES))),
        "b2": np.zeros(len(CANDIDATES)),
        "log_sharpness": np.array(math.log(0.5)),
    }


def pool(scores: Array, mask: Array, log_sharpness: Array, config: AggregationConfig, xp: Any = np) -> Array:
    """The 9-number descriptor of each row: scores (B, T) ≥ 0, mask (B, T) of 0 and 1 -> (B, 9).

    The first four entries are the candidates; `lse` is log-mean-exp, log(Σ exp(s) / T). `geometry` is (Σs)² / (T·Σs²): 1
    where all words carry the same evidence, 1/T where one word carries it all.
    """
    scores = scores * mask
    length = xp.sum(mask, -1)
    maximum = xp.amax(scores, -1)
    mean = xp.sum(scores, -1) / length
    k = min(config.top_k, scores.shape[-1])
    top = xp.sum(_largest(scores, k, xp), -1) / xp.minimum(length, length * 0 + k)  # padding is zero: it adds nothing
    shifted = mask * xp.exp(scores - maximum[..., None])
    lse = maximum + xp.log(xp.sum(shifted, -1) / length)  # the mean, not the sum
    attention = mask * xp.exp(xp.exp(log_sharpness) * (scores - maximum[..., None]))
    adaptive = xp.sum(attention * scores, -1) / xp.sum(attention, -1)
    support = xp.sum(mask * (scores > -math.log(config.support_p)), -1) / length
    geometry = (mean * length) ** 2 / (length * xp.sum(scores**2, -1) + 1e-12)
    peakness = maximum / (mean + 1)
    return xp.stack([maximum, top, lse, adaptive, mean, peakness, support, geometry, xp.log1p(length)], -1)


def mix(descriptor: Array, weights: Weights, xp: Any = np) -> Array:
    """Document scores from descriptors: (B, 9) -> (B,)."""
    return xp.sum(mixture(descriptor, weights, xp) * descriptor[..., : len(CANDIDATES)], -1)


def mixture(descriptor: Array, weights: Weights, xp: Any = np) -> Array:
    """π: how much each candidate counts, by descriptors: (B, 9) -> (B, 4)."""
    units = xp.stack([d * unit for d, unit in zip(_columns(descriptor), UNITS, strict=True)], -1)
    logits = xp.tanh(units @ weights["w1"] + weights["b1"]) @ weights["w2"] + weights["b2"]
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


def _columns(descriptor: Array) -> list[Array]:
    return [descriptor[..., column] for column in range(descriptor.shape[-1])]
