"""Standard input: tables, a mark before JSON, lines without an end."""

import io
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from difa.errors import ConfigError, InputError
from difa.formats import read_documents, streams
from difa.formats.sources import find_sources
from difa.formats.tables import Columns


class Piped:
    def __init__(self, content):
        self.buffer = io.BytesIO(content)

    def fileno(self):
        raise io.UnsupportedOperation


@pytest.fixture
def pipe(monkeypatch):
    def give(content):
        streams.spooled_stdin.cache_clear()
        monkeypatch.setattr(sys, "stdin", Piped(content))

    yield give
    streams.spooled_stdin.cache_clear()


def test_a_mark_before_json_on_standard_input_is_read_over(pipe):
    pipe(b'\xef\xbb\xbf{"text": "one", "id": 7}\n{"text": "two"}\n')
    assert [(document.text, document.id) for document in read_documents(["-"])] == [("one", "7"), ("two", "stdin:2")]


def as_parquet(columns):
    sink = io.BytesIO()
    parquet.write_table(pa.table(columns), sink)
    return sink.getvalue()


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        (b"n;body\n1;one two\n2;three\n", Columns(stdin="csv")),
        (b"n;body\n1;one two\n2;three\n", Columns(text="body")),
        (b"n\tbody\n1\tone two\n2\tthree\n", Columns(stdin="tsv", text="body")),
        (as_parquet({"n": ["1", "2"], "body": ["one two", "three"]}), Columns(stdin="parquet")),
        (b'{"n": "1", "text": "one two"}\n{"n": "2", "text": "three"}\n', Columns(stdin="jsonl")),
        (b'[{"data": {"n": "1", "text": "one two"}}, {"data": {"n": "2", "text": "three"}}]', Columns(stdin="json")),
    ],
)
def test_standard_input_can_be_a_table(pipe, content, columns):
    pipe(content)
    for _ in range(2):  # looked at, and read
        sources = find_sources(["-"], columns)
    assert sources[0].is_stdin
    documents = list(read_documents(["-"], columns=columns))
    assert [(document.text, document.columns["n"]) for document in documents] == [("one two", "1"), ("three", "2")]
    assert documents[0].id.startswith("stdin:")


def test_lines_that_look_like_json_are_text_if_that_was_said(pipe):
    pipe(b'{"text": "one"}\n')
    (document,) = read_documents(["-"], columns=Columns(stdin="text"))
    assert document.text == '{"text": "one"}'
    with pytest.raises(ConfigError, match="input format: expected one of text, jsonl, json, csv, tsv, parquet, got 'xml'"):
        find_sources(["-"], Columns(stdin="xml"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device here")
def test_without_room_for_a_table_it_says_so_once(pipe, monkeypatch):
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda: Path("/dev/full").open("wb"))  # noqa: SIM115
    for content in (b"text\nfew bytes, which wait in memory\n", b"text\n" + b"more\n" * 100_000):
        pipe(content)
        with pytest.raises(InputError, match=r"standard input: cannot be kept in .*: No space left on device"):
            find_sources(["-"], Columns(stdin="csv"))


def test_a_line_without_an_end_on_standard_input_is_cut_off(pipe, monkeypatch):
    monkeypatch.setattr(streams, "MOST_BYTES", 1 << 17)
    pipe(b"x" * (1 << 20) + b"\nshort\n")
    bad = []
    assert [document.text for document in read_documents(["-"], bad)] == ["short"]
    assert "stdin:1: expected a line of at most" in bad[0]
