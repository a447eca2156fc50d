"""Files and folders that appear under their names whole or not at all, and temporary ones that leave nothing behind.

What is to stay is written under a hidden name beside its place and then renamed, so that a killed process leaves nothing
half-written under a valid name, and several processes can share a folder. A temporary file has no name where the system can do
without: it ends with its process, however that ends. A temporary folder needs a name. Its process holds a lock on it, which the
system lets go of when the process ends, and who makes the next folder removes those of this machine and user whose lock is free.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import shutil
import stat
import sys
import tempfile
import uuid
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TextIO, TypeVar

from difa.errors import InputError

T = TypeVar("T")
_OLD = "old"  # where an older folder lies for a moment, if the system cannot exchange two in one step
_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


def hidden_name(name: str) -> str:
    """The name with a dot before it, as unfinished files have it: no folder of inputs takes them for documents."""
    return name if name.startswith(".") else f".{name}"


def unfinished(path: Path) -> Path:
    """A new hidden path beside a path."""
    return path.with_name(f"{hidden_name(path.name)}.{uuid.uuid4().hex[:8]}.part")


def is_stream(path: Path) -> bool:
    """Whether a path leads to a pipe or a device, which is written to as it is: a new file in its place would end it."""
    try:
        kind = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(kind) and not stat.S_ISDIR(kind)


def behind_link(path: Path) -> Path:
    """The place that a path leads to: a link stays, and what it leads to is replaced."""
    return path.resolve() if path.is_symlink() else path


@contextmanager
def fresh_file(path: Path, partial: Path | None = None) -> Iterator[Path]:
    """A path to write to, `partial` or a new one, which takes the name `path` if all goes well and is removed otherwise."""
    path = behind_link(path)
    partial = partial or unfinished(path)
    try:
        yield partial
        partial.replace(path)
    except BaseException:
        with suppress(OSError):  # what went wrong matters more than what stays behind
            partial.unlink(missing_ok=True)
        raise


def cache_folder() -> Path:
    """Where exported graphs and the like are kept: DIFA_CACHE, or `difa` in the user's cache folder."""
    if chosen := os.environ.get("DIFA_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "difa"


def kept(name: str, make: Callable[[], bytes], read: Callable[[bytes], T]) -> T:
    """What a file of the cache folder says, whose name says all that it depends on; it is made if it is missing or damaged.

    That is damaged of which `read` raises a `ValueError` or an `EOFError`.
    """
    path = cache_folder() / name
    try:
        return read(path.read_bytes())
    except (OSError, ValueError, EOFError):
        content = make()
    with suppress(OSError):  # a cache that cannot be written only costs the next process some time
        path.parent.mkdir(parents=True, exist_ok=True)
        with fresh_file(path) as partial:
            partial.write_bytes(content)
    return read(content)


@contextmanager
def writing(place: object) -> Iterator[None]:
    """Say in one line what goes wrong with a place that is written to."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{place}: cannot be written: {error.strerror or error}") from None


@contextmanager
def fresh_text(path: Path) -> Iterator[TextIO]:
    """A text file, on disk before it takes its name; a pipe or device is written to as it is."""
    with writing(path):
        if is_stream(path):
            with path.open("w", encoding="utf-8", newline="\n") as file:
                yield file
            return
        with fresh_file(path) as partial, partial.open("w", encoding="utf-8", newline="\n") as file:
            yield file
            sync_file(file)


@contextmanager
def fresh_folder(folder: Path) -> Iterator[Path]:
    """An empty folder to fill, which takes the name `folder` if all goes well; only then an older one gives way to it.

    Several processes that write the same folder take turns. What killed ones left behind is removed by the next.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with locked(_lock_of(folder), wait=True):
        _recover(folder)
        work = unfinished(folder)
        work.mkdir()
        try:
            fresh = work / "new"
            fresh.mkdir()
            yield fresh
            sync_folder(fresh)
            take_place(fresh, folder, work / _OLD)
            sync_folder(folder.parent)
        finally:
            shutil.rmtree(work, ignore_errors=True)  # what went wrong matters more than what stays behind


@contextmanager
def undisturbed(folder: Path) -> Iterator[None]:
    """Nobody else replaces or changes a folder meanwhile: those who want to take turns.

    Where no lock can be made beside it, nobody can replace it either.
    """
    with ExitStack() as stack:
        with suppress(PermissionError):
            stack.enter_context(locked(_lock_of(folder.resolve()), wait=True))
        yield


def restore(folder: Path) -> None:
    """Put back a folder that is not there because a process was killed while it replaced it; otherwise nothing happens."""
    with suppress(OSError):  # a place that cannot be written, or that does not exist, holds nothing to restore
        if not folder.exists() and _left_beside(folder):
            with locked(_lock_of(folder), wait=True):
                _recover(folder)


def _lock_of(folder: Path) -> Path:
    return folder.with_name(f"{hidden_name(folder.name)}.lock")


def _left_beside(folder: Path) -> list[Path]:
    """Unfinished folders of processes that replace a folder, or were killed meanwhile."""
    pattern = re.compile(rf"{re.escape(hidden_name(folder.name))}\.[0-9a-f]{{8}}\.part")
    return sorted(path for path in folder.parent.iterdir() if pattern.fullmatch(path.name) and path.is_dir())


def _recover(folder: Path) -> None:
    """Put back an older folder that was moved away, and remove what killed processes left; the lock must be held."""
    for left in _left_beside(folder):
        if not folder.exists() and (left / _OLD).is_dir():
            (left / _OLD).rename(folder)
        shutil.rmtree(left, ignore_errors=True)


def take_place(fresh: Path, folder: Path, old: Path) -> None:
    """Give a folder the name of another, which then lies at `fresh`, or at `old` where the system cannot exchange the two."""
    if not folder.exists():
        fresh.rename(folder)
    elif not exchange(fresh, folder):
        # Two steps: a process that is killed between them leaves no folder, until `restore` puts the older one back.
        folder.rename(old)
        try:
            fresh.rename(folder)
        except BaseException:
            old.rename(folder)
            raise


def exchange(one: Path, other: Path) -> bool:
    """Let two paths swap what they name, in one step; False where the system cannot do that."""
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if sys.platform == "linux" else None
    return renameat2 is not None and renameat2(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0


@contextmanager
def locked(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold a lock file, which is removed afterwards; the system lets go of it when the process ends, however it ends.

    If another process holds it, `wait` for that one; otherwise that is a `BlockingIOError`.
    """
    if os.name != "posix":  # no such locks on this system
        yield
        return
    while (number := _lock(path, os.O_RDWR | os.O_CREAT, wait=wait)) is None:
        pass
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(number)


def _lock(path: Path, flags: int, *, wait: bool) -> int | None:
    """A locked file or folder, to be closed; None if its holder has removed it meanwhile, an `OSError` if there is no lock."""
    import fcntl

    number = os.open(path, flags | os.O_NOFOLLOW, 0o666)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        if is_named(path, number):
            return number
    except OSError:
        os.close(number)
        raise
    os.close(number)
    return None


def is_named(path: Path, number: int) -> bool:
    """Whether a path still names an open file or folder: the lock of one that its holder has removed is worth nothing."""
    try:
        return os.path.samestat(path.stat(), os.fstat(number))
    except FileNotFoundError:
        return False


def sync_file(file: IO[Any]) -> None:
    """Wait until what was written to a file is on disk."""
    file.flush()
    os.fsync(file.fileno())


def write_synced(path: Path, content: bytes) -> None:
    """Write a file and wait until it is on disk."""
    with path.open("wb") as file:
        file.write(content)
        sync_file(file)


def sync_folder(folder: Path) -> None:
    """Make new names in a folder survive a power failure, where the system can."""
    if os.name == "posix":
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


_MACHINE = f"{zlib.crc32(platform.node().encode()) & 0xFFFF:04x}"  # some shared disks have locks that other machines do not see
_PREFIX, _SUFFIX = f"difa.{_MACHINE}.", ".tmp"
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
    if os.name != "posix":  # no locks, by which the next one would know
        with tempfile.TemporaryDirectory(_SUFFIX, _PREFIX) as name:
            yield Path(name)
        return
    _remove_abandoned()
    lock = None
    while lock is None:
        path = Path(tempfile.mkdtemp(_SUFFIX, _PREFIX))
        with suppress(FileNotFoundError):  # before it was locked, another process took it for abandoned
            lock = _lock(path, os.O_DIRECTORY, wait=True)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)  # what cannot be removed now may be by the next one
        os.close(lock)


def _remove_abandoned() -> None:
    """Remove the folders of this user's processes that have ended."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}{'?' * 8}{_SUFFIX}"):  # as `mkdtemp` makes them
        with suppress(OSError):  # another process holds it, or it is no folder
            if (lock := _lock(path, os.O_DIRECTORY, wait=False)) is not None:
                if os.fstat(lock).st_uid == os.geteuid():
                    shutil.rmtree(path, ignore_errors=True)
                os.close(lock)
