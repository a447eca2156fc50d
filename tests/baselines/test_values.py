"""Values worked out by hand, or by another library."""

import math

import numpy as np

from difa.baselines.trivial import CharacterTrigrams, DocumentLength, UnigramRarity, WordLength
from difa.baselines.vectors import Ecod, OnVectors, Pyod, TokenCore
from difa.document import Encoded


def encoded(vectors):
    vectors = np.asarray(vectors, np.float32)
    return Encoded(tuple("w" * len(vectors)), vectors, np.ones(len(vectors), int))


def words(*texts):
    return Encoded(texts, np.zeros((len(texts), 0), np.float32), np.ones(len(texts), int))


def test_tokencore_is_the_distance_to_the_nearest():
    bank = OnVectors(TokenCore())
    bank.fit([encoded([[0, 0], [3, 4], [10, 0], [0, 1]])])
    scores = bank.word_scores([encoded([[0, 0], [3, 0], [10, 2]]), encoded([[-3, -4]])])
    np.testing.assert_allclose(scores[0], [0, 3, 2], atol=1e-6)
    np.testing.assert_allclose(scores[1], [5], atol=1e-6)


def test_tokencore_agrees_with_scikit_learn(rng):
    from sklearn.neighbors import NearestNeighbors

    train, test = rng.normal(5, 1, (300, 16)), rng.normal(5, 1, (90, 16))
    core = OnVectors(TokenCore())
    core.fit([encoded(train)])
    expected = NearestNeighbors(n_neighbors=1).fit(train).kneighbors(test)[0][:, 0]
    np.testing.assert_allclose(core.word_scores([encoded(test)])[0], expected, rtol=1e-5)


def test_ecod_ranks_among_training_words_only():
    ecod = OnVectors(Ecod())
    ecod.fit([encoded([[1.0], [2.0], [3.0]])])
    # At 2: two of three at or below, two at or above; at 9: none at or above.
    np.testing.assert_allclose(ecod.word_scores([encoded([[2], [9]])])[0], [-math.log(3 / 4), -math.log(1 / 4)], rtol=1e-6)


def test_ecod_agrees_with_pyod_scoring_one_word_at_a_time(rng):
    from pyod.models.ecod import ECOD

    train, test = rng.exponential(1, (80, 5)).astype(np.float32), rng.exponential(1, (6, 5)).astype(np.float32)
    ours = OnVectors(Ecod())
    ours.fit([encoded(train)])
    alone = [float(ECOD().fit(train).decision_function(row[None])[0]) for row in test]
    np.testing.assert_allclose(ours.word_scores([encoded(test)])[0], alone, rtol=1e-5)
    together = ECOD().fit(train).decision_function(test)
    assert np.abs(together - alone).max() > 1e-3, "PyOD no longer mixes batch-mates into a score: use it as it is"


def test_lengths():
    document = words("a", "bcd")
    for baseline, expected in ((WordLength(), [1, 3]), (DocumentLength(), [2, 2])):
        baseline.fit([])
        assert baseline.word_scores([document])[0].tolist() == expected


def test_unigram_rarity_by_hand():
    rarity = UnigramRarity()
    rarity.fit([words("to", "To", "be")])  # three words, two kinds, one place for the unseen
    expected = [-math.log(3 / 6), -math.log(2 / 6), -math.log(1 / 6)]
    np.testing.assert_allclose(rarity.word_scores([words("TO", "be", "or")])[0], expected)


def test_trigram_surprise_by_hand():
    trigrams = CharacterTrigrams(smoothing=1.0)
    trigrams.fit([words("ab", "ab")])
    # Third characters seen: a, b and the edge; one place for the unseen makes four. Each of the three trigrams of "ab" was
    # seen twice after its pair: (2 + 1) / (2 + 4).
    seen = -3 * math.log(3 / 6)
    # "b": edge-edge-b was never seen after edge-edge (1/6), edge-b-edge has an unseen pair (1/4).
    unseen = -math.log(1 / 6) - math.log(1 / 4)
    np.testing.assert_allclose(trigrams.word_scores([words("AB", "b", "")])[0], [seen, unseen, -math.log(1 / 6)])


def test_large_corpora_are_sampled(rng):
    vectors = rng.normal(size=(60, 4)).astype(np.float32)
    for most, expected in ((None, 60), (20, 20)):
        lof = Pyod("lof.LOF", settings={"n_neighbors": 3}, max_words=most)
        lof.fit(vectors)
        assert lof.model.detector_.n_samples_fit_ == expected
