"""Tables in: separators, quoting, encodings, columns; and what cannot be read, in one line."""

import datetime
import gzip

import pyarrow as pa
import pytest
from pyarrow import parquet

from difa.engines.local import Job, Silent, score_inputs
from difa.errors import InputError
from difa.formats import read_documents
from difa.formats.results import read_results
from difa.formats.sources import find_sources
from difa.formats.tables import Columns

ROWS = 'id,body,day\r\n7,"Where is my\norder, please?",mon\r\n8,,tue\r\n,"She said ""no""",wed\r\n'


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def read(name, **columns):
    return list(read_documents([name], columns=Columns(**columns)))


def test_rows_are_documents_with_their_other_columns(tmp_path):
    name = write(tmp_path / "a.csv", ROWS)
    documents = read(name)
    assert [document.text for document in documents] == ["Where is my\norder, please?", "", 'She said "no"']
    assert [document.id for document in documents] == ["7", "8", f"{name}:4"]
    assert [document.columns for document in documents] == [{"day": "mon"}, {"day": "tue"}, {"day": "wed"}]


@pytest.mark.parametrize(
    "content",
    [
        ROWS.replace(",", ";").replace("order;", "order,"),
        "\ufeff" + ROWS,
        ROWS.encode("utf-16"),
        "sep=,\r\n" + ROWS,
        "\r\n" + ROWS,
        ROWS.replace("\r\n", "\n"),
        ROWS.replace(",", "|").replace("order|", "order,"),
    ],
    ids=["semicolons", "mark", "utf-16", "declared", "blank line", "newlines", "bars"],
)
def test_dialects_give_the_same_documents(tmp_path, content):
    assert [document.text for document in read(write(tmp_path / "a.csv", content))] == [
        "Where is my\norder, please?", "", 'She said "no"',
    ]  # fmt: skip


def test_packed_tables(tmp_path):
    plain = [document.text for document in read(write(tmp_path / "a.csv", ROWS))]
    assert [document.text for document in read(write(tmp_path / "b.csv.gz", gzip.compress(ROWS.encode())))] == plain
    zipped = pa.compress(ROWS.encode(), "zstd", asbytes=True)
    assert [document.text for document in read(write(tmp_path / "c.csv.zst", zipped))] == plain
    tabs = ROWS.replace(",", "\t").replace("order\t", "order,")
    assert [
        document.text for document in read(write(tmp_path / "d.tsv.zst", pa.compress(tabs.encode(), "zstd", asbytes=True)))
    ] == plain
    lines = pa.compress(b"one\ntwo\n", "zstd", asbytes=True)
    assert [document.text for document in read_documents([write(tmp_path / "e.txt.zst", lines)])] == ["one", "two"]


def test_parquet_keeps_types_out_of_the_way(tmp_path):
    table = pa.table(
        {
            "note": ["where is it now", None],
            "when": [datetime.date(2026, 1, 2), None],
            "stars": [4, 5],
            "tags": [["a", "b"], []],
            "raw": [b"\x00", None],
        }
    )
    parquet.write_table(table, tmp_path / "a.parquet")
    documents = read(str(tmp_path / "a.parquet"))
    assert [document.text for document in documents] == ["where is it now", ""]
    assert documents[0].columns == {"when": "2026-01-02", "stars": 4, "tags": ["a", "b"], "raw": "AA=="}
    assert documents[1].id == f"{tmp_path / 'a.parquet'}:2"


@pytest.mark.parametrize(
    ("header", "row", "text"),
    [
        ("Text,Body", "a,b", "Text"),
        ("number,review", "a,b", "review"),
        ("a,b", "x,one two three four", "b"),
        ("only", "x", "only"),
    ],
)
def test_one_obvious_text_column_is_found(tmp_path, header, row, text):
    table = find_sources([write(tmp_path / "a.csv", f"{header}\n{row}\n")])[0].table
    assert table.text == text
    assert table.is_guess == ("," in header)


