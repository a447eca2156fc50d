from dataclasses import replace

import numpy as np
import pytest

from difa.config import FeedConfig, FusionConfig
from difa.corpus.copies import content_of
from difa.document import Encoded
from difa.fuse import Curves, Trust, fold_of, learn, prior_score, view_fold_of
from difa.head import LETTERS, Head, WordTable, letter_vector

VIEWS = ["language", "phrase", "tone", "critic", "form"]
FEED = FeedConfig(folds=4)


def prior(evidence, power=2.0, weights=None):
    names = VIEWS[: evidence.shape[1]]
    return prior_score(
        evidence, names, FusionConfig(power=power, weights=dict(zip(names, weights, strict=True)) if weights else {})
    )


def test_a_power_mean_by_hand():
    assert prior(np.array([[3.0, 4.0, 0.0]])) == pytest.approx([np.sqrt(25 / 3)])
    assert prior(np.array([[3.0, 4.0, 2.0]]), 1.0) == pytest.approx([3.0])
    assert prior(np.array([[3.0, 4.0]]), 2.0, [1, 0.5]) == pytest.approx([np.sqrt((9 + 8) / 1.5)])
    assert prior(np.array([[3.0]]), 2.0, [0.3]) == pytest.approx([3.0])


def test_one_certain_view_beats_many_that_are_a_little_surprised():
    certain, mild = np.array([[9.0, 0, 0, 0, 0]]), np.full((1, 5), 2.0)
    assert prior(certain) > prior(mild)
    assert prior(certain, 1.0) < prior(mild, 1.0)  # which is why the default is not the plain mean


def test_near_copies_share_a_fold():
    words = ["Your", "parcel", "4711", "was", "sent", ",", "thank", "you", "!"]
    copy = ["your", "parcel", "9032", "was", "sent", "thank", "you"]
    assert content_of(words) == content_of(copy) == "your parcel 0000 was sent thank you"
    assert fold_of(words, 8) == fold_of(copy, 8)
    assert view_fold_of(words, 8, 3) == view_fold_of(copy, 8, 3)
    others = {
        fold_of([word], 8)
        for word in ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
    }
    assert len(others) > 3
    assert content_of(["!", "?"]) == ""
    assert fold_of(["!"], 64) != fold_of(["?"], 64)  # marks count where there is nothing else


def test_curves_by_hand():
    # 90 new words, all in fold 1: 9 of them reach an evidence of log 100, which one normal word in a hundred does.
    evidence = np.full((90, 1), 0.0)
    evidence[:9] = np.log(100)
    folds = np.ones(90, dtype=int)
    curves = Curves.learn(evidence, np.ones(90), folds, FEED, 5.0)
    at = np.array([[0.0], [np.log(100)]])
    gain = curves.gain(at, np.array([0, 0]))
    assert gain[0, 0] == pytest.approx(0.0)
    assert gain[1, 0] == pytest.approx(np.log((9 + 5) / (90 / 100 + 5)), abs=0.02)  # kept on a grid
    assert (curves.gain(at, np.array([1, 1])) == 0).all()  # the fold itself learned nothing: no other has words


def test_what_a_reviewer_called_normal_counts_against():
    evidence = np.full((200, 1), 5.0)
    folds = np.arange(200) % 4
    feed = Curves.learn(evidence, np.ones(200), folds, FEED, 5.0).gain(np.array([[5.0]]), np.array([0]))
    rejected = Curves.learn(evidence, np.zeros(200), folds, FEED, 5.0).gain(np.array([[5.0]]), np.array([0]))
    assert feed > 1
    assert rejected == 0


def test_no_evidence_lowers_a_score(rng):
    new = rng.exponential(1.5, (500, 5))
    curves = Curves.learn(new, np.ones(500), rng.integers(0, 4, 500), FEED, 5.0)
    words, folds = rng.exponential(2, (200, 5)), rng.integers(0, 4, 200)
    for view in range(5):
        more = words.copy()
        more[:, view] += rng.exponential(1, 200)
        assert (prior(more) >= prior(words)).all()
        assert (curves.gain(more, folds) >= curves.gain(words, folds)).all()


def test_normal_text_teaches_nothing(rng):
    new = rng.exponential(1, (4000, 3))  # as normal words are
    folds = rng.integers(0, 4, 4000)
    gain = Curves.learn(new, np.ones(4000), folds, FEED, 5.0).gain(new, folds)
    assert gain.max() < np.log(3)
    assert gain.mean() < 0.05


def encoded(vectors):
    return Encoded(tuple(f"w{at}" for at in range(len(vectors))), vectors, np.ones(len(vectors), dtype=int))


