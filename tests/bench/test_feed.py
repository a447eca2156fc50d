"""What a feed and verdicts teach: draws, records and tables by hand, and the command on a tiny set."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from difa.bench import feed
from difa.bench.data import DataSet, Split, is_anomalous, split, without_labels
from difa.bench.feed import FEED, averages, choose_reviewed, draw_feed, draw_share, feed_markdown, run_feed
from difa.bench.methods import ALL_METHODS, FED, label_of, preset_of, run_difa
from difa.bench.metrics import Scores, alarms_of
from difa.bench.report import section_of
from difa.bench.run import Cell, Run
from difa.errors import ConfigError
from difa.words import from_tokens
from tests.conftest import QUICK

NORMAL, ODD = from_tokens(["all", "is", "well"], labels=[0, 0, 0]), from_tokens(["all", "is", "zzkq"], labels=[0, 0, 1])
TEACHING = QUICK | {"feed": {"least_documents": 10}}
"""Quick settings for a feed as small as the tiny set."""


def scores_of(documents, *, taught=0):
    """Scores that call every third document odd, and with it its last word."""
    odd = np.arange(len(documents)) % 3 == 0
    words = [np.append(np.zeros(len(d.words) - 1), float(flag)) for d, flag in zip(documents, odd, strict=True)]
    p_values = [1 - 0.99 * scores for scores in words]
    return Scores(words, {"learned": odd * 1.0}, document_p=1 - 0.99 * odd, word_p=p_values, taught=taught)


def record(part, ap, *, name="spam", method="difa-fast", used=True, taught=60, **settings):
    """A record whose figures and flags of the variant `at` are easy to tell from those of the others."""
    variants = {
        "share": ("without", "feed"),
        "later": ("without", "earlier", "feed"),
        "verdicts": ("without", "feed", "documents", "words"),
    }[part]
    figures = [
        {"level": level, "part": variant, "pooling": rule, "auroc": 0.9, "ap": ap + 0.1 * at, "fpr95": 0.5}
        for at, variant in enumerate(variants)
        for level, rule in (("word", None), ("document", "learned"))
    ]
    counts = {"normal": 100, "normal_words": 1000, "flagged_normal": 4, "flagged_normal_words": 30}
    counts |= {"anomalous": 10, "flagged_anomalous": 7}
    return {
        "set": name,
        "form": "clean",
        "seed": 0,
        "method": method,
        "settings": {"part": part, **settings},
        "figures": figures,
        "alarms": dict.fromkeys(variants, counts),
        "taught": {variant: 0 if variant == "without" else taught for variant in variants},
        **({"used": used, "odd": int(used)} if part == "verdicts" else {}),
    }


RECORDS = [
    *(record("share", 0.2, share=share) for share in (0.0, 0.05, 0.2)),
    record("share", 0.4, name="review", share=0.05),
    record("later", 0.3),
    *(record("verdicts", 0.1, reviewed=count) for count in (0, 10)),
]


def test_methods_that_have_seen_the_test_text_say_so():
    assert FED == ("difa-full-feed", "difa-fast-feed")
    assert set(FED) < set(ALL_METHODS)
    assert label_of("difa-fast-feed") == "DiFA (fast, has seen the unlabelled test text)"
    assert label_of("difa-fast") == "DiFA (fast)"
    assert [preset_of(name) for name in (*FED, "difa-paper")] == ["full", "fast", "paper"]


def test_a_feed_of_a_share_has_all_normal_documents():
    documents = [ODD, *[NORMAL] * 80, *[ODD] * 9]
    normal = set(range(1, 81))
    drawn = {share: draw_share(documents, share, 0) for share in (0.0, 0.01, 0.05, 0.1, 0.2)}
    assert {share: len(set(places) - normal) for share, places in drawn.items()} == {0.0: 0, 0.01: 1, 0.05: 4, 0.1: 9, 0.2: 0}
    assert all(normal <= set(places) for share, places in drawn.items() if share < 0.2)
    assert drawn[0.2] == [], "twenty anomalous documents are needed, and ten there are"
    assert draw_share([NORMAL] * 9 + [ODD], 0.01, 0) == [], "one anomalous document would be more than 1 %"
    assert set(drawn[0.01]) < set(drawn[0.05]) < set(drawn[0.1])
    assert drawn[0.05] == draw_share(documents, 0.05, 0) != draw_share(documents, 0.05, 1)


def test_flags_of_documents_and_of_normal_words_are_counted():
    documents = [NORMAL, ODD, NORMAL, NORMAL, ODD]
    assert alarms_of(scores_of(documents), documents) == {
        "rate": 0.05,
        "normal": 3,
        "flagged_normal": 2,
        "normal_words": 9,
        "flagged_normal_words": 2,
        "anomalous": 2,
        "flagged_anomalous": 0,
    }
    assert alarms_of(Scores([], {}), documents) is None


def test_scores_of_some_documents():
    taken = scores_of([NORMAL] * 6).take([1, 3])
    assert taken.documents["learned"].tolist() == [0.0, 1.0]
    assert taken.document_p == pytest.approx([1.0, 0.01])
    assert [scores.tolist() for scores in taken.words] == [[0, 0, 0], [0, 0, 1]]
    assert [p_values.min() for p_values in taken.word_p] == pytest.approx([1.0, 0.01])


@pytest.fixture
def asked(monkeypatch):
    """Every fit that a trial asks for, with made-up scores in place of it."""
    asked = []

    def fake(name, halves, seed, bench, *, feed=None, verdicts=None):
        asked.append(SimpleNamespace(scored=halves.test, feed=feed, verdicts=verdicts))
        return scores_of(halves.test, taught=len(feed or ()))

    monkeypatch.setattr(feed, "run_difa", fake)
    return asked


@pytest.fixture
def cell_of(asked, monkeypatch):
    """A cell of documents to test on, with a part and what varies in it."""

    def make(test, part, **settings):
        monkeypatch.setattr("difa.bench.run._split", lambda dataset, seed: Split([], test))
        run = Run(SimpleNamespace(draws=0), [], lambda *line: None)
        return Cell(FEED, run, DataSet("spam", "clean", test), 0, "difa-fast", settings={"part": part, **settings})

    return make


def numbered(count, odd):
    """Documents that differ, some of them odd."""
    return [from_tokens(["word", str(at)], labels=[0, int(at in odd)]) for at in range(count)]


def test_verdicts_are_those_on_the_highest_documents_and_never_scored(asked, cell_of):
    test = numbered(12, odd={0, 1, 4})
    assert choose_reviewed(test, scores_of(test).documents["learned"], 2) == [test[0], test[3]]
    made = FEED.compute(cell_of(test, "verdicts", reviewed=2))
    assert (made["odd"], made["used"]) == (1, True)
    rest = [test[at] for at in range(12) if at not in (0, 3)]
    by_documents, by_words = (fit for fit in asked if fit.verdicts)
    assert by_documents.scored == by_documents.feed == by_words.feed == rest
    assert by_words.verdicts == [test[0], test[3]]
    assert [(d.labels, d.odd) for d in by_documents.verdicts] == [(None, True), (None, False)]
    assert {figure["part"] for figure in made["figures"]} == {"without", "feed", "documents", "words"}
    assert {figure["anomalous"] for figure in made["figures"]} == {2}


def test_verdicts_without_an_odd_document_change_nothing(asked, cell_of):
    made = FEED.compute(cell_of(numbered(12, odd={1, 2}), "verdicts", reviewed=2))
    assert not made["used"]
    assert not any(fit.verdicts for fit in asked)
    assert made["alarms"]["words"] == made["alarms"]["documents"] == made["alarms"]["feed"]


def test_a_text_is_reviewed_once_and_its_copies_leave_the_test(asked, cell_of):
    test = [*numbered(9, odd={0, 1, 4}), *numbered(1, odd={0})]
    assert choose_reviewed(test, scores_of(test).documents["learned"], 3) == [test[0], test[3], test[6]]
    FEED.compute(cell_of(test, "verdicts", reviewed=1))
    assert all(test[0].text != document.text for fit in asked if fit.verdicts for document in fit.scored)


def test_an_earlier_feed_is_not_scored(asked, cell_of):
    made = FEED.compute(cell_of(test := numbered(12, odd=set(range(0, 12, 2))), "later"))
    earlier, itself = (fit for fit in asked if fit.feed)
    assert earlier.scored == itself.scored == itself.feed
    assert sorted(d.text for d in [*earlier.feed, *earlier.scored]) == sorted(d.text for d in test)
    assert made["taught"] == {"without": 0, "earlier": 6, "feed": 6}


def test_a_feed_without_anomalies_has_flags_and_no_figures(cell_of):
    made = FEED.compute(cell_of(numbered(12, odd={0, 5}), "share", share=0.0))
    assert made["figures"] == []
    assert made["alarms"]["feed"]["normal"] == 10
    assert made["alarms"]["feed"]["anomalous"] == 0


def test_averages_are_over_sets_not_over_runs():
    runs = [record("later", 0.1), record("later", 0.3), record("later", 0.6, name="review")]
    means = averages(runs).set_index("variant")
    assert means.loc["without", "word ap"] == pytest.approx((0.2 + 0.6) / 2)
    assert means.loc["earlier", "document ap"] == pytest.approx(0.5)
    assert means.loc["feed", "normal_words"] == pytest.approx(0.03)
    assert list(means.sets) == [2, 2, 2]


def test_tables_by_hand():
    lines = feed_markdown(RECORDS).splitlines()
    assert "## DiFA (fast), 2 sets, seed 0" in lines
    assert "| 5 % | 2 | with this feed | .900 / .400 | .900 / .400 | .700 | .040 | .030 |" in lines
    assert "| 20 % | 1 | without a feed | .900 / .200 | .900 / .200 | .700 | .040 | .030 |" in lines
    assert any(line.startswith("| 1 | with the scored text itself as feed | .900 / .500 |") for line in lines)
    assert "| 10 | 1 | with marked words | .900 / .400 | .900 / .400 | .700 | .040 | .030 |" in lines
    assert not any(line.startswith("In ") for line in lines)
    assert section_of("feed", None, {"feed": RECORDS}).count("### ") == 1


def test_tables_say_where_nothing_was_learned():
    idle = [record("verdicts", 0.1, reviewed=0, used=False), record("verdicts", 0.1, reviewed=10, used=False, taught=0)]
    text = feed_markdown(idle)
    assert "In 1 run no reviewed document was odd" in text
    assert "In 3 of 6 fits the feed had too few documents to learn from." in text


@pytest.mark.slow
def test_the_picture_shows_every_preset(tmp_path):
    draw_feed(RECORDS, tmp_path / "one")
    draw_feed([*RECORDS, *(entry | {"method": "difa-full"} for entry in RECORDS)], tmp_path / "two")
    assert {path.name for path in tmp_path.iterdir()} == {"one.png", "one.svg", "two.png", "two.svg"}
    one, two = ((tmp_path / f"{name}.svg").read_text() for name in ("one", "two"))
    assert len(two) > 1.5 * len(one)


@pytest.mark.slow
def test_the_command_learns_from_the_feed_and_goes_on_where_it_was(start, monkeypatch):
    monkeypatch.setattr(feed, "SHARES", (0.1,))
    monkeypatch.setattr(feed, "REVIEWED", (10,))
    run = start(draws=0, stages=TEACHING)
    records = run_feed(run, ("fast",))
    assert [entry["settings"]["part"] for entry in records] == ["share", "later", "verdicts"]
    shared = records[0]
    assert shared["taught"]["without"] == 0
    assert shared["taught"]["feed"] > 10
    assert shared["figures"][0] != shared["figures"][2], "the feed changes something"
    assert records[2]["used"]
    assert "| 10 % | 1 | with this feed |" in (run.folder / "feed.md").read_text(encoding="utf-8")
    assert (run.folder / "feed.png").stat().st_size > 10_000
    assert "feed" in {entry["command"] for entry in json.loads((run.folder / "results.json").read_text())}
    monkeypatch.setattr(feed, "run_difa", lambda *_, **__: pytest.fail("computed twice"))
    assert run_feed(start(draws=0, stages=TEACHING), ("fast",)) == records
    with pytest.raises(ConfigError, match="expected one of difa-full, difa-fast, got difa-paper"):
        run_feed(run, ("paper",))


@pytest.mark.slow
def test_a_feed_is_read_without_its_labels(start):
    """Whatever the labels of the test text say, a method that has seen the text gives the same scores."""
    run = start(draws=0, stages=TEACHING)
    halves = split(run.sets[0].documents, 42)
    seen = run_difa("difa-fast-feed", halves, 42, run.options)
    assert seen.taught > 10
    blind = run_difa("difa-fast", Split(halves.training, without_labels(halves.test)), 42, run.options, feed=halves.test[::-1])
    assert np.allclose(seen.documents["learned"], blind.documents["learned"])
    plain = run_difa("difa-fast", halves, 42, run.options)
    assert plain.taught == 0
    assert not np.allclose(seen.documents["learned"], plain.documents["learned"])
    assert all(document.labels is None for document in without_labels(halves.test))
    assert any(map(is_anomalous, halves.test))


@pytest.mark.slow
def test_given_vectors_do_not_keep_the_feed_away(start):
    run = start(draws=0, stages=TEACHING)
    halves = split(run.sets[0].documents, 42)
    own = run.options.reader.encode(halves.training)
    usual, given = (run_difa("difa-full-feed", halves, 42, run.options, vectors=vectors) for vectors in (None, own))
    assert given.taught == usual.taught > 10
    assert np.allclose(given.documents["learned"], usual.documents["learned"])
