"""What a report says of the rate, and in which order."""

import re
from dataclasses import replace

import pytest

from difa.decide import Rule, flag
from difa.document import Result, WordScore, columns_of
from difa.formats.results import read_results
from difa.formats.tables import Shape
from difa.formats.write import write_results
from difa.report.html import report_html
from difa.report.summary import summarise

WORDS = (WordScore("text", 0, 4, 1.0, 0.5, False),)
RESULTS = [Result(f"text {at}", 1.0, at / 40, at < 3, WORDS, columns={"day": f"2026-05-{1 + at % 9:02d}"}) for at in range(1, 41)]


def test_the_rate_that_was_asked_for_is_given():
    asked = flag(RESULTS, Rule("fpr", 0.1))
    assert "Flagged are documents up to the false-alarm rate of 10 % that was asked for." in report_html(
        summarise(asked), "title"
    )
    discovered = [replace(result, rule="fdr", rate=0.2) for result in RESULTS]
    said = "Flagged are documents up to p = 0.05, at the false-discovery rate of 20 % that was asked for."
    assert said in report_html(summarise(discovered), "title")


def test_without_one_known_rate_the_report_gives_the_highest_p_value():
    for results in (RESULTS, [*RESULTS, *flag(RESULTS, Rule("fpr", 0.05))]):
        assert "Flagged are documents up to p = 0.05." in report_html(summarise(results), "title")


@pytest.mark.parametrize("name", ["scores.jsonl", "scores.parquet"])
def test_results_keep_the_rate_by_which_they_were_flagged(tmp_path, name):
    form = name.rpartition(".")[2]
    write_results(tmp_path / name, form, Shape(("id", "text")), columns_of(flag(RESULTS, Rule("fpr", 0.02))))
    assert {(result.rule, result.rate) for result in read_results([tmp_path / name])} == {("fpr", 0.02)}


def test_documents_stand_before_groups_and_the_label_above_the_bars():
    page = report_html(summarise(RESULTS, by=["day"]), "title")
    assert page.index("most unusual documents") < page.index("Share flagged by day")
    label = float(re.search(r"y='([\d.]+)' text-anchor='end'>dashed: normal text", page)[1])
    assert label < min(float(top) for top in re.findall(r"<rect [^>]*? y='([\d.]+)'", page))
