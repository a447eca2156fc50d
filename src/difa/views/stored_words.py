"""Words that views count, as a model folder keeps them: packed into arrays, rare ones under names that cannot be read.

A word that fewer documents than a set number have, and that the language's own list does not know, may be a name, an address or a
password. Its count is kept under a keyed checksum: whoever meets the word again finds the count, and nobody can read the word
from a saved model. (A guess can be tested, as by scoring it.) Checksums sort by themselves, so their order tells nothing either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from difa.document import Encoded, FloatArray, IntArray, all_words
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


def rare_words(documents: Sequence[Encoded], min_documents: int, language: str | None) -> frozenset[str]:
    """Words, as counts know them, that fewer than `min_documents` have and the language's list does not."""
    if min_documents <= 1:
        return frozenset()
    known, counts = word_list(language), document_counts(documents, lambda document: map(fold, document.words))
    return frozenset(word for word, count in counts.items() if count < min_documents and not known.exact(word))


def shared_runs(documents: Sequence[Encoded], rare: Collection[str], order: int, min_documents: int) -> dict[str, int]:
    """Runs of letters that rare words of at least `min_documents` documents share, sorted, with the number of words.

    They say how rare words are spelled in general; no word can be put together from them.
    """
    runs = {word: [run for size in range(1, order + 1) for run in runs_of(word, size)] for word in rare}
    counts = Counter(run for of_word in runs.values() for run in of_word)
    shared = document_counts(
        documents, lambda document: (run for word in {*map(fold, document.words)} & runs.keys() for run in runs[word])
    )
    return {run: counts[run] for run in sorted(counts) if shared[run] >= min_documents}


def count_words(documents: Sequence[Encoded], name: Callable[[str], str] = fold) -> Counter[str]:
    """How often each word occurs, by the name under which it is counted."""
    counts: Counter[str] = Counter()
    for word, count in Counter(all_words(documents)).items():
        counts[name(word)] += count
    return counts


def most_frequent(counts: Mapping[K, int], most: int) -> dict[K, int]:
    """The most frequent entries, in an order that does not depend on that of the documents."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most])


def document_counts(documents: Sequence[Encoded], parts: Callable[[Encoded], Iterable[K]]) -> Counter[K]:
    """In how many documents each part (a word, a pair) occurs."""
    return Counter(part for document in documents for part in set(parts(document)))


def pack(strings: Iterable[str], prefix: str = "") -> dict[str, IntArray]:
    """All strings as one array of UTF-8 bytes, and the length of each."""
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    return {
        f"{prefix}bytes": np.frombuffer(b"".join(encoded), dtype=np.uint8),
        f"{prefix}lengths": np.array([len(item) for item in encoded], dtype=np.int64),
    }


def unpack(content: FloatArray | IntArray, lengths: FloatArray | IntArray) -> list[str]:
    """The strings that `pack` packed."""
    if content.ndim != 1 or lengths.ndim != 1 or (lengths < 0).any() or lengths.sum() != len(content):
        raise ValueError(f"expected strings of {len(content)} bytes together, got other lengths")
    whole, ends = content.astype(np.uint8).tobytes(), [0, *np.cumsum(lengths).tolist()]
    return [whole[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(ends)]


def pack_values(numbers: Mapping[str, float], values: str = "counts", prefix: str = "") -> dict[str, FloatArray | IntArray]:
    """Strings, each with its number, as arrays."""
    return {
        **pack(numbers, prefix),
        f"{prefix}{values}": np.array([*numbers.values()], np.int64 if values == "counts" else float),
    }


def unpack_values(tensors: Mapping[str, FloatArray], values: str = "counts", prefix: str = "") -> dict[str, Any]:
    """Strings, each with its number, which must be one number of at least 0 where numbers are counts."""
    strings, numbers = unpack(tensors[f"{prefix}bytes"], tensors[f"{prefix}lengths"]), tensors[f"{prefix}{values}"]
    if numbers.shape != (len(strings),) or (values == "counts" and (numbers < 0).any()):
        raise ValueError(f"expected {prefix}{values} of {len(strings)} strings, got an array of shape {numbers.shape}")
    if values == "counts":
        numbers = numbers.astype(np.int64)
    return dict(zip(strings, numbers.tolist(), strict=True))
