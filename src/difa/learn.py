"""Evidences and labels of pseudo anomalies -> the weights of fusion and aggregation.

q and r learn together, from word and document labels, while everything below them is frozen. Words and documents of both
classes weigh the same in the loss, however rare the anomalous ones are. Where settings say so, the kinds of pseudo anomalies that
are found worst weigh more than the others: real anomalies may be of any kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from difa import aggregate, fuse
from difa.config import Config
from difa.document import FloatArray

_BATCH_DOCUMENTS = 64


@dataclass(frozen=True, slots=True)
class Example:
    """One document for learning: the evidences of its words (T, sides), their labels (T,), and the kind of its anomaly."""

    evidence: FloatArray
    labels: FloatArray
    kind: str = ""


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
        "fusion": fuse.initial_weights(config.fusion, rng),
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
    for _ in range(config.learn.steps):
        batch = [*_draw(normal, rng), *_draw(pseudo, rng)]
        evidence, labels, mask = (torch.from_numpy(array) for array in _pad(batch))
        word_scores = fuse.fuse(evidence, weights["fusion"], config.fusion, torch)
        descriptor = aggregate.pool(word_scores, mask, weights["aggregation"]["log_sharpness"], config.aggregation, torch)
        document_scores = aggregate.mix(descriptor, weights["aggregation"], torch)
        word_loss = sum(
            share * _balanced_loss(word_scores[rows][mask[rows] > 0], labels[rows][mask[rows] > 0], weights["word"], torch)
            for rows, share in _shares(batch, word_scores, labels, mask, weights["word"], config.learn.worst, torch)
        )
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


def _shares(
    batch: Sequence[Example], scores: Any, labels: Any, mask: Any, line: Mapping[str, Any], worst: float, torch: Any
) -> list[tuple[Any, float]]:
    """The rows of each kind together with all normal ones, and what share of the loss the kind has.

    Shares grow with the exponential of the kind's own loss: gradient descent then lowers the worst losses first.
    """
    kinds = np.array([example.kind for example in batch])
    if worst == 0:
        return [(torch.arange(len(batch)), 1.0)]
    normal = kinds == ""
    rows = [torch.from_numpy(np.flatnonzero((kinds == kind) | normal)) for kind in sorted(set(kinds[~normal].tolist()))]
    with torch.no_grad():
        losses = [_balanced_loss(scores[r][mask[r] > 0], labels[r][mask[r] > 0], line, torch).item() for r in rows]
    powers = np.exp(worst * (np.array(losses) - max(losses)))
    return list(zip(rows, (powers / powers.sum()).tolist(), strict=True))


def _draw(examples: Sequence[Example], rng: np.random.Generator) -> list[Example]:
    if not examples:
        return []
    return [examples[i] for i in rng.choice(len(examples), size=min(_BATCH_DOCUMENTS, len(examples)), replace=False)]


def _pad(batch: Sequence[Example]) -> list[FloatArray]:
    longest = max(len(example.labels) for example in batch)
    evidence = np.zeros((len(batch), longest, batch[0].evidence.shape[1]), np.float32)
    labels = np.zeros((len(batch), longest), np.float32)
    mask = np.zeros_like(labels)
    for row, example in enumerate(batch):
        count = len(example.labels)
        evidence[row, :count], labels[row, :count], mask[row, :count] = example.evidence, example.labels, 1
    return [evidence, labels, mask]
