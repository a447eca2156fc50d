import json

import pytest

from difa.errors import InputError
from difa.formats import read_documents


def task(text, *spans, **more):
    result = [{"type": "labels", "value": {"start": a, "end": b, "text": held, "labels": [label]}} for a, b, held, label in spans]
    return {"id": 7, "data": {"text": text}, "annotations": [{"result": result, "was_cancelled": False}]} | more


def read(tmp_path, *tasks):
    (tmp_path / "export.json").write_text(json.dumps(tasks))
    return list(read_documents([str(tmp_path / "export.json")]))


def test_spans_become_word_labels(tmp_path):
    [document] = read(tmp_path, task("The soup was not fresh.", (13, 22, "not fresh", "1")))
    assert document.id == "7"
    assert [word.text for word, label in zip(document.words, document.labels, strict=True) if label] == ["not", "fresh"]


def test_spans_labelled_normal_mark_nothing(tmp_path):
    [document] = read(tmp_path, task("All is well.", (0, 12, "All is well.", "0")))
    assert document.labels == (0, 0, 0, 0)
    [document] = read(tmp_path, task("All is well.", (0, 3, "All", "0"), (4, 6, "is", "1")))
    assert document.labels == (0, 1, 0, 0)


def test_the_last_annotation_that_was_not_cancelled_counts(tmp_path):
    def marked(start, end, cancelled):
        return {"was_cancelled": cancelled, "result": [{"value": {"start": start, "end": end, "labels": ["1"]}}]}

    entries = [marked(0, 1, False), marked(2, 3, False), marked(4, 5, True)]
    [document] = read(tmp_path, task("a b c", annotations=entries))
    assert document.labels == (0, 1, 0)


def test_without_annotation_there_are_no_labels_and_with_an_empty_one_all_is_normal(tmp_path):
    bare, empty = read(tmp_path, task("a b", annotations=[]), task("a b", annotations=[{"result": []}]))
    assert bare.labels is None
    assert empty.labels == (0, 0)


def judged(verdict, *spans):
    marks = [{"type": "choices", "from_name": "verdict", "to_name": "text", "value": {"choices": [verdict]}}, *spans]
    return {"data": {"text": "a b"}, "annotations": [{"result": marks}]}


def test_a_document_called_anomalous_without_marked_words_is_not_normal(tmp_path):
    span = {"value": {"start": 2, "end": 3, "labels": ["anomaly"]}}
    fine = {"value": {"start": 2, "end": 3, "labels": ["normal"]}}
    tasks = judged("normal"), judged("anomalous"), judged("anomalous", span), judged("anomalous", fine)
    documents = read(tmp_path, *tasks)
    assert [document.labels for document in documents] == [(0, 0), None, (0, 1), None]
    assert [document.odd for document in documents] == [False, True, True, True]


def test_a_document_that_nobody_judged_as_a_whole_is_neither_odd_nor_normal(tmp_path):
    marked = task("a b", (2, 3, "b", "1"))
    tasks = task("a b", annotations=[]), task("a b", annotations=[{"result": []}]), marked, judged("maybe"), judged(" Normal ")
    assert [document.odd for document in read(tmp_path, *tasks)] == [None, None, None, None, False]


def test_a_document_in_which_only_white_space_is_marked_is_not_normal(tmp_path):
    fine = task("a b", (1, 2, " ", "normal"))
    documents = read(tmp_path, task("a b", (1, 2, " ", "anomaly")), fine)
    assert [(document.labels, document.odd) for document in documents] == [((0, 0), True), ((0, 0), None)]


def test_verdicts_of_the_short_export(tmp_path):
    marked = {"label": [{"start": 2, "end": 3, "labels": ["anomaly"]}]}
    tasks = [{"text": "a b", "verdict": verdict} | more for verdict in ("normal", "anomalous") for more in ({}, marked)]
    tasks.append({"text": "a b", "verdict": "guilty"})
    documents = read(tmp_path, *tasks)
    assert [document.labels for document in documents] == [(0, 0), (0, 1), None, (0, 1), None]
    assert [document.odd for document in documents] == [False, False, True, True, None]


def test_the_short_export(tmp_path):
    [document] = read(tmp_path, {"id": 1, "sentence": "a bad one", "label": [{"start": 2, "end": 5, "labels": ["odd"]}]})
    assert document.labels == (0, 1, 0)


def test_offsets_counted_in_utf16(tmp_path):
    [document] = read(tmp_path, task("😀 a bad one", (5, 8, "bad", "1")))
    assert [word.text for word, label in zip(document.words, document.labels, strict=True) if label] == ["bad"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"a": 1}', "expected a Label Studio export, a JSON list of tasks, got an object"),
        ("nonsense", "expected a Label Studio export"),
        ("[3]", "export.json:1: expected a task"),
        ('[{"data": {"image": 3}}]', 'expected a string as "text"'),
        (json.dumps([task("a b", (0, 1, "x", "1"))]), "expected 'x' at 0 to 1 of the text, got 'a'"),
        (json.dumps([task("a b", ("0", 1, "a", "1"))]), "expected whole numbers"),
        (json.dumps([task("a b", ("é" * 9999, 1, "a", "1"))]), "expected whole numbers"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, content, message):
    (tmp_path / "export.json").write_text(content)
    with pytest.raises(InputError, match=r"export\.json") as error:
        list(read_documents([str(tmp_path / "export.json")]))
    assert message in str(error.value)
    assert len(str(error.value)) < 400 + len(str(tmp_path)), "an error as long as its input"


def test_a_missing_file(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        list(read_documents([str(tmp_path / "no.json")]))
