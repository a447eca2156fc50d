import math

import numpy as np
import pytest
from difa.views.lexical import Letters, LexicalView, fold

from difa.config import LexicalConfig
from difa.document import Encoded


def document(*words, pieces=1):
    return Encoded(words, np.zeros((len(words), 4), np.float32), np.full(len(words), pieces))


def test_fold():
    assert fold("Order-66B") == "order-00b"


def test_letters_by_hand():
    # Order 2, one word "ab": P(a) = (1 + 3·P0) / (3 + 3) with P0 uniform over 52 letters; after the start always a.
    letters = Letters(["ab"], 2)
    uniform = 1 / 52
    alone = (1 + 3 * uniform) / 6
    assert letters.surprises("a")[0] == pytest.approx(-math.log((1 + alone) / 2))


def test_probabilities_of_letters_sum_to_at_most_one():
    letters = Letters(["parcel", "order", "paper"], 4)
    total = sum(math.exp(-letters.surprises("pa" + letter)[2]) for letter in "abcdefghijklmnopqrstuvwxyz")
    total += math.exp(-letters.surprises("pa")[2])
    assert 0.5 < total <= 1


def test_a_known_word_by_hand():
    view = LexicalView(LexicalConfig(), ["aa"], np.array([9]))
    rarity = -math.log((9 + 0.5) / (9 + 0.5 * 2))
    assert view.surprise("aa") == pytest.approx(rarity + 0.5 * sum(view._letters.surprises("aa")) / math.sqrt(3))


def test_frequent_below_rare_below_unknown_below_gibberish():
    view = LexicalView.fit([document(*["the"] * 50, *["order"] * 9, "parcel", "delivery")], LexicalConfig())
    surprises = [view.surprise(word) for word in ("the", "order", "parcel", "orders", "xqzwvkj")]
    assert surprises == sorted(surprises)


def test_numbers_and_names_the_corpus_is_full_of_are_no_surprise():
    rng = np.random.default_rng(0)
    numbers = [str(number) for number in rng.integers(1000, 9999, 200)]
    plain = LexicalView.fit([document(*["order"] * 200, *["number"] * 200)], LexicalConfig())
    numeric = LexicalView.fit([document(*["order"] * 200, *numbers)], LexicalConfig())
    assert numeric.surprise("1234") < 0.5 * plain.surprise("1234")
    names = ["Anna", "Hanna", "Joanna", "Johanna", "Susanna", "Rosanna", "Marianna", "Brianna"]
    named = LexicalView.fit([document(*["order"] * 200, *names)], LexicalConfig())
    assert named.surprise("Lianna") < plain.surprise("Lianna")


def test_pieces_count():
    view = LexicalView.fit([document("parcel", "order")], LexicalConfig(piece_weight=2.0))
    whole, broken = (view.raw([document("parcel", pieces=pieces)])[0][0] for pieces in (1, 3))
    assert broken - whole == pytest.approx(4.0)


def test_very_long_words_stay_finite():
    view = LexicalView.fit([document("parcel", "order")], LexicalConfig())
    assert np.isfinite(view.raw([document("x" * 20_000)])[0]).all()


def test_reasons_name_what_is_odd():
    view = LexicalView.fit([document("parcel", "parcel", "order")], LexicalConfig())
    texts = [reason.text for reason in view.explain(document("parqel", pieces=3))[0]]
    assert any("never seen among 3 normal words" in text for text in texts)
    assert any("3 pieces" in text for text in texts)
    assert "seen 2 times" in view.explain(document("parcel"))[0][0].text


def test_the_vocabulary_is_bounded():
    view = LexicalView.fit([document(*(f"word{chr(97 + i)}" for i in range(20)))], LexicalConfig(vocabulary=5))
    assert len(view.tensors()["counts"]) == 5
