"""How common a word is in a language, from the package wordfreq; and which language a corpus is in.

Frequencies are shares of running text: "the" is about .05 of English. Words that the list does not have count as 0. Digits are
read by their number alone ("1984" as "0000"), as the list counts them. Only the package's files are read: importing it takes
longer than reading a list.
"""

from __future__ import annotations

import gzip
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from zlib import crc32

import msgpack
import numpy as np

from difa.document import FloatArray, IntArray
from difa.errors import ConfigError
from difa.knowledge import folder_of, version_of
from difa.storage.atomic import kept

_MIN_COVER = 0.5  # share of a corpus' words that a language must know to be its language
_CLEAR_COVER = 0.85  # share at which no other language needs to be looked at
_IN_SMALL_LIST = 5000  # words that the small list of every language has
_LOOK_AT = 3000  # distinct words that decide
_JOINTS = re.compile(r"[^\w']+|_")  # what joins the parts of a compound
_COMPOUND = 0.1  # how much rarer a compound is than its parts allow
_MEMO = 1 << 15  # words whose frequency is remembered
_UNKNOWN = -1
_NEIGHBOURS = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "sv", "da", "fi", "tr", "ru", "ar", "zh", "ja", "ko")
_EVERYDAY = 3000  # commonest words of a language
_SHARES = np.array([*(10 ** (-centibels / 100) for centibels in range(1000)), 0.0])  # by the band of a word, and without one


class PackedWords:
    """Words with a whole number each, as one block of bytes that is used as it is: nothing is unpacked to find some of them.

    The checksums of all words come first, in order, then where each word ends, the numbers, and the words behind one another.
    """

    def __init__(self, content: bytes) -> None:
        count = int(np.frombuffer(content, np.uint32, 1)[0])
        columns = np.frombuffer(content, np.uint32, 3 * count, 4).reshape(3, count)
        self._sums, self._ends, self._numbers = [column.data for column in columns]
        self._words = content[4 + columns.nbytes :]
        if len(self._words) != columns[1].max(initial=0):
            raise ValueError("expected packed words, got fewer bytes than they have")

    @staticmethod
    def pack(numbers: Mapping[str, int]) -> bytes:
        """These words, packed."""
        words = [word.encode() for word in numbers]
        sums = np.fromiter(map(crc32, words), np.uint32, len(words))
        order = np.argsort(sums, kind="stable")
        ends = np.cumsum(np.fromiter(map(len, words), np.uint32, len(words))[order])
        columns = np.array([sums[order], ends, np.fromiter(numbers.values(), np.uint32)[order]], np.uint32)
        return np.uint32(len(words)).tobytes() + columns.tobytes() + b"".join([words[at] for at in order.tolist()])

    def find(self, word: str) -> int:
        """The number of a word, −1 if it is none of them."""
        encoded = word.encode()
        return self._find_from(bisect_left(self._sums, crc32(encoded)), encoded)

    def find_all(self, words: Sequence[str]) -> IntArray:
        """The same of many words: (T,)."""
        encoded = list(map(str.encode, words))
        sums, known = np.fromiter(map(crc32, encoded), np.uint32, len(encoded)), np.asarray(self._sums)
        rows = np.searchsorted(known, sums)
        numbers = np.full(len(encoded), _UNKNOWN)
        maybe = np.flatnonzero(known.take(rows, mode="clip") == sums)
        numbers[maybe] = [self._find_from(row, encoded[at]) for at, row in zip(maybe.tolist(), rows[maybe].tolist(), strict=True)]
        return numbers

    def _find_from(self, row: int, encoded: bytes) -> int:
        """The number of a word among the rows of its checksum, the first of which is given."""
        total = crc32(encoded)
        while row < len(self._sums) and self._sums[row] == total:
            if self._words[self._ends[row - 1] if row else 0 : self._ends[row]] == encoded:
                return int(self._numbers[row])
            row += 1
        return _UNKNOWN


class WordList:
    """The words of one language with their frequencies; without a language it knows no word."""

    def __init__(self, language: str | None) -> None:
        self.language = language
        self._bands = _packed_bands(language) if language else None
        self.exact = lru_cache(_MEMO)(self._find_exact)
        """The same as `frequency` for a word that is in plain form already, and neither a compound nor a number."""

    def frequency(self, word: str) -> float:
        """Share of running text, 0 for unknown words; case does not matter, and a compound is as common as its parts allow."""
        folded = plain(word)
        if share := self._single(folded):
            return share
        parts = [part for part in _JOINTS.split(folded) if part]
        if not 2 <= len(parts) <= 4:
            return 0.0
        shares = [self._single(part) for part in parts]
        return _COMPOUND / sum(1 / share for share in shares) if min(shares) > 0 else 0.0

    def _single(self, folded: str) -> float:
        known = self.exact(folded)
        if not known and any(map(str.isdigit, folded)):
            known = self.exact("".join("0" if c.isdigit() else c for c in folded))
        return known

    def _find_exact(self, folded: str) -> float:
        return float(_SHARES[self._bands.find(folded)]) if self._bands else 0.0

    def exact_of(self, folded: Sequence[str]) -> FloatArray:
        """`exact` of many words: (T,)."""
        return _SHARES[self._bands.find_all(folded)] if self._bands else np.zeros(len(folded))

    def among(self, folded: Iterable[str]) -> set[str]:
        """Those of some words in plain form that the list has."""
        words = list({*folded})
        return {words[at] for at in np.flatnonzero(self.exact_of(words)).tolist()}

    def __bool__(self) -> bool:
        return self._bands is not None


