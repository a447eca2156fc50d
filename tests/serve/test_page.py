"""The page in a real browser: the flows of a person, and texts that mean harm."""

import pytest
from playwright.sync_api import expect

from difa.serve.example import make_examples
from tests.serve.page import NEEDS_BROWSER, STRANGE, check, flagged, open_file, set_rate

pytestmark = NEEDS_BROWSER


def test_a_text_is_shaded_explained_and_judged(opened, model):
    check(opened, STRANGE)
    assert opened.locator("#words").inner_text() == STRANGE
    result = model.score([STRANGE])[0]
    assert flagged(opened) == [word.text for word in result.words if word.is_anomaly]
    assert "stand" in opened.inner_text("#verdict")
    assert str(float(f"{result.p_value:.2g}")) in opened.inner_text("#verdict-why")
    opened.hover("#words .word >> text=xkcdqwrtplk")
    explained = opened.locator("#popover")
    assert explained.is_visible()
    text = explained.inner_text()
    assert "consonants" in text
    assert "p = " in text
    for view in result.words[0].evidence:
        assert view in text
    opened.keyboard.press("Escape")
    assert not explained.is_visible()


def test_the_slider_flags_anew_without_asking(opened, model):
    check(opened, STRANGE)
    scored = [url for url in opened.asked if "/v1/" in url]
    expected = model.score([STRANGE])[0]
    for rate in (0.001, 0.01, 0.1, 0.5):
        set_rate(opened, rate)
        assert flagged(opened) == [word.text for word in expected.words if word.p_value <= rate]
        assert opened.inner_text("#verdict").startswith("This text stands out") == (expected.p_value <= rate)
    assert [url for url in opened.asked if "/v1/" in url] == scored


def test_words_that_are_fine_play_no_part(opened, model):
    check(opened, STRANGE)
    set_rate(opened, 0.05)
    expected = model.score([STRANGE], fpr=0.05, allow=["xkcdqwrtplk"])[0]
    assert "xkcdqwrtplk" in flagged(opened)
    assert opened.inner_text("#verdict") == "This text stands out"
    opened.fill("#allowed", "Louise, XKCDQWRTPLK\nNew York")
    expect(opened.locator("#words .allowed")).to_have_text(["xkcdqwrtplk"])
    assert flagged(opened) == [word.text for word in expected.words if word.is_anomaly]
    assert not expected.is_anomaly
    assert opened.inner_text("#verdict") != "This text stands out"
    opened.reload()
    expect(opened.locator("#about")).not_to_be_empty()
    assert opened.input_value("#allowed") == "Louise, XKCDQWRTPLK\nNew York", "the browser remembers them"
    check(opened, STRANGE)
    assert "xkcdqwrtplk" not in flagged(opened)


def test_a_word_is_allowed_from_its_explanation(opened):
    check(opened, STRANGE)
    word = opened.locator("#words .word", has_text="xkcdqwrtplk")
    word.hover()
    assert opened.locator("#popover .allow").count() == 0
    word.click()
    opened.keyboard.press("Tab")
    assert opened.evaluate("document.activeElement.className") == "allow"
    opened.keyboard.press("Enter")
    expect(opened.locator("#words .allowed")).to_have_text(["xkcdqwrtplk"])
    assert opened.input_value("#allowed") == "xkcdqwrtplk"
    opened.locator("#words .allowed").click()
    assert "judged without it" in opened.inner_text("#popover")
    assert opened.locator("#popover .allow").count() == 0


def test_a_file_is_judged_anew_when_a_word_is_allowed(opened):
    open_file(opened, "lines.txt", f"Where is my order?\n{STRANGE}\nWhere is my lid?\n")
    set_rate(opened, 0.05)
    expect(opened.locator("#table-title")).to_have_text("1 of 3 documents stand out")
    opened.fill("#allowed", "xkcdqwrtplk")
    expect(opened.locator("#table-title")).to_have_text("0 of 3 documents stand out")
    expect(opened.locator("#words")).to_have_text(STRANGE)


def test_emoji_and_other_astral_characters_stay_in_place(opened, model):
    text = "👍🏽 Thanks 𝒻or the 👩‍👩‍👧 parcel 𠮷, wpdlkrt 🎉!"
    check(opened, text)
    assert opened.locator("#words").text_content() == text
    assert opened.locator("#words .word").all_text_contents() == [word.text for word in model.score([text])[0].words]


