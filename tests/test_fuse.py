import numpy as np
import pytest
import torch

from difa.config import FusionConfig
from difa.fuse import FEATURES, fuse, initial_weights

CONFIG = FusionConfig(hidden=3)


def constant_gates(alpha_logit, beta_logit):
    weights = initial_weights(CONFIG, np.random.default_rng(0))
    return weights | {"b2": np.array([alpha_logit, beta_logit])}


def test_untrained_gates_are_one_half():
    score = fuse(np.array([4.0]), np.array([1.0]), initial_weights(CONFIG, np.random.default_rng(0)), CONFIG)
    assert score == pytest.approx([0.5 * 4 + 0.5 * 1 + 0.5 * 2])


def test_gates_by_hand():
    # α = σ(log 3) = 3/4, β = σ(−log 3) = 1/4
    weights = constant_gates(np.log(3), -np.log(3))
    assert fuse(np.array([4.0]), np.array([1.0]), weights, CONFIG) == pytest.approx([0.75 * 4 + 0.25 * 1 + 0.25 * 2])
    without = FusionConfig(hidden=3, agreement=False)
    assert fuse(np.array([4.0]), np.array([1.0]), weights, without) == pytest.approx([0.75 * 4 + 0.25 * 1])


def test_silent_views_give_nothing():
    assert fuse(np.zeros(2), np.zeros(2), constant_gates(2, 2), CONFIG) == pytest.approx([0, 0], abs=1e-5)


def test_numpy_and_torch_agree(rng):
    weights = {name: rng.normal(size=value.shape) for name, value in initial_weights(CONFIG, rng).items()}
    evidence = rng.exponential(2, (5, 7, 2))
    expected = fuse(evidence[..., 0], evidence[..., 1], weights, CONFIG)
    tensors = {name: torch.tensor(value) for name, value in weights.items()}
    got = fuse(torch.tensor(evidence[..., 0]), torch.tensor(evidence[..., 1]), tensors, CONFIG, torch)
    assert got.numpy() == pytest.approx(expected)
    assert weights["w1"].shape == (FEATURES, 3)
