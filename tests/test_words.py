import pickle
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from difa.document import Document, Word, Words
from difa.errors import InputError
from difa.words import as_document, as_documents, from_text, from_tokens, split_words


def words(text):
    return [word.text for word in split_words(text)]


@given(st.text(alphabet=st.characters(exclude_categories=("Cs",))))
def test_offsets_are_exact_and_no_character_is_lost(text):
    found = split_words(text)
    assert all(text[word.start : word.end] == word.text and word.text for word in found)
    assert all(left.end <= right.start for left, right in pairwise(found))
    covered = "".join(word.text for word in found)
    assert "".join(covered.split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I can't, really.", ["I", "can't", ",", "really", "."]),
        ("order LK-48213 for £3.50 at 10:30", ["order", "LK-48213", "for", "£", "3.50", "at", "10:30"]),
        ("end.Next one,two", ["end", ".", "Next", "one", ",", "two"]),
        ("what?!!! no...", ["what", "?", "!!!", "no", "..."]),
        ("you a$$hole, f**k", ["you", "a$$hole", ",", "f**k"]),
        ("see https://a.example/x?y=1. Mail me@b.example!", ["see", "https://a.example/x?y=1", ".", "Mail", "me@b.example", "!"]),
        ("東京で会う", ["東", "京", "で", "会", "う"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("ok 👩‍👩‍👧 👍🏽 🇩🇪!", ["ok", "👩‍👩‍👧", "👍🏽", "🇩🇪", "!"]),
        ("e\u0301te\u0301", ["e\u0301te\u0301"]),
        ("  \t\n ", []),
    ],
)
def test_words_are_what_a_reader_would_point_at(text, expected):
    assert words(text) == expected


def test_word_lists_are_taken_as_given():
    document = from_tokens(["not fresh", "", ".", "not fresh"])
    assert [word.text for word in document.words] == ["not fresh", "", ".", "not fresh"]
    assert all(document.text[word.start : word.end] == word.text for word in document.words)


def test_word_lists_keep_the_offsets_of_their_text():
    document = from_tokens(["He", "doesn", "'", "t", "."], text="He doesn't.")
    assert document.text == "He doesn't."
    assert [(word.start, word.end) for word in document.words] == [(0, 2), (3, 8), (8, 9), (9, 10), (10, 11)]


def test_word_lists_that_are_not_in_their_text_get_a_text_of_their_own():
    document = from_tokens(["a", "b"], text="a x b")
    assert document.text == "a b"


def test_words_are_a_sequence_of_words():
    words = split_words("It  is\tgood !")
    assert words == (Word("It", 0, 2), Word("is", 4, 6), Word("good", 7, 11), Word("!", 12, 13)) == tuple(words)
    assert (words[-1], words[1:3], words.index(Word("is", 4, 6))) == (words[3], tuple(words)[1:3], 1)
    assert words.take([0, 2]) == Words(("It", "good"), [0, 7]) != words
    assert Document("a b", (Word("a", 0, 1), Word("b", 2, 3))).words == from_text("a b").words
    assert pickle.loads(pickle.dumps(words)) == words


def test_labels_must_match_the_words():
    with pytest.raises(InputError, match="got 1 labels for 2 words"):
        from_tokens(["a", "b"], labels=[0])


def test_other_things_are_refused():
    with pytest.raises(InputError, match="as document 3, got int"):
        as_document(7, 3)
    with pytest.raises(InputError, match="surrogate pair at character 1"):
        from_text("a\ud800")


def test_a_text_of_dots_takes_time_in_proportion():
    text = "a." * 100_000  # a pattern that looks ahead for an @ from every word would take minutes
    assert len(split_words(text)) == 200_000


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_missing_value_is_named(missing):
    with pytest.raises(InputError, match="as document 1, got a missing value: fill or drop such values"):
        list(as_documents(["a text", missing]))


def test_a_missing_value_of_pandas_is_named():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(InputError, match="as document 1, got a missing value"):
        list(as_documents(pandas.Series(["a text", None], dtype="string")))
