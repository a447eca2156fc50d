"""`difa find` and the options of `difa fit` that teach, as people use them."""

import csv
import json

import pytest

from difa.formats.results import read_results
from tests.commands import here
from tests.conftest import SUPPORT

NORMAL, NEW = SUPPORT / "normal.txt", SUPPORT / "test.jsonl"


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """One run that writes everything."""
    folder = tmp_path_factory.mktemp("find")
    places = [f"--{name}={folder / file}" for name, file in (("out", "all.csv"), ("report", "page.html"), ("keep", "model"))]
    return folder, here("find", NORMAL, NEW, "--preset", "fast", *places)


def test_find_says_what_does_not_belong_and_why(found):
    _, run = found
    assert run.returncode == 0, run.stderr
    first = run.stdout.splitlines()[0]
    assert "of 60 documents are flagged (normal text would have about 3, at a false-alarm rate of 5 %)." in first
    assert "In the new text, " in first
    assert "Did you mean 'expected'?" in run.stdout
    assert run.stdout.count("p=") == 10


def test_find_writes_all_that_is_asked_for(found):
    folder, run = found
    with (folder / "all.csv").open(encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 60
    assert [row["id"] for row in rows[:2]] == ["clean-13", "wrong-46"]
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "stand out" in page
    assert "What does not belong" in page
    scored = here("score", folder / "model", NEW, "--format", "jsonl")
    kept = [json.loads(line) for line in scored.stdout.splitlines()]
    assert [record["p_value"] for record in kept] == [pytest.approx(float(row["p_value"])) for row in rows]
    assert all(f"written to {folder / name}" in run.stderr for name in ("all.csv", "page.html", "model"))


def test_top_limits_what_is_shown_and_written(few_normal, tmp_path):
    out = tmp_path / "worst.jsonl"
    run = here("find", few_normal, NEW, "--preset", "fast", "--top", 3, "--out", out, "--quiet")
    assert run.stdout.count("p=") == 3
    results = list(read_results([out]))
    assert len(results) == 3
    assert [result.p_value for result in results] == sorted(result.p_value for result in results)
    assert not run.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((NORMAL, "nowhere.txt"), "nowhere.txt"),
        ((NORMAL, NEW, "--out", NEW), "expected another file than those that are read"),
        ((NORMAL, NEW, "--report", NORMAL), "expected another file than those that are read"),
        ((NORMAL, NEW, "--out", "nowhere/all.csv"), "expected a file in a folder that exists"),
        ((NORMAL, NEW, "--out", "all.docx"), "expected a file ending in"),
        ((NORMAL, NEW, "--keep", SUPPORT), "expected a new folder"),
        ((NORMAL, NEW, "--preset", "paper"), "expected the preset full or fast"),
        ((NORMAL, NEW, "--fpr", "2"), "expected a number between 0 and 1"),
    ],
)
def test_mistakes_are_one_line(arguments, message, tmp_path, monkeypatch):
    before = {path: path.read_bytes() for path in (NORMAL, NEW)}
    monkeypatch.chdir(tmp_path)
    run = here("find", *arguments)
    assert run.returncode == 2
    assert message in run.stderr
    assert len(run.stderr.splitlines()) == 1
    assert {path: path.read_bytes() for path in before} == before
    assert not list(tmp_path.iterdir())


def test_an_empty_new_file_is_named(tmp_path):
    (tmp_path / "new.txt").write_text("\n\n", encoding="utf-8")
    run = here("find", NORMAL, tmp_path / "new.txt", "--preset", "fast")
    assert run.returncode == 2
    assert "expected new documents with words, got none" in run.stderr


def test_few_new_documents_are_still_scored(few_normal, tmp_path):
    (tmp_path / "new.txt").write_text("Where is my xqzptl vrrgh order?\nWhere is my order?\n", encoding="utf-8")
    run = here("find", few_normal, tmp_path / "new.txt", "--preset", "fast")
    assert run.returncode == 0
    assert "nothing was learned from the feed: expected at least 50 different documents, got 2 of 2" in run.stderr
    assert run.stdout.startswith("1 of 2 documents is flagged")


def test_fit_learns_from_a_feed_and_from_verdicts(corpus, tmp_path):
    reviewed = tmp_path / "reviewed.csv"
    reviewed.write_text('text,verdict\n"Where is my xqzptl order?",odd\n"Where is my order?",normal\n', encoding="utf-8")
    normal = tmp_path / "normal.csv"
    normal.write_text("body\n" + "".join(f'"{line}"\n' for line in corpus[:150] if '"' not in line), "utf-8")
    reviewed.write_text(reviewed.read_text("utf-8").replace("text,", "body,"), "utf-8")
    options = ("--feed", NEW, "--verdicts", reviewed, "--text-column", "body")  # which JSON lines do not have, and need not
    run = here("fit", normal, "--preset", "fast", "--out", tmp_path / "model", *options)
    assert run.returncode == 0, run.stderr
    assert "learned from 60 documents of a feed, " in run.stderr
    assert "2 reviewed documents, 1 of them odd" in run.stderr
    assert "stand out" in run.stderr
    config = json.loads((tmp_path / "model" / "config.json").read_text(encoding="utf-8"))
    assert config["feed"]["documents"] == 60


def test_verdicts_that_cannot_be_meant_leave_nothing_behind(tmp_path):
    reviewed = tmp_path / "reviewed.csv"
    reviewed.write_text('text,verdict\n"Where is my order?",perhaps\n', encoding="utf-8")
    run = here("fit", NORMAL, "--preset", "fast", "--out", tmp_path / "model", "--verdicts", reviewed)
    assert run.returncode == 2
    assert """expected "odd" or "normal" as verdict, got 'perhaps'""" in run.stderr
    assert not (tmp_path / "model").exists()
