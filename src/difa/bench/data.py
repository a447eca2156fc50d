"""Where the labelled documents are -> the sets of a run.

A folder that is named, by `data` or `DIFA_DATA`, or found at `../shared/data`, either has the benchmark sets below `tokenad/` (or
directly: `original/spam.jsonl` and so on) and, where there is one, a folder `dev/` of further sets beside them, or is a folder of
labelled files of one's own, each of them a set: JSON lines or Label Studio exports. Without a folder, the three public sets
come from the Hugging Face hub.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from difa.bench.hub import fetch
from difa.bench.store import digest_of
from difa.document import Document
from difa.errors import InputError
from difa.formats import read_documents

SETS = ("spam", "review", "grammar")
"""The public sets, in both forms."""
DEV_SETS = ("essays", "toxic", "reports", "opinions", "nonsense")
"""Sets for development, in the clean form alone."""
FORMS = ("original", "clean")
OWN = "own"
"""The form of a set that is not one of the benchmark's."""
DEFAULT_FOLDER = Path("../shared/data")


@dataclass(frozen=True)
class DataSet:
    """Labelled documents under a name."""

    name: str
    form: str
    documents: list[Document]

    @cached_property
    def digest(self) -> str:
        """Checksum of words and labels."""
        return digest_of(self.documents)


def load_sets(
    folder: Path | None, names: Sequence[str] = (), forms: Sequence[str] = (), revision: str | None = None
) -> list[DataSet]:
    """The sets of a run, in the order of the tables.

    Args:
        folder: where to look; None looks at `DIFA_DATA`, then `../shared/data`, then the hub.
        names: which sets; empty for all there are.
        forms: `original`, `clean` or both; empty for both.
        revision: commit of the original form on the hub.
    """
    unknown = set(forms) - set(FORMS)
    if unknown:
        raise InputError(f"form: expected {' or '.join(FORMS)}, got {', '.join(sorted(unknown))}")
    found = find_folder(folder)
    root = None if found is None else _benchmark_root(found)
    if found is not None and root is None:
        return _own_sets(found, names)
    dev = _dev_files(root)
    known = (*SETS, *dev)
    unknown = set(names) - set(known)
    if unknown:
        raise InputError(f"set: expected one of {', '.join(known)}, got {', '.join(sorted(unknown))}")
    chosen = [form for form in FORMS if not forms or form in forms]
    public = [
        DataSet(name, form, _labelled(_read(root / form / f"{name}.jsonl") if root else fetch(name, form, revision), name))
        for form in chosen
        for name in SETS
        if not names or name in names
    ]
    further = [(name, path) for name, path in dev.items() if "clean" in chosen and (not names or name in names)]
    return [*public, *(DataSet(name, "clean", _labelled(_read(path), name)) for name, path in further)]


def _dev_files(root: Path | None) -> dict[str, Path]:
    """The sets for development that lie beside the public ones."""
    folder = None if root is None else next((f for f in (root / "dev", root.parent / "dev") if f.is_dir()), None)
    if folder is None:
        return {}
    return {name: path for name in DEV_SETS if (path := folder / f"{name}.jsonl").is_file()}


def find_folder(folder: Path | None) -> Path | None:
    """The folder that was named, or the one found at the usual place, or None."""
    named = folder or (Path(os.environ["DIFA_DATA"]) if os.environ.get("DIFA_DATA") else None)
    if named is not None:
        if not named.is_dir():
            raise InputError(f"{named}: expected a folder with the data, found none: check the folder's name or DIFA_DATA")
        return named
    return DEFAULT_FOLDER if (DEFAULT_FOLDER / "tokenad").is_dir() else None


def _benchmark_root(folder: Path) -> Path | None:
    for root in (folder / "tokenad", folder):
        if any((root / form).is_dir() for form in FORMS):
            return root
    return None


def _own_sets(folder: Path, names: Sequence[str]) -> list[DataSet]:
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() in (".jsonl", ".json") and path.is_file())
    if not files:
        raise InputError(f"{folder}: expected tokenad/, original/ or clean/, or labelled .jsonl or .json files, found none")
    missing = set(names) - {path.stem for path in files}
    if missing:
        raise InputError(f"set: expected one of {', '.join(path.stem for path in files)}, got {', '.join(sorted(missing))}")
    return [DataSet(path.stem, OWN, _labelled(_read(path), path.name)) for path in files if not names or path.stem in names]


def _read(path: Path) -> list[Document]:
    return list(read_documents([str(path)]))


def _labelled(documents: list[Document], name: str) -> list[Document]:
    unlabelled = next((document.id for document in documents if document.labels is None), None)
    if unlabelled is not None:
        raise InputError(f'{name}: expected labels for every document, {unlabelled} has none: give "labels" or "spans"')
    if not documents:
        raise InputError(f"{name}: expected labelled documents, got none")
    return documents
