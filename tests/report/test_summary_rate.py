"""What a report says of the rate, and in which order."""

import re

from difa.document import Result, WordScore
from difa.report.html import report_html
from difa.report.summary import summarise

WORDS = (WordScore("text", 0, 4, 1.0, 0.5, False),)
RESULTS = [Result(f"text {at}", 1.0, at / 40, at < 3, WORDS, columns={"day": f"2026-05-{1 + at % 9:02d}"}) for at in range(1, 41)]


def test_the_rate_that_was_asked_for_is_given():
    assert "the false-alarm rate of 5.0 % that was asked for" in report_html(summarise(RESULTS, rate=0.05), "title")
    assert "Flagged are documents up to p = 0.05." in report_html(summarise(RESULTS), "title")


def test_documents_stand_before_groups_and_the_label_above_the_bars():
    page = report_html(summarise(RESULTS, by=["day"]), "title")
    assert page.index("most unusual documents") < page.index("Share flagged by day")
    label = float(re.search(r"y='([\d.]+)' text-anchor='end'>dashed: normal text", page)[1])
    assert label < min(float(top) for top in re.findall(r"<rect [^>]*? y='([\d.]+)'", page))
