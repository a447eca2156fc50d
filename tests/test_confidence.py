"""Exact intervals and bounds, against values worked out by hand and against simulation."""

import numpy as np
import pytest

from difa.decide.confidence import at_least, beta_quantile, future_interval, log_factorials, rate_bound, say_bound, share_interval


def test_binomial_tails_by_hand():
    assert at_least(1, 2, 0.5) == pytest.approx(0.75)
    assert at_least(2, 2, 0.3) == pytest.approx(0.09)
    assert at_least(0, 5, 0.2) == 1.0
    assert at_least(1, 5, 0.0) == 0.0
    assert at_least(5, 5, 1.0) == 1.0
    assert np.exp(log_factorials(5)) == pytest.approx([1, 1, 2, 6, 24, 120])


def test_quantiles_of_the_beta_distribution_by_hand():
    assert beta_quantile(0.3, 1, 1) == pytest.approx(0.3)  # uniform
    assert beta_quantile(0.95, 1, 20) == pytest.approx(1 - 0.05 ** (1 / 20))  # P(X ≤ x) = 1 − (1 − x)^20
    assert beta_quantile(0.25, 3, 1) == pytest.approx(0.25 ** (1 / 3))


def test_the_interval_of_a_share():
    assert share_interval(0, 20) == (0.0, pytest.approx(1 - 0.025 ** (1 / 20)))
    assert share_interval(20, 20) == (pytest.approx(0.025 ** (1 / 20)), 1.0)
    low, high = share_interval(3, 50)
    assert at_least(3, 50, low) == pytest.approx(0.025)
    assert 1 - at_least(4, 50, high) == pytest.approx(0.025)


def test_the_bound_on_a_rate():
    assert rate_bound(99, 0.01) == pytest.approx(1 - 0.05 ** (1 / 99))  # the highest of 99: Beta(1, 99)
    assert rate_bound(50, 0.01) == 0.0, "nothing is flagged"
    assert rate_bound(10, 0.999) == beta_quantile(0.95, 10, 1)
    assert rate_bound(10, 1.0) == 1.0
    assert rate_bound(100_000, 0.05) < 0.052
    assert say_bound(99, 0.01) == "at most 3 % with 95 % confidence"


def test_the_bound_holds_for_so_many_reference_samples(rng):
    references, rate = 199, 0.05
    samples = np.sort(rng.random((4000, references)), axis=1)
    flagged = samples[:, round(rate * (references + 1)) - 1]  # what lies beyond the tenth of uniform scores
    assert np.mean(flagged <= rate_bound(references, rate)) == pytest.approx(0.95, abs=0.012)
    assert flagged.mean() == pytest.approx(rate, abs=0.002), "the rate itself is kept on average only"


def test_what_comes_next_by_hand():
    # Beyond the higher of two seen documents lies a future one with a chance of 1/3: uniform ranks.
    assert future_interval(1, 2, 1, 0.3) == (0, 0), "up to a chance of 0.65"
    assert future_interval(1, 2, 1, 0.4) == (0, 1), "from a chance of 0.7"
    assert future_interval(1, 19, 1, 0.8) == (0, 0)


def test_what_comes_next_holds_whatever_the_feed(rng):
    low, high = future_interval(30, 2000, 2000)
    assert (low, high) == (16, 46)
    inside = []
    for _ in range(400):
        seen, future = rng.exponential(size=2000), rng.exponential(size=2000)
        inside.append(low <= np.sum(future > np.sort(seen)[-30]) <= high)
    assert np.mean(inside) > 0.92
