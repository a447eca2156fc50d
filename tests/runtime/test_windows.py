import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from difa.runtime.windows import batch_by_length, padded_length, plan_windows, pool_subwords


@given(st.integers(0, 3000), st.integers(2, 300))
def test_kept_parts_tile_the_sequence(length, capacity):
    windows = plan_windows(length, capacity)
    kept = [position for w in windows for position in range(w.keep_start, w.keep_end)]
    assert kept == list(range(length))
    assert all(0 <= w.start <= w.keep_start <= w.keep_end <= w.end <= length and w.end - w.start <= capacity for w in windows)


def test_inner_positions_see_both_sides():
    windows = plan_windows(1000, 100)
    for window in windows:
        left, right = window.keep_start - window.start, window.end - window.keep_end
        assert left >= 20 or window.start == 0
        assert right >= 20 or window.end == 1000


def test_max_pooling_by_hand():
    hidden = np.array([[1, 5], [3, 2], [0, 0], [7, -1]], dtype=np.float32)
    assert pool_subwords(hidden, np.array([0, 0, 1, 2]), 3).tolist() == [[3, 5], [0, 0], [7, -1]]
    assert pool_subwords(hidden[:0], np.empty(0, dtype=int), 0).shape == (0, 2)


@pytest.mark.parametrize("capacity", [7, 8])
def test_one_window_where_it_fits(capacity):
    assert len(plan_windows(7, capacity)) == 1


def test_batches_hold_sequences_of_one_padded_length():
    padded = [padded_length(length, 10) for length in (3, 9, 4, 1, 5, 30)]
    assert padded == [4, 10, 4, 4, 8, 10]
    assert batch_by_length(padded, 8) == [(4, [0, 2]), (4, [3]), (10, [1]), (10, [5]), (8, [4])]
