"""The most unusual documents, exit codes for pipelines, and why nothing is flagged."""

import json
import shutil

import numpy as np
import pytest

from difa.calibrate import TailReference
from difa.document import Result, Scored
from difa.engines.second_pass import most_unusual, why_nothing
from tests.commands import here as difa


def ids_of(parts):
    return [document.id for part in parts for document in part.documents]


def test_the_most_unusual_come_first():
    p_values = [0.5, 0.01, 0.2, 0.01, 0.9, 0.01]
    scores = [1.0, 5.0, 2.0, 6.0, 0.0, 5.0]
    results = [
        Result("same", score, p, p < 0.05, (), str(at)) for at, (p, score) in enumerate(zip(p_values, scores, strict=True))
    ]
    for times in (1, 10):
        assert ids_of(most_unusual(map(Scored.of, results * times), 3)) == (["3", "1", "5"] if times == 1 else ["3"] * 3)


def test_fewer_documents_than_asked_for():
    assert ids_of(most_unusual([Scored.of(Result("a", 1.0, 0.5, False, (), "a"))], 3)) == ["a"]


def test_why_nothing_is_flagged_by_hand():
    # 99 normal documents: least p-value 0.01. Of 200 documents, 0.01 <= 0.1 * k / 200 needs k = 20.
    line = why_nothing(200, TailReference(np.arange(99.0)), 0.1)
    assert "with 99 normal documents no p-value is below 0.01, and 20 of the 200 documents" in line


@pytest.fixture(scope="module")
def source(texts, tmp_path_factory):
    path = tmp_path_factory.mktemp("budget") / "in.txt"
    path.write_text("\n".join([*texts[:60], "wq zzxv kkkj qqx", *texts[60:100]]))
    return path


def test_top_writes_the_worst_in_any_format(folder, source, tmp_path):
    assert difa("score", folder, source, "--out", tmp_path / "all.jsonl").returncode == 0
    records = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    worst = [record["id"] for record in sorted(records, key=lambda record: (record["p_value"], -record["score"]))[:5]]
    run = difa("score", folder, source, "--top", 5, "--out", tmp_path / "top.jsonl")
    assert [json.loads(line)["id"] for line in (tmp_path / "top.jsonl").read_text().splitlines()] == worst
    assert "of 101 documents flagged, the 5 most unusual given" in run.stderr
    printed = difa("score", folder, source, "--top", 2, "--format", "csv", "--quiet")
    assert [line.split(",")[0] for line in printed.stdout.splitlines()[1:]] == worst[:2]
    for option in (("--resume",), ("--shard-size", 10)):
        refused = difa("score", folder, source, "--top", 5, "--out", tmp_path / "x", *option)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
        assert "top keeps the most unusual of all documents" in refused.stderr


def test_pipelines_get_an_exit_code(folder, source, tmp_path):
    assert difa("score", folder, source, "--fail-if-flagged", "--out", tmp_path / "a.jsonl").returncode == 1
    assert (tmp_path / "a.jsonl").exists()
    quiet = difa("score", folder, source, "--fail-if-flagged", "--out", tmp_path / "b.jsonl", "--fdr", 0.0001)
    assert quiet.returncode == 0
    assert "nothing is flagged at a false-discovery rate of 0.0001" in quiet.stderr


def test_a_stored_rate_can_be_changed(folder, source, tmp_path):
    shutil.copytree(folder, tmp_path / "m")
    weights = (tmp_path / "m" / "weights.safetensors").read_bytes()
    before = difa("score", tmp_path / "m", source)
    assert difa("set", tmp_path / "m", "--fpr", 0.3).returncode == 0
    after = difa("score", tmp_path / "m", source)
    expected = difa("score", tmp_path / "m", source, "--fpr", 0.3)
    assert after.stdout == expected.stdout
    assert after.stderr != before.stderr
    assert (tmp_path / "m" / "weights.safetensors").read_bytes() == weights
    wrong = difa("set", tmp_path / "m", "--fpr", 3)
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert difa("set", tmp_path / "nothing", "--fpr", 0.1).returncode == 2
    assert "no document can be flagged" in difa("set", tmp_path / "m", "--fpr", 0.0001).stderr
