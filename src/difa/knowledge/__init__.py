"""What is known about a language before any document is read.

`wordlist` how common a word is (package wordfreq) · `spelling` what a misspelt word may have been (dictionary of the package
pocketsphinx, English) · `letters` how words are spelled · `trigrams` which words follow which (pocketsphinx, English) · `tone`
praise, complaint and insults (package vaderSentiment, English) · `word_cache` keeps numbers of words. Nothing here is learned
from a corpus. `PACKAGES` names where each part comes from and its licence. A model folder records the versions, because others
would give other scores.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from difa.errors import MissingExtraError, ModelError

ENGLISH = "en"
LISTS: Mapping[str, Any] = tomllib.loads((Path(__file__).parent / "lists.toml").read_text(encoding="utf-8"))
"""Short lists of words, by their names."""


@dataclass(frozen=True, slots=True)
class Package:
    """A package that knowledge comes from."""

    name: str
    licence: str
    credit: str


PACKAGES: Mapping[str, Package] = {
    "words": Package(
        "wordfreq",
        "code Apache-2.0, data CC BY-SA 4.0",
        "Word frequencies: wordfreq by Robyn Speer, data under CC BY-SA 4.0, compiled from many sources named in its NOTICE.",
    ),
    "trigrams": Package(
        "pocketsphinx",
        "BSD-2-Clause",
        "English trigrams and dictionary: the models of CMU PocketSphinx, Carnegie Mellon University.",
    ),
    "valence": Package("vaderSentiment", "MIT", "Valences: the lexicon of VADER by C.J. Hutto and Eric Gilbert (ICWSM 2014)."),
}


def versions(parts: Iterable[str]) -> dict[str, str]:
    """The installed version of the package behind each part of the knowledge."""
    return {PACKAGES[part].name: version_of(part) for part in parts}


@cache
def version_of(part: str) -> str:
    """The installed version of the package behind a part of the knowledge."""
    return metadata.version(PACKAGES[part].name)


def folder_of(part: str) -> Path:
    """Where the package behind a part of the knowledge is installed; only files are read, since imports take longer."""
    found = find_spec(PACKAGES[part].name)
    if found is None or not found.submodule_search_locations:
        raise MissingExtraError(PACKAGES[part].name, "fit", "knowledge of languages")
    return Path(found.submodule_search_locations[0])


def check_versions(expected: Mapping[str, str]) -> None:
    """Refuse knowledge of another version than a model was fitted with: its scores would not be the model's."""
    for package, version in expected.items():
        if package not in {source.name for source in PACKAGES.values()}:
            raise ModelError(f"expected versions of what models know of a language, got one of {package[:40]!r}")
        try:
            found = metadata.version(package)
        except metadata.PackageNotFoundError:
            found = "none"
        if found != version:
            raise ModelError(
                f"expected {package} {version[:40]}, with which the model was fitted, got {found}: "
                f"pip install {package}=={version[:40]}, or fit again"
            )
