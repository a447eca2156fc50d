"""Inputs made to break readers: endless lines, loops of links, closed folders, names and ids that are no text."""

import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from difa.document import Result, WordScore
from difa.errors import InputError
from difa.formats import lines, read_documents, sources
from difa.formats.delimited import cut_rows, read_cells
from difa.formats.labelstudio import task_of
from difa.formats.sources import find_sources
from difa.formats.streams import bounded_lines
from difa.words import mark_words, split_words


def test_a_line_without_an_end_is_cut_off_while_it_is_read():
    file = io.BytesIO(b"one\n" + b"x" * 5_000_000 + b"\ntwo\n" + b"y" * 30)
    assert [len(line) for line in bounded_lines(file.readline, 20)] == [4, 21, 4, 21]


PEAK = """
import resource, sys
from difa.formats import read_documents
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
bad = []
texts = [document.text for document in read_documents(sys.argv[1:], bad)]
print(texts, bad, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, sep="\\n")
"""


@pytest.mark.slow
def test_a_small_packed_file_of_one_endless_line_takes_little_memory(tmp_path):
    with gzip.open(tmp_path / "a.txt.gz", "wb") as file:
        for _ in range(128):
            file.write(b"a " * (1 << 19))
        file.write(b"\nshort\n")
    assert (tmp_path / "a.txt.gz").stat().st_size < 500_000
    run = subprocess.run([sys.executable, "-c", PEAK, tmp_path / "a.txt.gz"], capture_output=True, text=True, check=True)
    texts, bad, kilobytes = run.stdout.splitlines()
    assert texts == "['short']"
    assert "a.txt.gz:1: expected a line of at most 64 MB, got a longer one" in bad
    assert int(kilobytes) < 250_000


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", b"%s\nshort\n"),
        ("a.jsonl", b'{"text": "%s"}\n{"text": "short"}\n'),
        ("a.csv", b"text,n\n%s,1\nshort,2\n"),
        ("a.json", b'[{"text": "%s"}, {"text": "short"}]'),
    ],
)
def test_lines_and_documents_have_bounds(tmp_path, monkeypatch, name, content):
    for module in [module for key, module in sys.modules.items() if key.startswith("difa.formats")]:
        for bound in ("MOST_BYTES", "MOST_CHARACTERS"):
            if hasattr(module, bound):
                monkeypatch.setattr(module, bound, 200 if bound == "MOST_BYTES" else 100)
    for length, message in ((150, "expected at most 100 characters in a document, got 150"), (500, "expected")):
        (tmp_path / name).write_bytes(content % (b"x" * length))
        bad = []
        assert [document.text for document in read_documents([str(tmp_path / name)], bad)] == ["short"]
        (complaint,) = bad
        assert message in complaint


def test_a_document_of_too_many_words_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "MOST_WORDS", 3)
    (tmp_path / "a.txt").write_text("one two three\none two three four\n")
    bad = []
    assert len(list(read_documents([str(tmp_path / "a.txt")], bad))) == 1
    assert bad[0].endswith("a.txt:2: expected at most 3 words in a document, got 4: split it")


def test_a_loop_of_links_shows_each_document_once(tmp_path):
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "deep" / "a.txt").write_text("one\n")
    (tmp_path / "in" / "again").symlink_to(tmp_path / "in")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "b.txt").write_text("two\n")
    (tmp_path / "in" / "other").symlink_to(tmp_path / "other")
    for name in ("in", "in/**/*.txt"):
        found = [document.id for document in read_documents([str(tmp_path / name)])]
        assert found == [f"{tmp_path}/in/deep/a.txt:1", f"{tmp_path}/in/other/b.txt:1"]


