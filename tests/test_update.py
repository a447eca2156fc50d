"""Further normal documents: what they change, what stays, and that false alarms keep to the rate."""

import json
from dataclasses import replace

import numpy as np
import pytest

from difa import Config, DiFA
from difa.document import Encoded
from difa.errors import ConfigError, InputError
from difa.fitting.update import new_documents
from difa.views.critic.counts import CorpusCounts
from difa.views.critic.statistics import STATISTICS, Statistics
from difa.views.form import FormView
from difa.views.language import LanguageView
from difa.views.neighbour import NeighbourView, crowded_rows
from difa.views.stored_words import unpack
from difa.views.tone import ToneView
from difa.words import from_text, from_tokens
from tests.views import training

NEW = [
    "Is the Fjordvik kayak rack in stock?",
    "The Fjordvik rack came without its straps.",
    "Does the Fjordvik rack fit a Trondheimer roof?",
    "My Trondheimer roof box leaks, please advise.",
]


@pytest.fixture
def fresh(fast_large):
    """A model to change; the shared one stays as it is."""
    return fast_large.allowing([])


def test_the_same_documents_and_others_like_them_score_lower(fresh, fast_large, corpus):
    new = [*NEW, *corpus[300:310]]
    fresh.update(new)
    before, after = fast_large.score(new), fresh.score(new)
    pairs = list(zip(before, after, strict=True))
    assert all(new.score < old.score and new.p_value > old.p_value for old, new in pairs[: len(NEW)])
    falls = [old.score - new.score for old, new in pairs]
    assert min(falls) > -0.01  # of a text without rare words nothing is left to fall
    assert np.mean(falls[len(NEW) :]) > 0
    like = ["Can I return the Fjordvik rack?"]
    assert fresh.score(like)[0].p_value > fast_large.score(like)[0].p_value
    assert fresh.score(["Is the wpdlkrt bench in stock?"], fpr=0.05)[0].words[2].is_anomaly


def test_references_get_the_scores_of_a_model_that_has_not_seen_the_documents(fresh, fast_large):
    expected = fast_large.score(NEW)
    old, new = fast_large.detector_, fresh.update(NEW).detector_
    documents = np.sort([*old.document_reference.values, *(result.score for result in expected)])
    np.testing.assert_array_equal(new.document_reference.values, documents)
    words = np.sort([*old.word_reference.values, *(word.score for result in expected for word in result.words)])
    np.testing.assert_array_equal(new.word_reference.values, words)
    assert new.references == old.references
    assert new.document_score == old.document_score
    np.testing.assert_array_equal(fresh.decision_scores_, fast_large.decision_scores_)


def test_allowed_words_enter_references_like_all_others(fresh, fast_large):
    plain = fast_large.allowing([]).update(NEW).detector_.word_reference.values
    np.testing.assert_array_equal(fresh.allow(["Fjordvik"]).update(NEW).detector_.word_reference.values, plain)


def test_false_alarms_stay_as_promised_on_text_that_nobody_has_seen(fast_large, corpus):
    held_out = corpus[355:]
    for more in (corpus[300:355], NEW):
        updated = fast_large.allowing([]).update(more)
        # 0.2 of 58 documents, and three standard deviations.
        assert np.mean([result.p_value <= 0.2 for result in updated.score(held_out)]) <= 0.2 + 3 * 0.053
        flagged = [word.p_value <= 0.05 for result in updated.score(held_out) for word in result.words]
        assert np.mean(flagged) <= 0.08


def test_references_keep_within_their_bound(fresh, corpus):
    fresh.max_words = 500
    with pytest.warns(UserWarning, match=r"\d+ of 40 documents were taken, of 500 words at most"):
        fresh.update(corpus[300:340])
    assert len(fresh.detector_.word_reference.values) == 500
    assert len(fresh.detector_.document_reference.values) <= 340
    assert fresh.detector_.updates.words <= 500


def test_documents_that_are_there_already_are_left_out(fresh):
    fresh.update(NEW[:2])
    with pytest.warns(UserWarning, match="3 of 4 documents are there already"):
        fresh.update([*NEW[:3], NEW[2]])
    assert (fresh.detector_.updates.times, fresh.detector_.updates.documents) == (2, 3)
    before = fresh.detector_
    with pytest.warns(UserWarning, match="1 of 1 documents"):
        fresh.update(NEW[:1])
    assert fresh.detector_ is before
    assert new_documents(before, [from_text(NEW[3]), from_text("")]) == [from_text(NEW[3])]


def test_documents_that_someone_marked_are_not_normal(fresh):
    marked = from_tokens(["a", "wpdlkrt"], labels=[0, 1])
    fresh.update([marked, from_tokens(NEW[0].split(), labels=[0] * 7)])
    assert fresh.detector_.updates.documents == 1
    for nothing in ([], [""], [marked]):
        with pytest.raises(InputError, match="expected normal documents with words, got none"):
            fresh.update(nothing)


