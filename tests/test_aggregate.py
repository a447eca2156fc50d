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
