import numpy as np
import pytest

from difa.corpus.sample import sample_documents
from difa.document import Document, Word
from difa.errors import ConfigError, InputError


def documents(lengths):
    return [Document("a", (Word("a", 0, 1),) * length, str(n)) for n, length in enumerate(lengths)]


def test_everything_is_kept_in_order_as_long_as_it_fits(rng):
    all_of_them = documents([3, 0, 2, 5])
    sample = sample_documents(iter(all_of_them), 11, rng)
    assert sample.documents == all_of_them
    assert (sample.seen_documents, sample.seen_words) == (4, 10)
    assert len(sample_documents(iter(all_of_them), 10, rng).documents) < 4  # a document without words takes room too


def test_the_bound_is_kept_and_order_stays(rng):
    sample = sample_documents(documents([n % 7 + 1 for n in range(500)]), 100, rng)
    assert 90 < sum(len(document.words) for document in sample.documents) <= 100
    numbers = [int(document.id) for document in sample.documents]
    assert numbers == sorted(numbers)


def test_samples_are_uniform():
    """Chi-square over the places of 20 equal documents, and long ones are drawn as often as short ones."""
    runs, counts, lengths = 4000, np.zeros(20), np.zeros(2)
    equal, mixed = documents([4] * 20), documents([1, 9] * 100)
    for seed in range(runs):
        sample = sample_documents(equal, 20, np.random.default_rng(seed))
        counts[[int(document.id) for document in sample.documents]] += 1
        if seed < 400:
            for document in sample_documents(mixed, 300, np.random.default_rng(seed)).documents:
                lengths[len(document.words) > 1] += 1
    assert counts.sum() == 5 * runs
    expected = counts.mean()
    # Drawn without replacement: the variance of a count is a share 15/19 of the multinomial one; 43.8 is passed in 1 of 1000.
    assert ((counts - expected) ** 2 / expected).sum() * 20 / 15 * 19 / 20 < 43.8
    assert abs(lengths[0] / lengths.sum() - 0.5) < 0.02


def test_a_document_beyond_the_bound_does_not_cost_the_others(rng):
    sample = sample_documents(documents([1, 1000, 1]), 10, rng)
    assert [document.id for document in sample.documents] == ["0", "2"]


def test_fitting_on_a_stream_is_bounded_repeatable_and_says_so(quick, corpus, tmp_path):
    words = 700
    first = quick(max_words=words).fit(iter(corpus))
    assert first.detector_.training_words <= words
    assert first.detector_.seen_documents == len(corpus)
    again = quick(max_words=words).fit(corpus)
    assert np.array_equal(first.decision_scores_, again.decision_scores_)
    first.save(tmp_path / "model")
    used = len(first.decision_scores_)
    assert f"{used} documents, {first.detector_.training_words} words, a uniform sample of {len(corpus)}" in (
        tmp_path / "model" / "README.md"
    ).read_text(encoding="utf-8")
    loaded = type(first).load(tmp_path / "model")
    assert (loaded.max_words, loaded.detector_.seen_documents) == (words, len(corpus))


def test_a_generous_bound_changes_nothing(quick, quick_model, corpus):
    other = quick(max_words=10**9).fit(iter(corpus[:80]))
    assert np.array_equal(other.decision_scores_, quick_model.decision_scores_)
    assert other.score(["Where is my order?"]) == quick_model.score(["Where is my order?"])


def test_impossible_bounds(quick, corpus):
    with pytest.raises(ConfigError, match="max_words: expected a whole number of at least 1, got 0"):
        quick(max_words=0).fit(corpus)
    with pytest.raises(InputError, match="raise max_words"):
        quick(max_words=40).fit(corpus)
    with pytest.raises(InputError, match="raise max_words, or fit and predict one after the other"):
        quick(max_words=700).fit_predict(corpus)
