import numpy as np
import pytest

from difa.config import FeedConfig
from difa.document_score import DocumentScore, describe, trait_names

VIEWS = ["critic", "neighbour", "tone"]


def test_traits_by_hand():
    fused = np.array([1.0, 5.0, 2.0, 4.0, 7.0])
    evidence = np.array([[0.0, 1.0, 3.0], [1.0, 2.0, 0.0], [2.0, 3.0, 0.0], [3.0, 4.0, 0.0], [8.0, 9.0, 1.0]])
    traits = describe(fused, evidence, [4, 0, 1], VIEWS)
    # highest of the words, of tone, of critic; three highest of the same; mean of neighbour; mean of the words
    assert traits[0].tolist() == pytest.approx([5, 3, 3, (5 + 4 + 2) / 3, 1, 2, 2.5, 3])
    assert traits[1].tolist() == [0.0] * 8
    assert traits[2].tolist() == [7, 1, 8, 7, 1, 8, 9, 7]
    assert len(trait_names(VIEWS)) == 8
    assert trait_names(["form"]) == ["words: highest", "words: three highest", "words: mean"]
    assert describe(fused, evidence[:, :1], [5], ["form"]).tolist() == [[7.0, 16 / 3, 19 / 5]]
    learned = ["feed: highest", "feed: three highest", "feed: mean"]
    assert trait_names(["language", "feed"]) == [*trait_names(["form"])[:2], "language: mean", "words: mean", *learned]


def test_of_phrases_only_several_count():
    fused, evidence = np.array([1.0, 5.0]), np.array([[6.0], [2.0]])
    assert trait_names(["phrase"]) == ["words: highest", "words: three highest", "phrase: three highest", "words: mean"]
    assert describe(fused, evidence, [2], ["phrase"]).tolist() == [[5.0, 3.0, 4.0, 3.0]]


def test_the_oddest_passage_is_six_words_in_a_row():
    views = ["language", "neighbour"]
    odd = np.array([0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 3, 0, 0, 6, 6.0])
    traits = describe(np.zeros(15), np.stack([odd, odd], axis=1), [13, 0, 2], views)
    # six words of 1 + 1; in the last document two words of 6 + 6, which are not six in a row
    assert traits[:, trait_names(views).index("topic: passage")].tolist() == pytest.approx([2.0, 0.0, 4.0])
    assert "topic: passage" not in trait_names(["language"])


def test_a_passage_of_another_topic_makes_a_document():
    names = trait_names(["language", "neighbour"])
    score = DocumentScore.fit(np.tile(np.arange(1000.0)[:, None], (1, len(names))), [5] * 1000, ["language", "neighbour"])
    passage = np.zeros((1, len(names)))
    passage[0, names.index("topic: passage")] = 5000.0
    assert score.score(score.evidence(passage, [5]), NO_FOLDS)[0] == pytest.approx(0.5 * np.log(1001))


def test_a_feed_does_not_hide_what_is_clear_without_it(rng):
    traits, lengths, folds = rng.exponential(1, (200, 8)), [5] * 200, rng.integers(0, 8, 200)
    plain = DocumentScore.fit(traits, lengths, VIEWS)
    only_one = traits.copy()
    only_one[:50, 0] += 20.0  # what the feed is full of
    taught = plain.learn(only_one, lengths, np.ones(200), folds, FeedConfig())
    other = np.zeros((1, 8))
    other[0, 1] = 50.0
    evidence = plain.evidence(other, [5])
    assert taught.score(evidence, NO_FOLDS)[0] >= 1.5 * plain.score(evidence, NO_FOLDS)[0]


NO_FOLDS = np.zeros(1, dtype=int)


def test_scores_by_hand():
    # Three normal documents with traits 1, 2, 3. Above all of them in one trait: p = 1/4; below them in the others: p = 1.
    score = DocumentScore.fit(np.array([[1.0] * 3, [2.0] * 3, [3.0] * 3]), [5] * 3, ["form"])
    evidence = score.evidence(np.array([[0.0, 9.0, 0.0], [9.0, 0.0, 0.0], [0.0, 0.0, 9.0]]), [5] * 3)
    assert evidence == pytest.approx(np.log(4) * np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))
    rms = np.log(4) / np.sqrt(2)  # of the two traits of the prior: the mean of the words is there for a feed alone
    assert score.score(evidence, np.zeros(3, dtype=int)) == pytest.approx([rms, max(rms, 0.7 * np.log(4)), 0.0])


def test_one_word_makes_a_document():
    normal = np.tile(np.arange(1000.0)[:, None], (1, 8))
    score = DocumentScore.fit(normal, [5] * 1000, VIEWS)
    one_word = np.array([[5000.0, 0, 0, 0, 0, 0, 0, 0]])
    assert score.score(score.evidence(one_word, [5]), NO_FOLDS)[0] >= 0.7 * np.log(1001) * 0.999


def test_rare_words_throughout_make_a_document():
    names = trait_names(["language"])
    score = DocumentScore.fit(np.tile(np.arange(1000.0)[:, None], (1, len(names))), [5] * 1000, ["language"])
    foreign = np.zeros((1, len(names)))
    foreign[0, names.index("language: mean")] = 5000.0
    assert score.score(score.evidence(foreign, [5]), NO_FOLDS)[0] == pytest.approx(0.5 * np.log(1001))


