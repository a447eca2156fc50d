"""HTML of results: shaded, escaped, by itself."""

from html.parser import HTMLParser

from difa.document import Explanation, Reason, ReasonKind, Result, WordScore

NASTY = "<script>alert(\"1\")</script> & 'x' \u202e\x1b"


class Tags(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.tags, self.text, self.attributes = [], "", []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_data(self, data):
        self.text += data


def result(text, *words):
    return Result(text, 3.0, 0.01, True, words, "x")


def test_words_are_shaded_by_strength_and_flags_underlined():
    words = [
        WordScore("a", 0, 1, 1, 0.9, False),
        WordScore("bad", 2, 5, 5, 0.0001, True),
        WordScore("word", 6, 10, 2, 0.03, False),
    ]
    html = result("a bad word", *words)._repr_html_()
    assert '<p class="difa-text">a <mark class="difa-4 difa-flag"' in html
    assert '<mark class="difa-1" title="as rare as 1 word in 33">word</mark>' in html
    assert html == result("a bad word", *words).to_html()


def test_hostile_texts_stay_text():
    bad = WordScore(NASTY, 0, len(NASTY), 5, 0.001, True, {NASTY: 5.0}, NASTY)
    reasons = ({NASTY: (Reason(ReasonKind("nasty", "{word}", "{word}"), {"word": NASTY}, 1.0),)},)
    for html in (result(NASTY, bad).to_html(), Explanation(result(NASTY, bad), reasons).to_html()):
        page = Tags(html)
        assert set(page.tags) <= {"div", "style", "p", "mark", "small", "ul", "li", "details", "summary", "table", "tr", "td"}
        assert not [name for name, _ in page.attributes if name.startswith("on")]
        assert '<script>alert("1")</script>' in page.text
        assert "\u202e" not in html
        assert "\x1b" not in html
        assert "http" not in html


def test_line_breaks_stay_and_nothing_is_lost():
    page = Tags(result("one\n\ttwo", WordScore("two", 5, 8, 5, 0.001, True)).to_html())
    assert "one\n\ttwo" in page.text


def test_an_explanation_has_a_sentence_for_each_unusual_word():
    words = [WordScore("one", 0, 3, 5, 0.001, True, {"tone": 5.0}), WordScore("two", 4, 7, 5, 0.9, False, {"tone": 0.0})]
    reasons = (
        {"tone": (Reason(ReasonKind("sounds", "sounds more {side}", "sounds unusually {side}"), {"side": "negative"}, 1.0),)},
        {"tone": ()},
    )
    html = Explanation(result("one two", *words), reasons).to_html()
    assert html.count("<li>") == 1
    assert "sounds unusually negative" in html
