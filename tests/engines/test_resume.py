"""Runs that are killed and go on: nothing lost, nothing doubled, the same bytes. Hundreds of kills are in `make faults`."""

import gzip
import json
import subprocess
import sys

import pytest

from difa import DiFA
from difa.engines import local
from difa.engines.local import Job, Silent, score_inputs
from difa.engines.output import alone
from difa.engines.target import Target
from difa.errors import InputError
from difa.formats.tables import Shape
from tests import HANG
from tests.commands import difa, here
from tests.conftest import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def noted(monkeypatch):
    """A part has 48 documents."""
    monkeypatch.setattr(local, "_PART", 0.0)
    monkeypatch.setattr("difa.runtime.parallel.MOST_DOCUMENTS", 6)  # eight times as many without an encoder


@pytest.fixture(scope="module")
def source(texts, tmp_path_factory):
    """Three files, one of them packed, with bad lines and blank ones."""
    folder = tmp_path_factory.mktemp("inputs")
    lines = [json.dumps({"text": text}) if number % 50 else "bad" for number, text in enumerate(texts[:500])]
    (folder / "a.jsonl").write_text("\n".join(lines[:200]) + "\n\n")
    (folder / "b.jsonl.gz").write_bytes(gzip.compress("\n".join(lines[200:300]).encode()))
    (folder / "c.jsonl").write_text("\n".join(lines[300:]))
    return folder


def results(out):
    """Bytes of everything under a valid name."""
    files = [out] if out.is_file() else sorted(out.glob("part-*.jsonl"))
    return {file.name.replace(out.name, "file"): file.read_bytes() for file in files}


@pytest.fixture(scope="module")
def model(folder):
    return DiFA.load(folder, threads=1)


@pytest.mark.parametrize("options", [{}, {"shard_size": 70}, {"fdr": 0.3}, {"fdr": 0.3, "shard_size": 70}])
def test_a_killed_run_goes_on(faults, folder, model, source, tmp_path, options):
    def run(place, resume=True):
        return score_inputs(model, Job(folder, [str(source)], place, skip_bad=True, resume=resume, **options), Silent())

    whole = run(tmp_path / "whole")
    out = tmp_path / "out"
    for change in (4, 6, 8, 9):
        assert faults.in_child(lambda: run(out), faults.kill_before(change)) == -9
        assert not out.is_file()
        assert results(out).items() <= results(tmp_path / "whole").items()
    with pytest.raises(InputError, match="resume=True goes on, force=True starts anew"):
        run(out, resume=False)
    done = run(out)
    assert results(out) == results(tmp_path / "whole")
    assert (done.documents, done.skipped, done.flagged) == (490, 10, whole.flagged)
    assert [path.name for path in [*tmp_path.iterdir(), *out.glob("*")] if path.name.startswith(".")] == []


@pytest.fixture
def interrupted(faults, folder, source, tmp_path):
    """A killed run, and its arguments."""
    arguments = ["score", folder, source, "--skip-bad", "--out", tmp_path / "out", "--fpr", 0.05]
    faults.in_child(lambda: here(*arguments), faults.kill_before(8))
    assert (tmp_path / ".out.part" / "_journal.json").exists()
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
    run = here(*change(interrupted, tmp_path), "--resume")
    assert (run.returncode, run.stderr.count("\n")) == (2, 1), run.stderr
    assert message in run.stderr
    assert (tmp_path / ".out.part" / "_journal.json").exists()


def test_another_model_and_changed_inputs_are_refused(folder, tmp_path):
    other, copy = tmp_path / "other", tmp_path / "a.txt"
    DiFA.load(folder).save(other)
    (other / "config.json").write_text((other / "config.json").read_text() + " ")
    copy.write_text("one\ntwo\n")
    arguments = ["score", folder, copy, "--out", tmp_path / "out", "--shard-size", 1]
    assert here(*arguments).returncode == 0
    assert "expected the same model" in here("score", other, *arguments[2:], "--resume").stderr
    copy.write_text("one\ntwo\nthree\n")
    run = here(*arguments, "--resume")
    assert "expected the same inputs" in run.stderr
    assert "of 8 bytes" in run.stderr
    assert "of 14 bytes" in run.stderr
    assert "holds the finished results of 2 documents" in here(*arguments).stderr
    assert here(*arguments, "--force").returncode == 0
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert (manifest["complete"], manifest["documents"], len(manifest["shards"])) == (True, 3, 3)


