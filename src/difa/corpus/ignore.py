r"""Kinds of noise that a user wants left out -> documents without it.

A kind (`url`, `number`, …) is a pattern like those that users give. Patterns are looked for in each run of characters between
blanks, and a word is ignored if it lies within a match: `\d+` ignores 48213, but not h4ck3d. RE2 takes time in proportion to what
it reads, whatever the pattern: neither a text nor a model of a stranger can block the process.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

from difa.config import IgnoreConfig
from difa.config.checks import compile_pattern
from difa.document import Document, Encoded

_LETTER = r"[\pL\pN_]"
_DOMAIN = rf"(?:{_LETTER}(?:{_LETTER}|-)*\.)+"
_NAME = rf"(?:{_LETTER}|[.@+~-])*{_LETTER}"
_LAST = r"[^\s.,;:!?)\]}'\"]"
_HEX = "[0-9a-f]"
_MIXED = "|".join(rf"{_HEX}{{{n},}}(?:\d[a-f]|[a-f]\d){_HEX}{{{5 - n},}}" for n in range(6))  # seven at least, not all of a sort
_ENDINGS = "com|org|net|edu|gov|io|dev|info|co|de|fr|es|it|uk|eu|ch|at|nl"
KINDS = {
    "url": rf"(?i)(?:[a-z][a-z0-9+.-]*://|www\.)\S*{_LAST}|{_DOMAIN}(?:(?:{_ENDINGS})\b(?:/\S*{_LAST})?|[a-z]{{2,}}/\S*{_LAST})",
    "email": rf"(?:{_LETTER}|[.+-])+@{_DOMAIN}{_LETTER}+",
    "number": r"[+-]?\p{Sc}?\pN+(?:[.,:/'-]\pN+)*(?:%|°|\p{Sc}|[A-Za-z]{1,2}\b)?",
    "path": rf"(?:^|\b[A-Za-z]:|[~.]+)(?:[/\\]{_NAME})+[/\\]?|{_NAME}(?:/{_NAME})+(?:/$|\.\w+)|{_NAME}(?:/{_NAME}){{3,}}",
    "hash": rf"(?i){_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}|{_HEX}{{32,}}|{_MIXED}",
    "handle": rf"\B[@#]{_LETTER}(?:{_LETTER}|[.-])*",
    "code": "|".join(
        (
            r"`[^`]+`",
            r"(?:\w+\.)*\w+\(\)",
            r"\w*[A-Za-z]\w*_\w*|_\w+",
            r"[a-z]+(?:[A-Z][a-z0-9]*)+",
            r"[A-Za-z]\w*(?:(?:\.|::)[A-Za-z_]\w*)+",
            r"\B--?[a-z][\w-]*",
            r"\$\{?\w+\}?",
        )
    ),
}
"""What `fit --ignore` knows, by name. `code` is what identifiers, calls, options and variables look like."""

_RUN = re.compile(r"\S+")
_LONGEST = 2_000  # characters of a run that is looked at: time is its length times that of the matches, which may end anywhere


class Noise:
    """Finds the words that are ignored."""

    def __init__(self, config: IgnoreConfig) -> None:
        self._patterns = [compile_pattern(pattern) for pattern in (*map(KINDS.__getitem__, config.kinds), *config.patterns)]
        self._found = lru_cache(1 << 15)(self._find)

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def kept(self, document: Document) -> list[int]:
        """Positions of the words that are not ignored."""
        if not self._patterns:
            return list(range(len(document.words)))
        kept, spans = [], self._spans(document.text)
        start, end = next(spans, (0, -1))
        for position, word in enumerate(document.words):
            while 0 <= end < word.end:
                start, end = next(spans, (0, -1))
            if not start <= word.start < word.end <= end:
                kept.append(position)
        return kept

    def strip(self, documents: Iterable[Document]) -> Iterator[Document]:
        """The documents without the words that are ignored; their texts stay."""
        return map(self._strip, documents) if self._patterns else iter(documents)

    def mark_gaps(self, documents: Sequence[Document], encoded: Sequence[Encoded]) -> list[Encoded]:
        """The encodings of stripped documents, with the places where ignored words stood."""
        if not self._patterns:
            return list(encoded)
        marked = []
        for document, item in zip(documents, encoded, strict=True):
            between = (document.text[word.end : after.start] for word, after in pairwise(document.words))
            gaps = frozenset(at for at, text in enumerate(between, 1) if text and not text.isspace())
            marked.append(replace(item, gaps=gaps))
        return marked

    def _strip(self, document: Document) -> Document:
        kept = self.kept(document)
        labels = None if document.labels is None else tuple(document.labels[at] for at in kept)
        return replace(document, words=document.words.take(kept), labels=labels)

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Places of noise, in order and without overlap."""
        for run in _RUN.finditer(text):
            if run.end() - run.start() <= _LONGEST:
                for start, end in self._found(run.group()):
                    yield run.start() + start, run.start() + end

    def _find(self, run: str) -> Sequence[tuple[int, int]]:
        found = sorted(match.span() for pattern in self._patterns for match in pattern.finditer(run))
        merged: list[tuple[int, int]] = []
        for start, end in found:
            if merged and start <= merged[-1][1]:
                merged[-1] = merged[-1][0], max(end, merged[-1][1])
            else:
                merged.append((start, end))
        return merged


@lru_cache(64)
def noise_of(config: IgnoreConfig) -> Noise:
    """The noise that these settings describe."""
    return Noise(config)
