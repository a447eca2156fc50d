"""Verdicts on the page, in a real browser: given, changed, counted, saved, sent; and services that take none, or fail."""

import json
import re

import pytest
from playwright.sync_api import expect

from difa.formats import read_documents
from tests import HANG
from tests.serve.conftest import running
from tests.serve.page import NEEDS_BROWSER, PATIENCE, STRANGE, check, open_file, set_rate

pytestmark = NEEDS_BROWSER

TWO = "👍 Where is my xkcdqwrtplk order, wpdlkrtzz?"
FIRST, SECOND = [[14, 25]], [[33, 42]]
ODD, NORMAL = "Odd", "Normal"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("page") / "verdicts.jsonl"


@pytest.fixture(scope="module")
def client(quick_model, path):
    """A small model is enough. Its service keeps verdicts."""
    with running({"m": quick_model}, verdicts=path, timeout=HANG) as client:
        yield client


@pytest.fixture
def review(opened, path):
    """The page with a text of two flagged words, and an empty file behind it."""
    path.write_bytes(b"")
    check(opened, TWO)
    set_rate(opened, 0.05)
    expect(opened.locator("#review li")).to_have_count(1 + opened.locator("#words .flagged").count())
    assert {"xkcdqwrtplk", "wpdlkrtzz"} <= set(opened.locator("#words .flagged").all_text_contents())
    return opened


def button(page, verdict, name):
    return page.locator("#review").get_by_role("button", name=f"{verdict}: {name}", exact=True)


def pressed(page):
    return page.locator("#review [aria-pressed=true]").evaluate_all("(all) => all.map((one) => one.getAttribute('aria-label'))")


def reject_others(page):
    """Flagged words but the two: a small model flags what it likes."""
    for name in page.locator("#review bdi").all_text_contents():
        if name not in ("xkcdqwrtplk", "wpdlkrtzz"):
            button(page, NORMAL, name).click()


def saved(page):
    with page.expect_download() as download:
        page.click("#save-verdicts")
    assert download.value.suggested_filename == "verdicts.jsonl"
    return download.value.path().read_bytes()


def records(content):
    found = [json.loads(line) for line in content.split(b"\n")[:-1]]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", record.pop("at")) for record in found)
    return found


def record(verdict, spans=None, text=TWO):
    return {"text": text, "verdict": verdict, **({"spans": spans} if spans else {}), "model": "m"}


def wait_sent(page):
    expect(page.locator("#tally-why")).to_contain_text("The service has kept")


def test_words_are_confirmed_and_rejected_and_minds_change(review, path):
    assert review.locator("#tally").is_hidden()
    button(review, ODD, "wpdlkrtzz").click()
    assert pressed(review) == ["Odd: the text", "Odd: wpdlkrtzz"]
    expect(review.locator("#tally-count")).to_have_text("1 verdict: 1 odd, 0 normal.")
    assert records(saved(review)) == [record("odd", SECOND)]
    button(review, ODD, "xkcdqwrtplk").click()
    assert records(saved(review)) == [record("odd", FIRST + SECOND)]
    button(review, NORMAL, "wpdlkrtzz").click()
    assert records(saved(review)) == [record("odd", FIRST)]
    reject_others(review)
    button(review, NORMAL, "xkcdqwrtplk").click()
    assert "Normal: the text" in pressed(review), "all its flagged words are normal"
    assert records(saved(review)) == [record("normal")]
    wait_sent(review)
    assert records(path.read_bytes()) == [
        record("odd", SECOND),
        record("odd", FIRST + SECOND),
        record("odd", FIRST),
        record("normal"),
    ]


def test_a_text_is_confirmed_without_a_word_and_rejected_with_its_words(review, path):
    button(review, ODD, "the text").click()
    assert pressed(review) == ["Odd: the text"]
    assert records(saved(review)) == [record("odd")]
    button(review, ODD, "xkcdqwrtplk").click()
    button(review, NORMAL, "the text").click()
    names = review.locator("#review bdi").all_text_contents()
    assert pressed(review) == ["Normal: the text", *(f"Normal: {name}" for name in names)]
    button(review, ODD, "the text").click()
    assert pressed(review) == ["Odd: the text"], "what was said of its words went with it"
    wait_sent(review)
    assert records(path.read_bytes()) == [record("odd"), record("odd", FIRST), record("normal"), record("odd")]
    before = path.read_bytes()
    assert saved(review) == before.splitlines(keepends=True)[-1], "the same bytes"
    button(review, ODD, "the text").click()
    assert path.read_bytes() == before, "the same verdict again is no news"


