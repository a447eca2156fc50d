import io

from rich.console import Console

from difa.document import Explanation, Reason, ReasonKind, Result, WordScore
from difa.report.terminal import document_line, explanation, marked_text, style_of


def word(text, start, p_value, flagged=False):
    return WordScore(text, start, start + len(text), 1.0, p_value, flagged, {"semantic": 6.0, "form": 0.1})


RESULT = Result("a bad word", 3.0, 0.01, True, (word("a", 0, 0.9), word("bad", 2, 0.0001, True), word("word", 6, 0.03)), "x")


def plain(renderable, width=100):
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(renderable)
    return console.file.getvalue()


def test_only_suspicious_words_are_styled_and_stronger_ones_differently():
    spans = {(span.start, span.end): str(span.style) for span in marked_text(RESULT).spans}
    assert set(spans) == {(2, 5), (6, 10)}
    assert "underline" in spans[(2, 5)]
    assert "underline" not in spans[(6, 10)]
    assert style_of(word("a", 0, 0.5)) == ""
    assert len({style_of(word("a", 0, p)) for p in (0.04, 0.01, 0.003, 0.0005)}) == 4


def test_the_verdict_does_not_colour_the_text():
    line = document_line(RESULT)
    assert str(line.style) == ""
    at = line.plain.index("a bad word")
    assert not any(span.start <= at < span.end for span in line.spans)


def test_control_characters_are_made_visible_one_for_one():
    nasty = Result("a\x1b[2Jb", 0.0, 1.0, False, ())
    assert marked_text(nasty).plain == "a\ufffd[2Jb"


HARD, NEVER = ReasonKind("hard", "hard to rebuild"), ReasonKind("never", "never shown")
REASONS = tuple({"semantic": (Reason(HARD, {}, 0.9),), "form": (Reason(NEVER, {}, 0.9),)} for _ in RESULT.words)


def test_explanation_begins_with_a_sentence_and_keeps_numbers_for_those_who_ask():
    shown = plain(explanation(Explanation(RESULT, REASONS, 0.02, learned=("In the new text, faults stand out.",))))
    assert shown.startswith("'bad' does not fit its surroundings (rarer than 1 word in 1,000).")
    assert "anomalous: p = 0.01, at a false-alarm rate of 0.02" in shown
    assert "• 'word' " in shown
    assert "semantic" not in shown
    assert "In the new text" not in shown  # which would be the same for every text


def test_details_name_views_and_reasons():
    shown = plain(explanation(Explanation(RESULT, REASONS), details=True))
    assert "hard to rebuild" in shown
    assert "nothing unusual" in shown
    assert "never shown" not in shown
    assert "document score 3.00" in shown
    assert shown.index("bad ") < shown.index("0.0001")


def test_a_text_without_suspicious_words_still_explains_its_strangest():
    calm = Result("a", 0.0, 1.0, False, (word("a", 0, 0.9),))
    reasons = ({"semantic": (), "form": ()},)
    shown = plain(explanation(Explanation(calm, reasons), details=True))
    assert shown.startswith("Nothing stands out")
    assert "normal" in shown
    assert "form" in shown


def test_a_line_break_is_shown_as_one():
    assert marked_text(Result("a\r\nbad", 3.0, 0.5, False, (word("a", 0, 0.9), word("bad", 3, 0.9)), "x")).plain == "a ↵bad"
