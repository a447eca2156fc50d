import numpy as np
import pytest

from difa.config import Config
from difa.gates import gate
from difa.learn import Example, learn


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
    heads = learn(examples(rng, informative, False), examples(rng, informative, True), config, seed=3)
    telling, silent = np.full(2, 0.5), np.full(2, 0.5)
    telling[informative], silent[1 - informative] = 6.0, 6.0
    scores = gate(np.stack([telling, silent]), heads.fusion, config.fusion)
    assert scores[0] > 1.2 * scores[1]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_weights(rng):
    normal, pseudo = examples(rng, 0, False), examples(rng, 0, True)
    first, second, other = (learn(normal, pseudo, Config.preset("paper"), seed) for seed in (1, 1, 2))
    assert all((first.fusion[name] == second.fusion[name]).all() for name in first.fusion)
    assert any((first.fusion[name] != other.fusion[name]).any() for name in first.fusion)
