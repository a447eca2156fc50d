"""Tables through the whole command: columns kept, shards, rates over all documents, runs that are killed and go on."""

import csv
import io
import json

import pytest
from pyarrow import parquet

from difa import DiFA
from difa.engines.local import Job, Silent, score_inputs
from difa.formats.tables import Columns
from tests.commands import here as difa


@pytest.fixture(scope="module")
def table(texts, tmp_path_factory):
    """Rows with line breaks, empty cells and a column of the user's that has a name of ours."""
    path = tmp_path_factory.mktemp("tables") / "in.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["ticket", "body", "score"])
        for number, text in enumerate(texts[:600]):
            writer.writerow([f"t{number}", "" if number % 150 == 0 else text.replace(" ", "\n", 1), number])
    return path


def rows_of(content):
    return list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline="")))


def test_a_table_in_a_table_out(folder, table, texts, tmp_path):
    run = difa("score", folder, table, "--id-column", "ticket", "--out", tmp_path / "out.csv")
    assert run.returncode == 0, run.stderr
    assert f"{table}: text is read from the column 'body'" in run.stderr
    rows = rows_of((tmp_path / "out.csv").read_bytes())
    assert list(rows[0])[:5] == ["ticket", "body", "score", "difa_score", "p_value"]
    assert [row["ticket"] for row in rows] == [f"t{number}" for number in range(600)]
    assert rows[0]["body"] == ""
    assert rows[0]["is_anomaly"] == "false"
    assert rows[7]["body"] == texts[7].replace(" ", "\n", 1)
    printed = difa("score", folder, table, "--id-column", "ticket", "--format", "csv", "--text-column", "body", "--quiet")
    assert printed.stderr == ""
    assert rows_of(printed.stdout.encode())[3]["ticket"] == "t3"


@pytest.mark.parametrize("options", [{"format": "csv"}, {"format": "parquet", "shard_size": 100}, {"format": "csv", "fdr": 0.3}])
def test_a_killed_run_goes_on(faults, folder, table, tmp_path, options):
    model = DiFA.load(folder, threads=1)

    def run(place):
        columns = Columns(id="ticket")
        score_inputs(model, Job(folder, [str(table)], place, resume=True, columns=columns, **options), Silent())

    run(tmp_path / "whole")
    out = tmp_path / "out"
    for change in (6, 9):
        assert faults.in_child(lambda: run(out), faults.kill_before(change)) == -9
    run(out)
    assert faults.files_at(out).keys() == faults.files_at(tmp_path / "whole").keys()
    for name, content in faults.files_at(tmp_path / "whole").items():
        assert name == "manifest.json" or faults.files_at(out)[name] == content


def test_other_columns_are_another_run(folder, table, tmp_path):
    arguments = ("score", folder, table, "--out", tmp_path / "out", "--shard-size", 500, "--id-column")
    assert difa(*arguments, "ticket").returncode == 0
    run = difa(*arguments, "score", "--resume")
    assert (run.returncode, run.stderr.count("\n")) == (2, 2)  # which column was guessed, and why not
    assert "expected the same columns as in the interrupted run, text 'body', ids 'ticket'" in run.stderr


def test_a_false_discovery_rate_over_rows_is_that_over_lines(folder, table, texts, tmp_path):
    lines = tmp_path / "in.jsonl"
    cells = ("" if number % 150 == 0 else text.replace(" ", "\n", 1) for number, text in enumerate(texts[:600]))
    lines.write_text("".join(json.dumps({"text": cell}) + "\n" for cell in cells))
    assert difa("score", folder, lines, "--fdr", 0.3, "--out", tmp_path / "a.jsonl").returncode == 0
    assert difa("score", folder, table, "--fdr", 0.3, "--out", tmp_path / "b.parquet").returncode == 0
    expected = [json.loads(line)["is_anomaly"] for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert parquet.read_table(tmp_path / "b.parquet")["is_anomaly"].to_pylist() == expected


def test_rows_without_text_are_counted(folder, table, tmp_path):
    run = difa("score", folder, table, "--out", tmp_path / "out.csv")
    assert "difa: 4 documents have no text: score 0, not flagged" in run.stderr


def test_lines_without_text_and_with_our_keys_come_back(folder, tmp_path):
    (tmp_path / "in.jsonl").write_text('{"text": "Where is my order?", "score": 4}\n{"text": null, "score": 5}\n')
    run = difa("score", folder, tmp_path / "in.jsonl", "--out", tmp_path / "out.csv")
    assert run.returncode == 0, run.stderr
    assert "difa: 1 document has no text: score 0, not flagged" in run.stderr
    rows = rows_of((tmp_path / "out.csv").read_bytes())
    assert [(row["text"], row["score"]) for row in rows] == [("Where is my order?", "4"), ("", "5")]
    assert float(rows[1]["difa_score"]) == 0


def test_endings_that_cannot_be_written_are_refused_and_folders_may_be_called_anything(folder, tmp_path):
    (tmp_path / "in.txt").write_text("Where is my order?\n")
    for name in ("out.xlsx", "out.parquet.gz"):
        run = difa("score", folder, tmp_path / "in.txt", "--out", tmp_path / name)
        assert (run.returncode, run.stderr.count("\n")) == (2, 1)
    run = difa("score", folder, tmp_path / "in.txt", "--out", tmp_path / "out.v2", "--shard-size", 10)
    assert run.returncode == 0, run.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "out.v2"]
