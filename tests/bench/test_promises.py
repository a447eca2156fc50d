"""The counts behind the promises by hand, and the command on tiny sets."""

from dataclasses import replace

import numpy as np
import pytest

from difa.bench import promises
from difa.bench.metrics import Scores
from difa.bench.promises import (
    FEEDS,
    RATES,
    by_length,
    detection,
    fill_in,
    join,
    mixture,
    near_copy,
    promises_markdown,
    rates,
    run_promises,
)
from difa.bench.report import section_of
from difa.errors import ConfigError
from difa.words import from_tokens
from tests.conftest import QUICK


def scores_of(*results):
    """Scores of documents: of each its p-value, those of its words, and its score where that matters."""
    words = [np.asarray(word_p, float) for _, word_p, *_ in results]
    learned = np.array([more[0] if more else 1.0 for _, _, *more in results])
    return Scores(words, {"learned": learned}, document_p=np.array([p_value for p_value, *_ in results]), word_p=words)


def test_rates_by_hand():
    scores = scores_of((0.01, [0.01, 0.01]), (0.04, [0.5, 0.5]), (0.5, [0.2, 0.3]))
    found = {(figure["level"], figure["rate"]): figure for figure in rates(99, scores)}
    assert [found["document", rate]["flagged"] for rate in (0.01, 0.05, 0.1)] == [1, 2, 2]
    assert found["document", 0.05]["count"] == 3
    assert found["word", 0.05] == {
        "level": "word",
        "rate": 0.05,
        "flagged": 2,
        "count": 6,
        "error": pytest.approx(np.sqrt((2 - 2 / 3) ** 2 + 2 * (2 / 3) ** 2) / 6),
    }
    many = scores_of(*[(0.01, [])] * 30, *[(0.5, [])] * 70)
    assert not rates(99, many)[0]["within"], "30 of 100 at a rate of 1 %"


def test_quarters_of_length_by_hand():
    scores = scores_of(*((0.01 if at in (0, 6, 7) else 0.5, [0.5] * (at + 1)) for at in range(8)))
    assert [(each["flagged"], each["count"]) for each in by_length(scores)] == [(1, 2), (0, 2), (0, 2), (2, 2)]


def test_copies_and_templates_are_made_of_documents(rng):
    document = from_tokens(["The", "door", "is", "open", "."])
    copies = [near_copy(document, number).text for number in range(3)]
    assert copies == ["The door is open .", "The door is open . !", "The door is open"]
    one, other = fill_in(join([document] * 4, 4)[0], rng), fill_in(join([document] * 4, 4)[0], rng)
    changed = [at for at, word in enumerate(one.words) if word.text not in ("The", "door", "is", "open", ".")]
    assert len(changed) == 3
    assert one.text != other.text
    assert [word.text for at, word in enumerate(one.words) if at not in changed] == [
        word.text for at, word in enumerate(other.words) if at not in changed
    ]


def test_mixtures_by_hand(rng):
    unusual, labels = scores_of(*[(0.001, [0.001])] * 40), [np.array([1])] * 10
    usual = scores_of(*[(0.9, [0.9])] * 40)
    found = mixture(usual, unusual, labels, 0.2, rng)
    assert found["size"] == 50
    assert found["document"] == {"false": 0.0, "found": 1.0}
    assert mixture(unusual, usual, labels, 0.2, rng)["word"] == {"false": 1.0, "found": 0.0}


def test_the_monitor_is_tried_on_normal_and_changed_text(rng):
    usual = scores_of(*((0.5, [], score) for score in rng.exponential(size=200)))
    strange = scores_of(*((0.001, [], score) for score in 5 + rng.exponential(size=100)))
    found = detection(rng.exponential(size=300), usual, strange, strange, rng)
    assert found["batches"] == 4
    assert not found["alarm"]
    assert found["until_other"] == 50
    assert found["until_other"] <= found["until_anomalies"] <= 1000
    assert "until_other" not in detection(rng.exponential(size=300), usual, strange, None, rng)


def test_longer_documents_are_joined():
    documents = [from_tokens(["a", "b"]), from_tokens(["c"]), from_tokens(["d"])]
    assert [[word.text for word in document.words] for document in join(documents, 2)] == [["a", "b", "c"]]


def fed(name, share, flagged, *, drawn=None, seed=0):
    """A record of a fit with a feed, in which so many of 100 documents and of 1,000 words are flagged at every rate."""
    figures = [
        {"level": level, "rate": rate, "flagged": flagged, "count": count, "within": flagged < 10}
        for rate in RATES
        for level, count in (("document", 100), ("word", 1000))
    ]
    settings = {"part": "feed", "documents": None, "other": None, "share": share}
    found = {"rates": figures, "drawn": share if drawn is None else drawn, "taught": 100}
    return {"set": name, "form": "clean", "seed": seed, "method": "difa-fast", "settings": settings, **found}


def test_feeds_have_a_section_of_their_own():
    records = [fed("spam", 0.0, 4), fed("spam", 0.2, 20), fed("review", 0.0, 6), fed("review", 0.2, 6, drawn=0.09)]
    lines = promises_markdown(records).splitlines()
    assert [line for line in lines if line.startswith("#")] == [
        "## DiFA (fast) with a feed, 1 resample of each set",
    ]
    assert "| spam | 20 % | .200 | .200 | .200 | 0 % |" in lines
    assert "| review | 9 % | .006 | .006 | .006 |" in lines
    assert "| all | 9–20 % | .130 ± .140 (.060–.200) | .130 ± .140 (.060–.200) | .130 ± .140 (.060–.200) | 50 % |" in lines


@pytest.mark.slow
def test_normal_documents_of_a_feed_are_measured_alone(start):
    stages = QUICK | {"feed": {"least_documents": 10}}
    records = run_promises(start(seeds=(0,), stages=stages), only=("feed",))
    assert [record["settings"]["share"] for record in records] == list(FEEDS)
    assert [record["drawn"] for record in records] == pytest.approx([0, 2 / 32, 8 / 38])
    assert all(record["rates"][0]["count"] == 30 for record in records), "all normal documents that nothing was fitted on"
    assert all(record["taught"] > 10 for record in records)
    with pytest.raises(
        ConfigError, match="only: expected some of whole, small, copies, templates, spoilt for difa-paper, got feed"
    ):
        run_promises(start(), "paper", ("feed",))
    with pytest.raises(ConfigError, match="got half"):
        run_promises(start(), only=("half",))


@pytest.mark.slow
def test_the_command_goes_on_where_it_was_and_fills_a_page(start, monkeypatch):
    run = start(sets=("spam", "review"), seeds=(0,))
    records = run_promises(run)
    assert [record["settings"]["part"] for record in records] == [
        "whole",
        "copies",
        "templates",
        "spoilt",
        *["feed"] * len(FEEDS),
    ] * 2
    text = (run.folder / "promises.md").read_text(encoding="utf-8")
    assert "| spam | " in text
    assert "another set" in text
    computed_twice = replace(promises.PROMISES, compute=lambda cell: pytest.fail("computed twice"))
    monkeypatch.setattr(promises, "PROMISES", computed_twice)
    again = run_promises(start(sets=("spam", "review"), seeds=(0,)))
    assert again == records, "nothing is computed twice, and nothing is lost"
    section = section_of("promises", None, {"promises": records})
    assert section is not None
    assert section.startswith("### DiFA (fast), 1 resample")
