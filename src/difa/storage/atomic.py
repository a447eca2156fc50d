"""Files and folders that appear whole or not at all, and temporary ones that leave nothing behind.

Results are written under a hidden name beside their place and then renamed: a killed process leaves nothing half-written under a
valid name, and several processes can share a folder. A temporary file has no name where the system allows that, so it ends with
its process. A temporary folder is locked by its process; the system releases the lock when the process ends. Whoever makes the
next temporary folder removes those of the same machine and user that nobody holds.
"""

from __future__ import annotations

import ctypes
import os
import platform
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
_OLD = "old"  # name of the older folder between two renames, where the system cannot exchange two folders in one step
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # of Linux


def hidden_name(name: str) -> str:
    """The name with a dot before it, as unfinished files have it: a folder of inputs leaves such files out."""
    return name if name.startswith(".") else f".{name}"


def unfinished(path: Path) -> Path:
    """A new hidden path beside a path."""
    return path.with_name(f"{hidden_name(path.name)}.{uuid.uuid4().hex[:8]}.part")


def is_stream(path: Path) -> bool:
    """Whether a path leads to a pipe or a device: that is written to directly, a new file must not take its place."""
    try:
        kind = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(kind) and not stat.S_ISDIR(kind)


def behind_link(path: Path) -> Path:
    """The path itself, or the file that it links to: the link stays, and that file is replaced."""
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
        with suppress(OSError):  # the first error matters more
            partial.unlink(missing_ok=True)
        raise


