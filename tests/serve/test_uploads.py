"""Files as they are opened on the page: read as the command line reads them."""

import gzip
import http.client
import io
import json
import sys
import tempfile
import threading
from pathlib import Path
from urllib.parse import urlencode

import pytest

from difa.formats import read_documents
from difa.serve import body
from tests import HANG
from tests.formats.parquets import write_encrypted, write_shared
from tests.serve.conftest import running, wait_until

BINARY = {"Content-Type": "application/octet-stream"}
CSV = 'id;body;stars\r\n7;"two\r\nlines; and more words";5\r\n8;another row of text;\r\n9;too;many;cells\r\n'


@pytest.fixture(scope="module")
def plain(fast_model):
    with running({"m": fast_model}, max_table=100_000) as client:
        yield client


def read(client, content, **query):
    content = content.encode() if isinstance(content, str) else content
    status, _, answer = client.raw("POST", f"/v1/tables?{urlencode(query)}", content, BINARY)
    return status, json.loads(answer)


def test_a_table_keeps_ids_and_rows(plain):
    status, answer = read(plain, CSV, name="reviews.csv")
    assert status == 200
    assert {key: answer[key] for key in ("columns", "text_column", "id_column")} == {
        "columns": ["id", "body", "stars"],
        "text_column": "body",
        "id_column": "id",
    }
    assert answer["documents"][:2] == [
        {"id": "7", "text": "two\r\nlines; and more words", "columns": {"stars": "5"}},
        {"id": "8", "text": "another row of text", "columns": {"stars": ""}},
    ]
    assert answer["documents"][2]["id"] == "reviews.csv:4"
    assert answer["documents"][2]["error"].startswith("reviews.csv:4: expected 3 cells")


def test_who_must_choose_gets_the_columns(plain):
    content = "question,answer\nwhere is my order please,it is on its way to you\nwhy is it so late,we are very sorry\n"
    assert read(plain, content, name="a.csv")[1] == {
        "columns": ["question", "answer"],
        "text_column": None,
        "id_column": None,
        "documents": [],
    }
    answer = read(plain, content, name="a.csv", text_column="answer")[1]
    assert [document["text"] for document in answer["documents"]] == ["it is on its way to you", "we are very sorry"]
    assert answer["documents"][0]["columns"] == {"question": "where is my order please"}
    assert answer["documents"][0]["id"] == "a.csv:2"


def files():
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    buffer = io.BytesIO()
    parquet.write_table(pa.table({"text": ["one row", "another row"], "n": [1, 2]}), buffer)
    lines = '{"id": "x", "text": "one line", "n": 1}\n{"tokens": ["a b", "c"]}\nbroken\n'
    return {
        "a.txt": b"One document.\n\nAnother one.\n",
        "a.tsv": b"text\tn\none row\t1\n",
        "a.jsonl": lines.encode(),
        "a.jsonl.gz": gzip.compress(lines.encode()),
        "a.parquet": buffer.getvalue(),
    }


@pytest.mark.parametrize("name", ["a.txt", "a.tsv", "a.jsonl", "a.jsonl.gz", "a.parquet"])
def test_documents_are_those_of_the_command_line(plain, tmp_path, name, monkeypatch):
    (tmp_path / name).write_bytes(files()[name])
    status, answer = read(plain, files()[name], name=name)
    assert status == 200
    monkeypatch.chdir(tmp_path)
    documents = [document for document in answer["documents"] if "error" not in document]
    expected = list(read_documents([name], bad=[]))
    assert [document["id"] for document in documents] == [document.id for document in expected]
    assert [document["text"] for document in documents] == [document.text for document in expected]
    assert [document.get("columns", {}) for document in documents] == [document.columns for document in expected]
    listed = [document["tokens"] for document in documents if "tokens" in document]
    assert listed == ([["a b", "c"]] if "jsonl" in name else [])