def documents_of(rng, count, odd):
    """Documents of ten words with vectors of six numbers; of `odd` ones, the first word lies elsewhere."""
    made = []
    for at in range(count):
        vectors = rng.normal(size=(10, 6)).astype(np.float32)
        if at < odd:
            vectors[0, 2] += 4.0
        made.append(encoded(vectors))
    return made


def words_of(rng, count, odd=0, seen=0):
    """Words with one view, which sees the first word of the first `seen` odd documents only."""
    evidence = rng.exponential(1, (count * 10, 1))
    evidence[: seen * 10 : 10] = 9.0
    return WordTable(documents_of(rng, count, odd), evidence, np.zeros((count * 10, 0)), rng.integers(0, 4, count))


def test_the_head_finds_what_the_view_missed(rng):
    normal, new = words_of(rng, 200), words_of(rng, 200, odd=40, seen=20)
    trust = Trust(np.ones(2000), np.zeros(2000, dtype=bool))
    taught = learn(normal, new, trust, FEED)
    gain = taught.gain(taught.with_head(new))
    missed = np.arange(200, 400, 10)
    assert taught.names == ("feed",)
    assert np.mean(gain[missed]) > 5 * np.mean(np.delete(gain, np.arange(0, 400, 10)))


def test_marked_words_teach_where_no_view_sees_anything(rng):
    normal, new = words_of(rng, 200), words_of(rng, 200, odd=40)
    marked = np.zeros(2000, dtype=bool)
    marked[:200:10] = True  # twenty of the forty odd words
    reviewed = np.arange(2000) < 200
    trust = Trust(np.where(marked, 5.0, np.where(reviewed, 0.0, 1.0)), marked)
    taught = learn(normal, new, trust, FEED)
    gain = taught.gain(taught.with_head(new))
    assert np.mean(gain[200:400:10]) > 5 * np.mean(gain[400:])
    nothing = learn(normal, new, Trust(np.ones(2000), np.zeros(2000, dtype=bool)), FEED)
    assert nothing.head is None


def test_no_document_is_judged_by_what_it_taught(rng):
    normal, new = words_of(rng, 100), words_of(rng, 100, odd=30, seen=30)
    trust = Trust(np.ones(1000), np.zeros(1000, dtype=bool))
    taught = learn(normal, new, trust, FEED)
    fold = new.folds[0]
    changed = new.evidence.copy()
    changed[new.word_folds == fold] = 0.0  # the documents of one fold say nothing any more
    other = learn(normal, replace(new, evidence=changed), trust, FEED)
    assert (other.curves.values[fold, 0] == taught.curves.values[fold, 0]).all()
    assert (other.curves.values[1 - fold if fold < 2 else 0, 0] != taught.curves.values[1 - fold if fold < 2 else 0, 0]).any()


def test_a_head_scores_alike_alone_and_in_a_batch(rng):
    normal, new = words_of(rng, 100), words_of(rng, 100, odd=30, seen=30)
    taught = learn(normal, new, Trust(np.ones(1000), np.zeros(1000, dtype=bool)), FEED)
    together = taught.head.evidence(new)
    for at in (0, 7, 99):
        first = WordTable([new.documents[at]], new.evidence[:10], new.statistics[:10], new.folds[at : at + 1])
        alone = taught.head.evidence(first)
        assert (alone == together[10 * at : 10 * at + 10]).all()


def test_letters_stand_in_for_vectors(rng):
    assert letter_vector("Parcel") == pytest.approx(letter_vector("parcel"))
    assert np.linalg.norm(letter_vector("parcel")) == pytest.approx(np.sqrt(LETTERS))
    near, far = letter_vector("parcels") @ letter_vector("parcel"), letter_vector("zebra") @ letter_vector("parcel")
    assert near > 3 * abs(far)
    assert np.isfinite(letter_vector("\ud800" + "x" * 5000)).all()


def test_restored_as_saved(rng):
    normal, new = words_of(rng, 100), words_of(rng, 100, odd=30, seen=30)
    taught = learn(normal, new, Trust(np.ones(1000), np.zeros(1000, dtype=bool)), FEED)
    tensors = dict(taught.tensors())
    again = type(taught).restore(tensors, 1, 6, FEED)
    words = again.with_head(new)
    assert (words.evidence == taught.with_head(new).evidence).all()
    assert (again.gain(words) == taught.gain(words)).all()
    with pytest.raises(ValueError, match="never fall"):
        Curves.restore(-tensors["curves"], 4, 2)
    with pytest.raises(ValueError, match="4 folds"):
        Head.restore(tensors | {"weights": tensors["weights"][:2]}, 6, 4)
    with pytest.raises(ValueError, match="positive"):
        Head.restore(tensors | {"scale": 0 * tensors["scale"]}, 6, 4)