@pytest.mark.parametrize("change", [{"calibration": {"reference": "in-sample"}}, {"views": {"names": ("semantic", "form")}}])
def test_a_model_that_is_trained_as_a_whole_refuses(fresh, change):
    fresh.detector_ = replace(fresh.detector_, config=Config().changed(change))
    with pytest.raises(ConfigError, match="as by the preset paper: fit anew"):
        fresh.update(NEW)


def test_saved_and_loaded_goes_on_as_the_same_model(fresh, tmp_path, corpus):
    fresh.update(NEW[:3]).save(tmp_path / "m")
    loaded = DiFA.load(tmp_path / "m")
    assert loaded.score(corpus[300:320]) == fresh.score(corpus[300:320])
    assert loaded.update(NEW[3:]).score(NEW) == fresh.update(NEW[3:]).score(NEW)
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    assert (config["updates"]["times"], config["updates"]["documents"]) == (1, 3)
    assert config["training"]["documents"] == 300
    assert "updated | once" in (tmp_path / "m" / "README.md").read_text()


def test_a_model_with_an_encoder_is_updated_too(quick_model):
    updated = quick_model.allowing([]).update(NEW)
    before, after = quick_model.score(NEW), updated.score(NEW)
    assert sum(result.score for result in after) < sum(result.score for result in before)
    bank = next(view for view in updated.detector_.views if view.name == "neighbour")
    assert "Fjordvik" in bank.words


class TestViews:
    """CorpusCounts in two parts, views are as if counted at once."""

    @pytest.fixture
    def parts(self, rng):
        words = ["the", "order", "is", "late", "12", "Please", "!", "refund"]
        made = []
        for length in rng.integers(1, 9, 40).tolist():
            chosen = tuple(words[at] for at in rng.integers(len(words), size=length))
            made.append(Encoded(chosen, rng.normal(size=(length, 6)).astype(np.float32), np.ones(length, dtype=np.int64)))
        return made[:25], made[25:]

    def test_counts(self, parts):
        first, rest = parts
        extended = LanguageView.fit(training(first, "en")).extended(training(rest, "en"), 0)
        whole = LanguageView.fit(training([*first, *rest], "en"))
        np.testing.assert_allclose(extended.raw(rest), whole.raw(rest))
        alone, both = (CorpusCounts.of(training(part, "en")) for part in (first, [*first, *rest]))
        counted = alone.extended(training(rest, "en"))
        assert (counted.words, counted.shapes) == (both.words, both.shapes)
        np.testing.assert_array_equal(counted.pairs, alone.pairs)

    def test_new_words_that_few_documents_have_cannot_be_read(self, parts):
        first, _ = parts
        odd = Encoded(("the", "zxqvvb", "zxqvvb", "wpdlkrt"), np.zeros((4, 6), np.float32), np.ones(4, np.int64))
        rest = [odd, Encoded(("wpdlkrt",), np.zeros((1, 6), np.float32), np.ones(1, np.int64))]
        for least in (1, 2):
            before, after = (training(part, "en", least=least) for part in (first, rest))
            view, counts = LanguageView.fit(before).extended(after, 0), CorpusCounts.of(before).extended(after)
            critic = Statistics(counts, "en")
            names = [
                unpack(tensors[f"{p}bytes"], tensors[f"{p}lengths"])
                for tensors, p in ((view.tensors(), ""), (counts.tensors(), "words."))
            ]
            for readable in names:
                assert "wpdlkrt" in readable
                assert ("zxqvvb" in readable) == (least == 1)
            assert view.corpus_share("zxqvvb") == 2 / view.corpus_words
            again = Statistics(CorpusCounts.restore(counts.tensors()), "en")
            np.testing.assert_array_equal(again.describe(rest), critic.describe(rest))
            new = critic.describe([odd])[:, STATISTICS.index("often seen here")]
            assert new[1] == np.log1p(2)

    def test_a_vocabulary_keeps_within_its_bound(self, parts):
        first, _ = parts
        rest = [Encoded(("new", "newer", "new"), np.zeros((3, 6), np.float32), np.ones(3, np.int64))]
        counted = CorpusCounts.of(training(first, "en", least=2))
        bound = {"vocabulary": len(counted.words) + 1}
        extended = counted.extended(training(rest, "en", least=2, critic=bound))
        assert list(extended.words) == [*counted.words, "new"]
        assert len(extended.totals) == len(extended.words) + 2

    def test_form(self, parts):
        first, rest = parts
        extended = FormView.fit(training(first)).extended(training(rest), sum(map(len, first)))
        whole = FormView.fit(training([*first, *rest]))
        # Where an entry does not exist it counts as the mean of its part, so the two differ a little there.
        np.testing.assert_allclose(extended.mean[:10], whole.mean[:10])
        np.testing.assert_allclose(extended.scale[:10], whole.scale[:10])
        strings = [Encoded(document.words, np.empty((len(document), 0)), document.pieces) for document in (*first, *rest)]
        bare = FormView.fit(training(strings[:25])).extended(training(strings[25:]), sum(map(len, first)))
        np.testing.assert_allclose(bare.precision, FormView.fit(training(strings)).precision, rtol=1e-6, atol=1e-6)

    def test_tone(self, rng):
        directions = np.array([[1.0, -1.0], [0.0, 0.0]])
        vectors = rng.normal(size=(4000, 1))
        document = [
            Encoded(("a",) * len(part), part, np.ones(len(part), dtype=np.int64)) for part in (vectors[:3000], vectors[3000:])
        ]
        quantiles = np.quantile(np.concatenate([vectors[:3000], -vectors[:3000]], axis=1), np.linspace(0, 1, 1001), axis=0)
        extended = ToneView(directions, quantiles).extended(training(document[1:]), 3000)
        expected = np.quantile(np.concatenate([vectors, -vectors], axis=1), np.linspace(0, 1, 1001), axis=0)
        np.testing.assert_allclose(extended.quantiles[10:-10], expected[10:-10], atol=0.05)

    def test_the_bank_takes_the_farthest_and_keeps_its_size(self):
        from difa.config import NeighbourConfig

        bank = np.array([[0.0], [0.1], [5.0], [10.0]], dtype=np.float32)
        view = NeighbourView(NeighbourConfig(bank=4), bank, ("a", "b", "c", "d"))
        document = Encoded(("x", "c"), np.array([[100.0], [5.0]], dtype=np.float32), np.ones(2, dtype=np.int64))
        extended = view.extended(training([document]), seen=6)  # 2 of 8 words have one of four places
        assert extended.words == ("b", "c", "d", "x")
        assert extended.raw([document]).tolist() == [0.0, 0.0]

    def test_those_that_leave_have_another_close_by(self):
        rows = np.array([[0.0], [0.1], [5.0], [5.05], [9.0]], dtype=np.float32)
        assert crowded_rows(rows, 0) == []
        assert sorted(crowded_rows(rows, 2)) == [0, 2]
        assert len(set(crowded_rows(rows, 4))) == 4


