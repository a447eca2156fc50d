import pytest

from difa.knowledge.spelling import (
    SlipIndex,
    is_doubtful,
    is_written_apart,
    known_slips,
    likely_slip,
    run_together,
    slips,
    two_words,
)
from difa.knowledge.wordlist import word_list

known = word_list("en").exact


def test_slips_of_a_short_word_by_hand():
    assert set(slips("ab", "c")) == {"b", "a", "cb", "ac", "ba", "cab", "acb", "abc"}


@pytest.mark.parametrize(("word", "meant"), [("recieved", "received"), ("hadnle", "handle"), ("dosen't", "doesn't")])
def test_words_one_slip_away_are_found(word, meant):
    assert meant in known_slips(word, "en")
    assert word not in known_slips(word, "en")


COMMON = {
    "recieve": "receive",
    "definately": "definitely",
    "seperate": "separate",
    "occured": "occurred",
    "begining": "beginning",
    "accomodate": "accommodate",
    "untill": "until",
    "adress": "address",
    "existance": "existence",
    "noticable": "noticeable",
}


@pytest.mark.parametrize(("word", "meant"), COMMON.items())
def test_misspellings_that_many_people_make_are_in_lists_of_running_text(word, meant):
    assert known(word) > 0
    assert is_doubtful(word, "en")
    assert likely_slip(word, "en") == meant


@pytest.mark.parametrize(
    "word",
    ["hotkey", "qubit", "recoded", "unfused", "devel", "struct", "binned", "polys", "rare", "receive", "labelled", "tokenise"],
)
def test_rare_words_and_terms_are_no_misspellings(word):
    assert not is_doubtful(word, "en") or likely_slip(word, "en") is None


def test_what_is_not_a_word_is_not_compared():
    assert known_slips("12:45", "en") == known_slips("a", "en") == known_slips("x" * 500, "en") == ()


def test_an_index_finds_what_generating_all_slips_finds():
    words = ["brattice", "lattice", "crosscut", "spad", "abc"]
    index = SlipIndex(words)
    for query in ("bratttice", "latice", "corsscut", "spade", "acb", "xyz", "brattice"):
        assert index.find(query) == {word for word in words if word != query and word in set(slips(query))}


@pytest.mark.parametrize(
    ("word", "pair"),
    [
        ("theoriginal", ("the", "original")),
        ("aparticular", ("a", "particular")),
        ("whichis", ("which", "is")),
        ("canfield", None),
        ("atypical", None),
    ],
)
def test_words_that_a_list_has_are_two_only_if_they_often_stand_in_a_row(word, pair):
    assert two_words(word, "en") == pair


def test_pairs_that_are_written_apart():
    pairs = [("garden", "furniture"), ("takes", "the"), ("mesh", "grid"), ("get", "item")]
    assert [is_written_apart(pair, "en") for pair in pairs] == [True, True, False, False]
    assert is_written_apart(("garten", "haus"), "de"), "nothing is known of pairs in other languages"


def test_words_run_together_and_torn_apart():
    assert run_together("traveledabout", known) == ("traveled", "about")
    assert run_together("xqzvw", known) is None
