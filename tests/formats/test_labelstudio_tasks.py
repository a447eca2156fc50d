"""Label Studio there and back."""

import json
import xml.etree.ElementTree as Tree

from difa.document import Result
from difa.formats import read_documents
from difa.formats.labelstudio import CONFIGURATION, LABEL, task_of, write_tasks
from difa.words import split_words
from tests.commands import difa
from tests.lines import to_json_line

TEXT = "👍🏽 Pleese  refund\nmy 👨‍👩‍👧 ordre, now"


def scored(text, flagged, id="x", **columns):
    from difa.document import WordScore

    words = tuple(
        WordScore(word.text, word.start, word.end, 1.0, 0.01 if word.text in flagged else 0.5, word.text in flagged)
        for word in split_words(text)
    )
    return Result(text, 3.0, 0.125, bool(flagged), words, id, {}, columns)


RESULT = scored(TEXT, ("Pleese", "refund", "ordre"), day="mon")


def regions_of(task):
    return [region for region in task["predictions"][0]["result"] if region["type"] == "labels"]


def test_neighbours_are_one_region_with_offsets_as_browsers_count():
    task = task_of(RESULT, "model 3", lambda word: f"<{word.text}>")
    first, second = regions_of(task)
    units = TEXT.encode("utf-16-le")
    for region, text in ((first, "Pleese  refund"), (second, "ordre")):
        value = region["value"]
        assert value["text"] == text
        assert units[2 * value["start"] : 2 * value["end"]].decode("utf-16-le") == text
        assert value["labels"] == [LABEL]
        assert region["score"] == 0.99
    assert first["meta"] == {"text": ["<Pleese> <refund>"]}
    prediction = task["predictions"][0]
    assert (prediction["model_version"], prediction["score"]) == ("model 3", 0.875)
    assert prediction["result"][-1]["value"] == {"choices": ["anomalous"]}
    assert task["data"] == {"day": "mon", "text": TEXT, "difa_id": "x"}


def test_the_configuration_names_what_the_tasks_use():
    view = Tree.fromstring(CONFIGURATION)
    names = {element.get("name"): element.tag.lower() for element in view if element.get("name")}
    for region in task_of(RESULT, "m", str)["predictions"][0]["result"]:
        assert names[region["from_name"]] == region["type"]
        assert names[region["to_name"]] == "text"
    assert view.find("Text").get("value") == "$text"
    assert [label.get("value") for label in view.find("Labels")] == [LABEL]


def test_what_annotators_send_back_are_labels(tmp_path):
    tasks = json.loads("".join(write_tasks([RESULT, scored("All is well", (), "y"), scored("unseen", ())], "m", str)))
    for number, task in enumerate(tasks[:2]):  # annotators accept what was marked; the last one nobody looked at
        task |= {"id": 900 + number, "annotations": [{"was_cancelled": False, "result": task["predictions"][0]["result"]}]}
    path = tmp_path / "export.json"
    path.write_text(json.dumps(tasks), encoding="utf-8")
    first, second, third = read_documents([str(path)])
    assert [word.text for word, label in zip(first.words, first.labels, strict=True) if label] == ["Pleese", "refund", "ordre"]
    assert (first.id, first.columns) == ("x", {"day": "mon"})
    assert (second.id, set(second.labels)) == ("y", {0})
    assert third.labels is None


def test_the_command(tmp_path):
    lines = to_json_line(RESULT) + to_json_line(scored("All is well", (), "y"))
    (tmp_path / "scores.jsonl").write_text(lines, encoding="utf-8")
    arguments = ("export", "label-studio", tmp_path / "scores.jsonl", "--out", tmp_path / "tasks.json")
    run = difa(*arguments, "--config", tmp_path / "c.xml", "--model-version", "reviews-3")
    assert run.returncode == 0, run.stderr
    assert "2 tasks written" in run.stderr
    tasks = json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8"))
    assert [task["predictions"][0]["model_version"] for task in tasks] == ["reviews-3"] * 2
    assert (tmp_path / "c.xml").read_text() == CONFIGURATION
    assert difa(*arguments, "--only-flagged").returncode == 0
    assert len(json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8"))) == 1
