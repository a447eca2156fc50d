"""The page in other circumstances: dark, narrow, with several models, behind a key."""

from playwright.sync_api import expect

from tests.serve.conftest import running
from tests.serve.page import NEEDS_BROWSER, PATIENCE, STRANGE, check

pytestmark = NEEDS_BROWSER


def test_light_and_dark(opened):
    colour = "getComputedStyle(document.body).backgroundColor"
    light = opened.evaluate(colour)
    opened.emulate_media(color_scheme="dark")
    dark = opened.evaluate(colour)
    assert light != dark
    opened.click("#theme")
    assert opened.evaluate(colour) == light
    opened.reload()
    assert opened.evaluate(colour) == light  # the choice is kept


def test_a_phone_shows_everything_within_its_width(opened):
    opened.set_viewport_size({"width": 360, "height": 700})
    check(opened, STRANGE)
    opened.locator(".ranking button").first.click()
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")
    box = opened.locator("#popover").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360
    assert box["y"] + box["height"] <= 700


def test_another_model_can_be_chosen(opened):
    check(opened, STRANGE)
    opened.select_option("#model", "tiny")
    expect(opened.locator("#about")).to_contain_text("tiny")
    expect(opened.locator("#check")).to_be_enabled()
    assert "80 normal documents" in opened.get_attribute("#histogram svg", "aria-label")


def test_the_page_says_what_a_feed_taught(browser, taught, fast_model):
    with running({"taught": taught, "plain": fast_model}) as client:
        page = browser.new_page(viewport={"width": 360, "height": 700})
        page.set_default_timeout(PATIENCE)
        page.goto(client.url)
        learned = page.locator("#learned")
        summary = taught.detector_.feed_summary
        expect(learned).to_have_text(f"Learned from {summary.extent}. {' '.join(summary.sentences())}")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        check(page, "Where is my river order?")
        page.locator("#words .word", has_text="river").click()
        assert "like the words that stand out in" in page.inner_text("#popover .views > :last-child")
        page.select_option("#model", "plain")
        expect(page.locator("#about")).to_contain_text("plain")
        expect(learned).to_be_hidden()
        page.close()


def test_the_page_asks_for_the_key(browser, quick_model):
    with running({"m": quick_model}, api_key="s3cret") as client:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(client.url)
        page.fill("#key", "s3cret")
        page.click("#key-form button")
        expect(page.locator("#about")).not_to_be_empty()
        check(page, STRANGE)
        assert page.locator("#words").inner_text() == STRANGE
        page.close()
