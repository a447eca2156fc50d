"""The paper's fusion: evidences of two views -> one score per word, by learned gates.

α, β = σ(q(u)) with u = log evidences, their difference, agreement, maximum, and s = α·e_sem + (1−α)·e_form +
β·√(e_sem·e_form). The formulas are written once, over `xp`: NumPy when scoring, torch when learning. In the preset `paper` alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from difa.config import FusionConfig

Array = Any  # a NumPy array or a torch tensor
Weights = Mapping[str, Array]

FEATURES = 5
_UNIT = 0.2  # brings evidences, 0 to about 12, to the scale of the network
_TINY = 1e-12


def initial_weights(config: FusionConfig, rng: np.random.Generator) -> dict[str, Array]:
    """The network q at its start: both gates at one half for every word."""
    return {
        "w1": rng.normal(0, 0.3, (FEATURES, config.hidden)),
        "b1": np.zeros(config.hidden),
        "w2": np.zeros((config.hidden, 2)),
        "b2": np.zeros(2),
    }


def gate(evidence: Array, weights: Weights, config: FusionConfig, xp: Any = np) -> Array:
    """Word scores from the evidences of two views (…, 2), or of the only one (…, 1): (…,)."""
    if evidence.shape[-1] == 1:
        return evidence[..., 0]
    e_sem, e_form = evidence[..., 0], evidence[..., 1]
    gates = open_gates(evidence, weights, xp)
    alpha, beta = gates[..., 0], gates[..., 1]
    fused = alpha * e_sem + (1 - alpha) * e_form
    return fused + beta * _agreement(evidence, xp) if config.agreement else fused


def open_gates(evidence: Array, weights: Weights, xp: Any = np) -> Array:
    """α and β of each word, by the evidences of two views: (…, 2) -> (…, 2)."""
    e_sem, e_form = evidence[..., 0], evidence[..., 1]
    shared = [_UNIT * (e_sem - e_form), _UNIT * _agreement(evidence, xp), _UNIT * xp.maximum(e_sem, e_form)]
    u = xp.stack([xp.log1p(e_sem), xp.log1p(e_form), *shared], -1)
    return 1 / (1 + xp.exp(-(xp.tanh(u @ weights["w1"] + weights["b1"]) @ weights["w2"] + weights["b2"])))


def _agreement(evidence: Array, xp: Any) -> Array:
    return xp.sqrt(evidence[..., 0] * evidence[..., 1] + _TINY)
