import math

import numpy as np
import pytest
import torch

from difa.config import AggregationConfig, Config, FusionConfig
from difa.paper import (
    CANDIDATES,
    DESCRIPTOR,
    Example,
    aggregate,
    gate,
    initial_gates,
    initial_mixture,
    learn_paper,
    mix,
    pool,
)

GATES = FusionConfig(rule="gates", hidden=3)
WORD = np.array([[4.0, 1.0]])


def constant_gates(alpha_logit, beta_logit):
    weights = initial_gates(GATES, np.random.default_rng(0))
    return weights | {"b2": np.array([alpha_logit, beta_logit])}


def test_untrained_gates_are_one_half():
    score = gate(WORD, initial_gates(GATES, np.random.default_rng(0)), GATES)
    assert score == pytest.approx([0.5 * 4 + 0.5 * 1 + 0.5 * 2])


def test_gates_by_hand():
    # α = σ(log 3) = 3/4, β = σ(−log 3) = 1/4
    weights = constant_gates(np.log(3), -np.log(3))
    assert gate(WORD, weights, GATES) == pytest.approx([0.75 * 4 + 0.25 * 1 + 0.25 * 2])
    without = FusionConfig(rule="gates", hidden=3, agreement=False)
    assert gate(WORD, weights, without) == pytest.approx([0.75 * 4 + 0.25 * 1])


def test_silent_views_give_nothing():
    assert gate(np.zeros((2, 2)), constant_gates(2, 2), GATES) == pytest.approx([0, 0], abs=1e-5)


def test_numpy_and_torch_agree_on_gates(rng):
    config = GATES
    weights = {name: rng.normal(size=value.shape) for name, value in initial_gates(config, rng).items()}
    evidence = rng.exponential(2, (5, 7, 2))
    expected = gate(evidence, weights, config)
    tensors = {name: torch.tensor(value) for name, value in weights.items()}
    got = gate(torch.tensor(evidence), tensors, config, torch)
    assert got.numpy() == pytest.approx(expected)


def test_a_single_view_is_the_score(rng):
    words = rng.exponential(2, (5, 1))
    assert (gate(words, {}, GATES) == words[:, 0]).all()


MIXTURE = AggregationConfig(top_k=2, support_p=math.exp(-2.5))
SCORES = np.array([[1.0, 3.0, 2.0]])


def test_descriptor_by_hand():
    descriptor = dict(zip(DESCRIPTOR, pool(SCORES, np.ones_like(SCORES), 0.0, MIXTURE)[0], strict=True))
    e = np.exp([1.0, 3.0, 2.0])
    assert descriptor == pytest.approx(
        {
            "max": 3.0,
            "topk": 2.5,
            "lse": math.log(e.sum() / 3),
            "adp": (e * SCORES[0]).sum() / e.sum(),
            "mean": 2.0,
            "peakness": 3.0 / (2.0 + 1),
            "support": 1 / 3,
            "geometry": 36 / (3 * 14),
            "log_length": math.log(4),
        }
    )


def test_padding_changes_nothing():
    padded = np.array([[1.0, 3.0, 2.0, 9.0, 9.0]])
    mask = np.array([[1.0, 1.0, 1.0, 0.0, 0.0]])
    assert pool(padded, mask, 0.7, MIXTURE) == pytest.approx(pool(SCORES, np.ones_like(SCORES), 0.7, MIXTURE))


def test_fewer_words_than_k():
    assert pool(np.array([[3.0]]), np.ones((1, 1)), 0.0, MIXTURE)[0, :5].tolist() == pytest.approx([3.0] * 5)


@pytest.mark.parametrize("k", [1, 2, 5, 9])
def test_top_k_by_partition_is_top_k_by_sorting(rng, k, monkeypatch):
    scores = rng.integers(0, 4, (7, 9)) + rng.choice([0, 1e-9, 0.1], (7, 9))  # with ties
    expected = np.sort(scores, axis=-1)[:, ::-1][:, :k].sum(axis=-1) / k
    widths, sort = [], np.sort
    monkeypatch.setattr(np, "sort", lambda array, **rest: (widths.append(array.shape[-1]), sort(array, **rest))[1])
    config = AggregationConfig(top_k=k)
    found = pool(scores, np.ones_like(scores), 0.0, config)[:, CANDIDATES.index("topk")]
    assert found.tolist() == expected.tolist(), "the same, bit for bit"
    assert widths == [k], "whole documents are not sorted"
    tensors = torch.tensor(scores)
    learned = pool(tensors, torch.ones_like(tensors), torch.tensor(0.0), config, torch)[:, CANDIDATES.index("topk")]
    assert learned.numpy() == pytest.approx(expected)


