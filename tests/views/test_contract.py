"""What every view must keep, whatever it looks at."""

import numpy as np
import pytest

from difa.config import VIEW_NAMES, Config
from difa.document import Encoded
from difa.perturb import make_pseudo_anomalies
from difa.views import SavedView, TrainingData, view_kind
from difa.words import from_text
from tests.conftest import QUICK


@pytest.fixture(scope="module")
def documents(tiny_encoder, corpus):
    return tiny_encoder.encode([from_text(text) for text in corpus[:40]])


@pytest.fixture(scope="module")
def data(documents, tiny_encoder):
    config = Config().changed(QUICK)
    errors = make_pseudo_anomalies(documents[:30], tiny_encoder, config.perturb, np.random.default_rng(0), "en")
    return TrainingData(documents[:30], errors, "en", config, seed=0, encoder=tiny_encoder)


SLOW = ("semantic",)  # trains and exports networks


@pytest.fixture(scope="module", params=[pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in VIEW_NAMES])
def view(request, data):
    view = view_kind(request.param).fit(data)
    assert view.name == request.param
    return view


def test_one_finite_non_negative_number_per_word(view, documents):
    raw = view.raw(documents)
    assert raw.shape == (sum(map(len, documents)),)
    assert np.isfinite(raw).all()
    assert (raw >= 0).all()


def test_not_constant(view, documents):
    odd = Encoded(("{{", "name", "}}"), np.ones((3, 32), np.float32), np.ones(3, int))
    assert len(np.unique(view.raw([*documents, odd]))) > (1 if view.name == "faults" else 20)


def test_the_same_alone_or_in_a_batch(view, documents):
    alone = np.concatenate([view.raw([document]) for document in documents])
    assert alone == pytest.approx(view.raw(documents), abs=1e-9)


def test_empty_documents(view, documents):
    empty = Encoded((), np.zeros((0, 32), np.float32), np.zeros(0, int))
    assert view.raw([empty, documents[0], empty]) == pytest.approx(view.raw(documents[:1]), abs=1e-9)
    assert view.raw([empty]).shape == (0,)


def test_deterministic(view, documents, data):
    again = view_kind(view.name).fit(data)
    assert (view.raw(documents) == again.raw(documents)).all()


def test_what_it_saves_restores_it(view, documents):
    restored = view_kind(view.name).restore(SavedView(view.tensors(), view.graph(), Config().changed(QUICK), "en"))
    assert (view.raw(documents) == restored.raw(documents)).all()


def test_reasons_for_every_word(view, documents):
    reasons = view.explain(documents[0])
    assert len(reasons) == len(documents[0])
    weights = [reason.weight for word in reasons for reason in word]
    assert weights
    assert all(0 <= weight <= 1 + 1e-9 for weight in weights)
