import numpy as np
import pytest

from difa.config import NeighbourConfig
from difa.document import Encoded
from difa.views.neighbour import NeighbourView, choose_rows
from tests.views import training


def document(words, vectors):
    return Encoded(tuple(words), np.array(vectors, np.float32), np.ones(len(words), int))


def test_distances_by_hand():
    view = NeighbourView.fit(training([document(["a", "b"], [[0, 0], [3, 4]])]))
    raw = view.raw([document(["x", "y"], [[3, 4], [0, 2]])])
    assert raw.tolist() == pytest.approx([0.0, 2.0])
    assert "'b'" in view.explain(document(["x"], [[3, 3]]))[0][0].text


def test_the_bank_does_not_keep_the_order_of_the_documents(rng):
    words = ["please", "refund", "the", "wrong", "card", "with", "the", "one", "ending", "in", "zero", "nine"]
    view = NeighbourView.fit(training([document(words, rng.normal(size=(len(words), 3)))]))
    assert list(view.words) == sorted(words)
    assert view.raw([document(words, view.bank)]) == pytest.approx(np.zeros(len(words)))


def test_bit_for_bit_the_same_alone_or_in_company(rng):
    vectors = rng.normal(size=(300, 64)).astype(np.float32)
    view = NeighbourView.fit(training([document(["w"] * 300, vectors)], neighbour=NeighbourConfig(bank=100)))
    others = rng.normal(size=(201, 64)).astype(np.float32)
    together = view.raw([document(["w"] * 201, others)])
    assert all(view.raw([document(["w"], others[t : t + 1])])[0] == together[t] for t in range(201))


def test_the_bank_is_bounded_and_shared_between_frequent_and_rare_words(rng):
    words = ["the"] * 810 + [f"rare{number}" for number in range(190)]
    picked = [words[position] for position in choose_rows(words, 100, rng)]
    assert len(picked) == 100
    # By chance "the" would have 81 places; in proportion to c^¾ it has 152 of 342, less than half.
    assert 35 <= picked.count("the") <= 55
    assert choose_rows(words, 5000, rng).tolist() == list(range(1000))


def test_a_bank_of_part_of_a_corpus_is_as_dense_as_one_of_all():
    # Many distinct words must not crowd out the frequent ones: of these, a bank keeps the same share either way.
    words = [*(["the"] * 500 + ["of"] * 500), *(f"once{number}" for number in range(3000))]
    part = words[:1000:2] + words[1000::2]
    shares = []
    for corpus in (words, part):
        rng = np.random.default_rng(0)
        picked = [corpus[position] for position in choose_rows(corpus, 1000, rng)]
        shares.append(sum(word in ("the", "of") for word in picked) / 1000)
    assert shares[0] == pytest.approx(shares[1], abs=0.05)
