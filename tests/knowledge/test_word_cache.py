"""Numbers of words that are computed once."""

import numpy as np
import pytest

from difa.document import Encoded
from difa.knowledge import word_cache
from difa.knowledge.word_cache import AnswerTable, Batch, PairCache, WordCache


@pytest.fixture
def asked():
    return []


@pytest.fixture
def lengths(asked):
    return WordCache(lambda words: asked.extend(words) or [(len(word), 1.0) for word in words], 2)


def batch(*documents):
    return Batch([Encoded.of_words(tuple(words)) for words in documents])


def test_each_distinct_word_is_computed_once(lengths, asked):
    assert lengths.of(batch(["a", "bcd", "a"])).tolist() == [[1, 1], [3, 1], [1, 1]]
    assert lengths.of(batch(["bcd", "ef"])).tolist() == [[3, 1], [2, 1]]
    assert sorted(asked) == ["a", "bcd", "ef"]
    assert lengths.of(batch([])).shape == lengths.of(batch()).shape == (0, 2)


def test_it_grows(lengths):
    words = ["x" * size for size in range(1000)]
    for _ in range(2):
        assert np.array_equal(lengths.of(batch(words))[:, 0], np.arange(1000))
    assert lengths.of(batch(words), np.array([7, 3]))[:, 0].tolist() == [7, 3]


@pytest.mark.parametrize(("bound", "value"), [("_MOST", 3), ("_MOST_CHARACTERS", 30)])
def test_it_forgets_what_it_cannot_hold(lengths, asked, monkeypatch, bound, value):
    monkeypatch.setattr(word_cache, bound, value)
    words = ["x" * size for size in range(10)]
    before = batch(words)
    assert before.numbers.tolist() == before.numbers.tolist()
    for _ in range(2):
        assert lengths.of(batch(words))[:, 0].tolist() == list(range(10))
    assert sorted(asked) == sorted(words * 2)
    assert lengths.of(before)[:, 0].tolist() == list(range(10)), "numbered before, it keeps its own vocabulary"


def test_words_of_documents_are_asked_once_each(lengths, asked):
    words = batch(("a", "bcd"), (), ("bcd", "a", "ef"))
    assert (words.words, words.lengths.tolist(), words.starts.tolist()) == (
        ["a", "bcd", "bcd", "a", "ef"],
        [2, 0, 3],
        [0, 2, 2, 5],
    )
    assert words.is_first.tolist() == [True, False, True, False, False]
    assert lengths.of(words)[:, 0].tolist() == [1, 3, 3, 1, 2]
    assert sorted(asked) == ["a", "bcd", "ef"]


def test_each_pair_is_computed_once():
    asked = []

    def join(left, right):
        asked.extend(pairs := [one + other for one, other in zip(left, right, strict=True)])
        return np.array(list(map(len, pairs)), dtype=float)

    pairs = PairCache(join)
    for _ in range(2):
        assert pairs.of(batch(["a", "bc", "a", "bc"]), np.array([0, 1, 2])).tolist() == [3, 3, 3]
    assert sorted(asked) == ["abc", "bca"]


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
