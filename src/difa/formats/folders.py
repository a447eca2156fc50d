"""A folder or a pattern -> the files behind it, each once; what cannot be looked into is told rather than left out.

A location is a local path, or an address such as `s3://bucket/folder`, which pyarrow's file systems read. Links to folders are
followed. A folder that was seen already, by its device and number, is not entered again, so that a loop ends and files keep the
name that they have without links.
"""

from __future__ import annotations

import glob
import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from difa.errors import InputError
from difa.formats.packed import arrow


@dataclass
class Found:
    """Files, and what could not be looked at, each with the reason."""

    files: list[Path] = field(default_factory=list)
    unreadable: list[tuple[Path, str]] = field(default_factory=list)


def files_below(folder: Path, wanted: Callable[[Path], bool]) -> Found:
    """Files in a folder and all below it, sorted by path.

    Args:
        folder: where to begin.
        wanted: whether a file is of interest, by its name; others may be unreadable.
    """
    found, seen = Found(), set[tuple[int, int]]()
    folders, links = deque([folder]), deque[Path]()
    while folders or links:
        place = folders.popleft() if folders else links.popleft()  # a folder's own name comes before that of a link
        try:
            status = place.stat()
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            with os.scandir(place) as entries:
                for entry in entries:
                    path = place / entry.name
                    if entry.is_dir():
                        (links if entry.is_symlink() else folders).append(path)
                    elif wanted(path):
                        _take(path, entry.is_symlink(), found)
        except OSError as error:
            found.unreadable.append((place, error.strerror or str(error)))
    found.files.sort()
    return found


def matches(pattern: str) -> list[str]:
    """Everything that matches a pattern, sorted; what a loop of links shows again is left out."""
    found = sorted(glob.glob(pattern, recursive=True))
    if not found:
        raise InputError(f"{pattern}: expected files that match this pattern, found none: check the folder and the pattern")
    if "**" not in pattern:
        return found
    shortest: dict[str, str] = {}
    for name in sorted(found, key=lambda name: (len(Path(name).parts), name)):
        shortest.setdefault(os.path.realpath(name), name)
    return sorted(shortest.values())


def is_address(location: str) -> bool:
    """Whether a location is given as an address rather than as a path."""
    return "://" in location


def locate(location: str) -> tuple[Any, str]:
    """The file system of a location, and the path within it."""
    arrow("files at addresses")
    from pyarrow import fs

    if not is_address(location):
        return fs.LocalFileSystem(), str(Path(location).absolute())
    try:
        system, path = fs.FileSystem.from_uri(location)
    except (OSError, ValueError) as error:
        raise InputError(f"{location}: expected an address such as s3://bucket/folder, got: {error}") from None
    return system, path.rstrip("/")


def below(folder: str, relative: str) -> str:
    """The location of a file in a folder; the settings behind the `?` of an address stay at the end."""
    if not is_address(folder):
        return str(Path(folder) / relative)
    head, mark, settings = folder.partition("?")
    return f"{head.rstrip('/')}/{relative}{mark}{settings}"


def address_files(address: str) -> list[tuple[str, Any]]:
    """Files at an address, with their size and time: the one of that name, those below a folder, or those that a `*` matches."""
    from pyarrow import fs

    head, mark, settings = address.partition("?")
    folder = f"{head.partition('*')[0].rpartition('/')[0]}{mark}{settings}" if "*" in head else address
    system, path = locate(address)
    root = locate(folder)[1]
    try:
        info = system.get_file_info(root)
        if info.type == fs.FileType.NotFound:
            raise InputError(f"{address}: cannot be read: No such file or directory")
        if info.type == fs.FileType.File:
            return [(address, info)]
        inside = [entry for entry in system.get_file_info(fs.FileSelector(root, recursive=True)) if entry.is_file]
    except OSError as error:
        raise InputError(f"{address}: cannot be read: {error.strerror or error}") from None
    if "*" in head:
        inside = [entry for entry in inside if PurePosixPath(entry.path).match(path)]
        if not inside:
            raise InputError(f"{address}: expected files that match this pattern, found none: check the folder and the pattern")
    inside.sort(key=lambda entry: PurePosixPath(entry.path).parts)
    return [(below(folder, entry.path.removeprefix(root).lstrip("/")), entry) for entry in inside]


def _take(path: Path, is_link: bool, found: Found) -> None:
    if path.is_file():
        if os.access(path, os.R_OK):
            found.files.append(path)
        else:
            found.unreadable.append((path, "Permission denied"))
    elif is_link and not path.exists():
        found.unreadable.append((path, "a link that leads nowhere"))
