"""Numbers of words that are computed once."""

import numpy as np
import pytest

from difa.knowledge import word_cache
from difa.knowledge.word_cache import AnswerTable, WordCache, distinct_strings


@pytest.fixture
def asked():
    return []


@pytest.fixture
def lengths(asked):
    return WordCache(lambda word: (asked.append(word) or len(word), 1.0), 2)


def test_each_distinct_word_is_computed_once(lengths, asked):
    assert lengths.of(["a", "bcd", "a"]).tolist() == [[1, 1], [3, 1], [1, 1]]
    assert lengths.of(iter(["bcd", "ef"])).tolist() == [[3, 1], [2, 1]]
    assert asked == ["a", "bcd", "ef"]
    assert lengths.of([]).shape == (0, 2)


def test_it_grows(lengths):
    words = ["x" * size for size in range(1000)]
    assert np.array_equal(lengths.of(words)[:, 0], np.arange(1000))
    assert np.array_equal(lengths.of(words)[:, 0], np.arange(1000))


@pytest.mark.parametrize(("bound", "value"), [("_MOST", 3), ("_MOST_CHARACTERS", 30)])
def test_it_forgets_what_it_cannot_hold(lengths, asked, monkeypatch, bound, value):
    monkeypatch.setattr(word_cache, bound, value)
    words = ["x" * size for size in range(10)]
    for _ in range(2):
        assert lengths.of(words)[:, 0].tolist() == list(range(10))
    assert asked == words * 2


def test_words_of_documents_are_asked_once_each(lengths, asked):
    words = distinct_strings((("a", "bcd"), (), ("bcd", "a", "ef")))
    assert (words.words, words.numbers.tolist()) == (("a", "bcd", "ef"), [0, 1, 1, 0, 2])
    assert lengths.of_each(words)[:, 0].tolist() == [1, 3, 3, 1, 2]
    assert asked == ["a", "bcd", "ef"]


def test_a_table_answers_right_however_small_it_is():
    asked = []

    def double(keys):
        asked.extend(keys.tolist())
        return keys * 2.0

    table = AnswerTable(2)
    for keys in (np.arange(3), np.array([], dtype=np.int64), np.arange(500), np.array([7, 7, 1 << 60, 7])):
        assert table.find(keys, double).tolist() == (keys * 2.0).tolist()
    asked.clear()
    assert table.find(np.array([7, 1 << 60]), double).tolist() == [14.0, 2.0**61]
    assert len(asked) < 2  # at least one of the last two is still there
