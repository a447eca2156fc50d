import io
import json
import sys

import pytest

from difa.errors import InputError
from difa.formats import read_documents


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
        ('{"txt": "a"}', "got only 'txt'"),
        ('{"text": 3}', 'expected a string as "text", got a number'),
        ('{"tokens": "a b"}', 'expected a list of strings as "tokens"'),
        ('{"tokens": ["a", 1]}', 'expected a list of strings as "tokens"'),
        ('{"tokens": ["a"], "labels": [0, 1]}', "got 2 labels for 1 words"),
        ('{"tokens": ["a"], "labels": [2]}', 'expected a list of 0 and 1 as "labels"'),
        ('{"text": "a", "labels": [1]}', 'expected "tokens" beside "labels"'),
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
