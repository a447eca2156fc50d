"""Files and folders that appear under their names whole or not at all.

Everything is written under a hidden name beside its place and then renamed, so that a killed process leaves nothing
half-written under a valid name, and several processes can share a folder.
"""

from __future__ import annotations

import os
import stat
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from difa.errors import InputError


def hidden_name(name: str) -> str:
    """The name with a dot before it, as unfinished files have it: no folder of inputs takes them for documents."""
    return name if name.startswith(".") else f".{name}"


def unfinished(path: Path) -> Path:
    """A new hidden place beside a path."""
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
    """A place to write to, which takes the name `path` if all goes well and is removed otherwise.

    Args:
        path: the file's own name; an older file there is replaced.
        partial: where to write; a new place beside it by default.
    """
    path = behind_link(path)
    partial = partial or unfinished(path)
    try:
        yield partial
        partial.replace(path)
    except BaseException:
        with suppress(OSError):  # what went wrong matters more than what stays behind
            partial.unlink(missing_ok=True)
        raise


@contextmanager
def fresh_text(path: Path) -> Iterator[TextIO]:
    """A text file, on disk before it takes its name; a pipe or device is written to as it is."""
    try:
        if is_stream(path):
            with path.open("w", encoding="utf-8", newline="\n") as file:
                yield file
            return
        with fresh_file(path) as partial, partial.open("w", encoding="utf-8", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None


@contextmanager
def fresh_folder(folder: Path) -> Iterator[Path]:
    """An empty folder to fill, which takes the name `folder` if all goes well; only then an older one gives way to it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{hidden_name(folder.name)}.") as name:
        fresh, old = Path(name) / "new", Path(name) / "old"
        fresh.mkdir()
        yield fresh
        if folder.exists():
            folder.rename(old)
        try:
            fresh.rename(folder)
        except BaseException:
            if old.exists():
                old.rename(folder)  # the older one stays where it was
            raise


def write_synced(path: Path, content: bytes) -> None:
    """Write a file and wait until it is on disk."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make new names in a folder survive a power failure, where the system can."""
    if os.name == "posix":
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
