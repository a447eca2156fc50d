"""Files of strangers are read in a child process: what crashes or wants too much memory is refused in one line."""

import gc
import gzip
import json
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from difa.errors import InputError
from difa.formats import parquet as parquet_input
from difa.formats import read_documents, sandbox, streams
from difa.formats.sandbox import TooLargeError, lines_apart
from difa.formats.sources import Source
from tests.formats.parquets import hog, write_encrypted, write_shared
from tests.serve.conftest import wait_until


def texts(path):
    return [document.text for document in read_documents([str(path)])]


@pytest.fixture
def plain(tmp_path):
    path = tmp_path / "plain.parquet"
    parquet.write_table(pa.table({"text": ["one", "two", "three"]}), path)
    return path


@pytest.mark.parametrize(("column", "plaintext_footer"), [("text", True), ("other", True), ("other", False)])
def test_encrypted_parquet_is_refused_in_one_line(tmp_path, plain, column, plaintext_footer):
    write_encrypted(tmp_path / "a.parquet", column, plaintext_footer)
    with pytest.raises(InputError, match=r"a\.parquet: expected Parquet without encryption, got an encrypted one: decrypt it$"):
        texts(tmp_path / "a.parquet")
    assert texts(plain) == ["one", "two", "three"]


def test_a_crash_costs_one_file(plain):
    with pytest.raises(InputError, match=r"^a: cannot be read: the process that reads it crashed \(SIGABRT\)"):
        list(lines_apart("a", os.abort))
    with pytest.raises(InputError, match=r"^a: cannot be read: the process that reads it crashed \(exit code 1\)"):
        list(lines_apart("a", hog, "no size"))
    assert texts(plain) == ["one", "two", "three"]


def test_a_reader_that_is_given_up_in_a_cycle_ends_its_child(plain):
    documents = read_documents([str(plain)])
    next(documents)
    (child,) = sandbox._busy
    cycle = [documents]
    cycle.append(cycle)
    del documents, cycle
    gc.collect()
    assert child.poll() is not None
    assert not sandbox._busy


@pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded on Linux")
def test_memory_is_bounded(plain):
    with pytest.raises(TooLargeError, match=r"^a: expected a file that can be read in bounded memory, got one that takes more"):
        list(lines_apart("a", hog, 2 * sandbox.MOST_MEMORY))
    assert texts(plain) == ["one", "two", "three"]


def test_a_row_that_is_too_large_is_named(tmp_path):
    write_shared(tmp_path / "a.parquet", 20, 1 << 20)
    (row,) = parquet_input.read_rows(Source(str(tmp_path / "a.parquet")), most=10 << 20)
    assert row == [1, "expected a row of at most 10 MB, got a larger one: split it, or leave the column out"]
    (row,) = parquet_input.read_rows(Source(str(tmp_path / "a.parquet")))
    assert row == [1, {"text": "some words", "other": ["a " * (1 << 19)] * 20}]


def test_a_child_reads_one_file_after_another(plain):
    assert texts(plain) == texts(plain)
    first = sandbox._idle[os.getpid()].pid
    assert texts(plain) == ["one", "two", "three"]
    assert sandbox._idle[os.getpid()].pid == first
    sandbox._idle[os.getpid()].kill()
    wait_until(lambda: sandbox._idle[os.getpid()].poll() is not None)
    assert texts(plain) == ["one", "two", "three"]
    rows = lines_apart("a", parquet_input.row_lines, str(plain), "a", 0, None, 1000)
    next(rows)
    rows.close()  # what was not read to the end is of no more use
    assert os.getpid() not in sandbox._idle


def test_names_are_those_of_the_folder_that_we_are_in(plain, tmp_path, monkeypatch):
    assert texts(plain) == ["one", "two", "three"]
    (tmp_path / "in").mkdir()
    monkeypatch.chdir(tmp_path / "in")
    export(tmp_path / "in", '[{"text": "a task"}]')
    assert (texts("../plain.parquet"), texts("a.json.gz")) == (["one", "two", "three"], ["a task"])
    assert texts(f"file://{tmp_path}/in/a.json.gz") == ["a task"]


