"""The machinery on a tiny set; how long things take is not for tests to say."""

import json
import sys

import pytest

from difa.bench.report import write_report
from difa.bench.speed import measure, meets, ratios, run_speed, stage_seconds, vary
from difa.errors import DifaError
from difa.words import from_tokens

pytestmark = pytest.mark.slow


def test_every_part_is_measured_and_reported(start, tmp_path):
    run = start(threads=2)
    record = run_speed(run, documents=6, rounds=1, many=40)[0]
    assert record["documents"] == 6
    parts = {"end to end", "score", "encoder", "matrix", "peer", "command", "four times", "one line", "help", "import difa"}
    parts |= {"fast", "counting", "fast one line", "fast command"}
    assert parts <= set(record["seconds"])
    assert all(seconds > 0 for seconds in record["seconds"].values())
    assert {"encoder", "neighbour view", "form view", "JSON"} <= set(record["stages"])
    assert set(record["many"]) == {"full", "fast"}
    assert all(held["peak"] >= held["quarter"] > 0 for held in record["many"].values())
    names = [name for name, _ in ratios(record)]
    assert sum("PyTextAD" in name for name in names) == 3
    assert sum("40 short documents" in name for name in names) == 4
    text = (run.folder / "speed.md").read_text(encoding="utf-8")
    assert all(name in text for name in names)
    page = tmp_path / "page.md"
    page.write_text("<!-- bench:speed -->\n<!-- /bench -->\n")
    assert write_report(run.folder, page) == ["speed"]
    assert "≥ 0.65" in page.read_text(encoding="utf-8")
    assert json.loads((run.folder / "speed.json").read_text())[0]["words"] == record["words"]


def test_stages_are_timed(quick_model, corpus, tmp_path):
    documents = [from_tokens(text.split()) for text in corpus[:20]]
    seconds = stage_seconds(quick_model, documents, tmp_path / "out.jsonl")
    views = [f"{view.name} view" for view in quick_model.detector_.views]
    assert list(seconds) == ["encoder", *views, "calibration, fusion, documents", "JSON"]
    assert all(seconds[part] > 0 for part in ("encoder", *views, "JSON"))
    assert (tmp_path / "out.jsonl").read_text(encoding="utf-8").count("\n") == 20


@pytest.mark.parametrize(
    ("figure", "target", "kept"), [(0.4, "≤ 0.40", True), (0.41, "≤ 0.40", False), (3.0, "≥ 3", True), (2.9, "≥ 3", False)]
)
def test_targets(figure, target, kept):
    assert meets(figure, target) is kept


def test_varied_documents_differ():
    documents = [from_tokens(["one", "two", "three", "four"]), from_tokens([]), from_tokens(["five", "six"])]
    varied = vary(documents, 9, seed=0, most=3)
    assert varied[:3] == [["one", "two", "three"], [], ["five", "six"]]
    assert all(len(tokens) == len(varied[index % 3]) for index, tokens in enumerate(varied))
    assert varied[3:6] != varied[:3]


def test_memory_of_a_process_and_its_failure():
    ours = bytearray(400 << 20)  # what we hold is not theirs
    code = "import time; held = bytearray(200 << 20); time.sleep(2)"
    assert 200 < measure([sys.executable, "-c", code])["peak"] < 300
    assert 0 < measure([sys.executable, "-c", "import time; time.sleep(0.3)"])["peak"] < 100 < len(ours)
    with pytest.raises(DifaError, match="expected it to end well, got: nothing to do"):
        measure([sys.executable, "-c", "import sys; sys.exit('nothing to do')"])
