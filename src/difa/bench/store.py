"""Finished figures, one JSON file each: what was computed is not computed again.

A cell's name comes from everything that decides its content: the command, the method and its settings, the documents
themselves, the seed, the encoder, and a fingerprint of the code and packages behind it. Change any of these and the cell is a
new one; change anything else and the old one stands. Files are written whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import difa
from difa.atomic import fresh_text
from difa.document import Document
from difa.errors import InputError

Record = dict[str, Any]
"""A finished cell: what it is of (`command`, `set`, `form`, `seed`, `method`, `settings`) and what came out."""

CORE = "*"

_SOURCE = Path(difa.__file__).parent
# Parts that decide no score: how results are read, shown, served and compared.
_OUTSIDE = (
    *("baselines", "bench", "cli", "confidence.py", "engines", "formats", "monitor", "report", "review_budget.py", "serve"),
    *("__main__.py", "scratch.py"),
)


@dataclass(frozen=True)
class Cell:
    """One figure, or a few that come out of one fit."""

    command: str
    set: str
    form: str
    digest: str
    """Checksum of the documents."""
    seed: int
    method: str
    settings: Mapping[str, Any]
    fingerprint: str
    model_seed: int | None = None
    """Seed of the model where it is not that of the split."""

    @property
    def name(self) -> str:
        """The file's name: readable, then unmistakable. Two forms with equal documents share a cell."""
        content = [self.command, self.digest, self.seed, self.method, self.settings, self.fingerprint, self.model_seed]
        key = _sum(content)[:16]
        return f"{self.command}-{self.set}-{self.seed}-{self.method.replace('/', '_')}-{key}.json"

    def describe(self) -> Record:
        """What the cell is of."""
        return {
            "command": self.command,
            "set": self.set,
            "form": self.form,
            "seed": self.seed,
            "model_seed": self.model_seed,
            "method": self.method,
            "settings": dict(self.settings),
        }


class Store:
    """A results folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._cells = folder / "cells"
        try:
            self._cells.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: expected a folder that can be written, got: {error.strerror}") from None

    def has(self, cell: Cell) -> bool:
        """Whether the cell is finished."""
        return self._read(cell) is not None

    def fetch(self, cell: Cell, compute: Callable[[], Record]) -> Record:
        """The finished cell, computed now if it was not before."""
        found = self._read(cell)
        if found is None:
            found = compute()
            with fresh_text(self._cells / cell.name) as file:
                json.dump(found, file, indent=1, allow_nan=False)
            found = json.loads(json.dumps(found))  # the same kinds of values whether computed or read
        return cell.describe() | found

    def _read(self, cell: Cell) -> Record | None:
        try:
            record: Record = json.loads((self._cells / cell.name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return record


def digest_of(documents: Sequence[Document]) -> str:
    """Checksum of words and labels."""
    return _sum([([word.text for word in document.words], document.labels) for document in documents])


def fingerprint_of(parts: Sequence[str], packages: Sequence[str] = (), **more: Any) -> str:
    """Checksum of the code and packages that decide a score.

    Args:
        parts: files and folders of the package, such as `baselines`; `CORE` stands for everything that DiFA's own scores
            depend on.
        packages: installed packages whose version counts.
        more: anything else that decides, such as the encoder.
    """
    files = [path for part in parts for path in _files(part)]
    sources = [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]
    return _sum([sources, [f"{name} {_version(name)}" for name in packages], sorted(more.items())])


def _files(part: str) -> list[Path]:
    if part == CORE:
        return [path for path in sorted(_SOURCE.rglob("*.py")) if path.relative_to(_SOURCE).parts[0] not in _OUTSIDE]
    path = _SOURCE / part
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


def _sum(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
