"""Only what DiFA wrote is written over."""

import json
from dataclasses import replace

import pyarrow as pa
import pytest
from pyarrow import parquet

from difa.engines.local import Job, Silent, score_inputs
from difa.errors import ConfigError, InputError
from difa.formats.labelstudio import CONFIGURATION, write_tasks
from difa.formats.results import check_output, read_results
from difa.monitor.evidence import MonitorState, write_state
from difa.report.html import report_html
from difa.report.summary import summarise

OTHERS = {
    "a.txt": "one text\n",
    "a.csv": "id,text,score\n1,one,2\n",
    "a.jsonl": '{"id": "1", "text": "one"}\n{"id": "2", "text": "two", "p_value": 1}\n',
    "a.json": '[\n{"text": "a"}\n]\n',
    "a.html": "<!doctype html><title>DiFA</title>",
    "a.parquet": "PAR1",
    "a.jsonl.gz": "not packed",
    "a.prom": "# HELP node_cpu_seconds_total Seconds\n",
    "a.xml": CONFIGURATION.replace("red", "blue") + " ",
    "wide.csv": "a" * 200_000,
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_files_stay(tmp_path, name):
    (tmp_path / name).write_text(OTHERS[name])
    with pytest.raises(ConfigError, match="expected a new file, or one that difa wrote, found another: rename it"):
        check_output(tmp_path / name)
    check_output(tmp_path / name, force=True)
    check_output(tmp_path / f"new-{name}")


@pytest.fixture(scope="module")
def written(fast_model, tmp_path_factory):
    """A folder with everything that DiFA writes."""
    folder = tmp_path_factory.mktemp("written")
    fast_model.save(folder / "model")
    (folder / "in").mkdir()
    (folder / "in" / "a.csv").write_text("text,score,when\nWhere is my order?,3,now\nxkcdqwrt order,4,then\n")
    for name in ("a.jsonl", "a.jsonl.gz", "a.csv", "a.tsv", "a.csv.gz", "a.parquet"):
        score_inputs(fast_model, Job(folder / "model", [str(folder / "in" / "a.csv")], folder / name), Silent())
    results = list(read_results([folder / "a.jsonl"]))
    (folder / "a.json").write_text("".join(write_tasks(results, "1", lambda word: "odd")))
    (folder / "none.json").write_text("".join(write_tasks([], "1", lambda word: "odd")))
    (folder / "a.html").write_text(report_html(summarise(results, (), 3), "Title"))
    write_state(folder / "state.json", MonitorState("model", 0.05))
    (folder / "a.xml").write_text(CONFIGURATION)
    (folder / "empty.csv").write_text("")
    return folder


def test_our_own_files_are_written_over(written):
    files = [path for path in written.iterdir() if path.is_file()]
    assert {path.suffix for path in files} == {".jsonl", ".gz", ".csv", ".tsv", ".parquet", ".json", ".html", ".xml"}
    for path in files:
        check_output(path)


def test_a_run_refuses_another_file_unless_forced(fast_model, written, tmp_path):
    (tmp_path / "mine.csv").write_text("id,text\n1,mine\n")
    job = Job(written / "model", [str(written / "in" / "a.csv")], tmp_path / "mine.csv")
    with pytest.raises(ConfigError, match=r"mine\.csv: expected a new file, or one that difa wrote"):
        score_inputs(fast_model, job, Silent())
    assert (tmp_path / "mine.csv").read_text() == "id,text\n1,mine\n"
    for again in (replace(job, force=True), job):
        assert score_inputs(fast_model, again, Silent()).documents == 2
    assert json.dumps((tmp_path / "mine.csv").read_text()).count("\\n") == 3


SPOILT = {
    "text": None, "id": 4, "columns": [], "score": 1e400, "p_value": -1, "is_anomaly": 1, "evidence": None, "words": [{}],
}  # fmt: skip
SPOILT_WORD = {
    "text": "other", "start": None, "score": "x", "p_value": 2, "is_anomaly": None, "evidence": {"no view": 1.0}, "allowed": [1],
}  # fmt: skip


@pytest.mark.parametrize("name", [*SPOILT, *(f"words.{name}" for name in SPOILT_WORD)])
def test_fields_of_another_kind_are_no_result(written, tmp_path, name):
    record = json.loads((written / "a.jsonl").read_text().splitlines()[0])
    of_word = name.removeprefix("words.")
    if of_word == name:
        record[name] = SPOILT[name]
    else:
        record["words"][0][of_word] = SPOILT_WORD[of_word]
    (tmp_path / "a.jsonl").write_text(json.dumps(record))
    with pytest.raises(InputError, match=r"a\.jsonl:1: expected a result of `difa score`, got something else"):
        list(read_results([tmp_path / "a.jsonl"]))


def test_a_table_of_somebody_else_holds_no_results(tmp_path):
    row = {"id": "1", "text": "Where", "score": "x", "p_value": "y", "is_anomaly": 2, "evidence": "a", "words": "b"}
    parquet.write_table(pa.Table.from_pylist([row]), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"a\.parquet:1: expected a result of `difa score`, got something else"):
        list(read_results([tmp_path / "a.parquet"]))
