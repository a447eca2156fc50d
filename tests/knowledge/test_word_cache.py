"""Numbers of words that are computed once."""

import numpy as np
import pytest

from difa.knowledge import word_cache
from difa.knowledge.word_cache import WordCache


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
