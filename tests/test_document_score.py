import numpy as np
import pytest

from difa.document_score import DocumentScore, describe, trait_names

VIEWS = ["critic", "neighbour", "tone"]


def test_traits_by_hand():
    fused = np.array([1.0, 5.0, 2.0, 4.0, 7.0])
    evidence = np.array([[0.0, 1.0, 3.0], [1.0, 2.0, 0.0], [2.0, 3.0, 0.0], [3.0, 4.0, 0.0], [8.0, 9.0, 1.0]])
    traits = describe(fused, evidence, [4, 0, 1], VIEWS)
    # highest of the words, of tone, of critic; three highest of the same; mean of neighbour
    assert traits[0].tolist() == pytest.approx([5, 3, 3, (5 + 4 + 2) / 3, 1, 2, 2.5])
    assert traits[1].tolist() == [0.0] * 7
    assert traits[2].tolist() == [7, 1, 8, 7, 1, 8, 9]
    assert len(trait_names(VIEWS)) == 7
    assert trait_names(["form"]) == ["words: highest", "words: three highest"]
    assert describe(fused, evidence[:, :1], [5], ["form"]).tolist() == [[7.0, 16 / 3]]


def test_of_phrases_only_several_count():
    fused, evidence = np.array([1.0, 5.0]), np.array([[6.0], [2.0]])
    assert trait_names(["phrase"]) == ["words: highest", "words: three highest", "phrase: three highest"]
    assert describe(fused, evidence, [2], ["phrase"]).tolist() == [[5.0, 3.0, 4.0]]


def test_scores_by_hand():
    # Three normal documents with traits 1, 2, 3; the newcomer is above all of them in one trait: p = 1/4, and below in the other.
    score = DocumentScore.fit(np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]))
    evidence = score.evidence(np.array([[0.0, 9.0], [9.0, 0.0]]))
    assert evidence == pytest.approx(np.array([[0.0, np.log(4)], [np.log(4), 0.0]]))
    rms = np.log(4) / np.sqrt(2)
    assert score.score(evidence) == pytest.approx([rms, max(rms, 0.7 * np.log(4))])


def test_one_word_makes_a_document():
    normal = np.tile(np.arange(1000.0)[:, None], (1, 7))
    score = DocumentScore.fit(normal)
    one_word = np.array([[5000.0, 0, 0, 0, 0, 0, 0]])
    assert score.score(score.evidence(one_word))[0] >= 0.7 * np.log(1001) * 0.999


def test_members_are_ranked_among_the_others():
    traits = np.array([[1.0], [2.0], [3.0]])
    assert DocumentScore.fit(traits).evidence(traits, members=True)[:, 0] == pytest.approx(np.log([1.0, 1.5, 3.0]))


def test_more_evidence_never_lowers_a_score(rng):
    traits = rng.exponential(1, (40, 5))
    score = DocumentScore.fit(traits)
    more = traits + rng.exponential(1, traits.shape)
    assert (score.score(score.evidence(more)) >= score.score(score.evidence(traits))).all()


def test_saved_and_restored(rng):
    traits = rng.exponential(1, (40, 5))
    score = DocumentScore.fit(traits)
    assert (DocumentScore.restore(score.tensors()).evidence(traits) == score.evidence(traits)).all()