@pytest.mark.parametrize(
    "text",
    [
        "<img src=x onerror=alert(1)> <script>alert(2)</script> order",
        '"><svg/onload=alert(3)> &lt;b&gt; javascript:alert(4)',
        "Where is \u202ereversed\u202c my \u2067order\u2069 \u200f?",
    ],
)
def test_hostile_text_is_only_text(opened, text):
    check(opened, text)
    assert opened.locator("#words").text_content() == text
    assert opened.locator("#words *:not(span)").count() == 0
    words = opened.locator("#words .word")
    for index in range(words.count()):
        words.nth(index).dispatch_event("click")
        assert opened.locator("#popover h3").text_content() == words.nth(index).text_content()
    assert opened.locator("#popover img, #popover script, #ranking img").count() == 0


def test_invisible_characters_are_named(opened):
    check(opened, "Where is my \u202e order?")
    opened.locator("#words .word", has_text="\u202e").dispatch_event("click")
    assert "U+202E" in opened.inner_text("#popover")


def test_a_hundred_kilobytes_on_one_line(opened):
    opened.select_option("#model", "tiny")
    text = ("Where is my <b>order</b> number 48213, please? " * 2200)[:100_000]
    check(opened, text)
    assert opened.locator("#words").text_content() == text
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")
    one_word = "x" * 100_000
    check(opened, one_word)
    assert opened.locator("#words").text_content() == one_word
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_histogram_marks_this_document(opened):
    check(opened, STRANGE)
    assert opened.locator("#histogram .bar").count() == 32
    label = opened.get_attribute("#histogram svg", "aria-label")
    assert "300 normal documents" in label
    assert opened.locator("#histogram .here").count() == 1


def test_examples_of_the_model_can_be_clicked(opened, model):
    spoilt, normal = opened.locator("#examples button").all_text_contents()
    assert [spoilt, normal] == make_examples(model)
    assert "made up of frequent words of this model’s normal text" in opened.inner_text("#examples")
    opened.locator("#examples button").first.click()
    opened.wait_for_selector("#result:not([hidden])")
    assert opened.input_value("#input") == spoilt
    assert flagged(opened) == [word for word in spoilt.strip(".?!").split() if word not in normal]


def test_each_model_has_its_own_examples_or_no_place_for_them(opened, client, quick_model, monkeypatch):
    opened.select_option("#model", "tiny")
    expect(opened.locator("#examples button")).to_have_text(make_examples(quick_model))
    monkeypatch.setitem(client.service.models["tiny"].info, "examples", [])
    opened.reload()
    expect(opened.locator("#examples")).to_be_visible()
    opened.select_option("#model", "tiny")
    expect(opened.locator("#examples")).to_be_hidden()


def test_examples_fit_on_a_phone(opened):
    opened.set_viewport_size({"width": 360, "height": 700})
    assert opened.locator("#examples button").count() == 2
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_keyboard_is_enough(opened):
    opened.focus("#input")
    opened.keyboard.type(STRANGE + " wpdlkrt")
    opened.keyboard.press("Control+Enter")
    opened.wait_for_selector("#result:not([hidden])")
    opened.focus("#words [tabindex='0']")
    seen = []
    for _ in range(2):
        seen.append(opened.inner_text("#popover h3"))
        assert "p 0." in opened.evaluate("document.activeElement.getAttribute('aria-label')")
        opened.keyboard.press("ArrowRight")
    assert len(set(seen)) == 2
    opened.keyboard.press("Home")
    assert opened.inner_text("#popover h3") == seen[0]
    opened.keyboard.press("Escape")
    assert not opened.locator("#popover").is_visible()


def test_every_control_has_a_name_and_the_outcome_is_announced(opened):
    nameless = opened.evaluate(
        "[...document.querySelectorAll('button, input, select, textarea')].filter((control) => "
        "!control.textContent.trim() && !control.labels?.length && !control.getAttribute('aria-label')).map((c) => c.id)"
    )
    assert nameless == []
    assert opened.get_attribute("#status", "aria-live") == "polite"
    opened.click("#check")
    assert "Paste a text" in opened.inner_text("#status")