def test_a_word_that_is_rejected_leaves_a_text_that_was_called_odd(review):
    button(review, ODD, "the text").click()
    reject_others(review)
    for name in ("xkcdqwrtplk", "wpdlkrtzz"):
        button(review, NORMAL, name).click()
    assert records(saved(review)) == [record("odd")]


def test_one_word_of_several_rejected_is_no_verdict_on_the_text_yet(review, path):
    button(review, NORMAL, "wpdlkrtzz").click()
    assert pressed(review) == ["Normal: wpdlkrtzz"]
    assert review.locator("#tally").is_hidden()
    assert path.read_bytes() == b""


def test_signs_and_names_tell_of_verdicts_without_colour(review):
    button(review, ODD, "wpdlkrtzz").click()
    button(review, NORMAL, "xkcdqwrtplk").click()
    sign = "(element, part) => getComputedStyle(element, part).content"
    odd, normal = (review.locator("#words .word", has_text=name) for name in ("wpdlkrtzz", "xkcdqwrtplk"))
    assert (odd.evaluate(sign, "::after"), normal.evaluate(sign, "::after")) == ('"✓"', '"✕"')
    assert odd.get_attribute("aria-label").endswith(", you say odd")
    assert normal.get_attribute("aria-label").endswith(", you say normal")
    shown = "(element) => getComputedStyle(element, '::before').visibility"
    assert button(review, ODD, "wpdlkrtzz").evaluate(shown) == "visible"
    assert button(review, NORMAL, "wpdlkrtzz").evaluate(shown) == "hidden"
    assert review.locator("#words").text_content() == TWO
    set_rate(review, 0.001)
    assert odd.get_attribute("class").split()[-1] == "said-odd", "whatever the rate"
    assert button(review, ODD, "wpdlkrtzz").get_attribute("aria-pressed") == "true"


def test_the_keyboard_is_enough_for_verdicts(review):
    button(review, ODD, "the text").focus()
    review.keyboard.press("Tab")
    review.keyboard.press("Space")
    assert "Normal: the text" in pressed(review)
    assert review.evaluate("document.activeElement.getAttribute('aria-label')") == "Normal: the text"
    review.locator("#words .word", has_text="xkcdqwrtplk").click()
    for _ in range(2):  # past "Allow this word"
        review.keyboard.press("Tab")
    review.keyboard.press("Enter")
    assert button(review, ODD, "xkcdqwrtplk").get_attribute("aria-pressed") == "true"
    assert review.locator("#popover .judge.odd").get_attribute("aria-pressed") == "true", "it stays open"
    assert records(saved(review)) == [record("odd", FIRST)]


def test_verdicts_are_kept_across_scorings_and_a_reload(review):
    button(review, ODD, "xkcdqwrtplk").click()
    check(review, STRANGE)
    assert pressed(review) == []
    button(review, NORMAL, "the text").click()
    expect(review.locator("#tally-count")).to_have_text("2 verdicts: 1 odd, 1 normal.")
    check(review, TWO)
    expect(review.locator("#words")).to_have_text(TWO)
    assert pressed(review) == ["Odd: the text", "Odd: xkcdqwrtplk"]
    wait_sent(review)
    asked = len(review.asked)
    review.reload()
    expect(review.locator("#tally-count")).to_have_text("2 verdicts: 1 odd, 1 normal.")
    assert records(saved(review)) == [record("odd", FIRST), record("normal", text=STRANGE)]
    assert not [url for url in review.asked[asked:] if url.endswith("/v1/verdicts")], "what is sent is not sent again"


def test_rows_of_a_table_are_judged_where_they_are(opened, path):
    path.write_bytes(b"")
    open_file(opened, "lines.txt", f"Where is my order?\n{STRANGE}\n{TWO}\n")
    shown = opened.locator("#words").text_content()
    row = opened.locator("#table tbody tr", has_text=STRANGE)
    row.get_by_role("button", name="Odd: document 2").click()
    expect(row.locator(".judge.odd")).to_have_attribute("aria-pressed", "true")
    assert opened.locator("#words").text_content() == shown, "judging opens nothing"
    row.locator(".open-row").click()
    expect(opened.locator("#words")).to_have_text(STRANGE)
    assert pressed(opened) == ["Odd: the text"]
    button(opened, NORMAL, "the text").click()
    expect(row.locator(".judge.normal")).to_have_attribute("aria-pressed", "true")
    opened.click("#table th >> text=Yours")
    assert opened.locator("#table tbody tr").first.locator("td").first.inner_text() == "2"
    wait_sent(opened)
    assert records(path.read_bytes()) == [record("odd", text=STRANGE), record("normal", text=STRANGE)]


