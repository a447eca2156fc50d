"""Tables out: what goes in comes out again, whatever the format."""

import csv
import datetime
import decimal
import io
import json
from dataclasses import replace

import pyarrow as pa
import pytest
from pyarrow import parquet

from difa.document import Result, WordScore, columns_of
from difa.errors import ConfigError, InputError
from difa.formats.results import read_results
from difa.formats.sources import find_sources
from difa.formats.streams import unpacked
from difa.formats.tables import Shape
from difa.formats.write import Publisher, format_of

WORDS = (
    WordScore("=cmd", 0, 4, 5.0, 0.001, True, {"form": 3.5}, "command"),
    WordScore("ok", 5, 7, 0.5, 0.6, False, {"form": 0.0}),
)
RESULT = Result("=cmd ok", 4.5, 0.002, True, WORDS, "x", {"words: highest": 2.0}, {"day": "mon", "n": None})
EMPTY = Result("", 0.0, 1.0, False, (), None, {}, {"day": "+1", "n": [1, {"a": "b"}]})


def publish(tmp_path, name, results, shape=None, format=None):
    part = tmp_path / ".part"
    publisher = Publisher(format or format_of(tmp_path / name, None), shape or Shape(("id", "text")))
    part.write_bytes(b"".join(map(publisher.block, columns_of(results))))
    publisher(part, tmp_path / name)
    assert not part.exists()
    return tmp_path / name


def rows_of(path):
    with path.open("rb") as raw, unpacked(path, raw) as file:
        return list(csv.DictReader(io.StringIO(file.read().decode("utf-8-sig"), newline="")))


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a.parquet"])
def test_results_come_back_as_they_were(tmp_path, name):
    path = publish(tmp_path, name, [RESULT, RESULT])
    assert list(read_results([path])) == [RESULT, RESULT]
    assert list(read_results([tmp_path])) == [RESULT, RESULT]


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.csv.zst"])
def test_a_spreadsheet_takes_no_cell_for_a_formula(tmp_path, name):
    first, second = rows_of(publish(tmp_path, name, [RESULT, EMPTY]))
    assert list(first) == [
        "id", "text", "day", "n", "score", "p_value", "is_anomaly", "flagged_words", "suggestions", "summary",
    ]  # fmt: skip
    assert (first["text"], first["flagged_words"], first["suggestions"]) == ("'=cmd ok", "'=cmd", "'=cmd → command")
    assert (first["score"], first["is_anomaly"], first["n"]) == ("4.5", "true", "")
    assert (second["day"], second["n"]) == ("+1", '[1, {"a": "b"}]')


def test_csv_begins_with_a_mark_and_tsv_has_tabs(tmp_path):
    assert publish(tmp_path, "a.csv", [RESULT]).read_bytes().startswith(b"\xef\xbb\xbfid,text,day")
    assert b"id\ttext\tday" in publish(tmp_path, "a.tsv", [RESULT]).read_bytes()


@pytest.mark.parametrize("name", ["a.csv", "b.tsv", "c.csv.gz"])
def test_rows_that_are_written_at_once_are_those_made_of_columns(tmp_path, name):
    source = tmp_path / "in.csv"
    source.write_text("day,n,text,score\n1,2,some words here,3\n")
    shape = Shape.of_sources(find_sources([str(source)]))
    assert shape.is_complete
    results = [
        replace(result, columns={"day": result.columns["day"], "n": "-1", "score": '"quoted",\n'}) for result in (RESULT, EMPTY)
    ]
    at_once = publish(tmp_path, name, results, shape).read_bytes()
    assert publish(tmp_path, name, results, replace(shape, is_complete=False)).read_bytes() == at_once


def test_only_tables_and_plain_text_have_columns_that_are_known(tmp_path):
    for name, content, is_complete in (("a.csv", "text\none\n", True), ("a.txt", "one\n", True), ("a.jsonl", "{}", False)):
        (tmp_path / name).write_text(content)
        assert Shape.of_sources(find_sources([str(tmp_path / name)])).is_complete is is_complete
    assert not Shape.of_sources(find_sources([str(tmp_path / "a.csv"), str(tmp_path / "a.jsonl")])).is_complete


def test_the_users_table_keeps_its_names_and_order(tmp_path):
    source = tmp_path / "in.csv"
    source.write_text("when,score,body,ticket\n1,2,some words here,3\n")
    (table,) = sources = find_sources([str(source)])
    result = Result("some words here", 1.5, 0.5, False, (), f"{source}:2", {}, {"when": "1", "score": "2", "ticket": "3"})
    (row,) = rows_of(publish(tmp_path, "out.csv", [result], Shape.of_sources(sources)))
    assert table.table.text == "body"
    assert list(row)[:6] == ["id", "when", "score", "body", "ticket", "difa_score"]
    assert (row["score"], row["difa_score"], row["body"]) == ("2", "1.5", "some words here")
    path = publish(tmp_path, "out.parquet", [result], Shape.of_sources(sources))
    assert list(read_results([path])) == [result]


