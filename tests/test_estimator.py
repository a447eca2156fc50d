import math
import warnings
from dataclasses import replace

import numpy as np
import pytest

from difa import DiFA
from difa.errors import ConfigError, DifaError, InputError, ModelError, NotFittedError
from difa.fitting import cross_fit
from difa.words import from_tokens

ODD = "Where is my xkcdqwrtplk order? It was due on Friday."
FIELDS = ("score", "p_value", "is_anomaly")


def numbers(results):
    return [(r.score, r.p_value, [(w.score, w.p_value, *w.evidence.values()) for w in r.words]) for r in results]


def flat(numbers_of_one):
    score, p_value, words = numbers_of_one
    return [score, p_value, *(value for word in words for value in word)]


def test_finds_the_word_that_does_not_belong(model):
    result = model.score([ODD])[0]
    worst = max(result.words, key=lambda word: word.score)
    assert worst.text == "xkcdqwrtplk"
    assert worst.is_anomaly
    assert worst.p_value < 0.01
    assert result.text[worst.start : worst.end] == worst.text
    assert set(worst.evidence) == {"language", "phrase", "tone", "critic", "form", "faults", "neighbour"}
    assert result.score > np.median(model.decision_scores_)


def test_every_word_is_scored_in_order(model, corpus):
    from difa.words import split_words

    for text, result in zip(corpus[300:340], model.score(corpus[300:340]), strict=True):
        assert [(w.text, w.start, w.end) for w in result.words] == [(w.text, w.start, w.end) for w in split_words(text)]
        assert all(math.isfinite(w.score) and 0 < w.p_value <= 1 for w in result.words)
        assert 0 < result.p_value <= 1


def test_word_lists_are_scored_as_given(quick_model):
    tokens = ["not fresh", "", "at", "all", "\u200b"]
    assert [word.text for word in quick_model.score([tokens])[0].words] == tokens


def test_the_same_alone_or_in_any_batch(model, corpus):
    texts = [*corpus[300:330], ODD, "one", ""]
    together = numbers(model.score(texts))
    backwards = numbers(model.score(texts[::-1]))[::-1]
    alone = [numbers(model.score([text]))[0] for text in texts]
    for one, other, single in zip(together, backwards, alone, strict=True):
        assert flat(other) == pytest.approx(flat(one), abs=1e-9)
        assert flat(single) == pytest.approx(flat(one), abs=1e-9)


@pytest.mark.slow
def test_same_seed_same_scores_bit_for_bit(quick, corpus):
    texts = corpus[80:100]
    first, second, other = (numbers(quick(seed=seed).fit(corpus[:60]).score(texts)) for seed in (1, 1, 2))
    assert first == second
    assert first != other


def test_empty_documents_are_normal_and_have_no_words(quick_model):
    for text in ("", "  \n", []):
        result = quick_model.score([text])[0]
        assert (result.score, result.p_value, result.is_anomaly, result.words) == (0.0, 1.0, False, ())
    assert quick_model.score([]) == []