def test_members_are_ranked_among_the_others():
    traits = np.array([[1.0] * 3, [2.0] * 3, [3.0] * 3])
    evidence = DocumentScore.fit(traits, [5] * 3, ["form"]).evidence(traits, [5] * 3, members=True)
    assert evidence[:, 0] == pytest.approx(np.log([1.0, 1.5, 3.0]))


def test_more_evidence_never_lowers_a_score(rng):
    traits, folds = rng.exponential(1, (40, 8)), rng.integers(0, 8, 40)
    more = traits + rng.exponential(1, traits.shape)
    lengths = rng.integers(1, 50, 40).tolist()
    plain = DocumentScore.fit(traits, lengths, VIEWS)
    taught = plain.learn(2 * traits, lengths, np.ones(40), folds, FeedConfig())
    for score in (plain, taught):
        assert (score.score(score.evidence(more, lengths), folds) >= score.score(score.evidence(traits, lengths), folds)).all()


def test_new_documents_teach_which_trait_matters(rng):
    normal, new = rng.exponential(1, (400, 3)), rng.exponential(1, (400, 3))
    new[:80, 2] += 9.0  # the mean of the words, which the prior does not look at
    score = DocumentScore.fit(normal, [5] * 400, ["form"])
    folds = rng.integers(0, 8, 400)
    taught = score.learn(new, [5] * 400, np.ones(400), folds, FeedConfig())
    before, after = (item.score(item.evidence(new, [5] * 400), folds) for item in (score, taught))
    assert np.median(before[:80]) < 2 * np.median(before[80:])
    assert np.median(after[:80]) > 4 * np.median(after[80:])


def test_the_length_alone_is_no_evidence(rng):
    # The highest of many words is higher than that of few. Without the slopes long documents would have nearly all of the alarms.
    lengths = rng.integers(3, 200, 3000)
    words = [rng.exponential(1, length) for length in lengths]
    traits = describe(np.concatenate(words), np.zeros((lengths.sum(), 1)), lengths.tolist(), ["form"])
    score = DocumentScore.fit(traits[:2000], lengths[:2000].tolist(), ["form"])
    scores = score.score(score.evidence(traits, lengths.tolist()), np.zeros(3000, dtype=int))
    threshold = np.quantile(scores[:2000], 0.95)
    short, long = lengths[2000:] < 52, lengths[2000:] > 150
    assert 0.02 < (scores[2000:][short] > threshold).mean() < 0.1
    assert 0.02 < (scores[2000:][long] > threshold).mean() < 0.1


def test_documents_that_are_equally_long_leave_the_usual_slopes(rng):
    score = DocumentScore.fit(rng.exponential(1, (400, 5)), [9] * 400, ["tone"])
    assert trait_names(["tone"]) == [
        "words: highest",
        "tone: highest",
        "words: three highest",
        "tone: three highest",
        "words: mean",
    ]
    assert score.slopes.tolist() == pytest.approx([0.5, 1.0, 0.5, 1.0, 0.0])


def test_documents_of_many_lengths_decide_the_slopes(rng):
    lengths = rng.integers(2, 200, 2000)
    traits = 2 + np.outer(np.log(lengths), [0.2, 0.7, 0.1]) + rng.normal(0, 0.3, (2000, 3))
    assert DocumentScore.fit(traits, lengths.tolist(), ["form"]).slopes.tolist() == pytest.approx([0.2, 0.7, 0.1], abs=0.03)


def test_documents_longer_than_all_normal_ones_keep_the_rate(rng):
    def draw(count, length):
        evidence = rng.exponential(1, (count * length, 2))
        return describe(np.sqrt((evidence**2).mean(axis=1)), evidence, [length] * count, ["tone", "critic"])

    score = DocumentScore.fit(draw(1000, 9), [9] * 1000, ["tone", "critic"])
    usual, longer = (
        score.score(score.evidence(draw(1000, length), [length] * 1000), np.zeros(1000, dtype=int)) for length in (9, 45)
    )
    assert (longer > np.quantile(usual, 0.95)).mean() < 0.15


def test_saved_and_restored(rng):
    traits, folds = rng.exponential(1, (40, 8)), rng.integers(0, 8, 40)
    lengths = rng.integers(1, 50, 40).tolist()
    score = DocumentScore.fit(traits, lengths, VIEWS).learn(traits + 1, lengths, np.ones(40), folds, FeedConfig())
    again = DocumentScore.restore(score.tensors(), VIEWS, FeedConfig())
    assert (again.score(again.evidence(traits, lengths), folds) == score.score(score.evidence(traits, lengths), folds)).all()
    with pytest.raises(ValueError, match="references of 3 traits"):
        DocumentScore.restore(score.tensors(), ["form"], FeedConfig())
    with pytest.raises(ValueError, match="slopes of 8 traits"):
        DocumentScore.restore({**score.tensors(), "slopes": np.zeros(3)}, VIEWS, FeedConfig())
