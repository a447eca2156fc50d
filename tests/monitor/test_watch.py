"""Batches against a model: reports, what differs, the state between runs, the text for people and collectors."""

import json
import math

import pytest

from difa import DiFA
from difa.document import Result, WordScore
from difa.errors import ConfigError, InputError
from difa.monitor import Monitor
from difa.monitor.batch import (
    RARE,
    BatchCounts,
    Excess,
    batch_of,
    contrast,
    find_differences,
    in_order,
    in_plain_words,
    percent,
)
from difa.monitor.evidence import read_state, write_state
from difa.monitor.watch import batch_lines, odds, prometheus, verdict


@pytest.fixture
def fast(fast_model):
    """A model of the first 80 documents."""
    return fast_model


def count_batch(results):
    batch = BatchCounts()
    for each in results:
        batch.add(each)
    return batch


def strange(count):
    return [f"Please fax the invoice zxqv{number} wpdlkrt to our vvqzz bureau." for number in range(count)]


def result(text, p_value=0.5, *, words=(), is_anomaly=False, **more):
    return Result(text, 1.0, p_value, is_anomaly, tuple(words), **more)


def test_normal_text_raises_no_alarm_and_strange_text_does(fast, corpus):
    monitor = Monitor(fast, fpr=0.05)
    quiet = monitor.look("monday", corpus[300:400])
    assert not quiet.alarm
    assert quiet.documents == 100
    assert quiet.interval[0] <= quiet.share <= quiet.interval[1]
    assert (quiet.promise, quiet.bound) == (0.05, pytest.approx(0.094, abs=0.001))
    loud = monitor.look("tuesday", strange(60))
    assert loud.alarm
    assert loud.more_unusual < 0.01
    assert loud.log10_evidence > monitor.threshold == pytest.approx(math.log10(20))
    words = {difference.name: difference for difference in loud.differences if difference.kind == "word"}
    assert words["invoice"].share == 1.0
    assert words["invoice"].normal < 0.2
    assert any(difference.kind == "trait" for difference in loud.differences)
    assert monitor.state.alarm_since == "tuesday"
    assert monitor.state.documents == 160
    json.dumps(loud.to_dict())


def test_a_batch_that_comes_again_is_not_counted_twice(fast, corpus):
    monitor = Monitor(fast)
    first = monitor.look("a", corpus[300:350])
    again = monitor.look("a", corpus[300:350])
    assert (first.repeated, again.repeated) == (False, True)
    assert again.log10_evidence == first.log10_evidence
    assert monitor.state.documents == 50
    assert "counted before, not again" in batch_lines(again, monitor.threshold)[-1]


def test_a_run_goes_on_where_the_last_one_ended(fast, corpus, tmp_path):
    path, at_once = tmp_path / "state.json", Monitor(fast)
    reports = [at_once.look("a", corpus[300:350]), at_once.look("b", strange(3)), at_once.look("c", corpus[350:400])]
    for name, texts in (("a", corpus[300:350]), ("b", strange(3)), ("c", corpus[350:400])):
        monitor = Monitor(fast, state=read_state(path, fast.detector_, 0.05))
        last = monitor.look(name, texts)
        write_state(path, monitor.state)
    assert last == reports[-1]
    assert monitor.state == at_once.state
    assert not any(text in path.read_text() for text in ("invoice", "fax", corpus[300])), "no text is kept"


def test_a_state_that_cannot_be_used_is_refused_in_one_line(fast, corpus, tmp_path):
    path = tmp_path / "state.json"
    write_state(path, Monitor(fast).state)
    with pytest.raises(InputError, match="expected the state of this model, got that of another one"):
        read_state(path, DiFA("fast", fpr=0.1).fit(corpus[:20]).detector_, 0.05)
    with pytest.raises(InputError, match=r"false-alarm chance of 0\.01, got one for 0\.05"):
        read_state(path, fast.detector_, 0.01)
    sound = json.loads(path.read_text())
    for change in (
        {"feed": {"5": 1}},
        {"feed": [1]},
        {"documents": -1},
        {"log_capital": [0.0]},
        {"log_capital": ["x"] * 6},
        {"difa_monitor": 99},
    ):
        path.write_text(json.dumps(sound | change))
        with pytest.raises(InputError, match="expected the state of a monitor, got something else"):
            read_state(path, fast.detector_, 0.05)
    for text in ("", "[]", "null", '{"a": 1', "\x00"):
        path.write_text(text)
        with pytest.raises(InputError, match="expected the state of a monitor"):
            read_state(path, fast.detector_, 0.05)
    with pytest.raises(InputError, match="cannot be read"):
        read_state(tmp_path, fast.detector_, 0.05)


