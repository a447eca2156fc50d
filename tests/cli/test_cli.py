"""The command line as people use it: a process, its output, its exit code."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests import HANG
from tests.commands import difa, here

pytestmark = pytest.mark.slow

SUPPORT = Path(__file__).parent.parent.parent / "examples" / "support"


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli") / "model"
    model.save(folder)
    return folder


@pytest.mark.parametrize("command", ["fit", "score", "explain", "evaluate", "serve"])
def test_help_shows_examples(command):
    run = here(command, "--help")
    assert run.returncode == 0
    assert f"difa {command} model" in run.stdout or "difa fit normal.txt" in run.stdout


def test_version_and_no_arguments():
    assert difa("--version").stdout.startswith("difa 0.")
    assert "fit" in difa().stdout + difa().stderr


def test_fit_writes_a_model_and_shows_progress(tiny_folder, corpus, tmp_path):
    normal = tmp_path / "normal.txt"
    normal.write_text("\n".join(corpus[:120]), encoding="utf-8")
    run = here(
        *("fit", normal, "--out", tmp_path / "m", "--encoder", tiny_folder, "--layer", 2, "--seed", 3),
        *("--set", "learn.steps=20", "--set", 'views.names=["semantic", "form"]', "--set", "calibration.reference=unseen"),
        *("--set", "perturb.documents=60"),
        *("--set", "semantic.teacher_rounds=1", "--set", "semantic.student_rounds=1"),
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == ""
    assert "learn normal text" in run.stderr
    assert "fitted on 120 documents" in run.stderr
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    assert (config["seed"], config["encoder"]["layer"], config["training"]["documents"]) == (3, 2, 120)
    assert config["stages"]["learn"]["steps"] == 20
    assert config["stages"]["views"]["names"] == ["semantic", "form"]


def test_score_writes_json_lines(folder, tmp_path):
    source = tmp_path / "new.txt"
    source.write_text("Where is my xkcdqwrtplk order?\n\nThank you 👍!\n", encoding="utf-8")
    run = difa("score", folder, source, "--out", tmp_path / "out.jsonl", "--fpr", "0.05")
    assert run.returncode == 0, run.stderr
    assert run.stdout == ""
    records = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [record["id"] for record in records] == [f"{source}:1", f"{source}:3"]
    assert list(records[0]) == ["id", "text", "score", "p_value", "is_anomaly", "rule", "rate", "summary", "evidence", "words"]
    assert list(records[0]["words"][0]) == ["text", "start", "end", "score", "p_value", "is_anomaly", "suggestion", "evidence"]
    assert records[1]["text"][records[1]["words"][2]["start"]] == "👍"
    piped = difa("score", folder, "-", "--quiet", "--fpr", "0.05", input=source.read_text(encoding="utf-8"))
    assert piped.stderr == ""
    scores = [json.loads(line)["score"] for line in piped.stdout.splitlines()]
    assert scores == [record["score"] for record in records]


def test_score_on_a_terminal_colours_the_words(folder, tmp_path):
    source = tmp_path / "new.txt"
    source.write_text("Where is my xkcdqwrtplk order?\n")
    leader, follower = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "120"}
    command = [sys.executable, "-m", "difa", "score", folder, source]
    subprocess.run(command, stdout=follower, stderr=subprocess.DEVNULL, env=environment, check=True, timeout=HANG)
    os.close(follower)
    shown = os.read(leader, 10_000).decode()
    os.close(leader)
    assert " is my \x1b[" in shown
    assert "mxkcdqwrtplk\x1b[0m" in shown


def test_explain_speaks_plainly(folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    text = "Where is my xkcdqwrtplk order?"
    run = here("explain", folder, text, "--fpr", "0.05")
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("'xkcdqwrtplk' never occurs in your normal text and ")
    assert "at a false-alarm rate of 0.05" in run.stdout
    assert "critic" not in run.stdout
    detailed = here("explain", folder, text, "--fpr", "0.05", "--details").stdout
    assert "longest run of consonants" in detailed
    assert "critic" in detailed
    assert "document score" in detailed
    record = json.loads(here("explain", folder, text, "--fpr", "0.05", "--json").stdout)
    assert (record["rule"], record["rate"]) == ("fpr", 0.05)
    assert record["sentence"] in run.stdout.replace("\n", " ")
    assert "sentence" in record["words"][3]
    assert "sentence" not in record["words"][0]


def test_evaluate_prints_figures(folder):
    run = here("evaluate", folder, SUPPORT / "test.jsonl", "--json")
    figures = json.loads(run.stdout)
    assert figures["document"]["count"] == 60
    assert figures["document"]["anomalous"] == 36
    assert 0.6 < figures["word"]["auroc"] <= 1
    text = here("evaluate", folder, SUPPORT / "test.jsonl").stdout
    assert f"{figures['word']['auroc']:.3f}" in text


def test_bad_lines_stop_the_run_and_leave_nothing(folder, tmp_path):
    source, out = tmp_path / "new.jsonl", tmp_path / "out.jsonl"
    source.write_text('{"text": "good"}\n{"txt": "bad"}\n{"text": "good too"}\n')
    run = here("score", folder, source, "--out", out)
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1
    assert f"{source}:2:" in run.stderr
    assert not out.exists()
    run = here("score", folder, source, "--out", out, "--skip-bad")
    assert run.returncode == 0
    assert "1 bad line skipped" in run.stderr
    assert f"{source}:2:" in run.stderr
    assert len(out.read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("score", "{model}", "no.txt"), "no.txt: cannot be read"),
        (("score", "no-model", "{two}"), "expected a model folder with config.json"),
        (("score", "{model}", "{two}", "--fpr", "7"), "fpr: expected a number between 0 and 1"),
        (("score", "{model}", "{two}", "--fpr", "0.1", "--fdr", "0.1"), "expected one of fpr and fdr"),
        (("explain", "{model}", " "), "expected a text, got an empty one"),
        (("fit", "{two}", "--out", "{tmp}/new"), "expected at least 10 normal documents"),
        (("fit", "{two}", "--out", "{tmp}/new", "--preset", "best"), "preset: expected one of full, fast, paper"),
        (("fit", "{two}", "--out", "{tmp}/new", "--encoder", "no-such/encoder"), "Hugging Face hub could not deliver it"),
        (("fit", "{two}", "--out", "{tmp}/new", "--set", "power=3"), "expected STAGE.KEY=VALUE such as fusion.power=3"),
        (("fit", "{two}", "--out", "{tmp}/new", "--set", "document.weight=0"), "unknown key of document 'weight'"),
        (("fit", "{two}", "--out", "{tmp}/new", "--set", "encoder.name=mine"), "there is an option for it, --encoder"),
        (("fit", "{two}", "--out", "{tmp}/taken"), "found other files"),
        (("fit", "{two}", "--out", "{tmp}/taken/mine.txt/new"), "expected a folder that can be written"),
        (("evaluate", "{model}", str(SUPPORT / "normal.txt")), "expected labels for every document"),
    ],
)
def test_mistakes_get_one_line_and_exit_code_2(folder, tmp_path, arguments, message):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine.txt").touch()
    two = tmp_path / "two.txt"
    two.write_text("one\ntwo\n")
    run = here(*(argument.format(model=folder, tmp=tmp_path, two=two) for argument in arguments))
    assert run.returncode == 2, run.stderr
    assert message in run.stderr
    assert run.stderr.count("\n") == 1
    assert run.stdout == ""
    assert not (tmp_path / "new").exists()


def test_mistakes_name_options_as_they_are_typed(folder, tmp_path):
    note, new = tmp_path / "note.jsonl", tmp_path / "new.txt"
    note.write_text("mine")
    new.write_text("Where is my order?")
    runs = {
        "expected --out FILE beside --shard-size, --resume or --force": here("score", folder, new, "--resume"),
        "expected one of --resume and --force": here("score", folder, new, "--out", "x.jsonl", "--resume", "--force"),
        "or --force replaces it": here("score", folder, new, "--out", note),
        "--top keeps the most unusual": here("score", folder, new, "--out", "x.jsonl", "--top", 3, "--resume"),
        "--ignore: expected some of url": here("fit", new, "--out", tmp_path / "m", "--ignore", "foo", "--preset", "fast"),
        "/dev/null: expected a file or a folder, got a device": here("report", "/dev/null", "--out", tmp_path / "r.html"),
    }
    assert {said: said in run.stderr for said, run in runs.items()} == dict.fromkeys(runs, True)


def test_terminal_controls_in_a_text_are_not_passed_on(folder):
    run = here("explain", folder, "Where is \x1b[2J my order?")
    assert "\x1b[2J" not in run.stdout


def test_a_reader_that_goes_away_is_no_alarm(folder, tmp_path):
    (tmp_path / "many.txt").write_text("Where is my order?\n" * 2_000)
    command = [sys.executable, "-m", "difa", "score", str(folder), str(tmp_path / "many.txt"), "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(HANG) == 141


@pytest.mark.parametrize(
    "command", ["score {m} -", "score {m} - --input-format csv --text-column a", "explain {m} -", "allow {m} -"]
)
def test_a_closed_standard_input_is_said(folder, command):
    shell = f"{sys.executable} -m difa {command.format(m=folder)} <&-"
    run = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, timeout=HANG)
    assert (run.returncode, run.stderr.count("\n")) == (2, 1), run.stderr
    assert "standard input: cannot be read" in run.stderr


def test_a_closed_standard_output_is_said(folder, tmp_path):
    (tmp_path / "new.txt").write_text("Where is my order?\n")
    shell = f"{sys.executable} -m difa score {folder} {tmp_path / 'new.txt'} >&-"
    run = subprocess.run(["bash", "-c", shell], stderr=subprocess.PIPE, text=True, timeout=HANG)
    assert (run.returncode, run.stderr) == (2, "difa: standard output: closed\n")


def test_neither_the_model_nor_the_list_of_words_is_overwritten(folder, tmp_path):
    words, new = tmp_path / "words.txt", tmp_path / "new.txt"
    words.write_text("order\n")
    new.write_text("Where is my order?\n")
    before = (folder / "config.json").read_bytes()
    for out in (folder / "config.json", words):
        run = here("score", folder, new, "--allow", words, "--out", out)
        assert run.returncode == 2
        assert "expected another file than those that are read" in run.stderr
    assert (words.read_text(), (folder / "config.json").read_bytes()) == ("order\n", before)
