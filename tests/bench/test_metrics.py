import numpy as np
import pytest

from difa.bench.metrics import NOTHING, judge_documents, judge_words, pool_max, pool_mean, weighted_figures


def test_figures_by_hand():
    labels = [np.array([0, 1, 0]), np.array([1, 0])]
    scores = [np.array([0.1, 0.9, 0.5]), np.array([0.4, 0.2])]
    figures = judge_words(labels, scores, 0, 0)
    # Falling: 1, 0, 1, 0, 0. Of six pairs one is in the wrong order.
    assert figures["auroc"] == pytest.approx(5 / 6)
    assert figures["ap"] == pytest.approx((1 + 2 / 3) / 2)
    assert figures["fpr95"] == pytest.approx(1 / 3)
    assert (figures["count"], figures["anomalous"]) == (5, 2)
    assert figures["auroc_interval"] is None


def test_weighted_figures_are_those_of_repeated_items(rng):
    labels, scores = rng.integers(0, 2, 200), rng.integers(0, 20, 200) / 7  # many ties
    weights = rng.integers(0, 4, 200)
    again = np.repeat(np.arange(200), weights)
    repeated = judge_words([labels[again]], [scores[again]], 0, 0)
    assert weighted_figures(labels, scores, weights) == pytest.approx([repeated[key] for key in ("auroc", "ap", "fpr95")])
    assert np.isnan(weighted_figures(labels, scores, labels)).all(), "a draw of anomalous documents alone says nothing"


def test_false_alarms_at_95_percent_recall():
    labels = np.array([1] * 19 + [0] * 10 + [1])
    scores = -np.arange(30.0)  # nineteen of twenty hits come before the first alarm
    figures = judge_words([labels], [scores], 0, 0)
    assert figures["fpr95"] == 0
    labels[0], labels[19] = 0, 1
    assert judge_words([labels], [scores], 0, 0)["fpr95"] == pytest.approx(1 / 10)


def test_intervals_hold_the_figure_and_shrink_with_more_documents(rng):
    def interval(documents):
        labels = [np.array([0, 0, 1]) for _ in range(documents)]
        scores = [rng.normal(size=3) + np.array([0, 0, 1.5]) for _ in range(documents)]
        figures = judge_words(labels, scores, 100, 0)
        assert figures["auroc_interval"][0] < figures["auroc"] < figures["auroc_interval"][1]
        return figures["auroc_interval"][1] - figures["auroc_interval"][0]

    assert interval(400) < interval(40)


def test_draws_are_of_documents_not_words(rng):
    """Words of one document that stand or fall together make the interval as wide as few documents do."""
    labels = [np.repeat([0, 1], 50) for _ in range(8)]
    shifts = rng.normal(size=8)
    scores = [np.repeat([0.0, shift], 50) for shift in shifts]
    interval = judge_words(labels, scores, 200, 0)["auroc_interval"]
    assert interval[1] - interval[0] > 0.2


def test_same_seed_same_interval(rng):
    labels, scores = [np.array([0, 1])] * 20, [rng.normal(size=2) for _ in range(20)]
    assert judge_words(labels, scores, 30, 5) == judge_words(labels, scores, 30, 5)
    assert judge_words(labels, scores, 30, 5) != judge_words(labels, scores, 30, 6)


def test_documents_and_pooling():
    words = [np.array([1.0, 3.0]), np.array([]), np.array([2.0])]
    assert pool_max(words).tolist() == [3, NOTHING, 2]
    assert pool_mean(words).tolist() == [2, NOTHING, 2]
    labels = [np.array([0, 1]), np.array([], dtype=int), np.array([0])]
    figures = judge_documents(labels, pool_max(words), 0, 0)
    assert (figures["auroc"], figures["count"], figures["anomalous"]) == (1, 3, 1)