def test_lse_is_log_mean_exp_and_does_not_grow_with_length():
    once, twice = np.array([[1.0, 3.0]]), np.array([[1.0, 3.0, 1.0, 3.0]])
    lse = [pool(scores, np.ones_like(scores), 0.0, MIXTURE)[0, CANDIDATES.index("lse")] for scores in (once, twice)]
    assert lse[0] == pytest.approx(math.log((math.e + math.e**3) / 2))
    assert lse[1] == pytest.approx(lse[0]), "log-sum-exp would add log 2"


def test_what_r_sees_is_scaled_by_fixed_units():
    """The units stand in the docs of the paper's preset."""
    descriptor = np.arange(1.0, 10.0)[None]
    weights = initial_mixture(MIXTURE, np.random.default_rng(0))
    weights |= {"w1": np.eye(9, MIXTURE.hidden + 1)[:, : MIXTURE.hidden], "w2": np.zeros((MIXTURE.hidden, 4))}
    weights["w2"][:, 0] = 1.0
    units = np.array([0.2, 0.2, 0.2, 0.2, 0.2, 0.5, 1.0, 1.0])  # the ninth, 0.2, has no hidden unit here
    logit = np.tanh(descriptor[0, :8] * units).sum()
    shares = np.exp([logit, 0, 0, 0]) / (np.exp(logit) + 3)
    assert mix(descriptor, weights)[0] == pytest.approx(shares @ descriptor[0, :4])


def test_untrained_mixture_is_the_mean_of_the_candidates():
    descriptor = pool(SCORES, np.ones_like(SCORES), 0.5, MIXTURE)
    weights = initial_mixture(MIXTURE, np.random.default_rng(0))
    assert mix(descriptor, weights) == pytest.approx(descriptor[:, : len(CANDIDATES)].mean(axis=1))


def test_learned_mixture_by_hand():
    descriptor = pool(SCORES, np.ones_like(SCORES), 0.5, MIXTURE)
    weights = initial_mixture(MIXTURE, np.random.default_rng(0)) | {"b2": np.log([5.0, 1.0, 1.0, 1.0])}
    assert mix(descriptor, weights) == pytest.approx(descriptor[:, :4] @ np.array([5, 1, 1, 1]) / 8)


def test_documents_of_any_length_and_none():
    weights = initial_mixture(MIXTURE, np.random.default_rng(0))
    words = [np.array([1.0, 3.0, 2.0]), np.empty(0), np.array([5.0]), np.array([2.0, 2.0, 2.0])]
    together = aggregate(words, weights, MIXTURE)
    assert together[1] == 0
    assert together.tolist() == [aggregate([scores], weights, MIXTURE)[0] for scores in words]


def test_numpy_and_torch_agree_on_the_mixture(rng):
    weights = {name: rng.normal(size=value.shape) for name, value in initial_mixture(MIXTURE, rng).items()}
    scores, mask = rng.exponential(2, (4, 9)), (np.arange(9) < np.array([[9], [1], [4], [7]])).astype(float)
    expected = mix(pool(scores, mask, weights["log_sharpness"], MIXTURE), weights)
    tensors = {name: torch.tensor(value) for name, value in weights.items()}
    got = mix(pool(torch.tensor(scores), torch.tensor(mask), tensors["log_sharpness"], MIXTURE, torch), tensors, torch)
    assert got.numpy() == pytest.approx(expected)


def examples(rng, informative, anomalous, count=60):
    made = []
    for _ in range(count):
        length = int(rng.integers(3, 12))
        evidence, labels = rng.exponential(1.0, (length, 2)), np.zeros(length)
        if anomalous:
            labels[0] = 1
            evidence[0, informative] += 6
        made.append(Example(evidence, labels))
    return made


@pytest.mark.slow  # torch waits for its threads where cores are busy
@pytest.mark.parametrize("informative", [0, 1])
def test_fusion_learns_which_side_to_trust(rng, informative):
    config = Config.preset("paper")
    weights = learn_paper(examples(rng, informative, False), examples(rng, informative, True), config, seed=3)
    telling, silent = np.full(2, 0.5), np.full(2, 0.5)
    telling[informative], silent[1 - informative] = 6.0, 6.0
    scores = gate(np.stack([telling, silent]), weights.fusion, config.fusion)
    assert scores[0] > 1.2 * scores[1]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_weights(rng):
    normal, pseudo = examples(rng, 0, False), examples(rng, 0, True)
    first, second, other = (learn_paper(normal, pseudo, Config.preset("paper"), seed) for seed in (1, 1, 2))
    assert all((first.fusion[name] == second.fusion[name]).all() for name in first.fusion)
    assert any((first.fusion[name] != other.fusion[name]).any() for name in first.fusion)
