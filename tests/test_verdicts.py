"""Verdicts from every format that holds them, and what is refused in one line."""

import csv
import io
import json

import pyarrow as pa
import pytest
from pyarrow import parquet

from difa.corpus.verdicts import read_verdicts
from difa.document import Document, Word
from difa.errors import InputError
from difa.formats import read_documents
from difa.words import from_text

TEXT = "xq where is it"
ODD = {"id": "z", "text": "another odd one", "verdict": "odd"}
"""Stands beside normal documents, of which alone nothing can be learned."""


def write_jsonl(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_delimited(path, rows):
    out = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(out, names, delimiter="\t" if path.suffix == ".tsv" else ",")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: json.dumps(value) if isinstance(value, list) else value for name, value in row.items()})
    path.write_text(out.getvalue())


def write_parquet(path, rows):
    names = list(dict.fromkeys(name for row in rows for name in row))
    parquet.write_table(pa.table({name: [row.get(name) for row in rows] for name in names}), path)


WRITERS = {".jsonl": write_jsonl, ".csv": write_delimited, ".tsv": write_delimited, ".parquet": write_parquet}


@pytest.fixture(params=WRITERS)
def read(request, tmp_path):
    """Verdicts of rows that went through a file of each kind."""

    def read(*rows):
        path = tmp_path / f"verdicts{request.param}"
        WRITERS[request.param](path, rows)
        return read_verdicts(read_documents([str(path)]))

    return read


def read_lines(tmp_path, *rows):
    write_jsonl(tmp_path / "v.jsonl", rows)
    return read_verdicts(read_documents([str(tmp_path / "v.jsonl")]))


def read_tasks(tmp_path, *tasks):
    (tmp_path / "export.json").write_text(json.dumps(tasks))
    return read_verdicts(read_documents([str(tmp_path / "export.json")]))


def task(id, text, *marks):
    values = [
        {"choices": [mark]} if isinstance(mark, str) else {"start": mark[0], "end": mark[1], "labels": ["x"]} for mark in marks
    ]
    return {"id": id, "data": {"text": text}, "annotations": [{"result": [{"value": value} for value in values]}]}


def summary(verdicts):
    return [(v.document.id, v.odd, None if v.marked is None else v.marked.astype(int).tolist()) for v in verdicts]


def refused(read, *rows):
    with pytest.raises(InputError) as error:
        read(*rows)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_the_column_and_the_spans_of_every_format(read):
    verdicts = read(
        {"id": "a", "text": TEXT, "verdict": "odd", "spans": [[0, 2]]},
        {"id": "b", "text": "only the document", "verdict": "odd", "spans": []},
        {"id": "c", "text": "no spans here", "verdict": "odd"},
        {"id": "d", "text": "fine as it is", "verdict": "normal"},
        {"id": "e", "text": "marked by spans", "spans": [[7, 15]]},
        {"id": "f", "text": "nothing marked", "spans": []},
    )
    assert summary(verdicts) == [
        ("a", True, [1, 0, 0, 0]),
        ("b", True, None),
        ("c", True, None),
        ("d", False, None),
        ("e", True, [0, 1, 1]),
        ("f", False, [0, 0]),
    ]
    assert verdicts[0].marked.dtype == bool


def test_tokens_and_labels(read):
    odd, bare, normal = read(
        {"id": "a", "text": "an xq", "tokens": ["an", "xq"], "labels": [0, 1], "verdict": "odd"},
        {"id": "b", "text": "so odd", "tokens": ["so", "odd"], "labels": [0, 0], "verdict": "odd"},
        {"id": "c", "text": "all well", "tokens": ["all", "well"], "labels": [0, 0]},
    )
    assert summary([odd, bare, normal]) == [("a", True, [0, 1]), ("b", True, None), ("c", False, [0, 0])]


@pytest.mark.parametrize("value", ["odd", " ODD ", "anomalous", "1", "True", "yes", True, 1, 1.0])
def test_words_for_odd(read, value):
    assert summary(read({"id": "a", "text": TEXT, "verdict": value})) == [("a", True, None)]


@pytest.mark.parametrize("value", ["normal", "Normal ", "0", "FALSE", "no", "ok", False, 0, 0.0])
def test_words_for_normal(read, value):
    marked = {"id": "z", "text": "another odd one", "spans": [[8, 11]]}
    assert summary(read({"id": "a", "text": TEXT, "verdict": value}, marked)) == [("a", False, None), ("z", True, [0, 1, 0])]


def test_the_column_may_be_spelled_in_capitals(read):
    assert summary(read({"id": "a", "text": TEXT, "Verdict": "odd"})) == [("a", True, None)]


def test_a_result_of_ours_to_which_someone_added_a_verdict(tmp_path):
    result = {"id": "a", "text": TEXT, "score": 2.0, "p_value": 0.1, "is_anomaly": True, "words": []}
    assert summary(read_lines(tmp_path, result | {"verdict": "odd", "spans": [[0, 2]]})) == [("a", True, [1, 0, 0, 0])]


def test_empty_labels_without_tokens(tmp_path):
    assert summary(read_lines(tmp_path, {"id": "a", "text": TEXT, "verdict": "odd", "labels": []})) == [("a", True, None)]


def test_label_studio(tmp_path):
    tasks = task(1, "a b", "anomalous"), task(2, "c d", "anomalous", (2, 3)), task(3, "e f", (0, 1)), task(4, "g h", "normal")
    short = {"id": 6, "text": "k l", "verdict": "anomalous"}
    assert summary(read_tasks(tmp_path, *tasks, task(5, "i j"), short)) == [
        ("1", True, None),
        ("2", True, [0, 1]),
        ("3", True, [1, 0]),
        ("4", False, [0, 0]),
        ("5", False, [0, 0]),
        ("6", True, None),
    ]


