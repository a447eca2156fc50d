"""Pieces without Ray: whatever the cuts, the documents are those that the local engine reads."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the extra ray is not installed")

import pyarrow as pa
from pyarrow import parquet

from difa.document import columns_of
from difa.engines import output as engine
from difa.engines.job import Job
from difa.engines.output import Output
from difa.engines.plan import piece_size, plan
from difa.engines.stream import read_chunks
from difa.engines.target import SUCCESS, Note, Target
from difa.errors import EngineError, InputError
from difa.formats import read_documents, read_entries
from difa.formats.sources import below, find_sources
from difa.formats.streams import packed
from difa.formats.tables import Columns, Shape

TEXT = "\ufeffWhere is it?\n\nA café\r\n   \nthe last but one, which is rather longer than the others\n\n\nno newline at the end"
JSON = '{"text": "good"}\n\n{"txt": "bad"}\n{"text": "x", "id": 7}\nnot json\n{"tokens": ["a", "b c"]}\n\n'


SHAPE = Shape(("id", "text"))
JOB = Job(Path("model"), [])


def target_at(place, format="jsonl", shape=SHAPE):
    return Target(str(place), "parts", format, format, shape)


def output_at(place, asked=None, **options):
    return Output(target_at(place), asked or {}, replace(JOB, **options))


def write_part(output, index):
    with output.target.write_part(index):
        pass


def read_piece(piece, bad=None):
    for chunk in read_chunks(read_entries(piece.sources), skip_bad=bad is not None):
        if bad is not None:
            bad += chunk.bad
        yield from chunk.documents


def pieces_of(size, *inputs, columns=None):
    return plan(find_sources([str(name) for name in inputs], columns), size)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 16, 50, 1000])
@pytest.mark.parametrize(
    ("name", "content"),
    [("a.txt", TEXT), ("a.jsonl", JSON), ("a.txt", "one\rtwo\r\rthree"), ("a.txt", ""), ("a.txt", "\n"), ("a.txt", "x")],
)
def test_any_cut_gives_the_same_documents_and_bad_lines(tmp_path, size, name, content):
    source = tmp_path / name
    source.write_bytes(content.encode())
    bad, bad_in_pieces = [], []
    documents = list(read_documents([str(source)], bad))
    pieces = pieces_of(size, source)
    assert [d for piece in pieces for d in read_piece(piece, bad_in_pieces)] == documents
    assert bad_in_pieces == bad
    assert (len(pieces) > 1) == (b"\n" in content.encode()[size - 1 : -1])
    assert all(span.end - span.start >= size for piece in pieces[:-1] for span in [piece.sources[0].span])


def test_bad_lines_are_named_as_by_the_local_engine(tmp_path):
    source = tmp_path / "a.jsonl"
    source.write_text(JSON)
    with pytest.raises(InputError) as local:
        list(read_documents([str(source)]))
    with pytest.raises(InputError) as piece:
        [list(read_piece(piece)) for piece in pieces_of(10, source)]
    assert str(piece.value) == str(local.value)


def test_folders_hold_all_files_in_the_local_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("in/b.txt", "in/a/z.jsonl", "in/a.txt", "in/a/c.TXT", "in/other.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text('{"text": "one"}\n{"text": "two"}\n')
    documents = [d for piece in pieces_of(9, "./in") for d in read_piece(piece)]
    assert documents == list(read_documents(["./in"]))
    by_address = [d for piece in pieces_of(9, f"file://{tmp_path}/in") for d in read_piece(piece)]
    assert [d.text for d in by_address] == [d.text for d in documents]
    assert by_address[0].id == f"file://{tmp_path}/{documents[0].id}"


@pytest.mark.parametrize("size", [1, 30, 200, 10_000])
def test_parquet_rows_keep_their_numbers_across_row_groups(tmp_path, size):
    source = tmp_path / "a.parquet"
    rows = [{"text": f"text {n}", "id": n if n % 2 else None, "more": 1} for n in range(1, 12)]
    parquet.write_table(pa.Table.from_pylist(rows), source, row_group_size=4)
    documents = [d for piece in pieces_of(size, source) for d in read_piece(piece)]
    assert documents == list(read_documents([str(source)]))
    assert [d.text for d in documents] == [row["text"] for row in rows]
    assert [d.id for d in documents] == [str(n) if n % 2 else f"{source}:{n}" for n in range(1, 12)]


def test_parquet_word_lists_and_rows_without_text(tmp_path):
    source = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"tokens": [["a", "b c"], None, ["d", None]], "body": ["x", "y", "z"]}), source)
    bad, expected = [], []
    documents = [d for piece in pieces_of(1, source) for d in read_piece(piece, bad)]
    assert documents == list(read_documents([str(source)], expected))
    assert [[word.text for word in document.words] for document in documents] == [["a", "b c"], []]
    assert bad == expected == [f"{source}:3: expected a list of words in the column 'tokens', got something else"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.md", b"[]", "expected a file ending in .txt, .jsonl, .csv, .tsv, .parquet"),
        ("a.parquet", b"not parquet", "cannot be read as Parquet"),
        ("no/a.txt", None, "No such file or directory"),
        ("empty", None, "found none"),
    ],
)
def test_inputs_that_cannot_be_read(tmp_path, name, content, message):
    (tmp_path / "empty").mkdir()
    if content is not None:
        (tmp_path / name).write_bytes(content)
    for prefix in ("", "file://"):
        with pytest.raises(InputError, match=message):
            find_sources([f"{prefix}{tmp_path / name}"])


def test_a_parquet_file_without_texts_is_refused(tmp_path):
    parquet.write_table(pa.table({"n": [1]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="expected one obvious text column, got the columns 'n'"):
        find_sources([str(tmp_path / "a.parquet")])


def test_pieces_are_small_enough_for_all_workers_and_never_large(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"x" * (1 << 20))
    files = find_sources([str(tmp_path / "a.txt")])
    assert piece_size(files, 2) == (1 << 20) // 32
    assert piece_size(files, 1000) == 16 << 10
    assert piece_size(files * 1000, 2) == 4 << 20


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_output_is_marked_when_complete(tmp_path, prefix):
    place = tmp_path / "out"
    with Output.open(target_at(f"{prefix}{place}"), {}, JOB) as output:
        write_part(output, 0)
        output.check_parts(["part-000000.jsonl"])
        with pytest.raises(EngineError, match=r"expected 2 parts, but 1 are missing, as part-000001\.jsonl"):
            output.check_parts(["part-000000.jsonl", "part-000001.jsonl"])
        assert not (place / SUCCESS).exists()
        output.finish_folder({"documents": 0})
    assert json.loads((place / SUCCESS).read_text()) == {"documents": 0, "asked": {}}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
    with pytest.raises(InputError, match="holds the finished results of 0 documents: choose another name, or force=True"):
        output_at(f"{prefix}{place}")
    (place / SUCCESS).write_text('{"documents": 0}')
    for options in ({}, {"force": True}, {"resume": True}):
        with pytest.raises(InputError, match="expected a new or empty folder for the results, found other files"):
            output_at(f"{prefix}{place}", **options)


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_abandoned_output_leaves_nothing(tmp_path, prefix):
    def fail():
        with Output.open(target_at(f"{prefix}{tmp_path / 'out'}"), {}, JOB) as output:
            output.begin(1)
            with output.target.write_part(0) as write:
                raise KeyError(write)

    with pytest.raises(KeyError):
        fail()
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_taken_or_unwritable_place_is_refused(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / ".hidden").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / "folder"):
        with pytest.raises(InputError, match=r"found other files|cannot be written"), Output.open(target_at(place), {}, JOB):
            pass


def test_settings_of_an_address_stay_at_its_end():
    assert below("s3://bucket/folder/?region=eu-west-1", "a.txt") == "s3://bucket/folder/a.txt?region=eu-west-1"


def test_parquet_parts_hold_what_the_json_holds(quick_model, tmp_path, corpus):
    results = quick_model.score(corpus[:5])
    (tmp_path / ".out.part").mkdir()
    with target_at(tmp_path / "out", "parquet").write_part(3) as write:
        for part in columns_of(results[:2]) + columns_of(results[2:]):
            write(part)
    (file,) = (tmp_path / ".out.part").iterdir()
    rows = parquet.read_table(file).to_pylist(maps_as_pydicts="strict")
    assert [row.pop("flagged_words") for row in rows] == [[w.text for w in r.words if w.is_anomaly] for r in results]
    assert [word.pop("allowed") for row in rows for word in row["words"]] == [None] * sum(len(r.words) for r in results)
    assert [word.pop("fault") for row in rows for word in row["words"]] == [w.fault for r in results for w in r.words]
    expected = [result.to_dict() for result in results]
    rates = {(row.pop("rule"), row.pop("rate")) for row in expected}
    assert rows == expected
    assert rates == {("fpr", quick_model.fpr)}


TABLE = 'n;body;id\n1;"a\nb c";x\n\n2;"it said ""no"", d";\n3;short\n4;;z\n5;five" inches;w'


@pytest.mark.parametrize("size", [1, 10, 30, 1000])
def test_rows_of_a_table_are_those_of_the_local_engine(tmp_path, size):
    source = tmp_path / "a.csv"
    source.write_text(TABLE)
    bad, in_pieces = [], []
    expected = list(read_documents([str(source)], bad, Columns("body")))
    pieces = pieces_of(size, source, columns=Columns("body"))
    assert [d for piece in pieces for d in read_piece(piece, in_pieces)] == expected
    assert in_pieces == bad
    assert len(bad) == 1
    assert len(pieces) > 2 or size > 10


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_a_packed_file_is_one_piece_of_what_the_local_engine_reads(tmp_path, ending):
    for name, content, columns in (("a.jsonl", JSON, None), ("a.csv", TABLE, Columns("body"))):
        source = tmp_path / f"{name}{ending}"
        with source.open("wb") as raw, packed(source, raw) as file:
            file.write(content.encode())
        bad, in_pieces = [], []
        expected = list(read_documents([str(source)], bad, columns))
        (piece,) = pieces_of(1, source, columns=columns)
        assert list(read_piece(piece, in_pieces)) == expected
        assert in_pieces == bad
        assert bad
    (tmp_path / "a.csv.gz").unlink(missing_ok=True)
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"text" * 1000)[:20])
    pieces = pieces_of(1, tmp_path / "b.txt.gz")
    with pytest.raises(InputError, match=r"b\.txt\.gz: cannot be read"):
        [list(read_piece(piece)) for piece in pieces]
    (tmp_path / "b.txt.gz").unlink()
    with pytest.raises(EngineError, match="a worker cannot read it: every machine must reach the inputs"):
        [piece.check_reachable() for piece in pieces]


def test_columns_need_a_table(tmp_path):
    (tmp_path / "a.txt").write_text("one")
    with pytest.raises(InputError, match="expected a table"):
        find_sources([f"file://{tmp_path / 'a.txt'}"], Columns("body"))


def test_parts_of_a_table_have_its_columns(quick_model, tmp_path):
    source = tmp_path / "a.csv"
    source.write_text(TABLE)
    (file,) = find_sources([str(source)], Columns("body"))
    documents = list(read_documents([str(source)], [], Columns("body")))
    staging = tmp_path / ".out.part"
    staging.mkdir()
    for form in ("csv", "parquet"):
        with target_at(tmp_path / "out", form, Shape.of_sources([file])).write_part(0) as write:
            for part in columns_of(quick_model.score(documents)):
                write(part)
    table = parquet.read_table(staging / "part-000000.parquet")
    assert table["n"].to_pylist() == ["1", "2", "4", "5"]
    assert table["id"].to_pylist() == ["x", f"{source}:4", "z", "w"]
    assert (staging / "part-000000.csv").read_text(encoding="utf-8-sig").startswith("n,body,id,score")


def test_an_interrupted_output_goes_on_with_what_is_complete(tmp_path):
    place, asked = tmp_path / "out", {"rate": "fpr 0.1"}
    first = output_at(place, asked)
    first.begin(77)
    for index in range(3):
        write_part(first, index)
    for index in range(2):
        Note(3, 1, 2, 0, 7, parts=1, done=1).write(first.target, index)
    message = "an interrupted run left the results of 6 documents there: resume=True goes on, force=True starts anew"
    with pytest.raises(InputError, match=message):
        output_at(place, asked)
    with pytest.raises(InputError, match=r"expected the same rate as in the interrupted run, fpr 0\.1, got fpr 0\.2"):
        output_at(place, {"rate": "fpr 0.2"}, resume=True)
    (tmp_path / ".out.part" / "part-000001.jsonl").unlink()
    again = output_at(place, asked, resume=True)
    assert again.progress.asked["piece bytes"] == 77
    assert [Note.read(again.target, index).done for index in range(3)] == [1, 0, 0], "a note without its part"
    noted = again.target.noted()
    assert (noted.documents, noted.flagged, noted.skipped, noted.words) == (3, 1, 2, 7)
    again.finish_folder({"documents": 3})
    assert sorted(path.name for path in place.iterdir()) == [SUCCESS, "part-000000.jsonl", "part-000002.jsonl"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    with Output.open(target_at(place), asked, replace(JOB, resume=True)) as finished:
        assert finished.summary == {"documents": 3}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    with Output.open(target_at(place), asked, replace(JOB, force=True)) as anew:
        anew.finish_folder({"documents": 0})
    assert [path.name for path in place.iterdir()] == [SUCCESS]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_replacement_that_is_stopped_keeps_one_of_the_two(tmp_path, monkeypatch, can_exchange):
    place, asked = tmp_path / "out", {"rate": "fpr 0.1"}
    output_at(place, asked).finish_folder({"documents": 1})
    anew = output_at(place, asked, force=True)
    removed = []
    monkeypatch.setattr(engine.shutil, "rmtree", lambda path, **more: removed.append((place / SUCCESS).exists()))
    if not can_exchange:
        monkeypatch.setattr("difa.storage.atomic.exchange", lambda one, other: False)
    anew.finish_folder({"documents": 2})
    assert removed == [True], "the new ones are there before anything is removed"
    assert json.loads((place / SUCCESS).read_text())["documents"] == 2


def test_a_folder_and_a_pattern_mean_the_same_as_paths_and_as_addresses(tmp_path):
    parquet.write_table(pa.table({"text": ["four"]}), tmp_path / "d.parquet")
    for name in ("b.txt", "a.txt", "c.jsonl"):
        (tmp_path / name).write_text("one\n", encoding="utf-8")
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "a.csv").write_text("text\none\n")
    for prefix in ("", "file://"):
        for pattern, expected in (("", ["a.txt", "b.txt", "c.jsonl"]), ("/*.txt", ["a.txt", "b.txt"]), ("/*.p*", ["d.parquet"])):
            found = find_sources([f"{prefix}{tmp_path}{pattern}"])
            assert [Path(source.name).name for source in found] == expected
            assert all(source.name.startswith(f"{prefix}{tmp_path}") for source in found)
        assert [d.text for d in read_documents([f"{prefix}{tmp_path}/*.parquet"])] == ["four"]
        with pytest.raises(InputError, match="match this pattern, found none"):
            find_sources([f"{prefix}{tmp_path}/*.csv"])
        with pytest.raises(InputError, match=rf"for its tables give '{prefix}{tmp_path}/tables/\*\.csv'"):
            find_sources([f"{prefix}{tmp_path}/tables"])