@pytest.mark.slow
def test_a_very_long_document_is_scored_whole(quick_model, corpus):
    words = " ".join(corpus).split()
    words = (words * (20_000 // len(words) + 1))[:20_000]
    words[0] = words[-1] = words[10_000] = "xkcdqwrtplk"
    result = quick_model.score([words])[0]
    assert len(result.words) == 20_000
    scores = np.array([word.score for word in result.words])
    assert np.isfinite(scores).all()
    # The same odd word scores alike at either end and in the middle.
    assert scores[[0, -1, 10_000]].min() > np.quantile(scores, 0.9)


def test_decisions_follow_the_rate_without_a_new_fit(model, corpus):
    p_values = np.array([result.p_value for result in model.score(corpus[300:])])
    for rate in (0.01, 0.05, 0.3):
        flags = np.array([result.is_anomaly for result in model.score(corpus[300:], fpr=rate)])
        assert (flags == (p_values <= rate)).all()
    assert sum(result.is_anomaly for result in model.score(corpus[300:], fpr=0.3)) > 0


def test_flags_scores_and_threshold_agree(model, corpus):
    for rate in (0.02, 0.2):
        model.set_params(fpr=rate)
        try:
            texts = [*corpus[300:], ODD]
            assert (model.predict(texts) == (model.decision_function(texts) > model.threshold_)).all()
            assert model.predict(texts).tolist() == [int(r.is_anomaly) for r in model.score(texts)]
            assert model.labels_.mean() <= rate
        finally:
            model.set_params(fpr=0.01)


def test_false_discovery_rate_over_a_batch(model, corpus):
    results = model.score([*corpus[300:], ODD, ODD + " asdkjh qweoiu zxmnb"], fdr=0.3)
    ordered = np.sort([r.p_value for r in results])
    passing = ordered[ordered <= 0.3 * np.arange(1, len(ordered) + 1) / len(ordered)]
    assert [r.is_anomaly for r in results] == [r.p_value <= passing.max(initial=-1.0) for r in results]


def test_normal_documents_keep_the_false_alarm_rate(model, corpus):
    # 113 unseen normal documents at 20 %: 13 to 32 flagged is the 98 % binomial range.
    flagged = sum(result.is_anomaly for result in model.score(corpus[300:], fpr=0.2))
    assert 13 <= flagged <= 32


def test_views_never_see_the_documents_whose_scores_set_the_p_values(quick, corpus, monkeypatch):
    fitted_on, scored = {}, []
    original_kind, original_evidence = cross_fit.view_kind, cross_fit.raw_evidence

    def view_kind(name):
        kind = original_kind(name)

        def fit(lesson):
            view = kind.fit(lesson)
            assert all(pseudo.source < len(lesson.documents) for pseudo in lesson.pseudos)
            fitted_on[id(view)] = (view, {document.words for document in lesson.documents})
            return view

        return replace(kind, fit=fit)

    def raw_evidence(views, documents, *args, **more):
        scored.extend((id(view), document.words) for view in views for document in documents)
        return original_evidence(views, documents, *args, **more)

    monkeypatch.setattr(cross_fit, "view_kind", view_kind)
    monkeypatch.setattr(cross_fit, "raw_evidence", raw_evidence)
    quick().fit(corpus[:40], feed=corpus[40:120])
    assert len(scored) >= 2 * 120
    assert all(words not in fitted_on[view][1] for view, words in scored)


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["full", "paper", "fast"])
def test_all_presets_fit_and_score(quick, corpus, preset):
    fitted = quick(preset=preset).fit(corpus[:40])
    assert len({result.score for result in fitted.score(corpus[40:60])}) > 15
    assert len(fitted.decision_scores_) == 40


def test_parameters_in_the_habit_of_scikit_learn(quick_model):
    from sklearn.base import clone

    copy = clone(quick_model)
    assert copy.get_params() == quick_model.get_params()
    assert copy is not quick_model
    with pytest.raises(NotFittedError, match="call fit"):
        copy.score(["text"])
    with pytest.raises(NotFittedError):
        _ = copy.threshold_
    assert DiFA(fpr=0.2).set_params(seed=3).get_params()["seed"] == 3
    assert repr(DiFA(fpr=0.2)) == "DiFA(fpr=0.2), not fitted"
    with pytest.raises(ConfigError, match="unknown parameter 'speed'"):
        DiFA().set_params(speed=3)


@pytest.mark.parametrize(
    ("parameters", "texts", "message"),
    [
        ({}, "a single text", "expected a list of documents, got a single string"),
        ({}, None, "expected a list of documents, got NoneType: give strings"),
        ({}, ["a"] * 5, "expected at least 10 normal documents with words, got 5"),
        ({}, [""] * 50, "expected at least 10 normal documents with words, got 0"),
        ({}, ["a", 3], "expected a string or a list of words as document 1, got int"),
        ({"fpr": 2}, ["a"], "fpr: expected a number between 0 and 1"),
        ({"fdr": 0}, ["a"], "fdr: expected a number between 0 and 1"),
        ({"seed": -1}, ["a"], "seed: expected a whole number"),
        ({"preset": "best"}, ["a"], "preset: expected one of"),
        ({"stages": {"semantic": {"epoch": 1}}}, ["a"], "unknown key of semantic 'epoch'"),
        ({"stages": {"sem": {}}}, ["a"], "unknown stage 'sem'"),
    ],
)
def test_bad_input_is_refused_in_one_line(quick, parameters, texts, message):
    with pytest.raises(DifaError, match=message) as error:
        quick(**parameters).fit(texts)
    assert "\n" not in str(error.value)


def test_a_failed_fit_leaves_the_old_model_in_place(quick, corpus):
    fitted = quick().fit(corpus[:40])
    before = numbers(fitted.score([ODD]))
    with pytest.raises(InputError):
        fitted.fit(["too few"])
    assert numbers(fitted.score([ODD])) == before


def test_rates_cannot_both_be_given(quick_model):
    with pytest.raises(ConfigError, match="one of fpr and fdr"):
        quick_model.score(["a"], fpr=0.1, fdr=0.1)


def test_a_small_corpus_warns_when_the_rate_is_out_of_reach(quick, corpus):
    with pytest.warns(UserWarning, match="30 normal documents allow 0.032 at best"):
        fitted = quick(fpr=0.01).fit(corpus[:30])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.score([ODD], fpr=0.05)


def test_explanation_names_what_is_wrong(model):
    explained = model.explain(ODD)
    at = [word.text for word in explained.result.words].index("xkcdqwrtplk")
    assert "consonants" in explained.reasons[at]["form"][0].text
    assert "not a known word" in explained.reasons[at]["language"][0].text
    assert numbers([explained.result]) == numbers(model.score([ODD]))


def test_documents_may_bring_their_own_words(quick_model):
    document = from_tokens(["He", "doesn", "'", "t"], text="He doesn't", id="x")
    result = quick_model.score([document])[0]
    assert result.id == "x"
    assert result.text == "He doesn't"
    assert result.to_dict()["words"][1]["start"] == 3


@pytest.mark.slow
def test_anomalies_among_the_training_documents_are_left_out_and_said(corpus):
    letters = np.random.default_rng(0)
    bad = [" ".join("".join(letters.choice(list("bcdfghjklmnpqrstvwxz"), 9)) for _ in range(8)) for _ in range(18)]
    texts = [*corpus[:222], *bad]
    with pytest.warns(UserWarning, match="training documents do not belong"):
        model = DiFA("fast", seed=1).fit(texts)
    # They are out, of the others at most one in twenty is, and each document has its score.
    assert len(bad) <= model.detector_.left_out <= len(bad) + 222 // 20
    assert model.decision_scores_.shape == (len(texts),)
    assert set(range(222, 240)) <= set(np.argsort(model.decision_scores_)[-20:])
    # Learned as normal, they would not be flagged.
    assert model.predict(bad).mean() > 0.9
    assert model.predict(corpus[222:300]).mean() < 0.2


@pytest.mark.parametrize(
    ("text", "odd", "meant"),
    [
        ("My parcel was banana to the wrong address", "banana", None),
        ("Is the wpdlkrt garden bench in stock?", "wpdlkrt", None),
        ("Could you tell me when my refnud will reach my account?", "refnud", "refund"),
        ("You are complete idiots, and I want to know where it is.", "idiots", None),
    ],
)
def test_the_sentences_of_the_readme_are_found(model, text, odd, meant):
    result = model.score([text], fpr=0.05)[0]
    worst = min(result.words, key=lambda word: word.p_value)
    assert worst.text == odd
    assert worst.is_anomaly
    assert worst.suggestion == meant


def test_a_flagged_document_always_says_for_what(model, corpus):
    results = model.score([*corpus[300:], ODD], fpr=0.3)
    assert any(result.is_anomaly for result in results)
    for result in results:
        assert bool(result.summary) == result.is_anomaly
    flagged = model.score([ODD], fpr=0.05)[0]
    assert flagged.is_anomaly
    assert "xkcdqwrtplk" in flagged.summary


def test_another_language_is_found_and_what_cannot_speak_it_is_silent(quick, tmp_path):
    nouns = ("Hund", "Katze", "Dame", "Nachbarin", "Schwester", "Lehrer", "Kinder", "Mutter", "Vater", "Bruder")
    places = ("im Garten", "in der Küche", "auf der Straße", "am Fenster")
    texts = [f"Der {noun} ist heute nicht hier, sondern {place} bei der alten Frau." for noun in nouns for place in places]
    model = quick().fit(texts)
    assert model.detector_.language == "de"
    result = model.score(["Der Hund ist heute nicht hier, sondern im xkqwv bei der alten Frau."])[0]
    assert max(result.words, key=lambda word: word.score).text == "xkqwv"
    assert all(word.evidence["phrase"] == word.evidence["tone"] == 0 for word in result.words)
    model.save(tmp_path / "model")
    card = (tmp_path / "model" / "README.md").read_text()
    assert "| language | `de`; silent in it: phrase, tone |" in card
    assert "CC BY-SA 4.0" in card
    assert DiFA.load(tmp_path / "model").score(texts[:3]) == model.score(texts[:3])


def test_repr_says_what_a_model_was_fitted_on(quick_model):
    shown = repr(quick_model)
    assert ", fitted on 80 documents, " in shown
    assert "; flags at fpr 0.05 (at most 9.4 % with 95 % confidence); views language, phrase, tone" in shown


def test_nothing_is_refused_by_what_was_expected(fast_model):
    for call in (fast_model.score, fast_model.decision_function, fast_model.predict):
        with pytest.raises(InputError, match="expected a list of documents, got NoneType"):
            call(None)
    with pytest.raises(ModelError, match="expected the folder of a saved model, got NoneType: give its path"):
        DiFA.load(None)
