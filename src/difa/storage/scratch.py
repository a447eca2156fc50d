"""Temporary files and folders of which a killed process leaves nothing for good.

A file has no name where the system can do without: it ends with its process, however that ends. A folder needs a name. Its
process holds a lock on it, which the system lets go of when the process ends, and who makes the next folder removes those of this
machine and user whose lock is free.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from difa.storage.atomic import is_named

_MACHINE = f"{zlib.crc32(platform.node().encode()) & 0xFFFF:04x}"  # some shared disks have locks that other machines do not see
_PREFIX, _SUFFIX = f"difa.{_MACHINE}.", ".tmp"
_NAME = re.compile(rf"difa\.{_MACHINE}\.[a-z0-9_]{{8}}\.tmp")  # as `mkdtemp` makes them
_PROCESSES = Path("/proc")  # where Linux lets a process open again what it or its parent has open, with a position of its own


@contextmanager
def scratch_file() -> Iterator[tuple[IO[bytes], str]]:
    """A file to write to, and the path at which this process and its children can read it as often as they like until the end."""
    with ExitStack() as stack:
        file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        stack.callback(_discard, file)
        path = _PROCESSES / str(os.getpid()) / "fd" / str(file.fileno())
        if not (is_named(path, file.fileno()) and os.access(path, os.R_OK)):
            path = stack.enter_context(scratch_folder()) / "file"
            file = path.open("wb")
            stack.callback(_discard, file)
        yield file, str(path)


def _discard(file: IO[bytes]) -> None:
    with suppress(OSError):  # a full disk: what was not written is no longer wanted
        file.close()


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """An empty folder, which is removed at the end; of a process that was killed, by the next one that asks for a folder."""
    _remove_abandoned()
    path, lock = _make()
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)  # what cannot be removed now may be by the next one
        if lock is not None:
            os.close(lock)


def _remove_abandoned() -> None:
    """Remove the folders of this user's processes that have ended."""
    with suppress(OSError):  # a place that cannot be read is complained about by who wants to write there
        for name in filter(_NAME.fullmatch, os.listdir(tempfile.gettempdir())):
            path = Path(tempfile.gettempdir(), name)
            if (lock := _lock(path)) is None:
                continue
            if os.fstat(lock).st_uid == os.geteuid():
                shutil.rmtree(path, ignore_errors=True)
            os.close(lock)


def _make() -> tuple[Path, int | None]:
    """A new folder and the lock on it, if the system has such locks."""
    while True:
        path = Path(tempfile.mkdtemp(_SUFFIX, _PREFIX))
        lock = _lock(path, wait=True)
        if path.exists() if lock is None else is_named(path, lock):
            return path, lock
        if lock is not None:  # before it was locked, another process took it for abandoned
            os.close(lock)


def _lock(folder: Path, *, wait: bool = False) -> int | None:
    """The lock on a folder, to be closed; None if another process holds it, it is no folder, or the system has no such locks."""
    try:
        import fcntl
    except ImportError:
        return None
    try:
        number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(number, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(number)
        return None
    return number
