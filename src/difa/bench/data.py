"""Where the labelled documents are -> the sets of a run, and each set -> documents to fit on and to test on.

A folder that is named, by `data` or `DIFA_DATA`, or found at `../shared/data`, either has the benchmark sets below `tokenad/` (or
directly: `original/spam.jsonl` and so on) and, where there is one, a folder `dev/` of further sets beside them, or is a folder of
labelled files of one's own, each of them a set: JSON lines or Label Studio exports. Without a folder, the three public sets
come from the Hugging Face hub. There the clean form is pinned to the revision and checksums that PyTextAD 0.4 publishes. For the
original form we know no revision that we could vouch for: its user names one, and its words and labels must have the checksum of
the sets as we have them. The split is that of the TokenCore paper.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from difa.document import Document, IntArray
from difa.encoders.convert import sha256_of
from difa.errors import ConfigError, DifaError, InputError, import_extra
from difa.formats import read_documents

SETS = ("spam", "review", "grammar")  # the public ones, in both forms
DEV_SETS = ("essays", "toxic", "reports", "opinions", "nonsense")  # for development, in the clean form alone
FORMS = ("original", "clean")
OWN = "own"  # the form of a set that is not one of the benchmark's
DEFAULT_FOLDER = Path("../shared/data")

CLEAN_REPOSITORY, CLEAN_REVISION = "Charles-Cao/pytextad", "331ef3b8f4a2c4a60bedf293ccf17f7e717c7643"
CLEAN = {
    "spam": ("data/sms_spam.jsonl", "e315a7c1881c867bc464307234abb7518734abea36181a570aa83677ad8be16b"),
    "review": ("data/restaurant_review.jsonl", "fb6c53666488b5e2c7009443fe19077c0184e63cc8a9121b795542387db1e0db"),
    "grammar": ("data/grammar_correction.jsonl", "de0ad483497e0cfdc299898599edbfb430aada09e461b0e1be5a68f2b54bd7ba"),
}
"""Files of the clean form at that revision, with their SHA-256."""
ORIGINAL_REPOSITORY = "Charles-Cao/TokenAD"
ORIGINAL = {
    "spam": "e82fdd1a7b6fd086dc87ccfcf01263ae37e1d9ecb0688e06e16432da2ef2badc",
    "review": "db7dfdf70c302391cf2c3d08345a60889230f8d62d243eca22db9a8cd2ae665d",
    "grammar": "30677dd0226e17acedef6b5955dc84b6dd23f136ec04a9aff9c8c9a1ac7a77e2",
}
"""Checksums of words and labels (`digest_of`) of the original sets."""


@dataclass(frozen=True, eq=False)
class DataSet:
    """Labelled documents under a name."""

    name: str
    form: str
    documents: list[Document]

    @cached_property
    def digest(self) -> str:
        return digest_of(self.documents)


@dataclass(frozen=True)
class Split:
    """Documents to fit on, all normal, and documents to test on."""

    training: list[Document]
    test: list[Document]

    @property
    def word_labels(self) -> list[IntArray]:
        """Labels of the test words, (T,) per document."""
        return [np.array(document.labels, dtype=np.int64) for document in self.test]

    @property
    def normal(self) -> list[Document]:
        """Test documents without a label of 1, and not empty."""
        return [document for document in self.test if document.words and not is_anomalous(document)]

    @property
    def anomalous(self) -> list[Document]:
        """Test documents with a label of 1."""
        return [document for document in self.test if is_anomalous(document)]


def split(documents: Sequence[Document], seed: int) -> Split:
    """Half of the normal documents, rounded down, for fitting; everything else for testing."""
    normal = [index for index, document in enumerate(documents) if not is_anomalous(document)]
    if len(normal) < 2 or len(normal) == len(documents):
        raise InputError(
            f"expected normal and anomalous documents, got {len(normal)} normal and {len(documents) - len(normal)} anomalous"
        )
    # The legacy generator is part of the published split; a private one draws the same numbers as the global one.
    chosen = set(np.random.RandomState(seed).choice(normal, len(normal) // 2, replace=False).tolist())
    rest = [document for index, document in enumerate(documents) if index not in chosen]
    return Split([documents[index] for index in sorted(chosen)], rest)


def is_anomalous(document: Document) -> bool:
    """Whether any word is labelled 1."""
    return any(document.labels or ())


def without_labels(documents: Sequence[Document]) -> list[Document]:
    """The documents as they were before anybody judged them."""
    return [replace(document, labels=None, odd=None) for document in documents]


def words_of(document: Document) -> list[str]:
    """The words of a document as strings."""
    return list(document.words.texts)


def draw(items: Sequence[Any], count: int | None, rng: np.random.Generator) -> list[Any]:
    """At most so many items, drawn by chance; all of them, in random order, for None."""
    return [items[index] for index in rng.permutation(len(items))[:count].tolist()]


def checksum(content: Any) -> str:
    """SHA-256 of anything that JSON can hold."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def digest_of(documents: Sequence[Document]) -> str:
    """Checksum of words and labels."""
    return checksum([(words_of(document), document.labels) for document in documents])


