"""What few documents have, under names that cannot be read: counts stay, words do not.

A word that fewer documents than a set number have, and that the language's own list does not know, may be a name, an address or a
password. Its count is kept under a keyed checksum: whoever meets the word again finds the count, and nobody can read the word
from a saved model. (A guess can be tested, as by scoring it.) Checksums sort by themselves, so their order tells nothing either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TypeVar

import numpy as np

from difa.document import Encoded, FloatArray, IntArray
from difa.knowledge.letters import fold, runs_of
from difa.knowledge.wordlist import word_list

_MARK = "\x01"  # begins the name of a masked word
_KEY = "key"
_LONGEST_KEY = 64  # bytes, by the definition of the checksum
K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Mask:
    """The names under which words are counted; without a key every word has its own."""

    key: bytes = b""

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> Mask:
        """A key that another corpus does not have, and the same corpus has again."""
        digest = blake2b(digest_size=16)
        for word, count in sorted(counts.items()):
            digest.update(f"{count} {word}\n".encode("utf-8", "surrogatepass"))
        return cls(digest.digest())

    def name(self, word: str, counts: Collection[str]) -> str:
        """The name under which a word is counted, if it is."""
        return word if not self.key or word in counts else self.hidden(word)

    def hidden(self, word: str) -> str:
        """The name of a word that must not be read."""
        return _MARK + blake2b(word.encode("utf-8", "surrogatepass"), key=self.key, digest_size=8).hexdigest()

    def apply(self, counts: Mapping[str, int], rare: Collection[str]) -> dict[str, int]:
        """Counts with rare words under hidden names, most frequent first."""
        named = [(self.hidden(word) if word in rare else word, count) for word, count in counts.items()]
        return dict(sorted(named, key=lambda item: (-item[1], item[0])))

    def add(self, counts: Mapping[str, int], further: Mapping[str, int], rare: Collection[str]) -> dict[str, int]:
        """Counts with those of further words; of the new ones, behind the others, those that are rare have hidden names."""
        together = dict(counts)
        for word, count in most_frequent(further, len(further)).items():
            name = self.name(word, counts)
            name = word if name not in counts and word not in rare else name
            together[name] = together.get(name, 0) + count
        return together

    def tensors(self) -> dict[str, IntArray]:
        return {_KEY: np.frombuffer(self.key, dtype=np.uint8)} if self.key else {}

    @classmethod
    def restore(cls, tensors: Mapping[str, FloatArray]) -> Mask:
        key = tensors[_KEY].astype(np.uint8).tobytes() if _KEY in tensors else b""
        if len(key) > _LONGEST_KEY:
            raise ValueError(f"expected a key of at most {_LONGEST_KEY} bytes, got {len(key)}")
        return cls(key)


def readable(names: Iterable[str]) -> list[str]:
    """Names that are words."""
    return [name for name in names if not name.startswith(_MARK)]


def rare_words(documents: Sequence[Encoded], least: int, language: str | None) -> frozenset[str]:
    """Words, as counts know them, that fewer than `least` documents have and the language's list does not."""
    if least <= 1:
        return frozenset()
    known, counts = word_list(language), document_counts(documents, lambda document: map(fold, document.words))
    return frozenset(word for word, count in counts.items() if count < least and not known.exact(word))


def shared_runs(documents: Sequence[Encoded], rare: Collection[str], order: int, least: int) -> dict[str, int]:
    """Runs of letters of rare words that at least so many documents have in theirs, with the number of words, in alphabetical
    order: how rare words are spelled in general, of which none can be put together.
    """
    runs = {word: [run for size in range(1, order + 1) for run in runs_of(word, size)] for word in rare}
    counts = Counter(run for of_word in runs.values() for run in of_word)
    shared = document_counts(
        documents, lambda document: (run for word in {*map(fold, document.words)} & runs.keys() for run in runs[word])
    )
    return {run: counts[run] for run in sorted(counts) if shared[run] >= least}


def most_frequent(counts: Mapping[K, int], most: int) -> dict[K, int]:
    """The most frequent entries, in an order that does not depend on that of the documents."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most])


def document_counts(documents: Sequence[Encoded], parts: Callable[[Encoded], Iterable[K]]) -> Counter[K]:
    """In how many documents each part (a word, a pair) occurs."""
    return Counter(part for document in documents for part in set(parts(document)))
