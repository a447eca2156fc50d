import numpy as np
import pytest
from difa.weigh import DocumentView, describe, trait_names

from difa.config import DocumentConfig


def test_traits_by_hand():
    words = np.array([[1.0, 0.0], [3.0, 2.0]])
    assert describe([words, words[:0]]).tolist() == [[3.0, 2.0, 2.0, 1.0, np.log(2)], [0.0] * 5]
    assert describe([words[:0], words, words[:0], words[:1]])[3].tolist() == [1.0, 0.0, 1.0, 0.0, 0.0]
    assert describe([words[:0]]).tolist() == [[0.0] * 5]
    assert trait_names(["meaning", "form"]) == ["meaning peak", "form peak", "meaning mean", "form mean", "length"]


def test_scores_by_hand():
    # Three normal documents with traits 1, 2, 3 and of one length; the newcomer is above all of them: p = 1/4 each.
    traits = np.array([[1.0, 1.0, 2.0], [2.0, 2.0, 2.0], [3.0, 3.0, 2.0]])
    view = DocumentView.fit(traits, DocumentConfig(length_weight=0.5))
    evidence = view.evidence(np.array([[9.0, 9.0, 2.2]]))
    assert evidence == pytest.approx(np.array([[np.log(4), np.log(4), 2.0]]))  # the spread of the length is at least 0.1
    assert view.score(evidence) == pytest.approx([np.log(4) + 0.5 * 2.0])


def test_length_counts_within_bounds():
    traits = np.array([[1.0, 2.0], [2.0, 2.1], [3.0, 1.9]])
    view = DocumentView.fit(traits, DocumentConfig())
    assert view.evidence(np.array([[1.0, 9.0], [1.0, 0.0]]))[:, -1].tolist() == [2.0, -2.0]


def test_members_are_ranked_among_the_others():
    traits = np.array([[1.0, 2.0], [2.0, 2.0], [3.0, 2.0]])
    view = DocumentView.fit(traits, DocumentConfig())
    assert view.evidence(traits, members=True)[:, 0] == pytest.approx(np.log([1.0, 1.5, 3.0]))


def test_more_evidence_never_lowers_a_score(rng):
    traits = rng.exponential(1, (40, 5))
    view = DocumentView.fit(traits, DocumentConfig())
    more = traits + rng.exponential(1, traits.shape)
    assert (view.score(view.evidence(more)) >= view.score(view.evidence(traits))).all()


def test_saved_and_restored(rng):
    traits = rng.exponential(1, (40, 5))
    view = DocumentView.fit(traits, DocumentConfig())
    restored = DocumentView.restore(DocumentConfig(), view.tensors())
    assert (restored.evidence(traits) == view.evidence(traits)).all()
