"""Files on the page: lines and tables, columns to choose, ids and rows that are kept, explanations that stay in the window."""

import csv
import io
import json
import subprocess
import sys

import pytest
from playwright.sync_api import expect

from tests import HANG
from tests.serve.conftest import running
from tests.serve.page import NEEDS_BROWSER, PATIENCE, STRANGE, check, open_file, set_rate

pytestmark = NEEDS_BROWSER

TABLE = (
    "sep=;\r\nticket;message;stars;score\r\n"
    f'T-1;"{STRANGE}";5;=1+1\r\nT-2;"Where is\r\nmy order?";-3;high\r\nT-3;Thank you for the quick reply.;;\r\n'
)
UNCLEAR = "question,answer\nWhere is my order please?,It is on its way to you.\nWhy is it so late today?,We are wpdlkrt sorry.\n"


@pytest.fixture(scope="module")
def client(quick_model):
    """A small model is enough: in this file it does not matter what stands out."""
    with running({"m": quick_model}) as client:
        yield client


def saved(page, button):
    with page.expect_download() as download:
        page.click(button)
    return download.value.path().read_bytes().decode("utf-8-sig")


def rows(content):
    return list(csv.DictReader(io.StringIO(content, newline="")))


def test_a_table_keeps_its_rows(opened, quick_model):
    open_file(opened, "tickets.csv", TABLE)
    assert opened.input_value("#text-column") == "message"
    assert opened.locator("#table th").all_inner_texts()[-4:] == ["ticket", "stars", "score", "Text"]
    assert opened.locator("#table tbody tr").nth(0).locator("td.id").count() == 3
    set_rate(opened, 0.2)
    content = saved(opened, "#save-csv")
    found = rows(content)
    assert list(found[0])[:5] == ["id", "ticket", "message", "stars", "score"]
    assert [row["id"] for row in found] == [f"tickets.csv:{number}" for number in (2, 3, 4)]
    assert [row["ticket"] for row in found] == ["T-1", "T-2", "T-3"]
    assert found[1]["message"] == "Where is\r\nmy order?"
    assert [row["stars"] for row in found] == ["5", "-3", ""], "a number is no formula"
    assert [row["score"] for row in found] == ["'=1+1", "high", ""]
    expected = quick_model.score([row["message"] for row in found], fpr=0.2)
    assert [float(row["difa_score"]) for row in found] == pytest.approx([result.score for result in expected])
    assert [row["is_anomaly"] for row in found] == [str(result.is_anomaly).lower() for result in expected]
    assert [row["summary"] for row in found] == [result.summary for result in expected]
    flagged = [" | ".join(word.text for word in result.words if word.is_anomaly) for result in expected]
    assert [row["flagged_words"] for row in found] == flagged
    lines = [json.loads(line) for line in saved(opened, "#save-jsonl").splitlines()]
    assert lines[0]["columns"] == {"ticket": "T-1", "stars": "5", "score": "=1+1"}
    assert list(lines[0])[:4] == ["id", "text", "columns", "score"]


def test_a_fault_is_named_before_other_unusual_words(browser, fast_model):
    texts = [
        "Where is my ordre pleese?",
        "The wpdlkrt garden bench is teh best.",
        "\U0001f600 Where is my <br/> order? &amp; when?",
    ]
    expected = [result.summary for result in fast_model.score(texts, fpr=0.2)]
    assert any(summary.startswith("misspelling: ") for summary in expected), "or nothing is compared"
    with running({"m": fast_model}) as client:
        page = browser.new_page(accept_downloads=True)
        page.set_default_timeout(PATIENCE)
        page.goto(client.url)
        open_file(page, "texts.txt", "".join(f"{text}\n" for text in texts))
        set_rate(page, 0.2)
        assert [row["summary"] for row in rows(saved(page, "#save-csv"))] == expected
        page.close()


NUMBERS = ["-5", "+5", "-5.5", "+.5", "-5.", "-1e9", "5"]


