"""Where the labelled documents are -> the sets of a run.

A folder that is named, by `data` or `DIFA_DATA`, or found at `../shared/data`, either has the benchmark sets below `tokenad/` (or
directly: `original/spam.jsonl` and so on) and, where there is one, a folder `dev/` of further sets beside them, or is a folder of
labelled files of one's own, each of them a set: JSON lines or Label Studio exports. Without a folder, the three public sets
come from the Hugging Face hub. There the clean form is pinned to the revision and checksums that PyTextAD 0.4 publishes. For the
original form we know no revision that we could vouch for: its user names one, and its words and labels must have the checksum of
the sets as we have them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from difa.bench.store import digest_of
from difa.document import Document
from difa.encoders.convert import sha256_of
from difa.errors import InputError, MissingExtraError
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


@dataclass(frozen=True)
class HubFile:
    """A file at a revision, and its checksum."""

    repository: str
    path: str
    revision: str
    sha256: str


_CLEAN = ("Charles-Cao/pytextad", "331ef3b8f4a2c4a60bedf293ccf17f7e717c7643")
CLEAN: dict[str, HubFile] = {
    name: HubFile(_CLEAN[0], f"data/{file}.jsonl", _CLEAN[1], digest)
    for name, file, digest in (
        ("spam", "sms_spam", "e315a7c1881c867bc464307234abb7518734abea36181a570aa83677ad8be16b"),
        ("review", "restaurant_review", "fb6c53666488b5e2c7009443fe19077c0184e63cc8a9121b795542387db1e0db"),
        ("grammar", "grammar_correction", "de0ad483497e0cfdc299898599edbfb430aada09e461b0e1be5a68f2b54bd7ba"),
    )
}

ORIGINAL_REPOSITORY = "Charles-Cao/TokenAD"
ORIGINAL: dict[str, str] = {
    "spam": "e82fdd1a7b6fd086dc87ccfcf01263ae37e1d9ecb0688e06e16432da2ef2badc",
    "review": "db7dfdf70c302391cf2c3d08345a60889230f8d62d243eca22db9a8cd2ae665d",
    "grammar": "30677dd0226e17acedef6b5955dc84b6dd23f136ec04a9aff9c8c9a1ac7a77e2",
}
"""Checksums of words and labels (`digest_of`) of the original sets."""


def fetch(name: str, form: str, revision: str | None = None) -> list[Document]:
    """A set from the hub, or from the hub's local cache."""
    if form == "clean":
        file = CLEAN[name]
        path = _download(file.repository, file.path, file.revision)
        got = sha256_of(path)
        if got != file.sha256:
            raise InputError(f"{path}: expected sha256 {file.sha256}, got {got}: delete the file and fetch it again")
        return list(read_documents([str(path)]))
    if revision is None:
        raise InputError(
            f"the original form of {name}: expected a folder with it (data or DIFA_DATA), or as revision a commit of "
            f"{ORIGINAL_REPOSITORY} on the Hugging Face hub: none is pinned, since we could not check one"
        )
    path = _download(ORIGINAL_REPOSITORY, _original_path(name, revision), revision)
    documents = list(read_documents([str(path)]))
    if digest_of(documents) != ORIGINAL[name]:
        raise InputError(f"{path}: expected the words and labels of the original {name} set, got others: try another revision")
    return documents


def _original_path(name: str, revision: str) -> str:
    hub = _hub()
    try:
        files = hub.HfApi().list_repo_files(ORIGINAL_REPOSITORY, repo_type="dataset", revision=revision)
    except Exception as error:  # the hub client raises dozens of kinds, all meaning "could not be had"
        raise _unreachable(ORIGINAL_REPOSITORY, error) from None
    found = [file for file in files if file.endswith(".jsonl") and name in file]
    if not found:
        raise InputError(
            f"{ORIGINAL_REPOSITORY} at {revision}: expected a .jsonl file for {name}, found none: give a folder with the data"
        )
    return str(found[0])


def _download(repository: str, path: str, revision: str) -> Path:
    hub = _hub()
    try:
        return Path(hub.hf_hub_download(repository, path, repo_type="dataset", revision=revision))
    except Exception as error:  # as above
        raise _unreachable(repository, error) from None


def _hub() -> Any:
    try:
        import huggingface_hub
    except ImportError:
        raise MissingExtraError("huggingface_hub", "bench", "data from the Hugging Face hub") from None
    return huggingface_hub


def _unreachable(repository: str, error: Exception) -> InputError:
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return InputError(
        f"no data: expected a folder with tokenad/ in it (data or DIFA_DATA), or {repository} from the Hugging Face hub, "
        f"which could not deliver it ({reason.rstrip('.')})"
    )
