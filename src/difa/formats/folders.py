"""A folder or a pattern -> the files behind it, each once; what cannot be looked into is told rather than left out.

Links to folders are followed. A folder that was seen already, by its device and number, is not entered again, so that a loop ends
and files keep the name that they have without links.
"""

from __future__ import annotations

import glob
import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from difa.errors import InputError


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


def _take(path: Path, is_link: bool, found: Found) -> None:
    if path.is_file():
        if os.access(path, os.R_OK):
            found.files.append(path)
        else:
            found.unreadable.append((path, "Permission denied"))
    elif is_link and not path.exists():
        found.unreadable.append((path, "a link that leads nowhere"))
