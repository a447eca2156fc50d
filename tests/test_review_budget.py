"""A budget of documents to review, turned into a rate."""

import numpy as np
import pytest

from difa.decide.review_budget import parse_budget, rate_for_budget, shortest_between
from difa.errors import ConfigError, InputError


def test_the_rate_flags_what_the_budget_allows():
    p_values = np.arange(1, 201) / 1001  # 200 recent documents, ranked among 1,000
    found = rate_for_budget(p_values, 30, 2000, 1000)
    assert (found.recent, found.recent_flagged) == (200, 3)
    assert np.sum(p_values <= found.rate) == 3
    assert found.rate == 0.003, "the shortest number that does it"
    assert found.expected == pytest.approx(2000 * 3 / 201)
    low, high = found.interval
    assert low < found.expected < high


def test_documents_with_equal_p_values_stay_together():
    p_values = np.array([0.01, 0.02, 0.02, 0.02, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    assert rate_for_budget(p_values, 3, 10, 99).recent_flagged == 1
    assert rate_for_budget(p_values, 4, 10, 99).recent_flagged == 4
    with pytest.raises(InputError, match="the 3 most unusual of 4 documents have the same p-value"):
        rate_for_budget(np.array([0.01, 0.01, 0.01, 0.5]), 2, 4, 99)


def test_a_feed_that_is_too_small_or_a_budget_that_is_none():
    with pytest.raises(InputError, match=r"at least 67 recent documents for a budget of 30/2000, got 50"):
        rate_for_budget(np.linspace(0.01, 1, 50), 30, 2000, 99)
    with pytest.raises(InputError, match="no rate is needed for 9/9"):
        rate_for_budget(np.ones(9), 9, 9, 99)
    assert parse_budget("30/2000", 5) == (30, 2000)
    assert parse_budget("30", 500) == (30, 500)
    for text in ("thirty", "30/", "0/10", "30/20", "-1/5", "3.5/10"):
        with pytest.raises(ConfigError, match="budget: expected"):
            parse_budget(text, 500)


def test_the_shortest_number_between_two():
    assert shortest_between(0.0149, 0.0151) == 0.015
    assert shortest_between(0.5, 0.6) == 0.5
    assert shortest_between(17 / 2001, 18 / 2001) == 0.0085
    assert 1 / 3 <= shortest_between(1 / 3, 1 / 3 + 1e-9) < 1 / 3 + 1e-9
