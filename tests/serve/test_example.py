"""Texts to try, made of what a model keeps of its normal text."""

from collections import Counter
from itertools import pairwise

from difa import DiFA
from difa.knowledge.letters import fold
from difa.serve.example import make_examples
from difa.words import from_text


def folded(text):
    return [fold(word.text) for word in from_text(text).words]


def test_the_one_with_a_typo_is_flagged_for_it_and_the_other_is_not(fast_large):
    spoilt, normal = make_examples(fast_large)
    first, second = fast_large.score([spoilt, normal], fpr=0.05)
    odd = [word.text for word in first.words if word.is_anomaly]
    assert odd == [new.text for new, old in zip(first.words, second.words, strict=True) if new.text != old.text]
    assert len(odd) == 1
    assert not second.is_anomaly


def test_no_document_says_them_and_several_say_each_pair(fast_large, corpus):
    _, normal = make_examples(fast_large)
    assert normal not in corpus
    with_pair = Counter(pair for text in corpus for pair in set(pairwise(["", *folded(text), ""])))
    assert all(with_pair[pair] >= 2 for pair in pairwise(["", *folded(normal), ""]))


def test_a_model_that_can_be_read_back_or_keeps_no_pairs_has_none(corpus):
    bare = {"perturb": {"documents": 60}}
    assert make_examples(DiFA("fast", stages={**bare, "privacy": {"least_documents": 1}}).fit(corpus[:200])) == []
    assert make_examples(DiFA("fast", stages={**bare, "views": {"names": ["language", "form"]}}).fit(corpus[:200])) == []