def test_what_is_saved_can_be_read_as_documents(review, tmp_path):
    button(review, ODD, "xkcdqwrtplk").click()
    (tmp_path / "verdicts.jsonl").write_bytes(saved(review))
    (document,) = read_documents([str(tmp_path / "verdicts.jsonl")])
    assert document.text == TWO
    ((start, end),) = FIRST
    assert document.text[start:end] == "xkcdqwrtplk"


@pytest.mark.parametrize("width", [320, 360])
def test_a_phone_has_room_for_verdicts(opened, width):
    opened.set_viewport_size({"width": width, "height": 700})
    open_file(opened, "lines.txt", f"{'x' * 300} order\n{TWO}\n")
    opened.locator("#table tbody tr", has_text=TWO).locator(".open-row").click()
    expect(opened.locator("#words")).to_have_text(TWO)
    set_rate(opened, 0.5)
    button(opened, ODD, "xkcdqwrtplk").click()
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for region in ("#review", "#table-card .scroll", "#tally"):
        assert opened.locator(region).evaluate("(element) => element.scrollWidth <= element.clientWidth"), region
    for judge in opened.locator(".judge:visible").all():
        box = judge.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["height"] >= 24, "as WCAG 2.2 asks of targets"


def test_a_service_that_takes_none_is_not_sent_any(browser, quick_model):
    with running({"m": quick_model}, timeout=HANG) as client:
        page = browser.new_page(accept_downloads=True)
        page.set_default_timeout(PATIENCE)
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(client.url)
        expect(page.locator("#about")).not_to_be_empty()
        check(page, TWO)
        button(page, ODD, "the text").click()
        expect(page.locator("#tally-why")).to_have_text("Kept until this tab is closed.")
        assert records(saved(page)) == [record("odd")]
        assert not [url for url in asked if url.endswith("/v1/verdicts")]
        page.close()


def test_a_verdict_that_is_not_taken_is_said_and_not_lost(browser, client, path):
    path.write_bytes(b"")
    page = browser.new_page(accept_downloads=True)
    page.set_default_timeout(PATIENCE)
    page.goto(client.url)
    expect(page.locator("#about")).not_to_be_empty()
    check(page, TWO)
    full = {"status": 503, "json": {"error": "the disk is full"}}
    page.route("**/v1/verdicts", lambda route: route.fulfill(**full))
    button(page, ODD, "the text").click()
    expect(page.locator("#tally-trouble")).to_have_text("1 not sent, but kept in this tab: the disk is full")
    check(page, STRANGE)
    button(page, NORMAL, "the text").click()
    expect(page.locator("#tally-trouble")).to_contain_text("2 not sent")
    assert records(saved(page)) == [record("odd"), record("normal", text=STRANGE)]
    page.unroute("**/v1/verdicts")
    page.route("**/v1/verdicts", lambda route: route.abort())
    page.click("#send-verdicts")
    expect(page.locator("#tally-trouble")).to_contain_text("2 not sent, but kept in this tab: The service cannot be reached")
    page.unroute("**/v1/verdicts")
    page.click("#send-verdicts")
    wait_sent(page)
    assert page.locator("#send-verdicts").is_hidden()
    assert records(path.read_bytes()) == [record("odd"), record("normal", text=STRANGE)]
    page.close()


def test_one_that_is_refused_does_not_hold_up_the_others(browser, client, path):
    path.write_bytes(b"")
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(client.url)
    expect(page.locator("#about")).not_to_be_empty()

    def refuse(route):
        is_two = "wpdlkrtzz" in route.request.post_data
        return route.fulfill(status=422, json={"error": "no verdict"}) if is_two else route.continue_()

    page.route("**/v1/verdicts", refuse)
    for text in (TWO, STRANGE):
        check(page, text)
        expect(page.locator("#words")).to_have_text(text)
        button(page, ODD, "the text").click()
    expect(page.locator("#tally-trouble")).to_have_text("1 not sent, but kept in this tab: no verdict")
    expect(page.locator("#tally-count")).to_have_text("2 verdicts: 2 odd, 0 normal.")
    assert records(path.read_bytes()) == [record("odd", text=STRANGE)]
    page.close()