@pytest.mark.parametrize(
    ("content", "columns", "message"),
    [
        ("a,b\n1,2\n", {}, "expected one obvious text column, got the columns 'a', 'b': name the text column"),
        ("body,review\n1,2\n", {}, "expected one obvious text column"),
        ("a,b\n1,2\n", {"text": "c"}, "text column: expected one of the columns 'a', 'b', got 'c'"),
        ("a,b\n1,2\n", {"text": "a", "id": "c"}, "id column: expected one of the columns 'a', 'b', got 'c'"),
        ('{"a": "one"}\n', {"text": "a"}, """got 'a': this is JSON, so rename the key to "text" and name no column"""),
        ("a,a\n1,2\n", {}, "expected a header with different names, got 'a' twice"),
        ("", {}, "expected a header with the names of the columns, got an empty table"),
        ("text,b\none\n", {}, "a.csv:2: expected 2 cells as in the header, got 1: put quotes"),
        ('text,b\n"one,2\n', {}, "a.csv:2: expected a row of a table, got a broken one (a quote is opened and never closed)"),
        ("text,b\nsch\u00f6n,2\n".encode("latin-1"), {}, "a.csv:2: expected UTF-8 text, got byte 0xf6: save the table"),
        ('text,b\n"one" two,2\n', {}, """(',' expected after '"'): double the quotes inside cells, or remove them"""),
        (
            "text,b\none,2\n".encode("utf-16-le"),
            {},
            "a.csv: expected UTF-8 text, or UTF-16 with its mark, got UTF-16 without one",
        ),
        ("text,b\none,2\n".encode("utf-16-be"), {}, "got UTF-16 without one: save the table as CSV UTF-8, or run iconv"),
        ("t\u00e4xt,b\nsch,2\n".encode("latin-1"), {}, "a.csv:1: expected UTF-8 text, got byte 0xe4"),
    ],
)
def test_what_cannot_be_read_is_one_clear_line(tmp_path, content, columns, message):
    with pytest.raises(InputError) as error:
        read(write(tmp_path / "a.csv", content), **columns)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_broken_quote_between_tabs_is_shown_as_one_types_it(tmp_path):
    with pytest.raises(InputError) as error:
        read(write(tmp_path / "a.tsv", 'text\tb\n"one" two\t2\n'))
    assert """got a broken one ('\\t' expected after '"'): double the quotes inside cells, or remove them""" in str(error.value)


def test_empty_names_of_a_header_are_numbered(tmp_path):
    [document] = read(write(tmp_path / "a.csv", "text,n,,\none two,1,,\n"))
    assert document.columns == {"n": "1", "column 3": "", "column 4": ""}
    [document] = read(write(tmp_path / "b.csv", ",text\n0,one two\n"))
    assert document.columns == {"": "0"}


def test_bad_rows_can_be_skipped(tmp_path):
    bad = []
    name = write(tmp_path / "a.csv", b'text,n\none,1\n\xff,2\nthree\n"x"y,4\nfive,5\n')
    assert [document.text for document in read_documents([name], bad)] == ["one", "five"]
    assert [line.split(": ")[0] for line in bad] == [f"{name}:{row}" for row in (3, 4, 5)]


def test_columns_need_a_table_and_parquet_needs_to_be_one(tmp_path):
    with pytest.raises(InputError, match=r"text column: expected a table \(.*\) among the inputs, got none$"):
        find_sources([write(tmp_path / "a.txt", "x")], Columns("body"))
    lines = write(tmp_path / "a.jsonl", '{"body": "x"}')
    with pytest.raises(InputError, match=r"text column: .* in JSON lines rename the key 'body' to .text."):
        find_sources([lines], Columns("body"))
    with pytest.raises(InputError, match=r"id column: .* in JSON lines rename the key 'n' to .id."):
        find_sources([lines], Columns(id="n"))
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        find_sources([write(tmp_path / "a.parquet", "x")])
    parquet.write_table(pa.table({"n": [1]}), tmp_path / "b.parquet")
    with pytest.raises(InputError, match="'n' holds int64: name another column, or turn it into strings"):
        find_sources([str(tmp_path / "b.parquet")], Columns("n"))
    (tmp_path / "folder").mkdir()
    write(tmp_path / "folder" / "a.csv", ROWS)
    with pytest.raises(InputError, match=r"for its tables give '.*/\*\.csv'"):
        find_sources([str(tmp_path / "folder")])


