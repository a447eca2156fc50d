import numpy as np
import pytest

from difa.config import NeighbourConfig
from difa.document import Encoded
from difa.views.neighbour import NeighbourView, choose


def document(words, vectors):
    return Encoded(tuple(words), np.array(vectors, np.float32), np.ones(len(words), int))


def test_distances_by_hand():
    view = NeighbourView.fit([document(["a", "b"], [[0, 0], [3, 4]])], NeighbourConfig(), seed=0)
    raw = view.raw([document(["x", "y"], [[3, 4], [0, 2]])])[0]
    assert raw.tolist() == pytest.approx([0.0, 2.0])
    assert "'b'" in view.explain(document(["x"], [[3, 3]]))[0][0].text


def test_bit_for_bit_the_same_alone_or_in_company(rng):
    vectors = rng.normal(size=(300, 64)).astype(np.float32)
    view = NeighbourView.fit([document(["w"] * 300, vectors)], NeighbourConfig(bank=100), seed=0)
    others = rng.normal(size=(201, 64)).astype(np.float32)
    together = view.raw([document(["w"] * 201, others)])[0]
    assert all(view.raw([document(["w"], others[t : t + 1])])[0][0] == together[t] for t in range(201))


def test_the_bank_is_bounded_and_keeps_every_word_before_any_second_time(rng):
    words = ["the"] * 90 + [f"rare{number}" for number in range(10)]
    chosen = choose(words, 20, rng)
    picked = [words[position] for position in chosen]
    assert len(picked) == 20
    assert len(set(picked)) == 11
    assert choose(words, 500, rng).tolist() == list(range(100))
    # Where even the distinct words do not fit, the bound still holds.
    assert len(choose(words, 5, rng)) == 5
