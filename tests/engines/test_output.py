"""What a run notes beside its results: read back only if a run can have written it."""

import copy
import json
from pathlib import Path

import pytest

from difa.document import Result, Scored
from difa.engines.job import Job
from difa.engines.output import Output, Progress, alone
from difa.engines.target import Target
from difa.errors import InputError
from difa.formats.tables import Shape

RESUME = Job(Path("model"), [], shard_size=3, resume=True)
GOOD = {
    "asked": {"model": "a", "inputs": [{"name": "x", "bytes": 1, "modified": 2}]},
    "shards": [{"file": "part-00000.jsonl", "documents": 3}],
    "documents": 3,
    "flagged": 1,
    "skipped": 0,
    "empty": 0,
    "words": 9,
    "complete": False,
}
ODD = [None, True, -1, 1.5, 2**70, "x", [], {}, [None], [[1]], [{"file": 1, "documents": 1}]]


def target(path, kind="shards"):
    return Target(str(path), kind, "jsonl", "jsonl", Shape(()))


def read(path, values):
    path.write_text(json.dumps(values))
    return Progress.read(str(path))


def test_odd_values_are_refused_in_one_line(tmp_path):
    path = tmp_path / "manifest.json"
    assert read(path, GOOD).documents == 3
    for key in GOOD:
        for odd in ODD:
            values = copy.deepcopy(GOOD) | {key: odd}
            fits = (key, str(odd)) in {("complete", "True"), ("asked", "{}"), ("shards", "[]")}
            if fits:
                assert read(path, values) is not None
                continue
            with pytest.raises(InputError, match="expected what a run of difa noted there") as error:
                read(path, values)
            assert "\n" not in str(error.value)
    for content in (b"[1]", b"7", b"{", b"\xff", b"[" * 100_000):
        path.write_bytes(content)
        with pytest.raises(InputError, match="expected what a run of difa noted there"):
            Progress.read(str(path))


@pytest.mark.parametrize("inputs", [7, [7], [{"name": "y"}], [None, None], {"a": 1}])
def test_an_odd_note_of_what_was_asked_is_another_run(tmp_path, inputs):
    (tmp_path / "part-00000.jsonl").touch()
    read(tmp_path / "manifest.json", GOOD | {"asked": {"model": "a", "inputs": inputs}})
    with (
        pytest.raises(InputError, match="expected the same inputs as in the interrupted run"),
        Output.open(target(tmp_path), GOOD["asked"], RESUME),
    ):
        pass


def test_a_shard_that_was_removed_is_missed(tmp_path):
    for complete in (False, True):
        read(tmp_path / "manifest.json", GOOD | {"complete": complete})
        with (
            pytest.raises(InputError, match=r"part-00000\.jsonl: expected the results of 3 documents"),
            Output.open(target(tmp_path), GOOD["asked"], RESUME),
        ):
            pass
    (tmp_path / "part-00000.jsonl").touch()
    with Output.open(target(tmp_path), GOOD["asked"], RESUME) as output:
        assert output.progress.documents == 3


def test_names_that_are_no_unicode_can_be_noted(tmp_path):
    with Output.open(target(tmp_path), {"inputs": ["caf\udce9.txt", "Größe.txt"]}, RESUME) as output:
        output.begin(1)
        assert Progress.read(str(tmp_path / "manifest.json")) == output.progress


def test_a_place_is_held_by_one_run(tmp_path):
    place = target(tmp_path / "out.jsonl", "file")
    with alone(place), pytest.raises(InputError, match="another run is writing there"), alone(place):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device here")
def test_a_full_disk_is_said_once(tmp_path, monkeypatch):
    monkeypatch.setattr(Target, "part_name", lambda self, piece, at=0: "/dev/full")

    def run():
        with (
            Output.open(target(tmp_path / "out", "file"), {"model": "a"}, RESUME) as output,
            output.target.write_part(0) as write,
        ):
            write(Scored.of(Result("few bytes, which wait in memory", 0.0, 1.0, False, ())))

    with pytest.raises(InputError, match="out: cannot be written: No space left on device"):
        run()
    assert not list(tmp_path.iterdir())


def test_what_fails_while_a_part_is_open_is_not_called_a_failed_write(tmp_path):
    place = target(tmp_path)
    Path(place.staging).mkdir()
    with pytest.raises(OSError, match="Input/output error"), place.write_part(0):
        raise OSError(5, "Input/output error")  # of a file that is read meanwhile