def test_spans_and_tokens_of_tables_are_labels(tmp_path):
    documents = read(write(tmp_path / "a.csv", 'text,spans\none two,"[[4, 7]]"\nthree,[]\n'))
    assert [document.labels for document in documents] == [(0, 1), (0,)]
    ordinary = read(write(tmp_path / "b.csv", "text,spans\none two,yes\n"))
    assert (ordinary[0].labels, ordinary[0].columns) == (None, {"spans": "yes"})
    parquet.write_table(pa.table({"text": ["a b"], "tokens": [["a", "b"]], "labels": [[0, 1]]}), tmp_path / "c.parquet")
    assert read(str(tmp_path / "c.parquet"))[0].labels == (0, 1)


def test_tokens_of_a_table_are_words_only_with_labels_or_without_text(tmp_path):
    columns = {"body": ["one two", "three", "", "four"], "tokens": [["x", "y"], ["three"], ["five", "six"], None]}
    parquet.write_table(pa.table(columns | {"labels": [None, [1], None, [0]]}), tmp_path / "a.parquet")
    documents = read(str(tmp_path / "a.parquet"), text="body")
    assert [document.text for document in documents] == ["one two", "three", "five six", "four"]
    assert [document.labels for document in documents] == [None, (1,), None, None]
    assert documents[0].columns == {"tokens": ["x", "y"], "labels": None}
    parquet.write_table(pa.table({"text": ["one two"], "tokens": [[7, 8]], "labels": [["spam", "ham"]]}), tmp_path / "b.parquet")
    [document] = read(str(tmp_path / "b.parquet"))
    assert (document.text, document.columns) == ("one two", {"tokens": [7, 8], "labels": ["spam", "ham"]})


def test_words_and_labels_of_a_text_table_are_json(tmp_path):
    rows = 'text,tokens,labels\none two,"[""one two""]",[1]\nthree,[broken,[0]\n'
    documents = read(write(tmp_path / "a.csv", rows))
    assert [(len(document.words), document.labels) for document in documents] == [(1, (1,)), (1, None)]
    assert documents[0].columns == {"tokens": '["one two"]', "labels": "[1]"}


def test_a_text_column_may_be_called_tokens(tmp_path):
    [document] = read(write(tmp_path / "a.csv", "tokens,labels\none two,[1]\n"), text="tokens")
    assert (document.text, document.labels) == ("one two", None)


@pytest.mark.parametrize("others", [{}, {"body": ["one text", "more"]}, {"source": ["x", "y"], "note": ["a b c d", "e"]}])
def test_words_are_scored_if_no_column_is_called_text(tmp_path, others):
    parquet.write_table(pa.table({"tokens": [["a", "b c"], None], **others}), tmp_path / "a.parquet")
    first, second = read(str(tmp_path / "a.parquet"))
    assert ([word.text for word in first.words], second.words) == (["a", "b c"], ())
    assert first.columns == {name: cells[0] for name, cells in others.items()}


