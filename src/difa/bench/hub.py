"""The benchmark sets on the Hugging Face hub: pinned, and checked after download.

The clean form is pinned to the revision and checksums that PyTextAD 0.4 publishes. For the original form no revision is known
to us that we could vouch for: its user names one, and the words and labels in it must have the checksum of the sets as we
have them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from difa.bench.store import digest_of
from difa.document import Document
from difa.encoders.source import sha256_of
from difa.errors import InputError, MissingExtraError
from difa.formats import read_documents


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
