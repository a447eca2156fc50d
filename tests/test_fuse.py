import numpy as np
import pytest
import torch

from difa.config import FusionConfig
from difa.fuse import gate, initial_weights, power_mean

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


def test_a_power_mean_by_hand():
    assert power_mean(np.array([[3.0, 4.0, 0.0]]), 2.0, [1, 1, 1]) == pytest.approx([np.sqrt(25 / 3)])
    assert power_mean(np.array([[3.0, 4.0, 2.0]]), 1.0, [1, 1, 1]) == pytest.approx([3.0])
    assert power_mean(np.array([[3.0, 4.0]]), 2.0, [1, 0.5]) == pytest.approx([np.sqrt((9 + 8) / 1.5)])


def test_no_evidence_lowers_a_score(rng):
    words = rng.exponential(2, (200, 5))
    for view in range(5):
        more = words.copy()
        more[:, view] += rng.exponential(1, 200)
        assert (power_mean(more, 2.0, [1, 1, 1, 0.5, 0.5]) >= power_mean(words, 2.0, [1, 1, 1, 0.5, 0.5])).all()


def test_one_certain_view_beats_many_that_are_a_little_surprised():
    certain, mild = np.array([[9.0, 0, 0, 0, 0, 0]]), np.full((1, 6), 2.0)
    assert power_mean(certain, 2.0, [1] * 6) > power_mean(mild, 2.0, [1] * 6)
    assert power_mean(certain, 1.0, [1] * 6) < power_mean(mild, 1.0, [1] * 6)  # which is why the default is not the plain mean


def test_a_single_view_is_the_score(rng):
    words = rng.exponential(2, (5, 1))
    assert (gate(words, {}, CONFIG) == words[:, 0]).all()
    assert power_mean(words, 2.0, [1.0]) == pytest.approx(words[:, 0])