@pytest.mark.skipif(sys.platform != "linux", reason="paths may be long on Linux")
def test_folders_may_lie_very_deep(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(1200):
        os.mkdir("a")
        os.chdir("a")
    Path("b.txt").write_text("one\n")
    (document,) = read_documents([str(tmp_path)])
    assert document.text == "one"
    Path("b.txt").unlink()
    for _ in range(1200):  # whoever removes folders may not get so deep
        os.chdir("..")
        os.rmdir("a")


def test_a_closed_folder_is_named_and_counted(tmp_path, monkeypatch):
    for name in ("a.txt", "closed/b.txt", "open/c.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{name}\n")
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nothing")
    scandir = os.scandir

    def closed(place):  # whoever runs the tests as root may look everywhere
        if Path(place).name == "closed":
            raise PermissionError(13, "Permission denied")
        return scandir(place)

    monkeypatch.setattr(sources.os, "scandir", closed)
    with pytest.raises(InputError, match=r"closed: cannot be read: Permission denied \(skip_bad goes on without it\)"):
        list(read_documents([str(tmp_path)]))
    bad = []
    assert [document.text for document in read_documents([str(tmp_path)], bad)] == ["a.txt", "open/c.txt"]
    assert [line.removeprefix(f"{tmp_path}/") for line in bad] == [
        "closed: cannot be read: Permission denied",
        "gone.txt: cannot be read: a link that leads nowhere",
    ]


def test_a_file_name_that_is_no_text_is_escaped_in_ids(tmp_path):
    name = os.fsencode(tmp_path) + b"/\xff\xe9.txt"
    with open(name, "w") as file:
        file.write("one\n")
    (document,) = read_documents([os.fsdecode(name)])
    assert document.id == f"{tmp_path}/\\xff\\xe9.txt:1"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (r'{"text": "a", "id": "x\ud800"}', "half a surrogate pair in the id"),
        (r'{"text": "a", "more": {"\udfff": 1}}', "half a surrogate pair in the id or another column"),
        ('{"text": "a", "more": 1e999}', "expected other columns that JSON can hold"),
        ('{"text": "a", "text": "b"}', "expected a JSON object, got something else (the key 'text' twice)"),
        ('{"text": "a", "more": {"b": 1, "b": 2}}', "expected a JSON object, got something else (the key 'b' twice)"),
        ('{"text": "a", "more": [1e999]}', "expected other columns that JSON can hold"),
    ],
)
def test_what_no_writer_can_write_is_a_bad_line(tmp_path, line, message):
    (tmp_path / "a.jsonl").write_text(line + '\n{"text": "good"}\n')
    (tmp_path / "a.json").write_text(f"[{line.replace(chr(34) + 'more', chr(34) + 'data')}]" if "id" in line else "[]")
    bad = []
    documents = list(read_documents([str(tmp_path / "a.jsonl")], bad))
    assert [document.text for document in documents] == ["good"]
    assert message in bad[0]


def test_cells_of_parquet_that_are_no_text_are_bad_rows(tmp_path):
    cells = pa.array([b"good", b"\xff\xfe", b"also good"]).view(pa.binary())
    column = pa.StringArray.from_buffers(3, *cells.buffers()[1:])
    parquet.write_table(pa.table({"text": column, "n": [1, 2, 3]}), tmp_path / "a.parquet")
    bad = []
    documents = list(read_documents([str(tmp_path / "a.parquet")], bad))
    assert [(document.text, document.columns["n"]) for document in documents] == [("good", 1), ("also good", 3)]
    assert "a.parquet:2: expected UTF-8 text, got byte 0xff" in bad[0]


@pytest.mark.parametrize(
    "fields",
    [
        {"annotations": 5},
        {"annotations": [3]},
        {"annotations": [{"result": "x"}]},
        {"annotations": [{"result": [7]}]},
        {"annotations": [{"result": [{"value": {"start": -5, "end": 2, "text": "x"}}]}]},
        {"annotations": [{"result": [{"value": {"start": 0, "end": 1, "labels": 5}}]}]},
        {"annotations": [{"result": [{"value": {"start": 1e9, "end": 1}}]}]},
        {"annotations": [{"result": [{"value": {"start": 10**30, "end": 10**31, "text": "x"}}]}]},
        {"id": "\ud800"},
        {"data": {"text": "a b", "k": "\ud800"}},
    ],
)
def test_odd_fields_of_label_studio_are_bad_tasks(tmp_path, fields):
    (tmp_path / "a.json").write_text(json.dumps([{"data": {"text": "a b"}, **fields}, {"data": {"text": "good"}}]))
    bad = []
    assert [document.text for document in read_documents([str(tmp_path / "a.json")], bad)] == ["good"]
    assert "a.json:1: expected" in bad[0]


