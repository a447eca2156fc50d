"""Small files that would become very large: what is decoded at a time is bounded, what is too large is refused."""

import gzip
import io
import json

import pyarrow as pa
import pytest
from pyarrow import parquet

from difa.errors import InputError
from difa.formats import bounds, json_list, labelstudio, read_documents, row_size
from difa.formats import parquet as parquet_input
from difa.formats.json_list import list_items
from difa.formats.packed import Bounded
from difa.runtime.stopping import Abandoned, while_wanted


def write_shared(path, column, **options):
    """A file of a few kilobytes in which one long string stands in 300 rows, or 300 times in one row."""
    shared = pa.DictionaryArray.from_arrays(pa.array([0] * 300, pa.int32()), pa.array(["a " * 50_000]))
    columns = {
        "text": {"text": shared},
        "other": {"text": ["some words"] * 300, "other": shared},
        "struct": {"text": ["some words"] * 300, "other": pa.StructArray.from_arrays([shared], ["inner"])},
        "list": {"text": ["some words"] * 2, "other": pa.ListArray.from_arrays(pa.array([0, 299, 300], pa.int32()), shared)},
    }
    parquet.write_table(pa.table(columns[column]), path, compression="zstd", dictionary_pagesize_limit=1 << 30, **options)
    assert path.stat().st_size < 5000


@pytest.mark.parametrize("store_schema", [False, True])
@pytest.mark.parametrize("column", ["text", "other", "struct"])
def test_a_string_that_parquet_holds_once_is_decoded_for_few_rows_at_a_time(tmp_path, monkeypatch, column, store_schema):
    write_shared(tmp_path / "a.parquet", column, store_schema=store_schema)
    monkeypatch.setattr(row_size, "MOST_BYTES", 1 << 20)
    seen, values = [], parquet_input._values
    monkeypatch.setattr(parquet_input, "_values", lambda batch, most: seen.append(len(batch)) or values(batch, most))
    rows = list(parquet_input.read_rows(tmp_path / "a.parquet"))
    assert rows == list(enumerate(parquet.read_table(tmp_path / "a.parquet").to_pylist(), 1))
    assert max(seen) * 100_000 < 1 << 20


def test_a_string_that_stands_in_one_row_many_times_is_not_decoded(tmp_path):
    write_shared(tmp_path / "a.parquet", "list", store_schema=False)
    (_, first), (_, second) = parquet_input.read_rows(tmp_path / "a.parquet", most=1 << 20)
    assert first == "expected a row of at most 1 MB, got a larger one: split it, or leave the column out"
    assert second == {"text": "some words", "other": ["a " * 50_000]}


def test_rows_of_a_file_that_expands_widely_are_decoded_one_at_a_time(tmp_path, monkeypatch):
    table = pa.table({"text": ["a"] * 5000 + ["b" * 100_000] * 100})
    parquet.write_table(table, tmp_path / "a.parquet", compression="zstd", use_dictionary=False)
    monkeypatch.setattr(row_size, "MOST_BYTES", 1 << 20)
    group = parquet.ParquetFile(tmp_path / "a.parquet").metadata.row_group(0)
    assert row_size.batch_rows(tmp_path / "a.parquet", group) == 1


def test_nested_columns_of_parquet_keep_their_values(tmp_path):
    entries = pa.map_(pa.string(), pa.binary())
    table = pa.table(
        {
            "text": ["one", None, "three"],
            "list": [["a", "b", None], None, []],
            "deep": [[{"x": "a", "y": [["b"], None]}], [None], None],
            "map": pa.array([[("k", b"v"), ("l", None)], None, [("k", b"w")]], entries),
            "maps": pa.array([[[("k", b"v")]], [None, []], None], pa.list_(entries)),
            "large": pa.array([["a"], None, ["b", "a"]], pa.large_list(pa.large_string())),
        }
    )
    parquet.write_table(table, tmp_path / "a.parquet")
    expected = list(enumerate(table.to_pylist(), 1))
    assert list(parquet_input.read_rows(tmp_path / "a.parquet")) == expected
    with (tmp_path / "a.parquet").open("rb") as file:
        assert list(parquet_input.read_rows(file, skip=1)) == expected[1:]
    assert [row for _, row in parquet_input.read_rows(tmp_path / "a.parquet", most=1)] == [
        "expected a row of at most 0 MB, got a larger one: split it, or leave the column out"
    ] * 3