def test_force_starts_anew(interrupted, tmp_path):
    run = here(*interrupted, "--force")
    assert run.returncode == 0, run.stderr
    assert len((tmp_path / "out").read_text().splitlines()) == 490
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_bad_line_far_in_keeps_what_was_scored(folder, texts, tmp_path):
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text("\n".join([*(json.dumps({"text": text}) for text in texts[:400]), "bad", '{"text": "last"}']))
    run = here("score", folder, source, "--out", out)
    assert (run.returncode, run.stderr.count("\n")) == (2, 1)
    assert f"{source}:401: expected a JSON object" in run.stderr
    assert "are kept at" in run.stderr
    assert not out.exists()
    assert here("score", folder, source, "--out", out, "--resume", "--skip-bad").returncode == 0
    assert [json.loads(line)["text"] for line in out.read_text().splitlines()] == [*texts[:400], "last"]


def test_two_runs_do_not_write_to_one_place(folder, source, tmp_path):
    with alone(Target(str(tmp_path / "out"), "file", "jsonl", "jsonl", Shape(()))):
        second = difa("score", folder, source, "--skip-bad", "--out", tmp_path / "out")
    assert second.returncode == 2
    assert "another run is writing there" in second.stderr


@pytest.mark.parametrize("damage", ["remove", "cut"])
def test_a_finished_shard_that_is_gone_is_missed(folder, texts, tmp_path, damage):
    source, out = tmp_path / "in.txt", tmp_path / "out"
    source.write_text("\n".join(texts[:30]))
    arguments = ("score", folder, source, "--out", out, "--shard-size", 10, "--resume")
    assert here(*arguments).returncode == 0
    part = out / "part-00001.jsonl"
    whole = part.read_bytes()
    part.unlink() if damage == "remove" else part.write_bytes(whole[:-10])
    run = here(*arguments)
    assert (run.returncode, run.stderr.count("\n")) == (2, 1), run.stderr
    assert (
        f"{part}: expected the results of 10 documents, which an earlier run wrote, {'found' if damage == 'remove' else 'got'}"
        in run.stderr
    )
    assert here(*arguments[:-1], "--force").returncode == 0
    assert part.read_bytes() == whole


@pytest.mark.parametrize(
    "change",
    [
        {"documents": "many"},
        {"documents": 5},
        {"words": -1},
        {"shards": [{"file": "x"}]},
        {"shards": 7},
        {"asked": []},
        {"complete": 1},
        {"extra": 1},
    ],
)
def test_a_note_with_odd_values_is_one_line(folder, tmp_path, change):
    source, out = tmp_path / "in.txt", tmp_path / "out"
    source.write_text("one\ntwo\n")
    arguments = ("score", folder, source, "--out", out, "--shard-size", 1, "--resume")
    assert here(*arguments).returncode == 0
    manifest = out / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | change))
    run = here(*arguments)
    assert (run.returncode, run.stderr.count("\n")) == (2, 1), run.stderr
    assert "expected what a run of difa noted there, got something else" in run.stderr


def test_a_disk_that_is_full_costs_nothing():
    command = [sys.executable, str(ROOT / "tools" / "faults_disk.py"), "--faults", "5", "--only", "score, fdr"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=HANG)
    if "was not tried" in run.stdout:
        pytest.skip(run.stdout)
    assert run.returncode == 0, run.stderr
    assert "faults, 0 losses" in run.stdout


def test_a_few_faults_cost_nothing(faults, tmp_path):
    scenes = faults.campaign(12, 1, "score")
    assert sum(sum(scene.injected.values()) for scene in scenes) >= 12
    assert [loss for scene in scenes for loss in scene.losses] == []