def cache_folder() -> Path:
    """Where exported graphs and the like are kept: DIFA_CACHE, or `difa` in the user's cache folder."""
    if chosen := os.environ.get("DIFA_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "difa"


def kept(name: str, make: Callable[[], bytes], read: Callable[[bytes], T]) -> T:
    """What `read` makes of a file of the cache folder, whose name says all that its content depends on.

    The file is made if it is missing, or damaged: `read` then raises a `ValueError` or an `EOFError`.
    """
    path = cache_folder() / name
    try:
        return read(path.read_bytes())
    except (OSError, ValueError, EOFError):
        content = make()
    with suppress(OSError):  # without a cache the next process only takes longer
        path.parent.mkdir(parents=True, exist_ok=True)
        with fresh_file(path) as partial:
            partial.write_bytes(content)
    return read(content)


@contextmanager
def writing(place: object) -> Iterator[None]:
    """Turn an `OSError` of writing to a place into an `InputError` of one line."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{place}: cannot be written: {error.strerror or error}") from None


@contextmanager
def fresh_text(path: Path) -> Iterator[TextIO]:
    """A text file, which is on disk before it takes its name; a pipe or device is written to directly."""
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
    """An empty folder to fill. If all goes well it takes the name `folder`, and an older folder of that name is removed.

    Processes that write the same folder take turns. The next one removes what a killed one left behind.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = _beside(folder, "unfinished")
    with locked(_beside(folder, "lock"), wait=True):
        _recover(folder)
        try:
            fresh = work / "new"
            fresh.mkdir(parents=True)
            yield fresh
            sync_folder(fresh)
            take_place(fresh, folder, work / _OLD)
            sync_folder(folder.parent)
        finally:
            shutil.rmtree(work, ignore_errors=True)  # an error before this matters more


@contextmanager
def undisturbed(folder: Path) -> Iterator[None]:
    """Keep other processes from replacing or changing a folder meanwhile."""
    with ExitStack() as stack:
        with suppress(PermissionError):  # where no lock can be made beside it, nobody can replace it either
            stack.enter_context(locked(_beside(folder.resolve(), "lock"), wait=True))
        yield


def restore(folder: Path) -> None:
    """Put a folder back if it is missing because a process was killed while it replaced it."""
    with suppress(OSError):  # there is nothing to restore in a place that does not exist or cannot be written
        if not folder.exists() and _beside(folder, "unfinished").exists():
            with locked(_beside(folder, "lock"), wait=True):
                _recover(folder)


def _recover(folder: Path) -> None:
    """Put back an older folder that was moved away, and remove what a killed process left. The lock must be held."""
    left = _beside(folder, "unfinished")
    if not folder.exists() and (left / _OLD).is_dir():
        (left / _OLD).rename(folder)
    shutil.rmtree(left, ignore_errors=True)


def _beside(folder: Path, ending: str) -> Path:
    """What belongs to a folder while it is written, hidden beside it."""
    return folder.with_name(f"{hidden_name(folder.name)}.{ending}")


def take_place(fresh: Path, folder: Path, old: Path) -> None:
    """Rename the folder `fresh` to `folder`. An older one then lies at `fresh`, or at `old` where two cannot be exchanged."""
    if not folder.exists():
        fresh.rename(folder)
    elif not exchange(fresh, folder):
        # A process that is killed between these two steps leaves no folder, until `restore` puts the older one back.
        folder.rename(old)
        try:
            fresh.rename(folder)
        except BaseException:
            old.rename(folder)
            raise


def exchange(one: Path, other: Path) -> bool:
    """Exchange what two paths name, in one step; False where the system cannot do that."""
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if sys.platform == "linux" else None
    return renameat2 is not None and renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0


@contextmanager
def locked(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold a lock file, which is removed afterwards; the system releases the lock when the process ends, even by a kill.

    If another process holds it, `wait` for that one, or raise `BlockingIOError`.
    """
    if os.name != "posix":  # no such locks on this system
        yield
        return
    while (number := lock(path, os.O_RDWR | os.O_CREAT, wait=wait)) is None:
        pass
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(number)


def lock(path: Path, flags: int, *, wait: bool) -> int | None:
    """The descriptor of a file or folder, opened with the flags and locked; None if it was renamed or removed meanwhile.

    If another process holds it, `wait` for that one, or raise `BlockingIOError`. Some systems have no such locks.
    """
    number = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)
    try:
        if os.name == "posix":
            import fcntl

            fcntl.flock(number, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        if is_named(path, number):
            return number
    except OSError:
        os.close(number)
        raise
    os.close(number)
    return None


def is_named(path: Path, number: int) -> bool:
    """Whether a path still names an open file or folder: a lock on one that was removed excludes nobody."""
    try:
        return os.path.samestat(path.stat(), os.fstat(number))
    except FileNotFoundError:
        return False


def sync_file(file: IO[Any]) -> None:
    """Wait until everything written to a file is on disk."""
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


_MACHINE = f"{zlib.crc32(platform.node().encode()) & 0xFFFF:04x}"  # on some shared disks, machines do not see each other's locks
_PREFIX, _SUFFIX = f"difa.{_MACHINE}.", ".tmp"
_PROCESSES = Path("/proc")  # through it, processes of Linux can open files again that they or their parents have open


@contextmanager
def scratch_file() -> Iterator[tuple[IO[bytes], str]]:
    """A file to write to, and a path at which this process and its children can read it any number of times meanwhile."""
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
    with suppress(OSError):  # the disk is full, but the content is no longer needed
        file.close()


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """An empty folder, which is removed at the end, or if the process is killed, by the next call of this function."""
    if os.name != "posix":  # no locks, which say whose process still lives
        with tempfile.TemporaryDirectory(_SUFFIX, _PREFIX) as name:
            yield Path(name)
        return
    _remove_abandoned()
    number = None
    while number is None:
        path = Path(tempfile.mkdtemp(_SUFFIX, _PREFIX))
        with suppress(FileNotFoundError):  # before we locked it, another process removed it as abandoned
            number = lock(path, os.O_DIRECTORY, wait=True)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(number)


def _remove_abandoned() -> None:
    """Remove temporary folders of this user whose processes have ended."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}{'?' * 8}{_SUFFIX}"):  # as `mkdtemp` makes them
        with suppress(OSError):  # another process holds it, or it is no folder
            if (number := lock(path, os.O_DIRECTORY, wait=False)) is not None:
                if os.fstat(number).st_uid == os.geteuid():
                    shutil.rmtree(path, ignore_errors=True)
                os.close(number)
