import numpy as np
import pytest
import torch

from difa.config import FusionConfig
from difa.fuse import fuse, initial_weights

CONFIG = FusionConfig(hidden=3, agreement=True, power=1)  # the paper's form
WORD = np.array([[4.0, 1.0]])


def constant_gates(alpha_logit, beta_logit):
    weights = initial_weights(CONFIG, np.random.default_rng(0))
    return weights | {"b2": np.array([alpha_logit, beta_logit])}


def test_untrained_gates_are_one_half():
    score = fuse(WORD, initial_weights(CONFIG, np.random.default_rng(0)), CONFIG)
    assert score == pytest.approx([0.5 * 4 + 0.5 * 1 + 0.5 * 2])


def test_gates_by_hand():
    # α = σ(log 3) = 3/4, β = σ(−log 3) = 1/4
    weights = constant_gates(np.log(3), -np.log(3))
    assert fuse(WORD, weights, CONFIG) == pytest.approx([0.75 * 4 + 0.25 * 1 + 0.25 * 2])
    without = FusionConfig(hidden=3, agreement=False, power=1)
    assert fuse(WORD, weights, without) == pytest.approx([0.75 * 4 + 0.25 * 1])


def test_silent_views_give_nothing():
    assert fuse(np.zeros((2, 2)), constant_gates(2, 2), CONFIG) == pytest.approx([0, 0], abs=1e-5)


@pytest.mark.parametrize("config", [CONFIG, FusionConfig()])
def test_numpy_and_torch_agree(rng, config):
    weights = {name: rng.normal(size=value.shape) for name, value in initial_weights(config, rng).items()}
    evidence = rng.exponential(2, (5, 7, 2))
    expected = fuse(evidence, weights, config)
    tensors = {name: torch.tensor(value) for name, value in weights.items()}
    got = fuse(torch.tensor(evidence), tensors, config, torch)
    assert got.numpy() == pytest.approx(expected)


def test_a_power_mean_by_hand():
    # (½·4⁴ + ½·1⁴)^¼ = 128.5^¼, and half the agreement √(4·1)
    config = FusionConfig(power=4, agreement=True)
    assert fuse(WORD, initial_weights(config, np.random.default_rng(0)), config) == pytest.approx([128.5**0.25 + 0.5 * 2])


def test_without_hidden_units_no_evidence_lowers_a_score(rng):
    config = FusionConfig()
    weights = {"b2": rng.normal(size=2)}
    words = rng.exponential(2, (200, 2))
    for side in (0, 1):
        more = words.copy()
        more[:, side] += rng.exponential(1, 200)
        assert (fuse(more, weights, config) >= fuse(words, weights, config)).all()


def test_a_single_side_is_the_score(rng):
    words = rng.exponential(2, (5, 1))
    assert (fuse(words, {}, FusionConfig()) == words[:, 0]).all()
