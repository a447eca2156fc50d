"""The page in a real browser: the flows of a person, and texts that mean harm."""

import csv
import io
import json
import shutil

import pytest
from playwright.sync_api import expect

from tests import HANG

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no browser is installed: these tests need Debian's chromium"),
]

PATIENCE = HANG * 1000  # milliseconds: a busy machine is slow, not wrong
expect.set_options(timeout=PATIENCE)

STRANGE = "Where is my xkcdqwrtplk order?"


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"], timeout=PATIENCE)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser, client):
    """A page, open and ready; fails afterwards on any script error, blocked resource or request to another host."""
    context = browser.new_context(accept_downloads=True)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    troubles, asked = [], []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda message: troubles.append(message.text) if message.type in ("error", "warning") else None)
    page.on("dialog", lambda dialog: (troubles.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(client.url)
    expect(page.locator("#about")).not_to_be_empty()
    page.asked = asked
    yield page
    context.close()
    assert troubles == []
    assert all(url.startswith((client.url, "blob:")) for url in asked)


def check(page, text):
    page.fill("#input", text)
    page.click("#check")
    expect(page.locator("#check")).to_be_enabled()
    page.wait_for_selector("#result:not([hidden])")


def flagged(page):
    return page.locator("#words .flagged").all_text_contents()


def set_rate(page, rate):
    page.evaluate(
        "(rate) => { const slider = document.getElementById('rate'); slider.value = Math.log10(rate);"
        " slider.dispatchEvent(new Event('input')); }",
        rate,
    )


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
    asked = len(opened.asked)
    expected = model.score([STRANGE])[0]
    for rate in (0.001, 0.01, 0.1, 0.5):
        set_rate(opened, rate)
        assert flagged(opened) == [word.text for word in expected.words if word.p_value <= rate]
        assert opened.inner_text("#verdict").startswith("This text stands out") == (expected.p_value <= rate)
    assert len(opened.asked) == asked


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


def test_examples_can_be_clicked(opened):
    opened.locator("#examples button").first.click()
    opened.wait_for_selector("#result:not([hidden])")
    assert opened.input_value("#input") == opened.locator("#examples button").first.text_content()


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


def open_file(page, name, content):
    page.set_input_files("#file", {"name": name, "mimeType": "text/plain", "buffer": content.encode()})
    page.wait_for_selector("#table-card:not([hidden])")
    expect(page.locator("#check")).to_be_enabled()


JSONL = "\n".join(
    [
        json.dumps({"id": "a", "text": "Thank you for the quick reply."}),
        json.dumps({"id": "b", "text": '=cmd() wpdlkrt xkcdqwrt, "quoted"\nnew line'}),
        "not json",
        json.dumps({"id": "d", "tokens": ["Where", "is", "my", "order"]}),
    ]
)


def test_many_documents_in_a_table_sorted_and_saved(opened):
    open_file(opened, "many.jsonl", JSONL)
    rows = opened.locator("#table tbody tr")
    assert rows.count() == 4
    assert rows.first.locator("td").first.inner_text() == "2"  # the least p-value first
    assert "could not be read" in opened.inner_text("#table-title")
    opened.click("#table th >> text=#")
    assert [rows.nth(i).locator("td").first.inner_text() for i in range(4)] == ["1", "2", "3", "4"]
    opened.click("#table th >> text=#")
    assert rows.first.locator("td").first.inner_text() == "4"
    assert opened.locator("#table th").first.get_attribute("aria-sort") == "descending"
    rows.first.locator("button").click()
    assert opened.locator("#words").text_content() == "Where is my order"
    with opened.expect_download() as download:
        opened.click("#save-csv")
    saved = list(csv.DictReader(io.StringIO(download.value.path().read_text(encoding="utf-8-sig"), newline="")))
    assert [row["id"] for row in saved] == ["a", "b", "many.jsonl:3", "d"]
    assert saved[1]["text"] == '\'=cmd() wpdlkrt xkcdqwrt, "quoted"\nnew line'
    assert saved[2]["error"] != ""
    with opened.expect_download() as download:
        opened.click("#save-jsonl")
    records = [json.loads(line) for line in download.value.path().read_text(encoding="utf-8").splitlines()]
    assert records[3]["text"] == "Where is my order"
    assert set(records[0]) >= {"id", "text", "score", "p_value", "is_anomaly", "words"}


@pytest.mark.parametrize(
    ("name", "content", "count"),
    [
        ("lines.txt", "One document.\r\n\r\nAnother <b>one</b>.\n", 2),
        ("table.csv", 'id,text\n1,"With, a comma and ""quotes"""\n2,a stray " quote\n3,"two\nlines"\n', 3),
    ],
)
def test_other_files(opened, name, content, count):
    open_file(opened, name, content)
    assert opened.locator("#table tbody tr").count() == count


def test_a_file_can_be_dropped(opened):
    opened.evaluate(
        "() => { const data = new DataTransfer(); data.items.add(new File(['One line.\\nTwo lines.'], 'dropped.txt'));"
        " document.getElementById('drop').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true })); }"
    )
    opened.wait_for_selector("#table-card:not([hidden])")
    assert opened.locator("#table tbody tr").count() == 2


def test_a_file_that_is_no_text_gets_one_line(opened):
    opened.set_input_files("#file", {"name": "x.txt", "mimeType": "text/plain", "buffer": b"\xff\xfe\x00"})
    opened.wait_for_selector("#status.error")
    assert "expected UTF-8" in opened.inner_text("#status")
