"""One contract for every baseline: what any of them must do, whatever it computes."""

import numpy as np
import pytest

from difa.baselines import METHODS
from difa.baselines.vectors import stack
from difa.document import Encoded
from difa.errors import NotFittedError

pytestmark = pytest.mark.slow  # PyOD and its networks

FAST = {
    "deepsvdd": {"epochs": 3, "hidden_neurons": (8, 4)},
    "ae": {"epoch_num": 2, "hidden_neuron_list": (8, 4)},
    "lunar": {"n_epochs": 5},
    "iforest": {"n_estimators": 10},
}
"""Settings for fits whose quality does not matter."""


@pytest.fixture(scope="module")
def documents(tiny_encoder, corpus):
    from difa.words import from_text

    return tiny_encoder.encode([from_text(text) for text in corpus[:60]])


@pytest.fixture(scope="module")
def fitted(documents):
    made = {}

    def make(name):
        if name not in made:
            made[name] = METHODS[name].make(FAST.get(name, {}), 3)
            made[name].fit(documents[:40])
        return made[name]

    return make


@pytest.fixture(params=list(METHODS))
def name(request):
    return request.param


def test_one_finite_score_per_word(fitted, name, documents):
    scores = fitted(name).word_scores(documents[40:])
    assert [len(item) for item in scores] == [len(document) for document in documents[40:]]
    assert all(np.isfinite(item).all() for item in scores)


def test_scores_are_not_constant(fitted, name, documents):
    assert len(np.unique(np.concatenate(fitted(name).word_scores(documents[40:])))) > 3


def test_same_alone_or_in_a_batch(fitted, name, documents):
    batch = fitted(name).word_scores(documents[40:50])
    for document, scores in zip(documents[40:50], batch, strict=True):
        np.testing.assert_allclose(fitted(name).word_scores([document])[0], scores, rtol=1e-4, atol=1e-5)


def test_same_seed_same_scores(fitted, name, documents):
    again = METHODS[name].make(FAST.get(name, {}), 3)
    state = np.random.get_state()[1].tolist()
    again.fit(documents[:40])
    assert np.random.get_state()[1].tolist() == state, "the caller's generator was used"
    expected = fitted(name).word_scores(documents[40:])
    for left, right in zip(again.word_scores(documents[40:]), expected, strict=True):
        np.testing.assert_array_equal(left, right)


def test_documents_without_words(fitted, name, documents):
    empty = Encoded((), documents[0].vectors[:0], documents[0].pieces[:0])
    assert [len(item) for item in fitted(name).word_scores([empty])] == [0]
    scores = fitted(name).word_scores([empty, documents[41], empty])
    assert [len(item) for item in scores] == [0, len(documents[41]), 0]
    assert fitted(name).word_scores([]) == []


def test_not_fitted(name, documents):
    with pytest.raises(NotFittedError, match="call fit"):
        METHODS[name].make({}, 0).word_scores(documents[:1])


def test_grids_are_those_of_the_tokencore_authors():
    assert [settings["n_neighbors"] for settings in METHODS["lof"].grid] == [5, 10, 20, 40]
    assert [settings["n_neighbours"] for settings in METHODS["lunar"].grid] == [5, 10, 20, 40]
    assert [settings["max_samples"] for settings in METHODS["iforest"].grid] == [16, 32, 64, 128, 256, 512]
    assert {settings["n_estimators"] for settings in METHODS["iforest"].grid} == {200}
    assert [settings["hidden_neurons"] for settings in METHODS["deepsvdd"].grid] == [(128, 64), (64, 32), (32, 16)]


def test_stack_of_nothing():
    assert stack([]).shape == (0, 0)
