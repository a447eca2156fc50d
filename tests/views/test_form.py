import math

import numpy as np
import pytest

from difa.config import FormConfig
from difa.document import Encoded
from difa.views import form
from difa.views.form import CHANGES, CONTEXT, SURFACE, FormView, describe, describe_context, describe_surface
from tests.views import training


def surface(word):
    return dict(zip((*SURFACE, CHANGES), describe_surface(word), strict=True))


def test_surface_by_hand():
    assert surface("Abb1") == pytest.approx(
        {
            "length": 4,
            "share of digits": 1 / 4,
            "share of letters": 3 / 4,
            "share of capitals": 1 / 4,
            "share of punctuation": 0,
            "share of its longest run of one character": 2 / 4,
            "share of distinct characters": 3 / 4,
            "character entropy": 1.5,
            "share of vowels among letters": 1 / 3,
            "longest run of consonants": 2,
            CHANGES: 2,
        }
    )
    assert surface("word")[CHANGES] == 0
    assert surface("iPhone-7 now")[CHANGES] == 6
    assert surface("--")["share of punctuation"] == 1
    assert surface("not ok")["share of punctuation"] == 0
    assert set(surface("").values()) == {0.0}


def test_context_by_hand():
    vectors = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0]])
    first, middle, _ = (dict(zip(CONTEXT, row, strict=True)) for row in describe_context([vectors], window=1))
    assert middle["similarity to its context"] == pytest.approx(0)
    assert middle["distance to its neighbours"] == pytest.approx(math.sqrt(5))
    assert middle["norm against its neighbours"] == pytest.approx(math.log(2))
    assert middle["agreement of left and right context"] == pytest.approx(1)
    assert middle["similarity to its nearest neighbour"] == pytest.approx(0)
    assert middle["spread of similarity to its neighbours"] == pytest.approx(0)
    assert math.isnan(first["agreement of left and right context"])
    assert first["norm against its neighbours"] == pytest.approx(-math.log(2))


def test_two_neighbours_on_each_side():
    vectors = np.random.default_rng(0).normal(size=(7, 4))
    got = describe_context([vectors], window=2)[3]
    neighbours = vectors[[1, 2, 4, 5]]
    cosines = neighbours @ vectors[3] / np.linalg.norm(neighbours, axis=1) / np.linalg.norm(vectors[3])
    assert got[1] == pytest.approx(np.linalg.norm(neighbours - vectors[3], axis=1).mean())
    assert got[4] == pytest.approx(cosines.max())
    assert got[5] == pytest.approx(cosines.std())


def encoded(words, rng):
    return Encoded(tuple(words), rng.normal(size=(len(words), 8)).astype(np.float32), np.ones(len(words), int))


def test_mahalanobis_by_hand(rng):
    documents = [encoded(["one", "Two2", "three,", "f", "!", "sixsix"], rng) for _ in range(5)]
    view = FormView.fit(training(documents, form=FormConfig(shrinkage=1e-9, min_scale=1e-9)))
    rows = describe(documents, FormConfig())
    mean = np.nanmean(rows, axis=0)
    centred = np.where(np.isnan(rows), 0, rows - mean)
    covariance = centred.T @ centred / len(rows)
    expected = np.sqrt(np.einsum("ti,ij,tj->t", centred, np.linalg.pinv(covariance), centred))
    assert view.raw(documents) == pytest.approx(expected, rel=1e-3)


def test_changes_leave_no_entry_that_the_others_imply(rng):
    words = ["one", "Two", "three", "FOUR", "5", "66", "!", "...", "iPhone", "B2B", "e4", "twelve"]
    documents = [encoded(words, rng) for _ in range(5)]

    def least(letters):
        return np.linalg.eigvalsh(np.corrcoef(describe(documents, FormConfig(letters=letters))[:, :10].T))[0]

    assert least("share") < 1e-9
    assert least("changes") > 1e-5


def test_constant_and_collinear_entries_do_not_break_it(rng):
    # Lower-case words of one length: most surface entries are constant, others copies of each other.
    view = FormView.fit(training([encoded(["abcd", "bcda", "cdab"], rng) for _ in range(10)]))
    scores = view.raw([encoded(["abcd", "ABCD9!!", "zzzzzzzzzz"], rng)])
    assert np.isfinite(scores).all()
    assert scores[1] > scores[0]
    assert scores[2] > scores[0]


def test_odd_words_stand_out_and_are_explained(encoder, corpus):
    from difa.words import from_text

    normal = encoder.encode([from_text(text) for text in corpus[:200]])
    view = FormView.fit(training(normal))
    odd = encoder.encode([from_text("Where is my xkcdqwrtplk order")])[0]
    scores = view.raw([odd])
    assert int(scores.argmax()) == 3
    reasons = view.explain(odd)[3]
    assert "longest run of consonants" in reasons[0].text
    assert reasons[0].text.startswith("high")
    assert sum(reason.weight for reason in reasons) <= 1 + 1e-9


def test_long_documents_are_looked_at_in_blocks(monkeypatch, rng):
    vectors = rng.normal(size=(50, 8)).astype(np.float32)
    whole = describe_context([vectors], 2)
    for block in (1, 2, 7, 49, 50):
        monkeypatch.setattr(form, "_BLOCK", block)
        assert np.array_equal(describe_context([vectors], 2), whole, equal_nan=True)


@pytest.mark.parametrize("block", [1, 6, 20, 4096])
def test_context_ends_with_the_document(monkeypatch, rng, block):
    monkeypatch.setattr(form, "_BLOCK", block)
    documents = [rng.normal(size=(length, 24)).astype(np.float32) for length in (0, 5, 1, 2, 0, 3, 17, 1)]
    alone = [describe_context([vectors], 3) for vectors in documents]
    assert np.array_equal(describe_context(documents, 3), np.concatenate(alone), equal_nan=True)
    assert np.isnan(alone[2]).all()


def test_context_from_dot_products_is_context_from_vectors(rng):
    vectors = rng.normal(size=(9, 16))
    vectors[4] = vectors[5]  # no gap at all
    for t, got in enumerate(describe_context([vectors], 2)):
        left, right = vectors[max(0, t - 2) : t], vectors[t + 1 : t + 3]
        around = np.concatenate([left, right])
        cosines = [_cosine(vectors[t], other) for other in around]
        expected = [
            _cosine(vectors[t], around.sum(axis=0)),
            np.linalg.norm(around - vectors[t], axis=1).mean(),
            math.log(np.linalg.norm(vectors[t]) / np.linalg.norm(around, axis=1).mean()),
            _cosine(left.sum(axis=0), right.sum(axis=0)) if len(left) and len(right) else math.nan,
            max(cosines),
            np.std(cosines),
        ]
        assert got == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True)


def test_neighbours_that_cancel_out_say_nothing(rng):
    vectors = rng.normal(size=(3, 384)).astype(np.float32)
    vectors[2] = -vectors[0]
    assert describe_context([vectors], 1)[1, 0] == pytest.approx(0, abs=1e-6)


def _cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)