def test_words_of_a_text_table_are_json(tmp_path):
    rows = 'tokens,labels,body\n"[""one"", ""two three""]","[0, 1]",x\n[1],,y\n,,z\n'
    bad = []
    documents = list(read_documents([write(tmp_path / "a.csv", rows.replace("[1],,y\n", ""))]))
    assert [[word.text for word in document.words] for document in documents] == [["one", "two three"], []]
    assert (documents[0].labels, documents[0].columns) == ((0, 1), {"labels": "[0, 1]", "body": "x"})
    rows = "tokens,body\n" + '"[""one""]",x\n' * 60 + "broken,y\n"
    assert len(list(read_documents([write(tmp_path / "b.csv", rows)], bad))) == 60
    assert bad[0].endswith("b.csv:62: expected a list of words in the column 'tokens', got something else")


def test_a_list_of_words_can_be_named(tmp_path):
    parquet.write_table(pa.table({"words": [["a", "b c"]], "text": ["no"]}), tmp_path / "a.parquet")
    [document] = read(str(tmp_path / "a.parquet"), text="words")
    assert [word.text for word in document.words] == ["a", "b c"]


FAR = 2**62
TIMES = {
    "date32[day]": pa.array([1, 10**8], pa.int32()).view(pa.date32()),
    "date64[ms]": pa.array([86_400_000, 86_400_000 * 10**7]).view(pa.date64()),
    "timestamp[ms]": pa.array([1, FAR]).view(pa.timestamp("ms")),
    "timestamp[us, tz=UTC]": pa.array([1, -FAR]).view(pa.timestamp("us", "UTC")),
    "timestamp[us, tz=Europe/Berlin]": pa.array([1, FAR]).view(pa.timestamp("us", "Europe/Berlin")),
    "duration[s]": pa.array([1, FAR]).view(pa.duration("s")),
}


@pytest.mark.parametrize("kind", TIMES)
def test_times_beyond_those_of_python_are_text(tmp_path, kind, fast_model):
    parquet.write_table(pa.table({"text": ["some words", "more words"], "when": TIMES[kind]}), tmp_path / "a.parquet")
    first, second = read(str(tmp_path / "a.parquet"))
    assert first.columns["when"].startswith(("1970-01-0", "0:00:01"))
    assert str(TIMES[kind][1].cast(pa.string())) == second.columns["when"]
    fast_model.save(tmp_path / "model")
    score_inputs(fast_model, Job(tmp_path / "model", [str(tmp_path / "a.parquet")], tmp_path / "b.parquet"), Silent())
    assert [result.columns["when"] for result in read_results([tmp_path / "b.parquet"])] == [
        first.columns["when"],
        second.columns["when"],
    ]


@pytest.mark.parametrize("kind", [pa.timestamp("us", "Mars/Phobos"), pa.list_(pa.date32())])
def test_times_that_cannot_be_read_are_named(tmp_path, kind):
    cells = pa.array([1]).view(kind) if pa.types.is_timestamp(kind) else pa.array([[10**8]], pa.list_(pa.int32())).cast(kind)
    parquet.write_table(pa.table({"text": ["some words"], "when": cells}), tmp_path / "a.parquet")
    with pytest.raises(
        InputError, match=r"a\.parquet:1: expected dates, times and a time zone that are known in the column 'when'"
    ):
        read(str(tmp_path / "a.parquet"))


WIDE = [f"column {at} of many" for at in range(6000)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("line_end", ["\n", "\r"])
def test_a_header_may_be_long(tmp_path, encoding, line_end):
    for names in (WIDE, [f'"{line_end.join(WIDE)}"']):
        cells = ["x"] * len(names)
        content = line_end.join([",".join([*names, "text"]), ",".join([*cells, "some words"]), ""])
        [document] = read(write(tmp_path / "a.csv", content.encode(encoding)))
        assert document.text == "some words"
        assert list(document.columns) == [name.strip('"') for name in names]


def test_utf_32_is_named(tmp_path):
    for encoding in ("utf-32", "utf-32-le", "utf-32-be"):
        with pytest.raises(InputError, match="got UTF-32: save the table as CSV UTF-8"):
            read(write(tmp_path / "a.csv", ROWS.encode(encoding)))