def test_nothing_to_look_at_and_impossible_chances(fast):
    with pytest.raises(InputError, match="monday: expected documents, got none"):
        Monitor(fast).look("monday", [])
    with pytest.raises(ConfigError, match="false_alarm: expected a number between 0 and 1"):
        Monitor(fast, false_alarm=0)


def test_an_excess_counts_documents_as_units():
    alone, together = Excess(), Excess()
    for _ in range(20):
        alone.add(1, 10)
    together.add(20, 20)
    for _ in range(18):
        together.add(0, 10)
    assert alone.share == together.share == 0.1
    assert alone.deviations == pytest.approx(20 * 0.5 / math.sqrt(20 * 0.25))
    assert together.deviations < 2 < alone.deviations
    assert Excess().deviations == 0.0
    assert RARE == 0.05


def test_how_clearly_two_shares_differ():
    assert contrast(5, 10, 50, 100) == pytest.approx(0.0)
    expected = 2 * (30 * math.log(30 / 20) + 70 * math.log(70 / 80) + 10 * math.log(10 / 20) + 90 * math.log(90 / 80))
    assert contrast(30, 100, 10, 100) == pytest.approx(math.sqrt(expected))
    assert contrast(10, 100, 30, 100) == pytest.approx(-math.sqrt(expected))
    assert contrast(0, 10, 0, 10) == 0.0


def test_without_counts_of_normal_words_the_most_flagged_are_named(fast):
    class Without:
        views = ()

    odd = WordScore("Fax", 0, 3, 9.0, 0.001, True, {})
    fine = WordScore("hello", 0, 5, 1.0, 0.5, False, {})
    batch = count_batch([result("Fax", words=[odd]), result("fax", words=[odd, fine]), result("hello", words=[fine]), result("")])
    (difference,) = find_differences(batch, Without())
    assert difference.sentence == "'Fax' is flagged in 50 % of documents"


def test_sentences():
    assert in_plain_words("critic: three highest") == "documents with several words that look like errors"
    assert in_plain_words("neighbour: mean") == "documents full of words used in unusual ways"
    assert in_plain_words("language") == "rare and unknown words"
    assert (percent(0.1234), percent(0.00052), percent(1.0), percent(0.0)) == ("12 %", "0.052 %", "100 %", "0 %")
    assert (odds(0.0), odds(1.602), odds(12.2)) == ("1 to 1", "40 to 1", "10^12 to 1")


def test_batches_by_a_column_in_their_order():
    rows = [result("a", columns={"day": "2026-05-02"}), result("b", columns={"day": "2026-05-01"})]
    assert [batch_of(row, "day", "x.csv") for row in rows] == ["2026-05-02", "2026-05-01"]
    with pytest.raises(InputError, match=r"by week: expected a column of x\.csv, .*; a document has neither, .* are 'day'"):
        batch_of(rows[0], "week", "x.csv")
    named = lambda *names: dict.fromkeys(names, count_batch([]))  # noqa: E731
    assert list(in_order(named("2026-05-02", "2026-05-01"))) == ["2026-05-01", "2026-05-02"]
    assert list(in_order(named("10", "9"))) == ["9", "10"]


def test_prometheus_text_can_be_read_back(fast, corpus):
    parser = pytest.importorskip("prometheus_client.parser")
    monitor = Monitor(fast)
    report = monitor.look("today", strange(60))
    text = prometheus(report, monitor, 'a "model"\\', 0)
    samples = {sample.name: sample for family in parser.text_string_to_metric_families(text) for sample in family.samples}
    assert samples["difa_monitor_alarm"].value == 1
    assert samples["difa_monitor_alarm"].labels == {"model": 'a "model"\\'}
    assert samples["difa_monitor_batch_flagged_share"].value == report.share
    assert samples["difa_monitor_documents_total"].value == 60
    assert verdict(monitor).startswith("ALARM since today: the feed is no longer as before")


def test_tallies_keep_counts_not_texts(fast, corpus):
    batch = count_batch(fast.score(corpus[:20]))
    assert batch.documents == len(batch.scores) == 20
    assert min(batch.scores) > 0
    assert batch.digest == count_batch(fast.score(corpus[:20])).digest != count_batch(fast.score(corpus[1:21])).digest