LISTS = [
    "[]",
    " [ ] ",
    "[1]",
    '\ufeff[{"a": "b\\u00e9\\\\\\"]}é😀", "c": [1.25e+10, -3, NaN, -Infinity, true, false, null]}, {}, "x,]", [[]], 12.5 , 1e5]',
    "["
    + " " * 70
    + '{"a"'
    + " " * 70
    + ":"
    + "\n" * 70
    + "1"
    + " " * 70
    + ","
    + " " * 70
    + '"b":2}'
    + " " * 70
    + ", 7"
    + "\t" * 70
    + "]\n",
    "[" + ", ".join(['{"text": "some words", "n": 123456.75}'] * 20) + "]",
]


@pytest.mark.parametrize("block", [1, 2, 3, 7, 40, 1 << 20])
@pytest.mark.parametrize("content", LISTS)
def test_a_list_has_the_same_items_however_it_is_cut(monkeypatch, content, block):
    monkeypatch.setattr(json_list, "_BLOCK", block)
    items = [json.loads(item) for item in list_items(io.BytesIO(content.encode()))]
    assert repr(items) == repr(json.loads(content.removeprefix("\ufeff")))


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
@pytest.mark.parametrize(
    "content", ["", "[", "[1", "[1,", "[1,]", "[1 2]", "[1] 2", "[tru]", '["a', '[{"a": }]', '[{"a" 1}]', "nonsense", "[\xff]"]
)
def test_what_is_no_list_is_refused(monkeypatch, content, block):
    monkeypatch.setattr(json_list, "_BLOCK", block)
    with pytest.raises(InputError, match="expected a Label Studio export, a JSON list of tasks, got"):
        list(labelstudio.tasks(io.BytesIO(content.encode("latin-1"))))


def export(tmp_path, content):
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(content.encode()))
    return [str(path)]


def test_an_export_has_bounds(tmp_path, monkeypatch):
    monkeypatch.setattr(labelstudio, "MOST_TASKS", 10)
    monkeypatch.setattr(labelstudio, "MOST_EXPORT", 1 << 20)
    assert len(list(read_documents(export(tmp_path, "[" + ",".join(['{"text": "a"}'] * 10) + "]")))) == 10
    with pytest.raises(InputError, match=r"a\.json\.gz: expected a Label Studio export of at most 10 tasks, got more"):
        next(read_documents(export(tmp_path, "[" + ",".join(['{"text": "a"}'] * 11) + "]")))
    with pytest.raises(InputError, match=r"a\.json\.gz: expected a Label Studio export of at most 1 MB, got more"):
        next(read_documents(export(tmp_path, "[" + " " * (2 << 20) + "]")))


def test_a_task_or_line_of_very_many_values_is_refused_before_it_is_parsed(tmp_path, monkeypatch):
    monkeypatch.setattr(bounds, "MOST_VALUES", 1000)
    monkeypatch.setattr(json_list, "_BLOCK", 100)
    content = '{"text": "a", "n": [' + "{}," * 1000 + "0]}"
    with pytest.raises(InputError, match="expected at most 1,000 commas and brackets in a line or task, got"):
        list(read_documents(export(tmp_path, f"[{content}]")))
    (tmp_path / "a.jsonl").write_text(f'{content}\n{{"text": "fine"}}\n')
    bad = []
    assert [document.text for document in read_documents([str(tmp_path / "a.jsonl")], bad)] == ["fine"]
    assert "a.jsonl:1: expected at most 1,000 commas and brackets in a line or task, got 2,003: split it" in bad[0]


def test_a_task_that_is_too_long_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(json_list, "MOST_BYTES", 1000)
    monkeypatch.setattr(json_list, "_BLOCK", 100)
    with pytest.raises(InputError, match="expected tasks of at most 0 MB, got a larger one"):
        list(read_documents(export(tmp_path, '[{"text": "' + "a" * 5000 + '"}]')))


def test_reading_ends_when_nobody_waits_for_it():
    file = io.BufferedReader(Bounded(io.BytesIO(b"\n" * 100), 1000, "too much"))
    with while_wanted(lambda: False), pytest.raises(Abandoned):
        file.readline()
    assert len(file.read()) == 100
