import gzip
import io
import json
import math
import sys

import pyarrow as pa
import pytest
from pyarrow import parquet

from difa.document import Result, WordScore
from difa.errors import InputError
from difa.formats import read_documents
from tests.lines import to_json_line


def write(path, *lines):
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines) + b"\n")
    return str(path)


def test_text_lines(tmp_path):
    name = write(tmp_path / "a.txt", b"\xef\xbb\xbfone text", "", "another\r", "žluťoučký")
    documents = list(read_documents([name]))
    assert [document.text for document in documents] == ["one text", "another", "žluťoučký"]
    assert [document.id for document in documents] == [f"{name}:1", f"{name}:3", f"{name}:4"]


def test_json_lines(tmp_path):
    records = [
        {"id": "x", "text": "He can't."},
        {"id": 7, "tokens": ["a", "b"], "labels": [0, 1]},
        {"text": "He can't.", "tokens": ["He", "can", "'", "t", "."]},
        {"text": "one two three", "spans": [[4, 5]]},
        {"text": ""},
    ]
    documents = list(read_documents([write(tmp_path / "a.jsonl", *map(json.dumps, records))]))
    assert [document.id for document in documents][:2] == ["x", "7"]
    assert documents[1].labels == (0, 1)
    assert documents[2].words[3].start == 7
    assert documents[3].labels == (0, 1, 0)
    assert documents[4].words == ()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("not json", "expected a JSON object"),
        ("[1]", "expected a JSON object, got a list"),
        ("{}", 'expected "text" or "tokens", got only an empty object'),
        ('{"txt": "a"}', """got only 'txt': rename the key with the text to "text" (strings are in 'txt')"""),
        ('{"n": 3}', """got only 'n': give the document as "text\""""),
        ('{"text": 3}', 'expected a string as "text", got a number'),
        ('{"tokens": "a b"}', 'expected a list of strings as "tokens"'),
        ('{"tokens": ["a", 1]}', 'expected a list of strings as "tokens"'),
        ('{"tokens": ["a"], "labels": [0, 1]}', "got 2 labels for 1 words"),
        ('{"tokens": ["a"], "labels": [2]}', 'expected a list of 0 and 1 as "labels"'),
        ('{"text": "a", "labels": [1]}', 'expected "tokens" beside "labels"'),
        ('{"text": "a", "tokens": 1, "labels": [1]}', 'expected "tokens" beside "labels"'),
        ('{"text": "a", "spans": [[0, 9]]}', 'within 0 to 1 as "spans"'),
        ('{"text": "a", "id": [1]}', 'as "id", got a list'),
        ('{"text": "\\ud800"}', "half a surrogate pair"),
        (b'{"text": "\xff"}', "expected UTF-8 text, got byte 0xff at position 10"),
        ("[" * 100_000, "expected a JSON object"),
    ],
)
def test_bad_lines_are_named_or_skipped(tmp_path, line, message):
    name = write(tmp_path / "a.jsonl", '{"text": "good"}', line, '{"text": "also good"}')
    with pytest.raises(InputError, match=r"a\.jsonl:2: ") as error:
        list(read_documents([name]))
    assert message in str(error.value)
    bad = []
    assert [document.text for document in read_documents([name], bad)] == ["good", "also good"]
    assert len(bad) == 1
    assert bad[0].startswith(f"{name}:2: ")


OURS = ("score", "p_value", "is_anomaly", "summary", "evidence", "words", "columns", "judged_by")


@pytest.mark.parametrize(
    "columns",
    [
        {"day": "mon", "n": [1]},
        dict.fromkeys(OURS, 3),
        {"score": 1, "p_value": 2, "is_anomaly": True, "words": ["one", "two"]},
        {"labels": "urgent"},
        {"labels": ["spam", "ham"]},
        {"labels": []},
        {"labels": {"spam": 1}, "tokens": 812},
        {"tokens": [1, 2], "spans": "none"},
        {"spans": [{"start": 0, "end": 3}]},
    ],
)
def test_what_only_shares_a_name_with_our_keys_is_a_column(tmp_path, columns):
    [document] = read_documents([write(tmp_path / "a.jsonl", json.dumps({"id": 1, "text": "one two", **columns}))])
    assert (len(document.words), document.labels, document.columns) == (2, None, columns)


