"""Small files that would become very large: what is decoded at a time is bounded, what is too large is refused."""

import pyarrow as pa
import pytest
from pyarrow import parquet

from difa.formats import parquet as parquet_input
from difa.formats import row_size


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
