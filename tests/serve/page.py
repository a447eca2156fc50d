"""What a person does on the page, in a real browser."""

import shutil

import pytest
from playwright.sync_api import expect

from tests import HANG

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
NEEDS_BROWSER = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no browser is installed: these tests need Debian's chromium"),
]
PATIENCE = HANG * 1000  # milliseconds: a busy machine is slow, not wrong
STRANGE = "Where is my xkcdqwrtplk order?"

expect.set_options(timeout=PATIENCE)


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


def open_file(page, name, content):
    page.set_input_files("#file", {"name": name, "mimeType": "text/plain", "buffer": content.encode()})
    page.wait_for_selector("#table-card:not([hidden])")
    expect(page.locator("#check")).to_be_enabled()