@pytest.mark.parametrize(
    ("content", "query", "status", "message"),
    [
        ("a", {}, 422, "name: expected the name of the file"),
        ("a", {"name": "a.docx"}, 422, "a.docx: expected a file ending in"),
        ("", {"name": "../../etc/a.csv"}, 422, "a.csv: expected a header"),
        ("text,n\na,1\n", {"name": "a.csv", "text_column": "body"}, 422, "text column: expected one of the columns 'text', 'n'"),
        ("PAR1", {"name": "a.parquet"}, 422, "a.parquet: cannot be read as Parquet"),
        ("text\n" + "a" * 100_000, {"name": "a.csv"}, 413, "expected a file of at most 100000 bytes"),
        (gzip.compress(b"word " * 9 + b"\n" + b"word\n" * 50_000), {"name": "a.txt.gz"}, 413, "more than fits into a page"),
        (gzip.compress(b"[" + b" " * (1 << 25)), {"name": "a.json.gz"}, 422, "expected a Label Studio export"),
        (gzip.compress(b"\n" * (1 << 20)), {"name": "a.txt.gz"}, 200, ""),
        (b"text,spans\na," + b"[" * 90_000, {"name": "a.csv"}, 200, ""),
    ],
)
def test_what_cannot_be_read_gets_one_line(plain, content, query, status, message):
    got, answer = read(plain, content, **query)
    assert got == status
    assert message in answer.get("error", "")
    assert "/tmp" not in answer.get("error", "")


def test_parquet_that_becomes_too_large_is_refused(plain):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    buffer = io.BytesIO()
    parquet.write_table(pa.table({"text": ["a" * 500_000]}), buffer, compression="zstd")
    status, answer = read(plain, buffer.getvalue(), name="a.parquet")
    assert status == 413
    assert answer["error"] == "the file holds more than fits into a page: score it on the command line"


def test_an_encrypted_file_costs_one_request(plain, tmp_path):
    write_encrypted(tmp_path / "a.parquet", "other")
    for _ in range(3):
        status, answer = read(plain, (tmp_path / "a.parquet").read_bytes(), name="a.parquet")
        assert (status, answer) == (
            422,
            {"error": "a.parquet: expected Parquet without encryption, got an encrypted one: decrypt it"},
        )
    assert read(plain, "one\n", name="a.txt")[0] == 200


@pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded on Linux")
def test_a_file_that_takes_too_much_memory_costs_one_request(plain, tmp_path):
    write_shared(tmp_path / "a.parquet", 1000, 2 << 20)
    bombs = {"a.parquet": (tmp_path / "a.parquet").read_bytes(), "a.json.gz": gzip.compress(b"[" + b"{}," * (16 << 20) + b"{}]")}
    for name, content in bombs.items():
        status, answer = read(plain, content, name=name)
        assert (status, answer["error"].partition(",")[0]) == (413, f"{name}: expected a file that can be read in bounded memory")
    assert read(plain, "one\n", name="a.txt")[0] == 200


ENDLESS = gzip.compress(b"\n" * (64 << 20)) * 200  # hours of blank lines


def test_a_file_that_takes_too_long_is_given_up(fast_model):
    with running({"m": fast_model}, timeout=2) as client:
        status, answer = read(client, ENDLESS, name="endless.txt.gz")
        assert status == 504
        assert "expected a file that is read within 2 s" in answer["error"]


def test_a_file_is_given_up_when_its_sender_has_gone(fast_model, monkeypatch):
    begun, start = threading.Event(), body.start
    monkeypatch.setattr(body, "start", lambda memory: (start(memory), begun.set())[0])
    with running({"m": fast_model}, timeout=HANG) as client:
        connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=HANG)
        connection.request("POST", "/v1/tables?name=endless.txt.gz", ENDLESS, BINARY)
        assert begun.wait(HANG)
        connection.close()
        assert read(client, "one\n", name="a.txt")[0] == 200  # one at a time is read


def test_another_site_cannot_send_a_file(plain):
    assert plain.raw("POST", "/v1/tables?name=a.txt", b"a", {"Content-Type": "text/plain"})[0] == 415


def test_without_pyarrow_parquet_is_refused_by_name(plain, monkeypatch, tmp_path):
    (tmp_path / "pyarrow.py").write_text("raise ImportError")
    monkeypatch.syspath_prepend(tmp_path)
    status, answer = read(plain, b"PAR1", name="a.parquet")
    assert status == 422
    assert 'pip install "difa[tables]"' in answer["error"]


def test_without_room_for_files_the_service_says_so(plain, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    status, answer = read(plain, CSV, name="a.csv")
    assert status == 503
    assert "expected a folder for temporary files" in answer["error"]


def test_a_file_is_gone_when_it_is_read(plain, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert read(plain, CSV, name="a.csv")[0] == 200
    assert read(plain, b"PAR1", name="a.parquet")[0] == 422
    wait_until(lambda: not list(tmp_path.iterdir()))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="files need names here")
def test_a_file_has_no_name_that_a_killed_service_would_leave(plain, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen, start = [], body.start
    monkeypatch.setattr(body, "start", lambda memory: seen.append(list(tmp_path.iterdir())) or start(memory))
    assert read(plain, CSV, name="a.csv")[0] == 200
    assert seen == [[]]
