"""The report: what it counts, what it shows, and that no text can do harm in it."""

import json
import re

import pytest

from difa.document import Result, WordScore
from difa.errors import InputError
from difa.report.html import report_html
from difa.report.sentences import excerpt
from difa.report.summary import Group, summarise
from tests.commands import here
from tests.lines import to_json_line
from tests.report.test_html import NASTY, Tags


def make(text, p_value, flagged=(), id="a.txt:1", suggestion=None, **columns):
    """A result of a text, some of whose words are flagged."""
    words, at = [], 0
    for part in text.split(" "):
        is_flagged = part in flagged
        evidence = {"tone": 1.0, "form": 5.0 if is_flagged else 0.0}
        p = 0.001 if is_flagged else 0.5
        words.append(WordScore(part, at, at + len(part), 1.0, p, is_flagged, evidence, suggestion if is_flagged else None))
        at += len(part) + 1
    return Result(text, 1 / p_value, p_value, bool(flagged), tuple(words) if text else (), id, {}, columns)


RESULTS = [
    make("one bad word", 0.01, ["bad"], "a.txt:1", "bat", day="2026-01-01"),
    make("two Bad 17 words", 0.002, ["Bad", "17"], "b.txt:1", day="2026-01-02"),
    make("two Bad 17 words", 0.002, ["Bad", "17"], "b.txt:2", day="2026-01-02"),
    make("fine", 0.7, (), "b.txt:3", day=""),
    make("", 1.0, (), "b.txt:4", day="2026-01-02"),
]


def test_what_is_counted():
    summary = summarise(RESULTS, ["day", "file"])
    assert (summary.all.documents, summary.all.flagged, summary.without_text) == (5, 3, 1)
    assert (summary.words, summary.flagged_words, summary.highest_flagged_p) == (12, 5, 0.01)
    assert summary.histogram == [3, *[0] * 13, 1, *[0] * 4, 1]
    assert [(worst.result.id, worst.times) for worst in summary.worst] == [("b.txt:1", 2), ("a.txt:1", 1), ("b.txt:3", 1)]
    (bad,) = summary.most_flagged(True, 5)
    assert (bad.text, bad.documents, bad.examples, bad.suggestions) == ("bad", 3, ["a.txt:1", "b.txt:1", "b.txt:2"], {"bat": 1})
    assert [word.text for word in summary.most_flagged(False, 5)] == ["17"]
    assert summary.views == {"form": 5}
    assert summary.groups["file"] == {"a.txt": Group(1, 1), "b.txt": Group(4, 2)}
    assert summary.groups["day"] == {"2026-01-01": Group(1, 1), "2026-01-02": Group(3, 2), "(none)": Group(1, 0)}


def test_the_day_is_found_in_any_column():
    summary = summarise([make("a", 0.5, (), n=3, received="2026-05-01T10:00:00")], ["day"])
    assert summary.groups == {"day": {"2026-05-01": Group(1, 0)}}


def test_the_interval_of_a_share():
    low, high = Group(100, 10).interval
    assert (round(low, 4), round(high, 4)) == (0.0490, 0.1762)  # Clopper and Pearson
    assert Group(10, 0).interval[0] == 0


def test_no_results_and_unknown_columns():
    with pytest.raises(InputError, match="got none"):
        summarise([])
    with pytest.raises(InputError, match="by colour: expected a column that the results have, such as 'file', 'day', 'x'"):
        summarise([make("a", 0.5, x="1")], ["colour"])


def test_hostile_texts_stay_text():
    bad = WordScore(NASTY, 0, len(NASTY), 5, 0.001, True, {NASTY: 5.0}, NASTY)
    result = Result(NASTY, 3.0, 0.01, True, (bad,), NASTY, {}, {NASTY: NASTY})
    html = report_html(summarise([result], [NASTY]), NASTY, [NASTY])
    page = Tags(html)
    assert not {"script", "img", "a", "link", "iframe"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on") or name in ("src", "href")]
    assert page.text.count('<script>alert("1")</script>') >= 6
    assert "\u202e" not in html
    assert not re.search("https?:", html)
    assert "default-src 'none'" in html


def test_the_page_says_what_was_counted():
    text = Tags(report_html(summarise(RESULTS, ["day"]), "My title", ["a.jsonl"])).text
    for part in ("My title", "a.jsonl", "Share flagged by day", "2026-01-02", "2 times", "Numbers, codes and marks", "bad → bat"):
        assert part in text


def test_long_texts_are_cut_around_the_most_unusual_word():
    long = make(" ".join(["word"] * 400 + ["odd"] + ["word"] * 400), 0.01, ["odd"])
    part = excerpt(long, 100)
    assert part.text.startswith("… word")
    assert part.text.endswith("word …")
    assert len(part.text) <= 100 + len("…  …")
    assert all(part.text[word.start : word.end] == word.text for word in part.words)
    assert "odd" in [word.text for word in part.words]
    assert excerpt(RESULTS[0]) is RESULTS[0]


def test_ten_thousand_documents_make_a_small_page(tmp_path):
    sample = [
        make(f"message {n} with some zxq{n} words in it and a few more", 0.01 + n % 90 / 100, [f"zxq{n}"], f"m.txt:{n}")
        for n in range(500)
    ]
    (tmp_path / "scores.jsonl").write_text("".join(map(to_json_line, sample)) * 20)
    run = here("report", tmp_path / "scores.jsonl", "--out", tmp_path / "report.html", "--by", "file")
    assert run.returncode == 0, run.stderr
    assert "10000 of 10000 documents flagged" in run.stderr
    assert (tmp_path / "report.html").stat().st_size < 5_000_000


def test_what_is_no_scores_file_is_one_line(tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "x"}))
    run = here("report", tmp_path / "a.jsonl", "--out", tmp_path / "r.html")
    assert (run.returncode, run.stderr.count("\n")) == (2, 1)
    assert "expected a result of `difa score`" in run.stderr
    assert not (tmp_path / "r.html").exists()


def test_only_ids_of_ours_name_files_and_documents_without_a_value_are_one_group():
    results = [make("a", 0.5, (), "JIRA:17", team="x"), make("b", 0.5, (), "JIRA:18", team=""), make("c", 0.5, (), None)]
    assert summarise(results, ["team"]).groups["team"] == {"x": Group(1, 0), "(none)": Group(2, 0)}
    with pytest.raises(InputError, match=r"the ids do not name files\), such as 'day', 'team'$"):
        summarise(results, ["file"])
    assert summarise([make("a", 0.5, (), "-:1"), make("b", 0.5, (), "in.csv.gz:2")], ["file"]).groups["file"].keys() == {
        "-",
        "in.csv.gz",
    }
