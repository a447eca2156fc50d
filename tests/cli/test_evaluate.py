"""`difa evaluate`: which documents count, and what is said of the others."""

import json

import pytest

from difa.decide.evaluate import evaluate
from difa.errors import InputError
from difa.formats import read_documents
from tests.commands import here


@pytest.fixture(scope="module")
def folder(fast_model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluate") / "model"
    fast_model.save(folder)
    return folder


def task(text, *result, cancelled=False):
    return {"data": {"text": text}, "annotations": [{"result": list(result), "was_cancelled": cancelled}]}


SPAN = {"type": "labels", "value": {"start": 0, "end": 5, "labels": ["anomaly"]}}
VERDICT = {"type": "choices", "from_name": "verdict", "value": {"choices": ["anomalous"]}}
OPEN = [
    task("Skipped by the annotator.", cancelled=True),
    {"data": {"text": "Nobody saw it."}, "annotations": []},
    task("Odd as a whole.", VERDICT),
]


def test_tasks_without_labels_are_left_out_and_counted(folder, tmp_path):
    tasks = [task("Where is my order?"), task("Xqzzv is my order?", SPAN), task("Please refund it.")]
    (tmp_path / "all.json").write_text(json.dumps([*tasks, *OPEN]))
    run = here("evaluate", folder, tmp_path / "all.json", "--json")
    assert run.returncode == 0, run.stderr
    assert "difa: 3 documents left out: without labels (skipped, not annotated" in run.stderr
    (tmp_path / "labelled.json").write_text(json.dumps(tasks))
    assert run.stdout == here("evaluate", folder, tmp_path / "labelled.json", "--json").stdout
    assert json.loads(run.stdout)["document"] | {"auroc": 0, "average_precision": 0} == {
        "auroc": 0, "average_precision": 0, "count": 3, "anomalous": 1,
    }  # fmt: skip


def test_an_export_without_any_labels_is_refused_in_its_own_words(folder, tmp_path):
    (tmp_path / "export.json").write_text(json.dumps(OPEN))
    run = here("evaluate", folder, tmp_path / "export.json")
    assert (run.returncode, run.stderr.count("\n")) == (2, 1)
    assert "expected annotated tasks, got 3 without labels" in run.stderr
    assert "annotate them in Label Studio and export again" in run.stderr


def test_unlabelled_documents_are_refused_by_the_library_with_what_to_do(fast_model, tmp_path):
    (tmp_path / "export.json").write_text(json.dumps(OPEN))
    documents = list(read_documents([str(tmp_path / "export.json")]))
    with pytest.raises(InputError, match="leave out what nobody annotated"):
        evaluate(fast_model.score(documents), documents)


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_scores_of_labelled_documents_can_be_evaluated(folder, tmp_path, ending):
    records = [
        {"tokens": ["Where", "is", "my", "xqzzv", "?"], "labels": [0, 0, 0, 1, 0]},
        {"text": "Please refund it.", "spans": []},
        {"text": "Please refnud it.", "spans": [[7, 13]], "score": 3},
    ]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, records)))
    assert here("score", folder, tmp_path / "in.jsonl", "--out", tmp_path / f"out.{ending}").returncode == 0
    expected, again = (here("evaluate", folder, tmp_path / name, "--json") for name in ("in.jsonl", f"out.{ending}"))
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout) == json.loads(expected.stdout)
    assert json.loads(again.stdout)["word"]["anomalous"] == 2