@pytest.mark.parametrize(
    ("record", "kept"),
    [
        ({"tokens": ["a", "b"], "labels": [0, 1]}, {"tokens", "labels"}),
        ({"text": "a b", "tokens": ["a", "b"], "labels": [0, 1]}, {"tokens", "labels"}),
        ({"text": "a b", "spans": [[2, 3]]}, {"spans"}),
        ({"text": "a b", "spans": [[2, 3]], "tokens": ["A", "B"]}, {"spans", "tokens"}),
        ({"text": "a b", "tokens": ["a", "b"], "labels": ["X", "Y"]}, {"labels"}),
        ({"text": "a b", "tokens": ["a", "b"]}, set()),
    ],
)
def test_labels_outlast_scoring(tmp_path, record, kept):
    [document] = read_documents([write(tmp_path / "a.jsonl", json.dumps(record | {"id": "x"}))])
    assert document.columns == {key: record[key] for key in kept}
    words = tuple(WordScore(word.text, word.start, word.end, 1.0, 0.5, False) for word in document.words)
    line = to_json_line(Result(document.text, 1.0, 0.5, False, words, document.id, columns=document.columns, judged_by="screen"))
    assert list(read_documents([write(tmp_path / "b.jsonl", line)])) == [document]


def test_a_text_of_null_is_a_document_without_text(tmp_path):
    lines = '{"text": null, "day": "mon"}', '{"text": null, "tokens": ["a"]}', '{"text": null, "labels": [1]}'
    bad = []
    documents = list(read_documents([write(tmp_path / "a.jsonl", *lines)], bad))
    assert [(document.text, len(document.words), document.columns) for document in documents] == [
        ("", 0, {"day": "mon"}), ("a", 1, {}),
    ]  # fmt: skip
    assert 'expected "tokens" beside "labels"' in bad[0]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
def test_wide_encodings_are_named(tmp_path, encoding):
    for name in ("a.txt", "a.jsonl"):
        (tmp_path / name).write_bytes('{"text": "one"}\n{"text": "two"}'.encode(encoding))
        bad = []
        assert list(read_documents([str(tmp_path / name)], bad)) == []
        assert f"expected UTF-8 text, got {encoding[:6].upper()}: save the file as UTF-8" in bad[0]


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.txt.gz", "-"])
def test_carriage_returns_end_lines(tmp_path, monkeypatch, name):
    content = "\r".join(f'{{"text": "{word}"}}' if "json" in name and word else word for word in ("one", "", "two", "three"))
    packed = gzip.compress(content.encode()) if name.endswith(".gz") else content.encode()
    if name == "-":
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(packed)))
    else:
        (tmp_path / name).write_bytes(packed)
    documents = list(read_documents([name if name == "-" else str(tmp_path / name)]))
    found = [(document.text, document.id.rpartition(":")[2]) for document in documents]
    assert found == [("one", "1"), ("two", "3"), ("three", "4")]


def test_a_number_that_is_none_is_a_missing_value_in_every_format(tmp_path):
    records = [{"text": "one", "n": 1.5}, {"text": "two", "n": math.nan}, {"text": "three", "n": -math.inf}]
    parquet.write_table(pa.Table.from_pylist(records), tmp_path / "a.parquet")
    write(tmp_path / "a.jsonl", *map(json.dumps, records))
    write(tmp_path / "a.json", json.dumps([{"data": record} for record in records]))
    for name in ("a.parquet", "a.jsonl", "a.json"):
        documents = read_documents([str(tmp_path / name)])
        assert [document.columns["n"] for document in documents] == [1.5, None, None], name
    [document] = read_documents([write(tmp_path / "b.jsonl", '{"text": NaN, "id": NaN}')])
    assert (document.words, document.id) == ((), f"{tmp_path / 'b.jsonl'}:1")


def test_folders_stand_for_their_files(tmp_path):
    write(tmp_path / "b.txt", "two")
    (tmp_path / "deeper").mkdir()
    write(tmp_path / "deeper" / "a.jsonl", '{"text": "three"}')
    write(tmp_path / "a.txt", "one")
    write(tmp_path / "notes.md", "not a document")
    assert [document.text for document in read_documents([str(tmp_path)])] == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no.txt", "no.txt: cannot be read: No such file"),
        ("a.docx", "expected a file ending in .txt, .jsonl, .csv, .tsv, .parquet or .json"),
    ],
)
def test_files_that_cannot_be_read(name, message):
    with pytest.raises(InputError, match=message):
        list(read_documents([name]))


def test_an_empty_folder(tmp_path):
    with pytest.raises(InputError, match="found none"):
        list(read_documents([str(tmp_path)]))


@pytest.mark.parametrize(
    ("content", "texts"), [(b"one\ntwo\n", ["one", "two"]), (b'{"text": "one"}\n', ["one"]), (b"{curly\n", ["{curly"]), (b"", [])]
)
def test_standard_input(monkeypatch, content, texts):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert [document.text for document in read_documents(["-"])] == texts
