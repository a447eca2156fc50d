"""A network of one hidden layer, trained and run in NumPy: numbers -> how much they look like an error.

Adam with decoupled weight decay and a learning rate that rises and falls once (one cycle). The same inputs and seed give the same
weights. Small enough that a framework would cost more to load than it saves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from difa.document import FloatArray

_BATCH = 512
_WARM = 0.3  # share of the steps in which the learning rate rises
_MOMENTA = (0.9, 0.999)
_DECAY = 1e-3
_FARTHEST = 6.0  # standard deviations at which an input is cut
_ROWS = 4096  # rows that are run at a time
_FEW_ROWS = 256  # the same for few weights: so small a product is not spread over threads, which would wait for each other
_FEW_WEIGHTS = 1024


@dataclass(frozen=True)
class Network:
    """Standardised inputs -> rectified hidden units -> one logit."""

    mean: FloatArray  # (inputs,)
    scale: FloatArray  # (inputs,)
    w1: FloatArray  # (inputs, hidden)
    b1: FloatArray  # (hidden,)
    w2: FloatArray  # (hidden,)
    b2: FloatArray  # ()

    def logits(self, inputs: FloatArray) -> FloatArray:
        """(rows, inputs) -> (rows,), in double precision, so that other rows of a batch do not change a score."""
        size = _FEW_ROWS if self.w1.size <= _FEW_WEIGHTS else _ROWS
        parts = [self._run(inputs[start : start + size]) for start in range(0, len(inputs), size)]
        return np.concatenate([np.empty(0), *parts])

    def _run(self, inputs: FloatArray) -> FloatArray:
        standard = standardise(inputs.astype(np.float64), self.mean, self.scale)
        return np.asarray(np.maximum(standard @ self.w1 + self.b1, 0.0) @ self.w2 + self.b2)


def mean_logits(networks: Sequence[Network], inputs: FloatArray) -> FloatArray:
    """What networks of one kind say on average: (rows, inputs) -> (rows,)."""
    return np.asarray(np.mean([network.logits(inputs) for network in networks], axis=0))


def network_tensors(networks: Sequence[Network]) -> dict[str, FloatArray]:
    """The weights of networks of one kind, one network behind the other along the first axis."""
    return {field.name: np.stack([getattr(network, field.name) for network in networks]) for field in fields(Network)}


def restore_networks(tensors: Mapping[str, FloatArray]) -> tuple[Network, ...]:
    """Networks from their weights; those of a single one may come without the first axis, as they once were saved."""
    if tensors["w1"].ndim == 2:
        return (Network(**tensors),)
    counts = {len(values) for values in tensors.values()}
    if len(counts) != 1 or not counts.pop():
        raise ValueError("expected as many of each weight as there are networks")
    return tuple(Network(*(tensors[field.name][at] for field in fields(Network))) for at in range(len(tensors["w1"])))


def standardise(inputs: FloatArray, mean: FloatArray, scale: FloatArray) -> FloatArray:
    """Inputs in standard deviations from the mean, cut where they are far out."""
    return np.asarray(np.clip((inputs - mean) / scale, -_FARTHEST, _FARTHEST))


def train(
    inputs: FloatArray, labels: FloatArray, *, normal: int, scale: FloatArray, hidden: int, epochs: int, rate: float, seed: int
) -> Network:
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
    standard = standardise(inputs.astype(np.float32), mean.astype(np.float32), scale.astype(np.float32))
    targets = labels.astype(np.float32)
    count = standard.shape[1]
    weights = [
        rng.uniform(-1, 1, (count, hidden)).astype(np.float32) / np.float32(np.sqrt(count)),
        rng.uniform(-1, 1, hidden).astype(np.float32) / np.float32(np.sqrt(count)),
        rng.uniform(-1, 1, hidden).astype(np.float32) / np.float32(np.sqrt(hidden)),
        np.zeros(1, np.float32),
    ]
    first = [np.zeros_like(weight) for weight in weights]
    second = [np.zeros_like(weight) for weight in weights]
    per_epoch = -(-len(standard) // _BATCH)
    steps = epochs * per_epoch
    step = 0
    for _ in range(epochs):
        order = rng.permutation(len(standard))
        for start in range(0, len(order), _BATCH):
            rows = order[start : start + _BATCH]
            gradients = _gradients(standard[rows], targets[rows], weights)
            step += 1
            speed = rate * _cycle(step / steps)
            for weight, gradient, m, v in zip(weights, gradients, first, second, strict=True):
                m += (1 - _MOMENTA[0]) * (gradient - m)
                v += (1 - _MOMENTA[1]) * (gradient**2 - v)
                weight *= 1 - speed * _DECAY
                corrected = np.sqrt(v / (1 - _MOMENTA[1] ** step)) + 1e-8
                weight -= speed / (1 - _MOMENTA[0] ** step) * m / corrected
    w1, b1, w2, b2 = (weight.astype(np.float64) for weight in weights)
    return Network(mean, scale.astype(np.float64), w1, b1, w2, b2[0])


def _gradients(inputs: FloatArray, targets: FloatArray, weights: list[FloatArray]) -> list[FloatArray]:
    """Gradients of the mean cross-entropy."""
    w1, b1, w2, b2 = weights
    hidden = np.maximum(inputs @ w1 + b1, 0)  # (rows, hidden)
    logits = hidden @ w2 + b2
    error = (1 / (1 + np.exp(-np.clip(logits, -30, 30))) - targets) / len(inputs)  # (rows,)
    back = error[:, None] * w2 * (hidden > 0)
    return [inputs.T @ back, back.sum(axis=0), hidden.T @ error, error.sum(keepdims=True)]


def _cycle(done: float) -> float:
    """Share of the highest learning rate after a share of the steps: up, then down, along cosines."""
    if done < _WARM:
        return float(0.04 + 0.96 * 0.5 * (1 - np.cos(np.pi * done / _WARM)))
    return float(0.5 * (1 + np.cos(np.pi * (done - _WARM) / (1 - _WARM))))
