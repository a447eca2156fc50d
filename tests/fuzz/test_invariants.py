"""The invariants on texts that hypothesis thinks of, and on those that a hostile sender would make."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz import hostile
from tests.fuzz.invariants import check_file, check_outputs, check_scores, check_unicode, check_words

TEXTS = st.text(max_size=60) | st.sampled_from(hostile.SNIPPETS) | st.randoms(use_true_random=False).map(hostile.text)
# A model that is fitted once and a folder that is written over are the same for every example.


@pytest.fixture
def fast(fast_model):
    return fast_model


@settings(max_examples=300)
@given(TEXTS)
def test_words_cover_a_text_and_slice_back(text):
    check_words(text)


@settings(max_examples=200)
@given(st.text(st.characters(), max_size=30) | st.randoms(use_true_random=False).map(hostile.broken_text))
def test_a_text_is_a_document_or_refused(text):
    check_unicode(text)


@settings(max_examples=40)
@given(texts=st.lists(TEXTS, min_size=1, max_size=4))
def test_every_word_has_a_score_and_every_output_takes_it(fast, tmp_path, texts):
    check_outputs(check_scores(fast, texts), tmp_path)


@settings(max_examples=15)
@given(texts=st.lists(TEXTS, min_size=1, max_size=4))
def test_the_views_of_an_encoder_hold_as_well(quick_model, texts):
    check_scores(quick_model, texts)


@settings(max_examples=150)
@given(seed=st.integers(0, 2**32))
def test_a_file_is_read_or_refused(tmp_path, seed):
    suffix, content = hostile.file(random.Random(seed))
    path = tmp_path / f"input{suffix}"
    path.write_bytes(content)
    check_file(path)


def test_a_breach_is_seen(fast):
    """The checks can fail: a result without its last word, a word that is not where it says."""
    from dataclasses import replace

    from tests.fuzz.invariants import check_result

    result = fast.score(["my parcel is late"])[0]
    views = fast.detector_.config.views.names
    check_result(result, result.text, views)
    with pytest.raises(AssertionError, match="one score for each word"):
        check_result(replace(result, words=result.words[:-1]), result.text, views)