def test_a_forked_process_has_a_child_of_its_own(plain):
    assert texts(plain) == ["one", "two", "three"]
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(texts, (plain,)) == texts(plain)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks for processes in /proc")
def test_a_killed_process_leaves_no_child(plain):
    code = (
        "import os, sys, time; from difa.formats import read_documents, sandbox; list(read_documents(sys.argv[1:]));"
        "print(sandbox._idle[os.getpid()].pid, flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(plain)], stdout=subprocess.PIPE, text=True) as process:
        child = Path("/proc", process.stdout.readline().strip(), "cmdline")
        assert "answer_all" in child.read_text()
        process.kill()
    wait_until(lambda: not child.exists() or not child.read_text())


def test_nested_columns_of_parquet_keep_their_values(tmp_path):
    entries = pa.map_(pa.string(), pa.binary())
    table = pa.table(
        {
            "text": ["one", None, "three"],
            "list": [["a", "b", None], None, []],
            "deep": [[{"x": "a", "y": [["b"], None]}], [None], None],
            "map": pa.array([[("k", b"v"), ("l", None)], None, [("k", b"w")]], entries),
            "large": pa.array([["a"], None, ["b", "a"]], pa.large_list(pa.large_string())),
        }
    )
    parquet.write_table(table, tmp_path / "a.parquet")
    rows = table.to_pylist()
    rows[0]["map"], rows[2]["map"] = [["k", "dg=="], ["l", None]], [["k", "dw=="]]
    expected = [[number, row] for number, row in enumerate(rows, 1)]
    assert list(parquet_input.read_rows(Source(str(tmp_path / "a.parquet")))) == expected
    assert list(parquet_input.read_rows(Source(str(tmp_path / "a.parquet")), skip=1, end=2)) == expected[1:2]


def export(tmp_path, content):
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(content if isinstance(content, bytes) else content.encode()))
    return [str(path)]


@pytest.mark.parametrize(
    "content", ["", "[", "[1", "[1,]", "[1 2]", "[1] 2", "[tru]", '["a', '[{"a": }]', "nonsense", "{}", b"[\xff]", "[" * 200_000]
)
def test_what_is_no_export_is_refused(tmp_path, content):
    with pytest.raises(InputError, match=r"a\.json\.gz: expected a Label Studio export, a JSON list of tasks, got"):
        next(read_documents(export(tmp_path, content)))


def test_tasks_are_read_as_they_stand(tmp_path):
    tasks = [{"text": 'é😀 "]}\\', "n": 1.25e10}, {"data": {"text": "b", "c": [None, True, -3]}}, "no task"]
    bad = []
    documents = list(read_documents(export(tmp_path, "\ufeff" + json.dumps(tasks)), bad))
    assert [(document.text, document.columns) for document in documents] == [('é😀 "]}\\', {}), ("b", {"c": [None, True, -3]})]
    assert "a.json.gz:3: expected a task, a JSON object, got a string" in bad[0]


def test_a_task_or_line_of_very_many_values_is_refused_before_it_is_parsed(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "MOST_VALUES", 1000)
    content = '{"text": "a", "n": [' + "{}," * 1000 + "0]}"
    with pytest.raises(InputError, match="expected at most 1,000 commas and brackets in a line or task, got"):
        list(read_documents(export(tmp_path, f"[{content}]")))
    (tmp_path / "a.jsonl").write_text(f'{content}\n{{"text": "fine"}}\n')
    bad = []
    assert [document.text for document in read_documents([str(tmp_path / "a.jsonl")], bad)] == ["fine"]
    assert "a.jsonl:1: expected at most 1,000 commas and brackets in a line or task, got 2,003: split it" in bad[0]
