"""Runs that are killed and go on: nothing lost, nothing doubled, the same bytes."""

import gzip
import json
import signal
import subprocess
import time

import pytest

from tests.engines.conftest import command, difa

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def source(texts, tmp_path_factory):
    """Three files, one of them packed, with bad lines and blank ones."""
    folder = tmp_path_factory.mktemp("inputs")
    lines = [json.dumps({"text": text}) if number % 200 else "bad" for number, text in enumerate(texts)]
    (folder / "a.jsonl").write_text("\n".join(lines[:800]) + "\n\n")
    (folder / "b.jsonl.gz").write_bytes(gzip.compress("\n".join(lines[800:1200]).encode()))
    (folder / "c.jsonl").write_text("\n".join(lines[1200:]))
    return folder


def results(out):
    """Bytes of everything under a valid name."""
    files = [out] if out.is_file() else sorted(out.glob("part-*.jsonl"))
    return {file.name.replace(out.name, "file"): file.read_bytes() for file in files}


def kill_when(state, ready, arguments):
    """Start a run, kill it once its note on disk is as wanted, and return whether it was still running."""
    with subprocess.Popen(command(*arguments), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            if state.exists() and ready(json.loads(state.read_text())):
                process.send_signal(signal.SIGKILL)
                break
            time.sleep(0.005)
        return process.wait() == -signal.SIGKILL


@pytest.mark.parametrize(
    ("options", "state"),
    [
        ((), ".out.journal"),
        (("--shard-size", 250), "out/manifest.json"),
        (("--fdr", 0.3), ".out.spool.journal"),
        (("--fdr", 0.3, "--shard-size", 250), "out/.spool.journal"),
    ],
)
def test_a_killed_run_goes_on(folder, source, tmp_path, options, state):
    arguments = ("score", folder, source, "--skip-bad", *options, "--out")
    whole = difa(*arguments, tmp_path / "whole")
    assert whole.returncode == 0, whole.stderr
    out, state = tmp_path / "out", tmp_path / state
    killed = 0
    for least in (1, 600, 1300):
        killed += kill_when(state, lambda note, least=least: note["documents"] >= least, [*arguments, out, "--resume"])
        assert not out.is_file()
    assert killed >= 2, "too fast to be killed"
    refused = difa(*arguments, out)
    assert refused.returncode == 2
    assert "resume goes on, force starts anew" in refused.stderr
    assert refused.stderr.count("\n") == 1
    done = difa(*arguments, out, "--resume")
    assert done.returncode == 0, done.stderr
    assert results(out) == results(tmp_path / "whole")
    assert [line for line in done.stderr.splitlines() if not line.startswith("difa: skipped")] == [
        line.replace("whole", "out") for line in whole.stderr.splitlines() if not line.startswith("difa: skipped")
    ]
    assert "10 bad lines skipped" in done.stderr
    hidden = [path.name for path in [*tmp_path.iterdir(), *out.glob("*")] if path.name.startswith(".")]
    assert hidden == []


@pytest.fixture
def interrupted(folder, source, tmp_path):
    """A killed run, and its arguments."""
    arguments = ["score", folder, source, "--skip-bad", "--out", tmp_path / "out", "--fpr", 0.05]
    assert kill_when(tmp_path / ".out.journal", lambda note: note["documents"] > 0, arguments)
    return arguments


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a, tmp: [*a[:-1], 0.2], "expected the same rate as in the interrupted run, fpr 0.05, got fpr 0.2"),
        (lambda a, tmp: [*a[:-2], "--fdr", 0.2], "got fdr 0.2"),
        (lambda a, tmp: [*a, "--shard-size", 10], "expected a new or empty folder"),
        (
            lambda a, tmp: [*a[:2], a[2] / "a.jsonl", *a[3:]],
            "expected the same inputs as in the interrupted run, 3 files, got 1 files",
        ),
    ],
)
def test_only_the_same_run_goes_on(interrupted, tmp_path, change, message):
    if "new or empty" in message:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "mine").touch()
    run = difa(*change(interrupted, tmp_path), "--resume")
    assert (run.returncode, run.stderr.count("\n")) == (2, 1), run.stderr
    assert message in run.stderr
    assert (tmp_path / ".out.journal").exists()


def test_another_model_and_changed_inputs_are_refused(folder, quick_model, source, tmp_path):
    other, copy = tmp_path / "other", tmp_path / "a.txt"
    quick_model.save(other)
    (other / "config.json").write_text((other / "config.json").read_text() + " ")
    copy.write_text("one\ntwo\n")
    arguments = ["score", folder, copy, "--out", tmp_path / "out", "--shard-size", 1]
    assert difa(*arguments).returncode == 0
    assert "expected the same model" in difa("score", other, *arguments[2:], "--resume").stderr
    copy.write_text("one\ntwo\nthree\n")
    run = difa(*arguments, "--resume")
    assert "expected the same inputs" in run.stderr
    assert "of 8 bytes" in run.stderr
    assert "of 14 bytes" in run.stderr
    assert "holds the finished results of 2 documents" in difa(*arguments).stderr
    assert difa(*arguments, "--force").returncode == 0
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert (manifest["complete"], manifest["documents"], len(manifest["shards"])) == (True, 3, 3)


def test_force_starts_anew(interrupted, tmp_path):
    run = difa(*interrupted, "--force")
    assert run.returncode == 0, run.stderr
    assert len((tmp_path / "out").read_text().splitlines()) == 1990
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_bad_line_far_in_keeps_what_was_scored(folder, texts, tmp_path):
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text("\n".join([*(json.dumps({"text": text}) for text in texts), "bad", '{"text": "last"}']))
    run = difa("score", folder, source, "--out", out)
    assert (run.returncode, run.stderr.count("\n")) == (2, 1)
    assert f"{source}:2001: expected a JSON object" in run.stderr
    assert "are kept at" in run.stderr
    assert not out.exists()
    assert difa("score", folder, source, "--out", out, "--resume", "--skip-bad").returncode == 0
    assert [json.loads(line)["text"] for line in out.read_text().splitlines()] == [*texts, "last"]


def test_two_runs_do_not_write_to_one_place(folder, source, tmp_path):
    arguments = ["score", folder, source, "--skip-bad", "--out", tmp_path / "out"]
    with subprocess.Popen(command(*arguments), stderr=subprocess.DEVNULL) as process:
        while not (tmp_path / ".out.lock").exists():
            time.sleep(0.01)
        second = difa(*arguments)
        process.kill()
    assert second.returncode == 2
    assert "another run is writing there" in second.stderr