class TestCommand:
    """`difa update`."""

    @pytest.fixture
    def stored(self, fast_large, tmp_path):
        fast_large.save(tmp_path / "m")
        return tmp_path / "m"

    def test_a_label_studio_export_comes_back(self, stored, difa, tmp_path):
        span = {"value": {"start": 7, "end": 15, "text": "Fjordvik", "labels": ["anomaly"]}, "type": "labels"}
        tasks = [{"data": {"text": text}, "annotations": [{"result": []}]} for text in NEW[1:]]
        tasks.append({"data": {"text": NEW[0]}, "annotations": [{"result": [span]}]})
        tasks.append({"data": {"text": "Nobody has looked at this one."}, "annotations": []})
        (tmp_path / "export.json").write_text(json.dumps(tasks), encoding="utf-8")
        run = difa("update", stored, "--normal", tmp_path / "export.json", "--out", tmp_path / "m2")
        assert run.exit_code == 0, run.stderr
        assert "1 document left out: words are marked as anomalies" in run.stderr
        assert "1 document left out: nobody called the task normal" in run.stderr
        assert "3 documents, 26 words added, in update 1" in run.stderr
        assert DiFA.load(tmp_path / "m2").detector_.updates.documents == 3
        assert DiFA.load(stored).detector_.updates.documents == 0

    def test_a_document_that_reviewers_call_anomalous_is_left_out(self, stored, difa, tmp_path):
        verdicts = ["anomalous", *["normal" for _ in NEW[1:]]]
        results = [{"type": "choices", "from_name": "verdict", "value": {"choices": [verdict]}} for verdict in verdicts]
        tasks = [
            {"data": {"text": text}, "annotations": [{"result": [result]}]} for text, result in zip(NEW, results, strict=True)
        ]
        (tmp_path / "export.json").write_text(json.dumps(tasks), encoding="utf-8")
        run = difa("update", stored, "--normal", tmp_path / "export.json")
        assert run.exit_code == 0, run.stderr
        assert "1 document left out" in run.stderr
        assert DiFA.load(stored).detector_.updates.documents == len(NEW) - 1

    def test_in_place_from_a_table(self, stored, difa, tmp_path, fast_large):
        (tmp_path / "new.csv").write_text("body,day\n" + "".join(f'"{text}",1\n' for text in NEW), encoding="utf-8")
        assert difa("update", stored, "--normal", tmp_path / "new.csv", "--text-column", "body").exit_code == 0
        assert DiFA.load(stored).score(NEW) == fast_large.allowing([]).update(NEW).score(NEW)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "new.csv"]

    def test_mistakes_get_one_line(self, stored, difa, tmp_path):
        (tmp_path / "empty.txt").write_text("\n")
        run = difa("update", stored, "--normal", tmp_path / "empty.txt")
        assert (run.exit_code, run.stderr.count("\n")) == (2, 1)
        run = difa("update", stored, "--normal", tmp_path / "empty.txt", "--out", tmp_path / "empty.txt")
        assert run.exit_code == 2
        assert "expected a new folder" in run.stderr
