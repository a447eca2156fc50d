"""Take docs/images/page.png of the service's page: `screenshot.py MODEL [OUT] [--dark] [--width 1200] [--height 1150] [--file FILE]`."""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

TARGET = Path(__file__).parent.parent.parent / "docs" / "images" / "page.png"
TEXT = "Is the wpdlkrt garden bench in stock, and can I collect it in jkkqv on Saturday?"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("out", nargs="?", default=TARGET)
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--width", type=int, default=1200)
    parser.add_argument("--height", type=int, default=1150)
    parser.add_argument("--file")
    options = parser.parse_args()
    command = [sys.executable, "-m", "difa", "serve", options.model, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            address = next(word for line in server.stderr for word in line.split() if word.startswith("http://"))
            take(address, options)
        finally:
            server.terminate()


def take(address: str, options: argparse.Namespace) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(
            viewport={"width": options.width, "height": options.height}, color_scheme="dark" if options.dark else "light"
        )
        page.goto(address)
        if options.file:
            page.set_input_files("#file", options.file)
        else:
            page.fill("#input", TEXT)
            page.click("#check")
        page.locator(".ranking button").nth(1).click()
        page.locator("#popover").wait_for()
        page.wait_for_timeout(400)
        page.screenshot(path=options.out)
        browser.close()


main()