def test_label_studio_says_more_than_the_columns_of_its_task(tmp_path):
    first, second = task(1, "a b", "anomalous"), task(2, "c d", "normal")
    first["data"] |= {"verdict": "normal", "spans": [[0, 1]]}
    second["data"] |= {"verdict": "maybe", "spans": [[0, 1]]}
    assert summary(read_tasks(tmp_path, first, second)) == [("1", True, None), ("2", False, [0, 0])]


def test_a_document_that_nobody_judged(read, tmp_path):
    expected = "a: expected a verdict or marked words, got neither"
    assert expected in refused(read, ODD, {"id": "a", "text": TEXT})
    assert expected in refused(read, ODD, {"id": "a", "text": TEXT, "verdict": ""})
    nobody = {"id": 7, "data": {"text": "a b"}, "annotations": []}
    with pytest.raises(InputError, match="7: expected a verdict or marked words, got neither"):
        read_tasks(tmp_path, task(1, "a b", "anomalous"), nobody)
    with pytest.raises(InputError, match="document 1: expected a verdict"):
        read_verdicts([from_text("a b")])


def test_a_verdict_of_another_name(read):
    message = refused(read, ODD, {"id": "a", "text": TEXT, "verdict": "maybe"})
    assert """a: expected "odd" or "normal" as verdict, got 'maybe'""" in message
    assert "got 'maybe'" in refused(read, {"id": "a", "text": TEXT, "verdict": "maybe", "spans": [[0, 2]]})


def test_normal_beside_marked_words(read, tmp_path):
    expected = "expected no marked words beside the verdict normal, got 2"
    assert f"a: {expected}" in refused(read, ODD, {"id": "a", "text": TEXT, "verdict": "normal", "spans": [[0, 4]]})
    with pytest.raises(InputError, match=f"4: {expected}"):
        read_tasks(tmp_path, task(4, "a b", "normal", (0, 3)))


@pytest.mark.parametrize("verdict", [{"verdict": "odd"}, {"verdict": "normal"}, {}])
def test_spans_of_white_space(read, verdict):
    assert "a: expected spans that cover words" in refused(read, ODD, {"id": "a", "text": TEXT, "spans": [[2, 3]]} | verdict)


@pytest.mark.parametrize("marks", [("anomalous", (1, 2)), ((1, 2),)])
def test_white_space_marked_in_label_studio(tmp_path, marks):
    with pytest.raises(InputError, match="3: expected spans that cover words, got only white space, which marks no word"):
        read_tasks(tmp_path, task(1, "c d", "anomalous"), task(3, "a b", *marks))


def test_spans_that_no_reader_takes_for_spans(read):
    message = refused(read, {"id": "a", "text": TEXT, "verdict": "odd", "spans": [0, 2]})
    assert 'a: expected a list of [start, end] as "spans", got [0, 2], which marks no word' in message


def test_broken_spans_of_a_table(tmp_path):
    (tmp_path / "v.csv").write_text('text,verdict,spans\na b,odd,"[[0, 1]"\n')
    with pytest.raises(InputError, match=r"v\.csv:2: expected a list of \[start, end\]"):
        read_verdicts(read_documents([str(tmp_path / "v.csv")]))


def test_a_column_of_that_name_that_is_no_list_is_left_alone(read):
    assert summary(read({"id": "a", "text": TEXT, "verdict": "odd", "spans": "three"})) == [("a", True, None)]


def test_a_text_judged_twice_with_different_verdicts(read):
    odd, normal = {"id": "a", "text": TEXT, "verdict": "odd"}, {"id": "b", "text": TEXT, "verdict": "normal"}
    expected = "expected one verdict per text, got odd in a and normal in b: keep one of them"
    assert refused(read, odd, normal) == refused(read, normal, odd) == expected
    assert refused(read, odd | {"at": "2026-11-17T22:00:00Z"}, normal) == expected


def test_the_last_verdict_of_the_service_counts(read):
    def said(id, **more):
        return {"id": str(id), "text": TEXT} | more | {"model": "m", "at": f"2026-11-17T22:00:0{id}Z"}

    first, second = said(1, verdict="normal"), said(2, verdict="odd", spans=[[0, 2]])
    assert summary(read(first, second)) == [("2", True, [1, 0, 0, 0])]
    assert summary(read(first, second, said(3, verdict="normal"), ODD)) == [("3", False, None), ("z", True, None)]


def test_the_same_verdict_twice_counts_once_with_the_last_marks(read):
    rows = [{"id": str(start), "text": TEXT, "verdict": "odd", "spans": [[start, start + 1]]} for start in (0, 3)]
    assert summary(read(*rows)) == [("3", True, [0, 1, 0, 0])]


def test_normal_verdicts_alone_teach_nothing(read):
    rows = [{"id": str(number), "text": f"text {number}", "verdict": "normal"} for number in range(3)]
    assert refused(read, *rows) == (
        "expected at least one odd verdict, got 3 that are all normal: add these documents to the normal ones instead"
    )


def test_documents_without_words_are_skipped(read):
    assert summary(read({"id": "a", "text": " ", "verdict": "maybe"}, ODD)) == [("z", True, None)]
    assert "expected reviewed documents, got none" in refused(read, {"id": "a", "text": " ", "verdict": "odd"})


def test_no_documents():
    with pytest.raises(InputError, match="expected reviewed documents, got none"):
        read_verdicts([])


def test_documents_made_in_python():
    document = Document("a b", (Word("a", 0, 1), Word("b", 2, 3)), odd=True)
    [verdict] = read_verdicts([document])
    assert verdict.document is document
    assert verdict.odd is True
    assert verdict.marked is None