def check_names(
    what: str, names: Sequence[str], known: Sequence[str], expected: str = "", error: type[DifaError] = ConfigError
) -> list[str]:
    """Those of the known names that were given, in their order; all for none. What was expected is said unless it is plain."""
    if unknown := [name for name in names if name not in known]:
        raise error(f"{what}: expected {expected or 'one of ' + ', '.join(known)}, got {', '.join(unknown)}")
    return [name for name in known if not names or name in names]


def load_sets(
    folder: Path | None, names: Sequence[str] = (), forms: Sequence[str] = (), revision: str | None = None
) -> list[DataSet]:
    """The sets of a run, in the order of the tables; all names and both forms for none.

    Without a folder it looks at `DIFA_DATA`, then `../shared/data`, then the hub: the original form at a commit that is given.
    """
    wanted_forms = [*check_names("form", forms, FORMS, " or ".join(FORMS), InputError), OWN]
    named = folder or (Path(os.environ["DIFA_DATA"]) if os.environ.get("DIFA_DATA") else None)
    if named is not None and not named.is_dir():
        raise InputError(f"{named}: expected a folder with the data, found none: check the folder's name or DIFA_DATA")
    found = named or (DEFAULT_FOLDER if (DEFAULT_FOLDER / "tokenad").is_dir() else None)
    known = find_files(found) if found else {(name, form): None for form in FORMS for name in SETS}
    wanted = check_names("set", names, list(dict.fromkeys(name for name, _ in known)), error=InputError)
    sets = []
    for (name, form), path in known.items():
        if name in wanted and form in wanted_forms:
            documents = list(read_documents([str(path)])) if path else fetch(name, form, revision)
            sets.append(DataSet(name, form, _check_labels(documents, path.name if path and form == OWN else name)))
    return sets


def find_files(folder: Path) -> dict[tuple[str, str], Path | None]:
    """The file of each set and form in a folder: those of the benchmark, or else every labelled file."""
    for root in (folder / "tokenad", folder):
        if any((root / form).is_dir() for form in FORMS):
            dev = [(name, "clean", place / "dev" / f"{name}.jsonl") for name in DEV_SETS for place in (root.parent, root)]
            files = {(name, form): root / form / f"{name}.jsonl" for form in FORMS for name in SETS}
            return {**files, **{(name, form): path for name, form, path in dev if path.is_file()}}
    own = sorted(path for path in folder.iterdir() if path.suffix.lower() in (".jsonl", ".json") and path.is_file())
    if not own:
        raise InputError(f"{folder}: expected tokenad/, original/ or clean/, or labelled .jsonl or .json files, found none")
    return {(path.stem, OWN): path for path in own}


def _check_labels(documents: list[Document], source: str) -> list[Document]:
    unlabelled = next((document.id for document in documents if document.labels is None), None)
    if unlabelled is not None:
        raise InputError(f'{source}: expected labels for every document, {unlabelled} has none: give "labels" or "spans"')
    if not documents:
        raise InputError(f"{source}: expected labelled documents, got none")
    return documents


def fetch(name: str, form: str, revision: str | None = None) -> list[Document]:
    """A set from the hub, or from the hub's local cache."""
    if form == "clean":
        file, expected = CLEAN[name]
        path = Path(_ask_hub(CLEAN_REPOSITORY, "hf_hub_download", filename=file, revision=CLEAN_REVISION))
        if (got := sha256_of(path)) != expected:
            raise InputError(f"{path}: expected sha256 {expected}, got {got}: delete the file and fetch it again")
        return list(read_documents([str(path)]))
    if revision is None:
        raise InputError(
            f"the original form of {name}: expected a folder with it (data or DIFA_DATA), or as revision a commit of "
            f"{ORIGINAL_REPOSITORY} on the Hugging Face hub: none is pinned, since we could not check one"
        )
    files = _ask_hub(ORIGINAL_REPOSITORY, "list_repo_files", revision=revision)
    found = [file for file in files if file.endswith(".jsonl") and name in file]
    if not found:
        raise InputError(
            f"{ORIGINAL_REPOSITORY} at {revision}: expected a .jsonl file for {name}, found none: give a folder with the data"
        )
    path = _ask_hub(ORIGINAL_REPOSITORY, "hf_hub_download", filename=found[0], revision=revision)
    documents = list(read_documents([str(path)]))
    if digest_of(documents) != ORIGINAL[name]:
        raise InputError(f"{path}: expected the words and labels of the original {name} set, got others: try another revision")
    return documents


def _ask_hub(repository: str, what: str, **arguments: str) -> Any:
    """Call a function of the hub's client for a data set."""
    client = import_extra("huggingface_hub", "bench", "data from the Hugging Face hub")
    try:
        return getattr(client, what)(repo_id=repository, repo_type="dataset", **arguments)
    except Exception as error:  # the hub client raises dozens of kinds, all meaning "could not be had"
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(
            f"no data: expected a folder with tokenad/ in it (data or DIFA_DATA), or {repository} from the Hugging Face hub, "
            f"which could not deliver it ({reason.rstrip('.')})"
        ) from None
