"""What commands say beside their results: the next step, progress in a log, an interruption. What pages offer is found."""

import json
import re
import shlex
import signal
import subprocess
from pathlib import Path

import pytest
import typer

from difa.cli import app, console
from tests import HANG
from tests.commands import command, here
from tests.conftest import SUPPORT

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "Makefile", "docs/quickstart.md", "docs/recipes.md", "docs/usage.md", "docs/commands.md")
NEW = SUPPORT / "test.jsonl"


@pytest.fixture(scope="module")
def folder(fast_large, tmp_path_factory):
    folder = tmp_path_factory.mktemp("guidance") / "model"
    fast_large.save(folder)
    return folder


def offered():
    """The texts that pages offer to `difa explain`."""
    found = (re.findall(r'difa explain \S+ "([^"]+)"', (ROOT / page).read_text(encoding="utf-8")) for page in PAGES)
    return sorted({text for page in found for text in page})


def test_every_text_that_pages_offer_is_found_at_the_models_own_rate(fast_large, folder):
    texts = offered()
    assert len(texts) >= 4
    assert "Nothing" not in here("explain", folder, texts[0]).stdout
    found = [any(word.is_anomaly for word in fast_large.explain(text).result.words) for text in texts]
    assert dict(zip(texts, found, strict=True)) == dict.fromkeys(texts, True)
    assert all(result.is_anomaly for result in fast_large.score(texts))  # one rate for both


@pytest.mark.slow
def test_the_default_preset_finds_them_too(model):
    texts = offered()
    assert [text for text in texts if not model.explain(text).result.is_anomaly] == []


def test_the_last_line_says_what_to_do_next(folder, tmp_path):
    scores = tmp_path / "scores.jsonl"
    runs = {
        "difa report": here("score", folder, NEW, "--out", scores),
        "difa allow MODEL WORD": here("report", scores, "--out", tmp_path / "report.html"),
        "difa allow": here("explain", folder, "Is the wpdlkrt bench in stock?"),
        "--state FILE": here("monitor", folder, SUPPORT / "normal.txt"),
    }
    for advice, run in runs.items():
        last = run.stderr.splitlines()[-1]
        assert last.startswith("next: "), run.stderr
        assert advice in last
    assert "next:" not in here("score", folder, NEW, "--out", scores, "--quiet").stderr


def test_what_explain_advises_can_be_run(folder):
    last = here("explain", folder, "Is the wpdlkrt bench in stock?").stderr.splitlines()[-1]
    advised = shlex.split(last.removeprefix("next: ").partition(" if ")[0])
    assert advised == ["difa", "allow", str(folder), "wpdlkrt"]


@pytest.mark.parametrize(
    "text", ["Where is my my parcel?", "Please refund {{name}} the money.", "My par\u200bcel is late.", "Please refnud my order."]
)
def test_explain_advises_to_allow_no_fault(folder, text):
    run = here("explain", folder, text, "--fpr", 0.05)
    assert "next: --details" in run.stderr
    assert "allow" not in run.stderr


def test_a_dash_is_standard_output(folder, tmp_path):
    printed = here("score", folder, NEW, "--out", "-", "--quiet")
    assert len(printed.stdout.splitlines()) == 60
    assert here("score", folder, NEW, "--out", "-", "--format", "csv", "--quiet").stdout.startswith("\ufeffid,text,")
    scores = tmp_path / "scores.jsonl"
    scores.write_text(printed.stdout)
    assert here("report", scores, "--out", "-").stdout.startswith("<!doctype html>")
    assert len(json.loads(here("export", "label-studio", scores, "--out", "-").stdout)) == 60
    found = here("find", SUPPORT / "normal.txt", NEW, "--preset", "fast", "--out", "-", "--top", 3)
    assert len(found.stdout.splitlines()) == 3
    assert not Path("-").exists()


def test_a_log_gets_a_line_now_and_then(folder, tmp_path, monkeypatch):
    arguments = "score", folder, NEW, "--out", tmp_path / "out.jsonl", "--force"
    assert "documents scored" not in here(*arguments).stderr
    monkeypatch.setattr(console, "_EVERY", 0.0)
    assert "difa: 60 documents scored, " in here(*arguments).stderr
    assert "documents scored" not in here(*arguments, "--quiet").stderr
    fitted = here("fit", SUPPORT / "normal.txt", "--out", tmp_path / "model", "--preset", "fast")
    assert re.search(r"difa: learn normal text \d+ %, \d+ s", fitted.stderr)


def test_an_interruption_says_what_is_safe(folder, tmp_path):
    out = tmp_path / "out.jsonl"

    def listen() -> None:  # a shell's background jobs, and what they start, ignore interruptions
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    arguments = command("score", folder, "-", "--out", out)
    with subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=listen
    ) as process:
        while not list(tmp_path.iterdir()) and process.poll() is None:
            process.stdin.write(b"Where is my order?\n")
            process.stdin.flush()
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=HANG)[1].decode()
    assert process.returncode == 130
    assert said.splitlines()[-1].startswith("difa: interrupted: files and folders are as they were")
    assert "--resume" not in said, "standard input cannot be read again"
    assert not out.exists()


def test_what_cannot_be_read_is_said_by_the_library_in_one_line():
    root = typer.main.get_command(app)
    kinds = [parameter.type for name in root.commands for parameter in root.get_command(None, name).params]
    assert {kind.readable for kind in kinds if hasattr(kind, "readable")} == {False}
