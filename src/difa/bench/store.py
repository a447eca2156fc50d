"""Finished figures, one JSON file each: what was computed is not computed again.

A cell's name comes from everything that decides its content: the command, the method and its settings, the documents
themselves, the seeds, the encoder, and a fingerprint of the code and packages behind it. Change any of these and the cell is a
new one; change anything else, comments and docstrings among it, and the old one stands. A cell also says when it was measured, by
which command and for how long. Files are written whole or not at all.
"""

from __future__ import annotations

import ast
import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import difa
from difa.document import Document
from difa.errors import InputError
from difa.storage.atomic import fresh_text

Record = dict[str, Any]
"""A finished cell: what it is of (`command`, `set`, `form`, `seed`, `method`, `settings`) and what came out."""

CORE = "*"

_SOURCE = Path(difa.__file__).parent
# Parts that decide no score: how results are read, shown, served and compared.
_OUTSIDE = (*("baselines", "bench", "cli", "engines", "formats", "monitor", "report", "serve", "__main__.py"),)


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
    flags: bool = True
    """Whether it says anything of flags; the other figures are the same without them."""

    @property
    def name(self) -> str:
        """The file's name: readable, then unmistakable. Two forms with equal documents share a cell."""
        content = [self.command, self.digest, self.seed, self.method, self.settings, self.fingerprint, self.model_seed]
        content += [] if self.flags else ["no flags"]
        return f"{self.command}-{self.set}-{self.seed}-{self.method.replace('/', '_')}-{_sum(content)[:16]}.json"

    def describe(self) -> Record:
        """What the cell is of."""
        keys = ("command", "set", "form", "seed", "model_seed", "method", "fingerprint")
        return {key: getattr(self, key) for key in keys} | {"settings": dict(self.settings)}


class Store:
    """A results folder.

    Args:
        folder: made if it is not there.
        asked_by: the command line that a new cell is measured for.
    """

    def __init__(self, folder: Path, asked_by: str = "") -> None:
        self.folder, self._asked_by = folder, asked_by
        self._cells = folder / "cells"
        try:
            self._cells.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: expected a folder that can be written, got: {error.strerror}") from None

    def fetch(self, cell: Cell, compute: Callable[[], Record]) -> Record:
        """The finished cell, computed now if it was not before."""
        found = self._read(cell)
        if found is None:
            started = time.perf_counter()
            found = compute()
            took = round(time.perf_counter() - started, 1)
            found |= {"measured": date.today().isoformat(), "asked_by": self._asked_by, "took": took}
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
    sources = [_code_sum(path) for part in parts for path in _files(part)]
    return _sum([sources, [f"{name} {_version(name)}" for name in packages], sorted(more.items())])


def code_of(source: str) -> str:
    """What a file does: its syntax tree without comments and docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            said = [isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant) for each in body]
            node.body = [each for each, only_said in zip(body, said, strict=True) if not only_said]  # type: ignore[attr-defined]
    return ast.dump(tree)


@cache
def _code_sum(path: Path) -> str:
    return _sum(code_of(path.read_text(encoding="utf-8")))


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
