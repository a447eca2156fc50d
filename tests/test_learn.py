from dataclasses import replace

import numpy as np
import pytest

from difa.config import Config
from difa.fuse import fuse
from difa.learn import Example, learn


def examples(rng, informative, anomalous, count=60):
    made = []
    for _ in range(count):
        length = int(rng.integers(3, 12))
        evidence, labels = rng.exponential(1.0, (length, 2)), np.zeros(length)
        if anomalous:
            labels[0] = 1
            evidence[0, informative] += 6
        made.append(Example(evidence, labels, "typo" if anomalous else ""))
    return made


@pytest.mark.parametrize("informative", [0, 1])
@pytest.mark.parametrize("worst", [0.0, 10.0])
def test_fusion_learns_which_side_to_trust(rng, informative, worst):
    paper = Config.preset("paper")
    config = replace(paper, learn=replace(paper.learn, worst=worst))
    heads = learn(examples(rng, informative, False), examples(rng, informative, True), config, seed=3)
    telling, silent = np.full(2, 0.5), np.full(2, 0.5)
    telling[informative], silent[1 - informative] = 6.0, 6.0
    scores = fuse(np.stack([telling, silent]), heads.fusion, config.fusion)
    assert scores[0] > 1.2 * scores[1]


def test_the_same_seed_gives_the_same_weights(rng):
    normal, pseudo = examples(rng, 0, False), examples(rng, 0, True)
    first, second, other = (learn(normal, pseudo, Config.preset("paper"), seed) for seed in (1, 1, 2))
    assert all((first.fusion[name] == second.fusion[name]).all() for name in first.fusion)
    assert any((first.fusion[name] != other.fusion[name]).any() for name in first.fusion)


def test_the_kind_that_is_found_worst_leads(rng):
    # Many anomalies show in the first side, few in the second: on the average the first would win.
    normal = examples(rng, 0, False)
    pseudo = [*examples(rng, 0, True, 90), *(replace(e, kind="rare") for e in examples(rng, 1, True, 10))]
    base = Config()
    trust = [
        float(learn(normal, pseudo, replace(base, learn=replace(base.learn, worst=worst, shrinkage=0.001)), 3).fusion["b2"][0])
        for worst in (0.0, 20.0)
    ]
    assert trust[1] < trust[0]
