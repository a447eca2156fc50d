import numpy as np
import pytest

from difa.fitting import training_outliers
from difa.fitting.training_outliers import merely_rare, tail_steps


def corpus(rng, documents=400, views=5):
    """Raw evidence with exponential tails, three to twelve words a document."""
    return [rng.exponential(size=(rng.integers(3, 13), views)) for _ in range(documents)]


def traits_of(raw):
    return training_outliers.describe_documents(raw, [f"view {at}" for at in range(raw[0].shape[1])])


def find_misfits(raw):
    return training_outliers.find_misfits(traits_of(raw))


def test_tail_steps_by_hand():
    # Median 2, quartiles 1 and 3: each step of one halves the tail once more.
    values = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    assert tail_steps(values, values).tolist() == [-1, 0, 1, 2, 3]


def test_traits_are_peaks_of_telling_views_and_the_mean_of_the_language_view():
    raw = [np.array([[9.0, 1.0, 2.0], [9.0, 3.0, 0.0]]), np.array([[9.0, 5.0, 4.0]])]
    described = training_outliers.describe_documents(raw, ["critic", "language", "form"])
    assert described.tolist() == [[3, 2, 2], [5, 4, 5]]


def test_no_document_of_a_natural_tail_is_left_out(rng):
    assert not find_misfits(corpus(rng)).any()


@pytest.mark.parametrize("share", [0.05, 0.1])
def test_a_second_hump_is_left_out(rng, share):
    raw = corpus(rng)
    bad = np.arange(len(raw)) < share * len(raw)
    for item in raw[: bad.sum()]:
        item[0, :3] += 25  # one word that three views find extreme
    found = find_misfits(raw)
    assert found[bad].mean() > 0.9
    assert found[~bad].mean() < 0.03


def test_a_single_view_with_a_heavy_tail_decides_nothing(rng):
    raw = corpus(rng)
    for item in raw[:40]:
        item[0, 4] += 1000
    assert not find_misfits(raw).any()


def test_a_few_documents_and_equal_ones_are_kept(rng):
    assert not find_misfits(corpus(rng, documents=100)).any()
    assert not find_misfits([np.ones((4, 5))] * 300).any()


def test_a_corpus_of_two_kinds_is_kept_whole(rng):
    raw = corpus(rng)
    for item in raw[:100]:  # a quarter is no accident
        item[0, :3] += 25
    assert not find_misfits(raw).any()


def test_what_is_merely_rare_comes_back(rng):
    kept = corpus(rng)
    rare, strange = corpus(rng, documents=20), corpus(rng, documents=20)
    for item in strange:
        item[0, :3] += 25
    back = merely_rare(traits_of([*kept, *rare, *strange]), np.arange(440) >= 400)
    assert back[400:420].mean() > 0.9
    assert not back[420:].any()
