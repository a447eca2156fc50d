import pytest

from difa.knowledge.tone import INSULTS, hidden_insult, rated_words, spaced_insults, valences


def test_complaint_and_praise_by_hand():
    rated = rated_words()
    assert rated["war"] == (-valences()["war"], 0.0)  # bad news
    assert rated["love"] == (0.0, valences()["love"])
    assert rated["idiot"] == (-valences()["idiot"] + 3.0, 0.0)  # bad, and an insult
    assert rated["buffoon"] == (3.0, 0.0)
    assert "buffoon" not in valences()
    assert rated["silly"] == (2.0, valences()["silly"])  # the lexicon likes it
    assert rated.keys() == valences().keys() | INSULTS.keys()


@pytest.mark.parametrize("word", ["order-bitch", "Refund-IDIOT", "a*****e", "f**k", "idiot's", "www.idiot.com", "you_moron"])
def test_insults_hide_in_compounds_and_behind_masks(word):
    assert hidden_insult(word) >= 5.0


@pytest.mark.parametrize("word", ["e-mail", "well-known", "idiot", "*****", "a*b", "3.50", "LK-48213", "don't", "class-action"])
def test_other_words_hide_nothing(word):
    assert hidden_insult(word) == 0.0


def test_letters_with_spaces_are_read_together():
    assert spaced_insults(["you", "i", "d", "I", "o", "t", "!"]) == dict.fromkeys([1, 2, 3, 4, 5], 5.0)
    assert spaced_insults(["a", "i", "d", "i", "o", "t"]) == dict.fromkeys([1, 2, 3, 4, 5], 5.0)
    assert spaced_insults(["plan", "a", "b", "c", "d", "is", "i"]) == {}
    assert spaced_insults([]) == {}
