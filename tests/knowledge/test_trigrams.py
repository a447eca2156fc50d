import numpy as np
import pytest

from difa.document import Encoded
from difa.knowledge.tone import valences
from difa.knowledge.trigrams import trigrams
from difa.knowledge.word_cache import Batch


def describe(*documents):
    return trigrams().describe(Batch(map(Encoded.of_words, documents)))


def test_a_likely_word_is_likelier_than_an_unlikely_one():
    model = trigrams()
    assert model.chance("house", "the", "in") > model.chance("house", "of", "a") > model.chance("of", "the", "in")
    assert model.chance("the") == pytest.approx(-3.2, abs=0.3)


@pytest.mark.parametrize("word", ["xkcdqwrtplk", "", "a\x00b", "\ud800", "naïve東", "x" * 10_000])
def test_unknown_and_odd_words_have_no_name_and_no_numbers(word):
    assert trigrams().name_of(word) is None
    features = describe(("see", word, "here"))
    assert np.isfinite(features).all()
    assert features[1].tolist() == [0, 0, 0, 1]


def test_a_doubled_word_is_better_left_out():
    gain = describe(("i", "want", "to", "know", "if", "the", "the", "box", "is", "here"))[:, 2]
    assert set(np.argsort(gain)[-2:]) == {5, 6}


def test_long_documents_are_described_like_short_ones():
    words = ("where", "is", "my", "order") * 300
    assert describe(words)[400:404] == pytest.approx(describe(words[:500])[400:404])


def test_support_is_what_describing_says():
    words = ("where", "is", "xkcdq", "the", "box", "now")
    features = describe(words)
    for first, last in ((0, 1), (1, 3), (4, 6), (0, 6)):
        assert trigrams().support(words, first, last) == pytest.approx(features[first:last, :2].mean())


def test_many_documents_are_described_like_each_alone():
    documents = [("where", "is", "it"), (), ("the",), ("</s>", "a", "<s>"), ("zzqq", "the", "zzq", "qqz", "dog")] * 3
    alone = np.concatenate([describe(document) for document in documents])
    assert np.array_equal(describe(*documents), alone)


def test_valences_have_both_signs():
    lexicon = valences()
    assert lexicon["idiot"] < -1 < 1 < lexicon["wonderful"]
    assert len(lexicon) > 5000
