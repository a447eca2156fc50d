"""Files and folders are there whole or not at all."""

import signal
import subprocess
import sys
import threading
import time

import pytest

from difa.errors import InputError
from difa.storage import atomic
from difa.storage.atomic import fresh_file, fresh_folder, fresh_text, kept, locked, restore


def test_text_appears_only_when_complete(tmp_path):
    path = tmp_path / "out.jsonl"
    path.write_text("older")
    with pytest.raises(TypeError), fresh_text(path) as file:
        file.writelines(["half", 3])
    assert path.read_text() == "older"
    with fresh_text(path) as file:
        file.write("whole")
    assert path.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("place", ["no/out.jsonl", "file/out.jsonl"])
def test_a_place_that_cannot_be_written_is_named(tmp_path, place):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=f"{place}: cannot be written"), fresh_text(tmp_path / place):
        pass


def test_a_file_keeps_its_hidden_name_until_it_is_complete(tmp_path):
    with fresh_file(tmp_path / "out") as partial:
        partial.write_bytes(b"some")
        assert [path.name[:5] for path in tmp_path.iterdir()] == [".out."]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_folder_gives_way_only_to_a_complete_one(tmp_path):
    folder = tmp_path / "deep" / "model"
    with fresh_folder(folder) as fresh:
        (fresh / "one").write_text("1")
        assert not folder.exists()
    with pytest.raises(LookupError, match="half"), fresh_folder(folder) as fresh:
        (fresh / "two").write_text("2", encoding="half")
    assert [path.name for path in folder.iterdir()] == ["one"]
    with fresh_folder(folder) as fresh:
        (fresh / "two").write_text("2")
    assert [path.name for path in folder.iterdir()] == ["two"]
    assert list(folder.parent.iterdir()) == [folder]


SAVE = """
import os, signal, sys
from pathlib import Path
from difa.storage import atomic

folder, moment = Path(sys.argv[1]), sys.argv[2]
die = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
if moment == "between":  # a system that cannot exchange two folders in one step, and a kill between the two
    atomic.exchange = lambda one, other: False
    rename = Path.rename
    Path.rename = lambda self, target: die() if self.name == "new" else rename(self, target)
with atomic.fresh_folder(folder) as fresh:
    (fresh / "two").write_text("2")
    if moment == "inside":
        die()
    if moment == "after":
        atomic.shutil.rmtree = die
"""


@pytest.mark.parametrize("moment", ["inside", "between", "after"])
def test_a_kill_at_any_moment_leaves_a_whole_folder_and_the_next_one_cleans_up(tmp_path, moment):
    folder = tmp_path / "model"
    with fresh_folder(folder) as fresh:
        (fresh / "one").write_text("1")
    assert subprocess.run([sys.executable, "-c", SAVE, folder, moment], check=False).returncode == -signal.SIGKILL
    if not folder.exists():
        assert moment == "between"
        restore(folder)
    assert [path.name for path in folder.iterdir()] == (["two"] if moment == "after" else ["one"])
    with fresh_folder(folder) as fresh:
        (fresh / "three").write_text("3")
    assert [path.name for path in folder.iterdir()] == ["three"]
    assert list(tmp_path.iterdir()) == [folder]


def test_what_others_have_beside_a_folder_stays(tmp_path):
    others = [tmp_path / ".model.backup", tmp_path / ".model.0123456789.part", tmp_path / "model.00000000.part"]
    for other in others:
        other.mkdir()
    with fresh_folder(tmp_path / "model"):
        pass
    assert all(other.is_dir() for other in others)


@pytest.mark.skipif(sys.platform != "linux", reason="an exchange in one step is Linux's")
def test_an_older_folder_is_exchanged_in_one_step(tmp_path, monkeypatch):
    exchanged = []
    monkeypatch.setattr(atomic, "exchange", lambda one, other, real=atomic.exchange: exchanged.append(real(one, other)) or True)
    for _ in range(2):
        with fresh_folder(tmp_path / "model"):
            pass
    assert exchanged == [True]


def test_a_lock_that_its_holder_removes_is_not_held_twice(tmp_path):
    """Three at one lock: one lets go, the second had its file open already, the third comes when the file is gone."""
    pytest.importorskip("fcntl")
    path, held = tmp_path / "lock", []

    def hold():
        with locked(path, wait=True):
            held.append(1)
            assert len(held) == 1, "held twice"
            time.sleep(0.001)
            held.pop()

    failed = []

    def often():
        try:
            for _ in range(100):
                hold()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert not path.exists()
    with locked(path), pytest.raises(BlockingIOError), locked(path):
        pass


def test_a_lock_is_no_way_to_another_file(tmp_path):
    (tmp_path / "mine").write_text("years of work")
    (tmp_path / "lock").symlink_to(tmp_path / "mine")
    with pytest.raises(OSError, match="symbolic links"), locked(tmp_path / "lock"):
        pass
    assert (tmp_path / "mine").read_text() == "years of work"


def test_what_is_kept_is_made_once_and_again_if_it_is_damaged(tmp_path, monkeypatch):
    monkeypatch.setenv("DIFA_CACHE", str(tmp_path / "new"))
    made = []

    def number():
        return kept("one", lambda: made.append(1) or b"12", int)

    assert (number(), number(), len(made)) == (12, 12, 1)
    (tmp_path / "new" / "one").write_bytes(b"no number")
    assert (number(), number(), len(made)) == (12, 12, 2)
    monkeypatch.setenv("DIFA_CACHE", str(tmp_path / "new" / "one"))  # a file: nothing can be kept there
    assert (number(), len(made)) == (12, 3)
