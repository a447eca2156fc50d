"""The file of verdicts: two writers, torn lines, full disks, and files that hold something else."""

import fcntl
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from difa.errors import ConfigError
from difa.serve.files import append_verdict, check_verdict_file
from tests import HANG

FIRST = {"text": "Grüße,\n\u2028 👍", "verdict": "odd", "spans": [[0, 5]], "model": "m", "at": "2026-11-17T22:00:00Z"}
SECOND = {"text": "fine", "verdict": "normal", "model": "", "at": "2026-11-17T22:00:01Z"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "verdicts.jsonl"


def lines(path):
    return path.read_bytes().split(b"\n")


def test_records_come_back_one_a_line(path):
    append_verdict(path, FIRST, HANG)
    append_verdict(path, SECOND, HANG)
    append_verdict(path, FIRST, HANG)
    *whole, end = lines(path)
    assert [json.loads(line) for line in whole] == [FIRST, SECOND, FIRST]
    assert end == b""


WRITER = """
import sys
from pathlib import Path
from difa.serve.files import append_verdict
name, path, count = sys.argv[1:]
sys.stdin.read(1)
for number in range(int(count)):
    append_verdict(Path(path), {"text": f"{name} {number} " + "x" * 5000, "verdict": "odd"}, 600)
"""


def test_two_processes_with_threads_lose_and_tear_nothing(path):
    count = 40
    processes = [
        subprocess.Popen([sys.executable, "-c", WRITER, name, str(path), str(count)], stdin=subprocess.PIPE) for name in "ab"
    ]

    def write(name):
        for number in range(count):
            append_verdict(path, {"text": f"{name} {number} " + "x" * 5000, "verdict": "odd"}, HANG)

    with ThreadPoolExecutor(2) as pool:
        for process in processes:
            process.stdin.write(b"!")
            process.stdin.close()
        list(pool.map(write, "cd"))
    assert [process.wait(HANG) for process in processes] == [0, 0]
    *whole, end = lines(path)
    assert end == b""
    found = [tuple(json.loads(line)["text"].split()[:2]) for line in whole]
    assert sorted(found) == sorted((name, str(number)) for name in "abcd" for number in range(count))
    for name in "abcd":  # each in its own order
        assert [int(number) for writer, number in found if writer == name] == list(range(count))


@pytest.mark.parametrize("cut", [1, 9, 20, -1])
def test_a_torn_last_line_stays_by_itself(path, cut):
    append_verdict(path, SECOND, HANG)
    append_verdict(path, FIRST, HANG)
    second, first, _ = lines(path)
    path.write_bytes(second + b"\n" + first[:cut])  # -1 may also end within a character
    append_verdict(path, SECOND, HANG)
    assert lines(path) == [second, first[:cut], second, b""]


def test_a_last_line_that_only_lacks_its_end_is_no_loss(path):
    append_verdict(path, FIRST, HANG)
    path.write_bytes(path.read_bytes()[:-1])
    append_verdict(path, SECOND, HANG)
    assert [json.loads(line) for line in lines(path)[:-1]] == [FIRST, SECOND]


def test_a_write_that_stops_halfway_leaves_nothing(path, monkeypatch):
    append_verdict(path, FIRST, HANG)
    before, write = path.read_bytes(), os.write
    monkeypatch.setattr(os, "write", lambda number, content: write(number, content[: len(content) // 2]))
    with pytest.raises(OSError, match="No space left"):
        append_verdict(path, SECOND, HANG)
    assert path.read_bytes() == before


def test_a_file_that_stays_locked_is_given_up(path):
    with path.open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(TimeoutError, match="keeps the file locked"):
            append_verdict(path, FIRST, 0.05)
    append_verdict(path, FIRST, HANG)
    assert len(lines(path)) == 2


def test_a_file_that_is_taken_away_while_we_wait_is_made_anew(path, monkeypatch):
    flock, moved = fcntl.flock, path.with_name("moved")

    def locked_late(file, how):
        flock(file, how)
        if not moved.exists():
            path.rename(moved)

    monkeypatch.setattr(fcntl, "flock", locked_late)
    append_verdict(path, FIRST, HANG)
    assert moved.read_bytes() == b""
    assert json.loads(path.read_bytes()) == FIRST


@pytest.mark.parametrize(
    "content", [b"", b'{"text": "a", "verdict": "normal"}\n[]\n', b'{"text":"tor', b"{", b'{"text":"tor\n{"']
)
def test_files_of_verdicts_are_taken_as_they_are(path, content):
    path.write_bytes(content)
    check_verdict_file(path)
    assert path.read_bytes() == content


def test_a_new_file_is_made(path):
    check_verdict_file(path)
    assert path.read_bytes() == b""


@pytest.mark.parametrize(
    "content",
    [
        b"A text.",
        b'{"text": "a document"}\n',
        b'{"text": "a", "verdict": "guilty"}\n',
        b'{"text": 5, "verdict": "odd"}\n',
        b"\n",
        b"\xff\xfe",
        b'"text"\n',
        b"[" * 100_000,
        b"{ nothing",
    ],
)
def test_other_files_are_refused_and_left_alone(path, content):
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="expected a file of verdicts, got something else in its first line"):
        check_verdict_file(path)
    assert path.read_bytes() == content


def test_places_without_a_file_are_refused(path, tmp_path):
    os.mkfifo(path)
    for place, message in (
        (tmp_path, "got a folder"),
        (path, "got a pipe or device"),
        (tmp_path / "no" / "v.jsonl", "in a folder that exists"),
        (tmp_path / ("n" * 300), "cannot be written: File name too long"),
    ):
        with pytest.raises(ConfigError, match=message):
            check_verdict_file(place)
