"""Documents -> groups of copies and near-copies, so that each content counts once.

Documents with the same words are copies, whatever their case, punctuation and numbers. Near-copies are one template, filled in
differently: short ones differ in one place, longer ones share most of their distinct words. Not all pairs are compared: each
document has a signature of minima of random hashes (MinHash, Broder 1997), two signatures agree in about the share of words that
the documents have in common, and only documents whose signatures agree in a whole band are compared.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from difa.document import IntArray
from difa.knowledge.letters import fold

_ALIKE = 0.6  # share of their distinct words that two near-copies have in common
_SHORT = 8  # documents of fewer words may share many by chance: their words must stand at the same places
_LEAST_WORDS = 3  # of a near-copy; with two, "thank you" and "love you" would be near-copies
_HASHES, _BAND = 96, 4  # of a signature, and of a band: a pair of near-copies shares a band in 19 of 20 cases
_PRIME = (1 << 31) - 1
_FEW_CONTENTS = 20  # with fewer groups, no document could be flagged at 5 %
_TYPICAL_COPIES = 10  # documents per group from which a corpus is made of templates


def content_of(words: Sequence[str]) -> str:
    """What two copies have in common: the words in lower case, every digit the same, without punctuation."""
    return " ".join(fold(word) for word in words if any(map(str.isalnum, word)))


def group_copies(documents: Sequence[Sequence[str]]) -> IntArray:
    """For each document, given by its words, the first document of its group: (documents,)."""
    words = []
    for document in documents:  # all numbers are the same; marks count only if there is nothing else
        plain = ["0" if any(map(str.isdigit, word)) else fold(word) for word in document if any(map(str.isalnum, word))]
        words.append(plain or list(document))
    first: dict[tuple[str, ...], int] = {}
    of_content = np.array([first.setdefault(tuple(item), at) for at, item in enumerate(words)], dtype=np.int64)
    parent = np.arange(len(documents))
    _join_short(parent, words, [at for at in first.values() if _LEAST_WORDS <= len(words[at]) < _SHORT])
    _join_long(parent, words, [at for at in first.values() if len(words[at]) >= _SHORT])
    return np.array([_root(parent, at) for at in of_content.tolist()], dtype=np.int64)


def made_of_templates(groups: IntArray) -> bool:
    """Whether a corpus has copies by its nature, as new documents will: it has few contents, or many documents of each."""
    contents = len(np.unique(groups))
    return contents < min(_FEW_CONTENTS, len(groups)) or len(groups) > _TYPICAL_COPIES * contents


def _join_short(parent: IntArray, words: Sequence[Sequence[str]], short: Sequence[int]) -> None:
    """Join each document to the first that differs in one place and leads its group: so groups do not chain."""
    leaders: dict[tuple[str | None, ...], int] = {}
    for at in short:
        patterns = [(*words[at][:place], None, *words[at][place + 1 :]) for place in range(len(words[at]))]
        parent[at] = min((leaders[pattern] for pattern in patterns if pattern in leaders), default=at)
        if parent[at] == at:
            leaders |= dict.fromkeys(patterns, at)


def _join_long(parent: IntArray, words: Sequence[Sequence[str]], long: Sequence[int]) -> None:
    """Join documents whose signatures agree in a band and in most hashes."""
    signatures = _signatures([words[at] for at in long])
    for band in range(0, _HASHES, _BAND):
        leaders: dict[bytes, int] = {}
        for row, key in enumerate(map(bytes, signatures[:, band : band + _BAND].copy())):
            leader = leaders.setdefault(key, row)
            one, other = _root(parent, long[leader]), _root(parent, long[row])
            if one != other and (signatures[leader] == signatures[row]).mean() >= _ALIKE:
                parent[max(one, other)] = min(one, other)


def _signatures(documents: Sequence[Sequence[str]]) -> IntArray:
    """(documents, hashes)"""
    rng = np.random.default_rng(0)  # the same hashes for everybody: groups follow from the documents alone
    factor, offset = rng.integers(1, _PRIME, _HASHES), rng.integers(0, _PRIME, _HASHES)
    signatures = np.empty((len(documents), _HASHES), dtype=np.int64)
    for at, words in enumerate(documents):
        hashes = np.array([zlib.crc32(word.encode("utf-8", "surrogatepass")) >> 1 for word in set(words)], dtype=np.int64)
        signatures[at] = ((hashes[:, None] % _PRIME * factor + offset) % _PRIME).min(axis=0)
    return signatures


def _root(parent: IntArray, at: int) -> int:
    while parent[at] != at:
        at = int(parent[at])
    return at
