import numpy as np
import pytest

from difa.config import ERROR_KINDS, PAPER_KINDS, PerturbConfig
from difa.perturb import choose_positions, make_pseudo_anomalies, mutate_at
from difa.perturb.string_errors import MUTATIONS
from difa.perturb.word_errors import Draft, Material, make_error
from difa.words import from_text, from_tokens


@pytest.fixture(scope="module")
def documents(tiny_encoder, corpus):
    return tiny_encoder.encode([from_text(text) for text in corpus[:40]])


def make(documents, encoder, count=60, seed=0, **settings):
    config = PerturbConfig(documents=count, **({"kinds": PAPER_KINDS} | settings))
    return make_pseudo_anomalies(documents, encoder, config, np.random.default_rng(seed), "en")


def test_labels_mark_exactly_the_changed_words(documents, tiny_encoder):
    for pseudo in make(documents, tiny_encoder, count=90):
        source = documents[pseudo.source]
        changed = pseudo.labels > 0
        same_string = np.array([a == b for a, b in zip(source.words, pseudo.document.words, strict=True)])
        if pseudo.kind == "semantic":
            assert same_string.all()
            assert ((source.vectors == pseudo.document.vectors).all(axis=1) == ~changed).all()
        else:
            assert (same_string == ~changed).all()


def test_mixed_changes_the_vector_beyond_its_string(documents, tiny_encoder):
    normal = {tuple(vector) for document in documents for vector in document.vectors.tolist()}
    for pseudo in make(documents, tiny_encoder, kinds=("mixed",), count=20):
        assert all(tuple(pseudo.document.vectors[t].tolist()) in normal for t in np.flatnonzero(pseudo.labels))


def test_kinds_and_sources_are_spread_evenly(documents, tiny_encoder):
    pseudos = make(documents, tiny_encoder, count=90)
    assert {kind: sum(p.kind == kind for p in pseudos) for kind in PAPER_KINDS} == dict.fromkeys(PAPER_KINDS, 30)
    assert len({pseudo.source for pseudo in pseudos}) == len(documents)


def test_single_and_diffuse(documents, tiny_encoder):
    counts = [int(p.labels.sum()) for p in make(documents, tiny_encoder, count=120)]
    assert min(counts) == 1
    assert max(counts) > 2
    assert all(int(p.labels.sum()) == 1 for p in make(documents, tiny_encoder, diffuse=0.0))
    assert all(len(choose_positions(1, PerturbConfig(diffuse=1.0), np.random.default_rng(s))) == 1 for s in range(5))


def test_reproducible_and_varied(documents, tiny_encoder):
    first, second, other = (make(documents, tiny_encoder, seed=seed, count=30) for seed in (0, 0, 1))
    assert [p.document.words for p in first] == [p.document.words for p in second]
    assert all((a.document.vectors == b.document.vectors).all() for a, b in zip(first, second, strict=True))
    assert [p.document.words for p in first] != [p.document.words for p in other]


def test_every_mutation_changes_a_word_and_all_are_used():
    rng = np.random.default_rng(0)
    for mutation in MUTATIONS:
        assert any(mutation("delivery", rng) not in ("", "delivery") for _ in range(5)), mutation.__name__
    results = {mutate_at(["the", "delivery"], 1, rng) for _ in range(300)}
    assert "delivery" not in results
    assert "the" in results  # the word before, repeated
    assert len(results) > 150


@pytest.mark.parametrize("word", [".", "a", "7", "東", "", "🙂"])
def test_hard_words_still_change(word):
    assert mutate_at([word], 0, np.random.default_rng(0)) != word


@pytest.mark.parametrize("kind", ERROR_KINDS)
def test_errors_of_real_text(kind, documents, tiny_encoder):
    pseudos = make(documents, tiny_encoder, kinds=(kind,), count=40)
    assert len(pseudos) > (3 if kind == "digit" else 20)  # few messages have a number
    for pseudo in pseudos:
        assert len(pseudo.labels) == len(pseudo.document.words) == len(pseudo.document.vectors) == len(pseudo.document.pieces)
        assert pseudo.labels.any()
        assert pseudo.document.words != documents[pseudo.source].words
        unchanged = [word for word, label in zip(pseudo.document.words, pseudo.labels, strict=True) if not label]
        assert set(unchanged) <= set(documents[pseudo.source].words)


def test_long_documents_are_read_in_excerpts(documents, tiny_encoder):
    long = tiny_encoder.encode([from_tokens([word for document in documents for word in document.words])])
    made = make(long * 12, tiny_encoder, kinds=("typo", "case"), excerpt=20, count=24)
    assert max(len(pseudo.document) for pseudo in made) == 20
    assert len({pseudo.document.words[0].lower() for pseudo in made}) > 5  # from different places


def test_errors_that_need_a_language_are_not_made_without_it(documents, tiny_encoder):
    config = PerturbConfig(documents=40, kinds=("confused", "insult", "lookalike", "stranger", "ending"))
    assert make_pseudo_anomalies(documents, tiny_encoder, config, np.random.default_rng(0), None) == []


def material():
    return Material.of([["the", "parcels", "the", "parcel"], ["a", "delivery"]], ["banana", "parcel"])


def test_material_is_taken_from_the_corpus():
    made = material()
    assert made.common[0] == "the"
    assert made.forms_of("parcel") == ["parcels"]
    assert made.strangers == ["banana"]


def made(kind, words, rng):
    draft = Draft(list(words), 1, material(), rng)
    make_error(kind, draft)
    return draft


def test_errors_by_name():
    rng = np.random.default_rng(0)
    words = ["the", "parcel", "is", "late"]
    doubled = made("double", words, rng)
    at = doubled.labels.index(1)
    assert doubled.words[at] == doubled.words[at - 1]
    dropped = made("drop", words, rng)
    assert len(dropped.words) == 3
    assert sum(dropped.labels) == 1
    assert made("inflection", ["parcel"], rng).words == ["parcels"]
    assert made("topic", ["parcel"], np.random.default_rng(1)).words.count("banana") >= 1
    glued = made("glued", ["my", "parcel"], rng)
    assert (glued.words, glued.labels) == (["myparcel"], [1])
    torn = made("torn", ["parcel"], rng)
    assert ("".join(torn.words), torn.labels) == ("parcel", [1, 1])
    assert made("swapped", ["late", "parcel"], rng).words == ["parcel", "late"]
    assert made("digit", ["parcel"], rng).labels == [0]
    assert made("drop", ["one", "two"], rng).labels == [0, 0]  # too short for it