def test_values_that_are_none_or_odd_stand_for_no_marks(tmp_path):
    results = [{"value": None}, {"value": 3}, {}]
    (tmp_path / "a.json").write_text(json.dumps([{"data": {"text": "a b"}, "annotations": [{"result": results}]}]))
    (document,) = read_documents([str(tmp_path / "a.json")])
    assert document.labels == (0, 0)


def test_marks_are_those_of_every_pair_of_word_and_span(rng):
    words = split_words("a bb ccc d eeee f gg " * 5)
    for _ in range(200):
        spans = [(int(start), int(start + rng.integers(0, 9))) for start in rng.integers(0, 90, size=rng.integers(0, 6))]
        expected = tuple(int(any(w.start < end and start < w.end for start, end in spans if start < end)) for w in words)
        assert mark_words(words, spans) == expected


class Counted:
    """A word that counts how often its end is looked at."""

    looks = 0

    def __init__(self, start):
        self.start = start

    @property
    def end(self):
        Counted.looks += 1
        return self.start + 1


def test_marking_is_one_pass_over_words_and_spans():
    words = [Counted(start) for start in range(0, 2000, 2)]
    assert mark_words(words, [(start, start + 1) for start in range(0, 2000, 4)]) == (1, 0) * 500
    assert Counted.looks <= 2000


def test_spans_in_code_points_and_in_units_mark_the_same_words(tmp_path):
    count = 500
    text = "👍 a " * count
    spans = [[4 * at, 4 * at + 1] for at in range(count)]
    units = [{"start": 5 * at, "end": 5 * at + 2, "text": "👍"} for at in range(count)]
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": text, "spans": spans}))
    task = {"data": {"text": text}, "annotations": [{"result": [{"value": unit} for unit in units]}]}
    (tmp_path / "a.json").write_text(json.dumps([task]))
    lines, tasks = read_documents([str(tmp_path / "a.jsonl"), str(tmp_path / "a.json")])
    assert lines.labels == tasks.labels == (1, 0) * count
    words = tuple(WordScore(w.text, w.start, w.end, 1.0, 0.5, w.text == "👍") for w in lines.words)
    regions = task_of(Result(text, 1.0, 0.5, True, words), "v", lambda word: "")["predictions"][0]["result"]
    assert regions[-2]["value"]["start"] == 5 * (count - 1)


TABLE = 'id,text\r\n1,"a\nb"\r2,c\r\n\n3,"x""y, z"\n4,5" pipe\n"5,broken\n6,last'


@pytest.mark.parametrize("size", [1, 5, 12, 1000])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_any_cut_of_a_table_gives_the_same_rows(tmp_path, size, encoding):
    path = tmp_path / "a.csv"
    path.write_bytes(TABLE.encode(encoding))
    (source,) = find_sources([str(path)])
    with path.open("rb") as file:
        whole = list(read_cells(file, source.table))
    with path.open("rb") as file:
        pieces = cut_rows(file, source.table, size)
    assert len(pieces) > 2 or size > 5 or encoding == "utf-16"
    found = []
    for piece in pieces:
        with path.open("rb") as file:
            file.seek(piece.start)
            found += read_cells(file, source.table, piece)
    assert found == whole
    assert [number for number, _ in whole][:3] == [2, 3, 5]


def test_parquet_whose_column_names_are_no_text_is_refused_in_one_line(tmp_path):
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"nameXY": ["some words"]}), path)
    path.write_bytes(path.read_bytes().replace(b"nameXY", b"name\xd8\xff"))
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        list(read_documents([str(path)]))


def test_brackets_without_end_in_a_cell_are_an_ordinary_column(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f'text,spans\nhello my friend,"{"[" * 100_000}"\n')
    (document,) = read_documents([str(path)])
    assert document.labels is None
    assert document.columns == {"spans": "[" * 100_000}
