"""Evidences and labels of pseudo anomalies -> the weights of fusion and aggregation.

q and r learn together, from word and document labels, while everything below them is frozen. Normal documents serve as
negatives beside the pseudo anomalies. Words and documents of both classes weigh the same in the loss, however rare the
anomalous ones are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from difa import aggregate, gates
from difa.config import Config
from difa.document import FloatArray
from difa.runtime.parallel import one_torch_thread

BATCH_DOCUMENTS = 64
"""Normal documents in a step at most, and as many pseudo-anomalous ones."""


@dataclass(frozen=True, slots=True)
class Example:
    """One document for learning: the evidences of its words (T, 2), and their labels (T,)."""

    evidence: FloatArray
    labels: FloatArray


@dataclass(frozen=True)
class Heads:
    """The learned weights of q (fusion) and r (aggregation)."""

    fusion: Mapping[str, FloatArray]
    aggregation: Mapping[str, FloatArray]


def learn(normal: Sequence[Example], pseudo: Sequence[Example], config: Config, seed: int) -> Heads:
    """Train q and r; the same examples and seed give the same weights."""
    import torch

    rng = np.random.default_rng(seed)
    start = {
        "fusion": gates.initial_weights(config.fusion, rng),
        "aggregation": aggregate.initial_weights(config.aggregation, rng),
        "word": {"slope": np.array(0.0), "bias": np.array(-3.0)},
        "document": {"slope": np.array(0.0), "bias": np.array(-5.0)},
    }
    weights = {
        part: {name: torch.tensor(value, dtype=torch.float32, requires_grad=True) for name, value in values.items()}
        for part, values in start.items()
    }
    optimiser = torch.optim.Adam([tensor for part in weights.values() for tensor in part.values()], lr=config.learn.learning_rate)
    outputs = [weights[part][name] for part in ("fusion", "aggregation") for name in ("w2", "b2") if name in weights[part]]
    normal = [example for example in normal if len(example.labels)]
    with one_torch_thread():
        for _ in range(config.learn.steps):
            batch = [*_draw(normal, rng), *_draw(pseudo, rng)]
            evidence, labels, mask = (torch.from_numpy(array) for array in _pad(batch))
            word_scores = gates.gate(evidence, weights["fusion"], config.fusion, torch)
            descriptor = aggregate.pool(word_scores, mask, weights["aggregation"]["log_sharpness"], config.aggregation, torch)
            document_scores = aggregate.mix(descriptor, weights["aggregation"], torch)
            word_loss = _balanced_loss(word_scores[mask > 0], labels[mask > 0], weights["word"], torch)
            document_loss = _balanced_loss(document_scores, labels.amax(dim=1), weights["document"], torch)
            size = sum((tensor**2).sum() for tensor in outputs)
            loss = word_loss + config.learn.document_weight * document_loss + config.learn.shrinkage * size
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    learned = {part: {name: tensor.detach().numpy() for name, tensor in values.items()} for part, values in weights.items()}
    return Heads(learned["fusion"], learned["aggregation"])


def _balanced_loss(scores: Any, labels: Any, line: Mapping[str, Any], torch: Any) -> Any:
    """Cross-entropy of σ(slope·score + bias), the mean over both classes; the slope is positive."""
    losses = torch.nn.functional.binary_cross_entropy_with_logits(
        torch.exp(line["slope"]) * scores + line["bias"], labels, reduction="none"
    )
    classes = [losses[labels == label] for label in (0, 1)]
    return sum(part.mean() for part in classes if len(part)) / 2


def _draw(examples: Sequence[Example], rng: np.random.Generator) -> list[Example]:
    if not examples:
        return []
    return [examples[i] for i in rng.choice(len(examples), size=min(BATCH_DOCUMENTS, len(examples)), replace=False)]


def _pad(batch: Sequence[Example]) -> list[FloatArray]:
    longest = max(len(example.labels) for example in batch)
    evidence = np.zeros((len(batch), longest, batch[0].evidence.shape[1]), np.float32)
    labels = np.zeros((len(batch), longest), np.float32)
    mask = np.zeros_like(labels)
    for row, example in enumerate(batch):
        count = len(example.labels)
        evidence[row, :count], labels[row, :count], mask[row, :count] = example.evidence, example.labels, 1
    return [evidence, labels, mask]