def test_parquet_columns_keep_their_types(tmp_path):
    kept = {
        "day": pa.array([datetime.date(2026, 1, 2)]),
        "at": pa.array([datetime.datetime(2026, 1, 2, 3, tzinfo=datetime.UTC)]),
        "price": pa.array([decimal.Decimal("1.50")]),
        "raw": pa.array([b"\x00\xff"]),
        "stars": pa.array([4], pa.int16()),
        "tags": pa.array([["a"]]),
    }
    parquet.write_table(pa.table({"text": ["one"], **kept}), tmp_path / "in.parquet")
    sources = find_sources([str(tmp_path / "in.parquet")])
    from difa.formats import read_entries

    (entry,) = read_entries(sources)
    result = Result("one", 0.0, 1.0, False, (), entry.document.id, {}, entry.document.columns)
    path = publish(tmp_path, "out.parquet", [result], Shape.of_sources(sources))
    table = parquet.read_table(path)
    assert {name: table[name].combine_chunks() for name in kept} == kept
    assert table.column_names[:2] == ["id", "text"]


def test_types_follow_the_values_where_nothing_else_says_them(tmp_path):
    results = [
        Result("a", 0.0, 1.0, False, (), "1", {}, {"n": 1, "x": 1, "b": True, "m": "s"}),
        Result("b", 0.0, 1.0, False, (), "2", {}, {"n": 2**70, "x": 0.5, "b": None, "m": 2}),
    ]
    table = parquet.read_table(publish(tmp_path, "a.parquet", results))
    assert [str(table.schema.field(name).type) for name in ("n", "x", "b", "m")] == ["string", "double", "bool", "string"]
    assert table["m"].to_pylist() == ["s", "2"]


def test_the_format_follows_the_ending_or_the_option(tmp_path):
    assert [format_of(tmp_path / name, None) for name in ("a.csv.gz", "a.parquet", "a", "a.gz")] == [
        "csv", "parquet", "jsonl", "jsonl",
    ]  # fmt: skip
    assert format_of(tmp_path / "a.txt", "jsonl") == "jsonl"
    assert format_of(tmp_path / "a", "parquet") == "parquet"
    for out, asked, message in [
        (tmp_path / "a.csv", "parquet", "expected a file ending in .parquet"),
        (tmp_path / "a.xlsx", None, r"ending in .jsonl, .csv, .tsv, .parquet \(all but .* got .xlsx: choose one"),
        (tmp_path / "a.txt.gz", None, "got .txt: choose one"),
        (tmp_path / "a.parquet.gz", None, "expected Parquet as it is, got .gz"),
        (tmp_path / "a.zst", "parquet", "expected Parquet as it is, got .zst"),
        (None, "parquet", "got standard output"),
        (None, "xlsx", "expected one of jsonl, csv, tsv, parquet"),
    ]:
        with pytest.raises(ConfigError, match=message):
            format_of(out, asked)


def test_other_files_are_no_results(tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "x"}) + "\n")
    (tmp_path / "a.csv").write_text("text\nx\n")
    parquet.write_table(pa.table({"text": ["x"]}), tmp_path / "a.parquet")
    (tmp_path / "empty").mkdir()
    for name, message in [
        ("a.jsonl", "a.jsonl:1: expected a result"),
        ("a.csv", "offsets of words"),
        ("a.parquet", "without the column 'score'"),
        ("no.jsonl", "No such file"),
        ("empty", "found none"),
    ]:
        with pytest.raises(InputError, match=message):
            list(read_results([tmp_path / name]))


def test_white_space_before_a_number_does_not_hide_a_formula(tmp_path):
    (row,) = rows_of(publish(tmp_path, "a.csv", [replace(RESULT, columns={"day": "\t5"})]))
    assert row["day"] == "'\t5"


@pytest.mark.parametrize("beginning", ["\n=1", "\n5", "\uff1d1", "\uff0b1", "\uff0d1", "\uff201"])
def test_a_line_feed_or_a_full_width_sign_does_not_hide_a_formula(tmp_path, beginning):
    (row,) = rows_of(publish(tmp_path, "a.csv", [replace(RESULT, columns={"day": beginning})]))
    assert row["day"] == f"'{beginning}"
