"""The running evidence: values worked out by hand, and how often it is wrong."""

import math
from dataclasses import replace

import numpy as np
import pytest

from difa.monitor.evidence import POWERS, SLOPES, TAILS, MonitorState, bet, different, more_unusual, rank

START = MonitorState("model", 0.1)


def after(state, p_values):
    """The state after a batch with these p-values."""
    number = state.batches + 1
    return replace(state, batches=number, log_capital=bet(state.log_capital, number, p_values))


def test_the_first_batch_by_hand():
    evidence = after(START, np.array([0.25, 1.0]))
    won = [power * 0.25 ** (power - 1) * power for power in POWERS]  # the bets on 0.25 and on 1
    won += [(1 + slope / 2) * (1 - slope) for slope in SLOPES]
    won += [(1 - stake) ** 2 for _, stake in TAILS]
    assert [math.exp(log) for log in evidence.log_capital] == pytest.approx([0.5 / len(won) * gain for gain in won])
    assert math.exp(evidence.log_evidence) == pytest.approx(0.5 * np.mean(won) + 0.5), "half of the capital waits"


def test_later_batches_bring_more_capital_into_the_game():
    evidence = START
    for number in range(1, 6):
        evidence = evidence.after("a", np.empty(0), np.ones(3))  # nothing is bet, nothing is won
        assert evidence.batches == number
        assert evidence.log_evidence == pytest.approx(0.0)
    assert sum(math.exp(log) for log in evidence.log_capital) == pytest.approx(5 / 6)


def test_ranks_among_reference_and_feed_by_hand():
    reference, scores = np.array([1.0, 2.0, 3.0]), np.array([2.5, 2.5, 0.0, 9.0])
    assert rank(scores, np.ones(4), reference, {}) == pytest.approx([2 / 4, 3 / 5, 6 / 6, 1 / 7])
    feed = START.after("a", scores, reference).feed
    assert feed == {0: 1, 250: 2, 900: 1}
    assert rank(np.array([2.5]), np.array([0.5]), reference, feed) == pytest.approx([3.5 / 8])
    assert rank(np.array([1e9]), np.ones(1), np.array([1.0]), {}) == pytest.approx([1 / 2]), "scores of any height"


def test_the_same_places_among_equals_in_one_run_or_several():
    reference, scores = np.zeros(50), np.zeros(20)
    at_once = START.after("a", scores, reference).after("b", scores, reference)
    kept = START.after("a", scores, reference)
    assert replace(START, **(vars(kept) | {"feed": dict(kept.feed)})).after("b", scores, reference) == at_once
    assert at_once.documents == 40


def alarms(draw, rng, *, feeds, batches, references=100, change=lambda scores, batch: scores):
    """Share of feeds with an alarm at a chance of 10 %."""
    found = 0
    for _ in range(feeds):
        reference, evidence, seen = draw(rng, references), START, START
        for batch in range(batches):
            scores = change(draw(rng, 25), batch)
            evidence = after(evidence, rank(scores, 1 - rng.random(25), reference, seen.feed))
            seen = seen.after("a", scores, reference)
            if evidence.log_evidence >= math.log(10):
                found += 1
                break
    return found / feeds


def exponential(rng, count):
    return rng.exponential(size=count)


def with_ties(rng, count):
    return rng.integers(0, 3, count).astype(float)


@pytest.mark.parametrize("draw", [exponential, with_ties])
def test_a_feed_that_is_as_before_seldom_raises_an_alarm_however_long_one_looks(draw, rng):
    assert alarms(draw, rng, feeds=80, batches=40, references=50) <= 0.1


def test_ranks_among_a_fixed_reference_would_raise_alarms_in_the_end(rng):
    found = 0
    for _ in range(30):
        reference, evidence = np.sort(exponential(rng, 100)), START
        for _ in range(1000):
            scores = exponential(rng, 25)
            evidence = after(evidence, (1 + 100 - np.searchsorted(reference, scores)) / 101)
            found += evidence.log_evidence >= math.log(10)
            if evidence.log_evidence >= math.log(10):
                break
    assert found / 30 > 0.2, "which is why they are not used"


def test_a_change_is_found_early_and_late(rng):
    for start in (0, 40):
        shifted = alarms(
            exponential, rng, feeds=20, batches=start + 10, change=lambda scores, batch, at=start: scores + (batch >= at)
        )
        assert shifted > 0.9


def test_a_feed_that_is_a_little_more_unusual_as_a_whole_is_found():
    evidence = after(START, np.linspace(0.05, 0.7, 100))  # no document that stands out
    assert evidence.log_evidence >= math.log(100)
    powers = [math.exp(log) for log in evidence.log_capital[: len(POWERS)]]
    assert sum(powers) < 20, "the bets on single documents would not have found it"


def test_a_feed_of_which_a_part_has_changed_is_found():
    rest = np.linspace(0.02, 1.0, 288)
    evidence = after(START, np.concatenate([np.full(12, 0.005), rest]))  # four times as many as normal text has below .01
    assert evidence.log_evidence >= math.log(20)
    others = [math.exp(log) for log in evidence.log_capital[: -len(TAILS)]]
    assert sum(others) < 20, "the other bets would not have found it"


def test_a_single_batch_is_compared_with_the_reference():
    uniform = np.arange(1, 100) / 100  # 99 documents, each between two of 99 others
    assert more_unusual(uniform, 99) > 0.9
    assert different(uniform, 99) > 0.9
    small, large = uniform / 4, 1 - uniform / 4
    assert more_unusual(small, 99) < 1e-6
    assert different(small, 99) < 1e-6
    assert more_unusual(large, 99) > 0.9, "less unusual is not more unusual"
    assert different(large, 99) < 1e-6


def test_the_comparison_by_hand():
    # Two documents above all of three: distance 1, m = 2 · 3 / 5.
    assert more_unusual(np.array([0.25, 0.25]), 3) == pytest.approx(math.exp(-2 * 6 / 5))
    # One of two above all, the other below all: shares 1/2 and 1 against 0 and 1.
    assert more_unusual(np.array([0.25, 1.0]), 3) == pytest.approx(math.exp(-2 * 6 / 5 / 4))
    # Both below all: the reference is more unusual by 1.
    assert different(np.array([1.0, 1.0]), 3) == pytest.approx(2 * (math.exp(-2.4) - math.exp(-9.6) + math.exp(-21.6)))


def test_the_comparison_is_wrong_as_often_as_it_says(rng):
    chances = []
    for _ in range(400):
        reference, scores = np.sort(rng.random(150)), rng.random(60)
        chances.append(more_unusual((1 + 150 - np.searchsorted(reference, scores)) / 151, 150))
    assert np.mean(np.array(chances) <= 0.1) <= 0.13
