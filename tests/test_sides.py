import numpy as np
import pytest

from difa.calibrate import TailReference
from difa.sides import Sides, combine, members_of


def test_combine_by_hand():
    # Mean of 1, 4, 9, 2, and half of √(9·4).
    assert combine(np.array([[1.0, 4.0, 9.0, 2.0]])) == pytest.approx([4.0 + 0.5 * 6.0])


def test_a_side_of_one_view_is_that_view(rng):
    evidence = rng.exponential(1, (50, 2))
    sides = Sides.fit([evidence], ["meaning", "form"], 0.0)
    assert (sides.evidence(evidence) == evidence).all()
    assert Sides.fit([evidence[:, :1]], ["form"], 0.0).names == ("form",)


def test_views_of_a_side_are_ranked_together(rng):
    evidence = rng.exponential(1, (200, 3))
    sides = Sides.fit([evidence[:100], evidence[100:]], ["meaning", "form", "meaning"], 0.0)
    got = sides.evidence(evidence)
    expected = TailReference.of(combine(evidence[:, [0, 2]])).evidence(combine(evidence[:, [0, 2]]), 0.0)
    assert (got[:, 0] == expected).all()
    assert (got[:, 1] == evidence[:, 1]).all()


def test_members_keep_the_order_of_the_sides():
    assert members_of(["form", "meaning", "meaning"]) == {"meaning": (1, 2), "form": (0,)}
