"""Praise and insult: English words with a valence from −4 to 4, from the lexicon file of the package vaderSentiment.

Only the file is read; the package itself is never imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from difa.errors import MissingExtraError


@lru_cache(maxsize=1)
def valences() -> Mapping[str, float]:
    """Words made of letters, in lower case, with their mean valence."""
    spec = find_spec("vaderSentiment")
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError("vaderSentiment", "fit", "fitting")
    path = Path(next(iter(spec.submodule_search_locations))) / "vader_lexicon.txt"
    entries = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return {entry[0]: float(entry[1]) for entry in entries if len(entry) > 1 and entry[0].isalpha() and entry[0].islower()}