def plain(word: str) -> str:
    """A word as lists have it: lower case, straight apostrophes."""
    return word.lower().replace("’", "'")


def plain_words(words: Iterable[str]) -> list[str]:
    """The same of many words."""
    lowered = list(map(str.lower, words))
    return [word.replace("’", "'") for word in lowered] if "’" in "".join(lowered) else lowered


@lru_cache(maxsize=8)
def word_list(language: str | None) -> WordList:
    """The list of a language, loaded once."""
    return WordList(language)


def find_language(words: Iterable[str]) -> str | None:
    """The language that knows most of a corpus' words, or None if none knows half of them.

    English is looked at first; where it knows nearly all words, the others are not loaded.
    """
    counts = Counter(folded for word in words if (folded := plain(word)).isalpha())
    most = counts.most_common(_LOOK_AT)
    if not most:
        return None
    best, best_cover = None, _MIN_COVER
    for language in _languages():
        common = frozenset(chain.from_iterable(_bands(language, "small")))
        cover = sum(count for word, count in most if word in common) / sum(count for _, count in most)
        if cover >= best_cover:
            best, best_cover = language, cover
        if language == "en" and cover >= _CLEAR_COVER:
            break
    return best


@lru_cache(maxsize=1)
def _files() -> Mapping[str, Path]:
    """The files of the lists by their names: "small_en", "large_en"."""
    return {path.name.partition(".")[0]: path for path in folder_of("words").glob("data/*.msgpack.gz")}


def _languages() -> list[str]:
    """Languages that there are lists for, English first."""
    small = [name.removeprefix("small_") for name in _files() if name.startswith("small_")]
    return sorted(small, key=lambda language: (language != "en", language))


@lru_cache(maxsize=2)
def _bands(language: str, size: str) -> list[list[str]]:
    """Words by their frequency, each band a centibel rarer than the last; the small list where there is no large one."""
    path = _files().get(f"{size}_{language}") or _files()[f"small_{language}"]
    with gzip.open(path, "rb") as file:
        header, *bands = msgpack.load(file, raw=False)
    if header != {"format": "cB", "version": 1}:
        raise ConfigError(
            f"{path}: expected a word list of format cB 1, got {header!r:.100}: install another version of wordfreq"
        )
    return list(bands)


def _packed_bands(language: str) -> PackedWords:
    """The band of each word. Kept ready to use: unpacking a whole list takes longer than all else that a score loads."""

    def pack() -> bytes:
        return PackedWords.pack({word: band for band, words in enumerate(_bands(language, "large")) for word in words})

    return kept(f"words-{language}-{version_of('words')}-v1.words", pack, PackedWords)


@lru_cache(maxsize=16)
def common_words(language: str | None, count: int) -> tuple[str, ...]:
    """The most frequent words of a language that are made of letters, most frequent first, without loading its whole list."""
    if language is None:
        return ()
    bands = _bands(language, "small" if count <= _IN_SMALL_LIST else "large")
    return tuple(islice(filter(str.isalpha, chain.from_iterable(bands)), count))


def check_language(language: object) -> str | None:
    """A language that there is a list for, or None for no language."""
    if language is not None and language not in _languages():
        raise ConfigError(f"language: expected one that wordfreq knows or none, got {language!r:.40}")
    return language if isinstance(language, str) else None


@lru_cache(maxsize=_MEMO)
def everyday_languages(folded: str) -> tuple[str, ...]:
    """Those of some large languages that have a word, in plain form, among their commonest."""
    bits = max(_everyday().find(folded), 0)
    return tuple(language for at, language in enumerate(_NEIGHBOURS) if bits >> at & 1)


@lru_cache(maxsize=1)
def _everyday() -> PackedWords:
    """The languages of each word, a bit each; kept, since reading the lists of all these languages takes long."""

    def pack() -> bytes:
        found: Counter[str] = Counter()
        for at, language in enumerate(_NEIGHBOURS):
            for word in common_words(language, _EVERYDAY):
                found[word] |= 1 << at
        return PackedWords.pack(found)

    return kept(f"everyday-{version_of('words')}-v2.words", pack, PackedWords)
