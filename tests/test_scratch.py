"""Temporary files and folders: what a killed process leaves, and who removes it."""

import os
import signal
import tempfile
from pathlib import Path

import pytest

from difa.storage import atomic
from difa.storage.atomic import scratch_file, scratch_folder


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def killed_within(make):
    """Let a process be killed that holds what `make` gives."""
    child = os.fork()
    if not child:
        with make() as held:
            if isinstance(held, Path):
                (held / "inside").mkdir()
                (held / "inside" / "file").write_text("something")
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def test_a_file_has_no_name_and_can_be_read_as_often_as_wanted(place):
    with scratch_file() as (file, path):
        file.write(b"one two")
        file.flush()
        assert not list(place.iterdir())
        with open(path, "rb") as one, open(path, "rb") as other:
            assert (one.read(3), other.read(), one.read()) == (b"one", b"one two", b" two")
    killed_within(scratch_file)
    assert not list(place.iterdir())


def test_a_file_has_a_name_where_the_system_needs_one(place, monkeypatch):
    monkeypatch.setattr(atomic, "_PROCESSES", place / "nowhere")
    with scratch_file() as (file, path):
        file.write(b"one")
        file.flush()
        assert Path(path).read_bytes() == b"one"
    assert not list(place.iterdir())
    killed_within(scratch_file)
    with scratch_folder() as folder:
        assert list(place.iterdir()) == [folder]


def test_the_folder_of_a_killed_process_is_removed_by_the_next(place):
    with scratch_folder() as living:
        killed_within(scratch_folder)
        assert len(list(place.iterdir())) == 2
        with scratch_folder() as folder:
            assert sorted(place.iterdir()) == sorted([living, folder])
    assert not list(place.iterdir())


def test_what_is_not_ours_stays(place):
    (place / f"{atomic._PREFIX}abcdefgh.tmpx").mkdir()
    (place / "difa.another.abcdefgh.tmp").mkdir()
    (place / "mine").mkdir()
    (place / f"{atomic._PREFIX}abcdefgh.tmp").symlink_to(place / "mine")
    (place / f"{atomic._PREFIX}abcdefg1.tmp").write_text("a file")
    before = sorted(place.iterdir())
    with scratch_folder():
        pass
    assert sorted(place.iterdir()) == before


def test_the_folder_of_another_user_stays(place, monkeypatch):
    killed_within(scratch_folder)
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    with scratch_folder():
        pass
    assert len(list(place.iterdir())) == 1


def test_a_folder_that_was_taken_for_abandoned_is_made_again(monkeypatch):
    make, made = tempfile.mkdtemp, []

    def make_and_lose(*arguments):
        made.append(make(*arguments))
        if len(made) == 1:
            os.rmdir(made[0])
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", make_and_lose)
    with scratch_folder() as folder:
        assert folder.is_dir()
    assert len(made) == 2
