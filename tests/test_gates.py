import numpy as np
import pytest
import torch

from difa.config import FusionConfig
from difa.gates import gate, initial_weights

CONFIG = FusionConfig(rule="gates", hidden=3)
WORD = np.array([[4.0, 1.0]])


def constant_gates(alpha_logit, beta_logit):
    weights = initial_weights(CONFIG, np.random.default_rng(0))
    return weights | {"b2": np.array([alpha_logit, beta_logit])}


def test_untrained_gates_are_one_half():
    score = gate(WORD, initial_weights(CONFIG, np.random.default_rng(0)), CONFIG)
    assert score == pytest.approx([0.5 * 4 + 0.5 * 1 + 0.5 * 2])


def test_gates_by_hand():
    # α = σ(log 3) = 3/4, β = σ(−log 3) = 1/4
    weights = constant_gates(np.log(3), -np.log(3))
    assert gate(WORD, weights, CONFIG) == pytest.approx([0.75 * 4 + 0.25 * 1 + 0.25 * 2])
    without = FusionConfig(rule="gates", hidden=3, agreement=False)
    assert gate(WORD, weights, without) == pytest.approx([0.75 * 4 + 0.25 * 1])


def test_silent_views_give_nothing():
    assert gate(np.zeros((2, 2)), constant_gates(2, 2), CONFIG) == pytest.approx([0, 0], abs=1e-5)


def test_numpy_and_torch_agree(rng):
    config = CONFIG
    weights = {name: rng.normal(size=value.shape) for name, value in initial_weights(config, rng).items()}
    evidence = rng.exponential(2, (5, 7, 2))
    expected = gate(evidence, weights, config)
    tensors = {name: torch.tensor(value) for name, value in weights.items()}
    got = gate(torch.tensor(evidence), tensors, config, torch)
    assert got.numpy() == pytest.approx(expected)


def test_a_single_view_is_the_score(rng):
    words = rng.exponential(2, (5, 1))
    assert (gate(words, {}, CONFIG) == words[:, 0]).all()