def test_the_page_and_the_command_guard_the_same_cells(opened, quick_model, tmp_path):
    beginnings = [*map(chr, range(1, 128)), *"\uff1d\uff0b\uff0d\uff20\u2212\u00a0\u2028\ufeff"]
    cells = [*beginnings, *(f"{first}{rest}" for first in beginnings for rest in ("1+1", "5", "cmd", "=1")), *NUMBERS]
    lines = [{"id": f"{at}", "text": "Thank you.", "cell": cell, "=head": 1} for at, cell in enumerate(cells)]
    (tmp_path / "cells.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    quick_model.save(tmp_path / "model")
    command = ["score", str(tmp_path / "model"), str(tmp_path / "cells.jsonl"), "--out", str(tmp_path / "cells.csv")]
    subprocess.run([sys.executable, "-m", "difa", *command], check=True, capture_output=True, timeout=HANG)
    open_file(opened, "cells.jsonl", (tmp_path / "cells.jsonl").read_text())
    of_page = rows(saved(opened, "#save-csv"))
    of_command = rows((tmp_path / "cells.csv").read_bytes().decode("utf-8-sig"))
    names = ("id", "cell", "'=head")
    assert [[row[name] for name in names] for row in of_page] == [[row[name] for name in names] for row in of_command]
    guarded = {row["cell"][1] for row, cell in zip(of_page, cells, strict=True) if row["cell"] == f"'{cell}"}
    assert guarded == set("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
    assert [row["cell"] for row in of_page[-len(NUMBERS) :]] == NUMBERS


def test_ids_of_a_table_are_shown_and_kept(opened):
    open_file(opened, "a.tsv", f"id\ttext\nm-17\t{STRANGE}\nm-18\tThank you for the quick reply.\n")
    assert opened.locator("#table td.id").all_text_contents() == ["m-17", "m-18"]
    assert [row["id"] for row in rows(saved(opened, "#save-csv"))] == ["m-17", "m-18"]
    open_file(opened, "a.txt", "Thank you for the quick reply.\n")
    assert opened.locator("#table td.id").count() == 0


def test_the_text_column_can_be_chosen(opened):
    opened.set_input_files("#file", {"name": "faq.csv", "mimeType": "text/csv", "buffer": UNCLEAR.encode()})
    expect(opened.locator("#chooser")).to_contain_text("It is not obvious which column of faq.csv holds the text.")
    assert opened.locator("#table-card").is_hidden()
    assert opened.locator("#text-column option").all_text_contents() == ["choose …", "question", "answer"]
    for column, first in (("answer", "It is on its way to you."), ("question", "Where is my order please?")):
        opened.select_option("#text-column", column)
        expect(opened.locator("#table tbody")).to_contain_text(first)
        expect(opened.locator("#check")).to_be_enabled()
        assert opened.input_value("#text-column") == column
        assert next(row[column] for row in rows(saved(opened, "#save-csv"))) == first
    assert [row["answer"] for row in rows(saved(opened, "#save-csv"))] == ["It is on its way to you.", "We are wpdlkrt sorry."]
    check(opened, STRANGE)
    assert opened.locator("#chooser").is_hidden()


def test_a_parquet_file(opened):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    buffer = io.BytesIO()
    parquet.write_table(pa.table({"id": [4, 5], "text": ["Where is my order?", STRANGE], "n": [1.5, None]}), buffer)
    opened.set_input_files("#file", {"name": "a.parquet", "mimeType": "", "buffer": buffer.getvalue()})
    opened.wait_for_selector("#table-card:not([hidden])")
    expect(opened.locator("#check")).to_be_enabled()
    assert [(row["id"], row["n"]) for row in rows(saved(opened, "#save-csv"))] == [("4", "1.5"), ("5", "")]


def test_a_file_that_is_too_large_is_not_sent(opened):
    opened.evaluate(
        "() => { const data = new DataTransfer(); data.items.add(new File([new Uint8Array(30_000_000)], 'large.csv'));"
        " document.getElementById('drop').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true })); }"
    )
    expect(opened.locator("#status")).to_contain_text("large.csv: expected at most 20 MB, got 30 MB")
    assert not [url for url in opened.asked if "/v1/tables" in url]


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (1280, 420), (390, 700)])
def test_explanations_stay_within_the_window(opened, width, height):
    opened.set_viewport_size({"width": width, "height": height})
    check(opened, f"{STRANGE} " * 12)
    words = opened.locator("#words .word")
    for index in (0, words.count() // 2, words.count() - 1):
        words.nth(index).scroll_into_view_if_needed()
        words.nth(index).dispatch_event("click")
        box = opened.locator("#popover").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= height
        opened.keyboard.press("Escape")


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
    rows.first.locator(".open-row").click()
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
