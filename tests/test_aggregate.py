import math

import numpy as np
import pytest
import torch

from difa.aggregate import CANDIDATES, DESCRIPTOR, aggregate, initial_weights, mix, pool
from difa.config import AggregationConfig

CONFIG = AggregationConfig(top_k=2, support_p=math.exp(-2.5))
SCORES = np.array([[1.0, 3.0, 2.0]])


def test_descriptor_by_hand():
    descriptor = dict(zip(DESCRIPTOR, pool(SCORES, np.ones_like(SCORES), 0.0, CONFIG)[0], strict=True))
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
    assert pool(padded, mask, 0.7, CONFIG) == pytest.approx(pool(SCORES, np.ones_like(SCORES), 0.7, CONFIG))


def test_fewer_words_than_k():
    assert pool(np.array([[3.0]]), np.ones((1, 1)), 0.0, CONFIG)[0, :5].tolist() == pytest.approx([3.0] * 5)


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
    lse = [pool(scores, np.ones_like(scores), 0.0, CONFIG)[0, CANDIDATES.index("lse")] for scores in (once, twice)]
    assert lse[0] == pytest.approx(math.log((math.e + math.e**3) / 2))
    assert lse[1] == pytest.approx(lse[0]), "log-sum-exp would add log 2"


def test_what_r_sees_is_scaled_by_fixed_units():
    """The units stand in the docs of the paper's preset."""
    descriptor = np.arange(1.0, 10.0)[None]
    weights = initial_weights(CONFIG, np.random.default_rng(0))
    weights |= {"w1": np.eye(9, CONFIG.hidden + 1)[:, : CONFIG.hidden], "w2": np.zeros((CONFIG.hidden, 4))}
    weights["w2"][:, 0] = 1.0
    units = np.array([0.2, 0.2, 0.2, 0.2, 0.2, 0.5, 1.0, 1.0])  # the ninth, 0.2, has no hidden unit here
    logit = np.tanh(descriptor[0, :8] * units).sum()
    shares = np.exp([logit, 0, 0, 0]) / (np.exp(logit) + 3)
    assert mix(descriptor, weights)[0] == pytest.approx(shares @ descriptor[0, :4])


def test_untrained_mixture_is_the_mean_of_the_candidates():
    descriptor = pool(SCORES, np.ones_like(SCORES), 0.5, CONFIG)
    weights = initial_weights(CONFIG, np.random.default_rng(0))
    assert mix(descriptor, weights) == pytest.approx(descriptor[:, : len(CANDIDATES)].mean(axis=1))


def test_learned_mixture_by_hand():
    descriptor = pool(SCORES, np.ones_like(SCORES), 0.5, CONFIG)
    weights = initial_weights(CONFIG, np.random.default_rng(0)) | {"b2": np.log([5.0, 1.0, 1.0, 1.0])}
    assert mix(descriptor, weights) == pytest.approx(descriptor[:, :4] @ np.array([5, 1, 1, 1]) / 8)


def test_documents_of_any_length_and_none():
    weights = initial_weights(CONFIG, np.random.default_rng(0))
    words = [np.array([1.0, 3.0, 2.0]), np.empty(0), np.array([5.0]), np.array([2.0, 2.0, 2.0])]
    together = aggregate(words, weights, CONFIG)
    assert together[1] == 0
    assert together.tolist() == [aggregate([scores], weights, CONFIG)[0] for scores in words]


def test_numpy_and_torch_agree(rng):
    weights = {name: rng.normal(size=value.shape) for name, value in initial_weights(CONFIG, rng).items()}
    scores, mask = rng.exponential(2, (4, 9)), (np.arange(9) < np.array([[9], [1], [4], [7]])).astype(float)
    expected = mix(pool(scores, mask, weights["log_sharpness"], CONFIG), weights)
    tensors = {name: torch.tensor(value) for name, value in weights.items()}
    got = mix(pool(torch.tensor(scores), torch.tensor(mask), tensors["log_sharpness"], CONFIG, torch), tensors, torch)
    assert got.numpy() == pytest.approx(expected)
