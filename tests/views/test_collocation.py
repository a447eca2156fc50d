import numpy as np
import pytest

from difa.config import CollocationConfig
from difa.document import Encoded
from difa.views.collocation import CollocationView


def document(text):
    words = tuple(text.split())
    return Encoded(words, np.zeros((len(words), 4), np.float32), np.ones(len(words), int))


def fit(*texts, **settings):
    return CollocationView.fit([document(text) for text in texts], CollocationConfig(**settings))


def test_a_ratio_by_hand():
    # Words: a twice, b twice, and two that stand for unknown and edge. P(a) = 2.5 / (4 + 0.5·4).
    view = fit("a b", "a b")
    chance = 2.5 / 6
    # Left neighbour of the second word is a, which b always followed: (0 + 1·P(a)) / (2 + 1).
    after_a = chance * 3 / (1 * chance)
    # Right neighbour is the end, which only b preceded.
    assert view.raw([document("a a")])[0][1] == pytest.approx(after_a)


def test_doubled_and_misplaced_words_stand_out():
    view = fit(*["the parcel is at the door"] * 20, *["is the order at the shop"] * 20)
    good = view.raw([document("the parcel is at the shop")])[0]
    doubled = view.raw([document("the the parcel is at the shop")])[0]
    assert doubled[:2].max() > 3 * good.max()


def test_unknown_neighbours_say_nothing():
    view = fit("the parcel", "the order")
    ratios = view._ratios([document("zebra parcel giraffe")])
    assert ratios[1].tolist() == [1.0, 1.0]


def test_reasons_name_the_neighbour():
    view = fit(*["the parcel is at the door"] * 20)
    reasons = view.explain(document("the the parcel"))
    assert "'the'" in reasons[1][0].text


def test_pairs_are_bounded():
    assert len(fit("a b c d e f g", pairs=3).tensors()["pairs"]) == 3


def test_the_edge_of_a_document_parts_it_from_the_next():
    view = fit("a b", "b c", "c a")
    texts = ["b a", "", "c", "a b c"]
    together = view.raw([document(text) for text in texts])
    for text, raw in zip(texts, together, strict=True):
        assert raw.tolist() == view.raw([document(text)])[0].tolist()
