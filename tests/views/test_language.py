import math
from collections import Counter

import numpy as np
import pytest

from difa.config import LanguageConfig
from difa.document import Encoded
from difa.knowledge.letters import Letters, fold, runs_of
from difa.knowledge.wordlist import word_list
from difa.views.language import LanguageView
from tests.views import training


def document(*words, pieces=1):
    return Encoded(words, np.zeros((len(words), 4), np.float32), np.full(len(words), pieces))


def test_fold():
    assert fold("Order-66B") == "order-00b"


def test_letters_by_hand():
    # Order 2, one word "ab": P(a) = (1 + 3·P0) / (3 + 3) with P0 uniform over 52 letters; after the start always a.
    letters = Letters.of(["ab"], 2)
    uniform = 1 / 52
    alone = (1 + 3 * uniform) / 6
    assert letters.surprises("a")[0] == pytest.approx(-math.log((1 + alone) / 2))


def test_probabilities_of_letters_sum_to_at_most_one():
    letters = Letters.of(["parcel", "order", "paper"], 4)
    total = sum(math.exp(-letters.surprises("pa" + letter)[2]) for letter in "abcdefghijklmnopqrstuvwxyz")
    total += math.exp(-letters.surprises("pa")[2])
    assert 0.5 < total <= 1


def test_runs_of_letters_are_counted_within_words():
    apart = Letters.of(["ab", "ba", "aa"], 3)
    counted = Counter(run for word in ("ab", "ba", "aa") for size in (1, 2, 3) for run in runs_of(word, size))
    assert [apart.surprises(word) for word in ("ab", "aab", "c")] == [
        Letters.of([], 3, counted).surprises(word) for word in ("ab", "aab", "c")
    ]


def test_a_known_word_by_hand():
    view = LanguageView(LanguageConfig(), {"aa": 9, "b": 1}, "en")
    rarity = -math.log(0.9 * 9 / 10 + 0.1 * word_list("en").frequency("aa"))
    assert view.surprise("aa") == pytest.approx(rarity + 0.5 * sum(Letters.of(["aa", "b"], 4).surprises("aa")) / math.sqrt(3))


def test_frequent_below_rare_below_unknown_below_gibberish():
    view = LanguageView.fit(training([document(*["the"] * 50, *["order"] * 9, "parcel", "delivery")]))
    surprises = [view.surprise(word) for word in ("the", "order", "parcel", "orders", "xqzwvkj")]
    assert surprises == sorted(surprises)


def test_numbers_and_names_the_corpus_is_full_of_are_no_surprise():
    rng = np.random.default_rng(0)
    numbers = [str(number) for number in rng.integers(1000, 9999, 200)]
    plain = LanguageView.fit(training([document(*["order"] * 200, *["number"] * 200)]))
    numeric = LanguageView.fit(training([document(*["order"] * 200, *numbers)]))
    assert numeric.surprise("1234") < 0.5 * plain.surprise("1234")
    names = ["Anna", "Hanna", "Joanna", "Johanna", "Susanna", "Rosanna", "Marianna", "Brianna"]
    named = LanguageView.fit(training([document(*["order"] * 200, *names)]))
    assert named.surprise("Lianna") < plain.surprise("Lianna")


def test_a_new_word_of_the_language_is_less_of_a_surprise_than_no_word():
    documents = [document(*["the"] * 50, *["order"] * 9, "parcel", "delivery")]
    english, corpus_alone = (
        LanguageView.fit(training(documents, name, language=LanguageConfig(spelling_weight=0))) for name in ("en", None)
    )
    assert english.surprise("people") < english.surprise("haberdasher") < english.surprise("peopel")
    assert corpus_alone.surprise("people") == corpus_alone.surprise("peopel")


def test_pieces_count():
    view = LanguageView.fit(training([document("parcel", "order")], language=LanguageConfig(piece_weight=2.0)))
    whole, broken = (view.raw([document("parcel", pieces=pieces)])[0] for pieces in (1, 3))
    assert broken - whole == pytest.approx(4.0)


def test_very_long_words_stay_finite():
    view = LanguageView.fit(training([document("parcel", "order")]))
    assert np.isfinite(view.raw([document("x" * 20_000)])).all()


def test_reasons_name_what_is_odd():
    view = LanguageView.fit(training([document("parcel", "parcel", "order")]))
    texts = [reason.text for reason in view.explain(document("parqel", pieces=3))[0]]
    assert any("never seen among 3 normal words" in text for text in texts)
    assert any("3 pieces" in text for text in texts)
    assert "seen 2 times" in view.explain(document("parcel"))[0][0].text


def test_addresses_are_called_addresses_and_not_spelt_oddly():
    view = LanguageView.fit(training([document("parcel", "parcel", "order")]))
    web, mail = view.explain(document("https://example.com/foo/bar?x=1", "jane@example.com", pieces=9))
    assert [reason.plain for reason in web] == ["is a web address, and those are rare in your normal text"]
    assert [reason.plain for reason in mail] == ["is a mail address, and those are rare in your normal text"]
    assert "0 of 3 normal words" in web[0].text


def test_the_vocabulary_is_bounded():
    view = LanguageView.fit(
        training([document(*(f"word{chr(97 + i)}" for i in range(20)))], language=LanguageConfig(vocabulary=5))
    )
    assert len(view.tensors()["counts"]) == 5
