import math

import numpy as np
import pytest

from difa.calibrate import TailReference, check_rate
from difa.detector import linter_scores
from difa.errors import ConfigError

REFERENCE = TailReference.of(np.array([3.0, 1.0, 2.0, 2.0]))


def test_p_values_by_hand():
    # (1 + number of references at least as high) / (1 + 4)
    assert REFERENCE.p_values(np.array([0.5, 1.0, 2.0, 2.5, 3.0, 9.0])).tolist() == [1.0, 1.0, 0.8, 0.4, 0.4, 0.2]


def test_evidence_by_hand():
    evidence = REFERENCE.evidence(np.array([0.0, 9.0]), epsilon=0.0)
    assert evidence == pytest.approx([0.0, math.log(5)])
    assert REFERENCE.evidence(np.array([0.0]), epsilon=1e-3).tolist() == [0.0]


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.4, 0.5, 0.8, 0.99])
def test_threshold_flags_exactly_the_small_p_values(rate):
    scores = np.linspace(0, 4, 41)
    assert ((scores > REFERENCE.threshold(rate)) == (REFERENCE.p_values(scores) <= rate)).all()


def test_a_reference_too_small_for_the_rate_flags_nothing():
    assert REFERENCE.threshold(0.1) == math.inf
    assert REFERENCE.least_p == 0.2


def test_p_values_of_normal_scores_keep_the_rate(rng):
    rates = [(TailReference.of(rng.normal(size=199)).p_values(rng.normal(size=200)) <= 0.05).mean() for _ in range(200)]
    assert np.mean(rates) == pytest.approx(0.05, abs=0.005)


@pytest.mark.parametrize("rate", [0, 1, -0.1, math.nan, "0.1", True, None])
def test_rates_lie_between_0_and_1(rate):
    with pytest.raises(ConfigError, match="fpr: expected a number between 0 and 1"):
        check_rate("fpr", rate)


def test_linter_scores_add_a_quarter_of_the_evidence_of_faults():
    evidence = np.array([[1.0, 4.0], [2.0, 0.0]])
    np.testing.assert_allclose(linter_scores(np.array([3.0, 1.0]), evidence, ("language", "faults")), [4.0, 1.0])
    np.testing.assert_array_equal(linter_scores(np.array([3.0, 1.0]), evidence, ("language", "form")), [3.0, 1.0])
