"""Evidences of the views -> one score per word, by gates.

For two views as in the paper: α, β = σ(q(u)) with u = log evidences, their difference, agreement, maximum, and
s = α·e_sem + (1−α)·e_form + β·√(e_sem·e_form). For any number of views the α are a softmax, one per view, and the agreement is
that of the two strongest evidences. Without hidden units the gates are constants: one weight per view, which no word can change.
The formulas are written once, over `xp`: NumPy when scoring, torch when learning. No α and no β is ever negative.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from difa.config import FusionConfig

Array = Any  # a NumPy array or a torch tensor
Weights = Mapping[str, Array]

_UNIT = 0.2  # brings evidences, 0 to about 12, to the scale of the network


def initial_weights(views: int, config: FusionConfig, rng: np.random.Generator) -> dict[str, Array]:
    """The network q at its start: all views weigh the same for every word, β is one half."""
    weights = {"b2": np.zeros(views)}
    if config.hidden:
        features = 2 * views + 1
        weights |= {
            "w1": rng.normal(0, 0.3, (features, config.hidden)),
            "b1": np.zeros(config.hidden),
            "w2": np.zeros((config.hidden, views)),
        }
    return weights


def fuse(evidence: Array, weights: Weights, config: FusionConfig, xp: Any = np) -> Array:
    """Word scores from evidences (…, views): (…,)."""
    views = [evidence[..., view] for view in range(evidence.shape[-1])]
    if len(views) == 1:
        return views[0]
    strongest, second = _two_strongest(views, xp)
    agreement = xp.sqrt(strongest * second + 1e-12)
    logits = weights["b2"] + (_hidden(views, agreement, strongest, weights, xp) @ weights["w2"] if config.hidden else 0.0)
    # The last view's logit is zero: for two views the softmax is the paper's σ.
    powers = [xp.exp(logits[..., view]) for view in range(len(views) - 1)]
    total = sum(powers) + 1
    fused = sum(power / total * view for power, view in zip(powers, views[:-1], strict=True)) + views[-1] / total
    return fused + agreement / (1 + xp.exp(-logits[..., len(views) - 1])) if config.agreement else fused


def _hidden(views: list[Array], agreement: Array, strongest: Array, weights: Weights, xp: Any) -> Array:
    differences = [_UNIT * (one - other) for one, other in pairwise(views)]
    u = xp.stack([*map(xp.log1p, views), *differences, _UNIT * agreement, _UNIT * strongest], -1)
    return xp.tanh(u @ weights["w1"] + weights["b1"])


def _two_strongest(views: list[Array], xp: Any) -> tuple[Array, Array]:
    strongest, second = xp.maximum(views[0], views[1]), xp.minimum(views[0], views[1])
    for view in views[2:]:
        second = xp.maximum(second, xp.minimum(strongest, view))
        strongest = xp.maximum(strongest, view)
    return strongest, second
