"""Any number of documents -> a uniform sample of them that fits into a bounded number of words, in one pass.

Every document draws a random number, and those with the smallest numbers are kept, as many as fit. Once a document did not fit,
none with a larger number is taken: otherwise short documents would be favoured. If all documents fit, all are kept, in order.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from difa.document import Document
from difa.errors import ConfigError, InputError


@dataclass(frozen=True)
class Sample:
    """Documents in order, and how many documents and words they were drawn from."""

    documents: list[Document]
    seen_documents: int
    seen_words: int


def sample_documents(documents: Iterable[Document], max_words: int, rng: np.random.Generator) -> Sample:
    """A sample of at most `max_words` words; a document that is longer than that is left out."""
    kept: list[tuple[float, int, Document]] = []  # a heap with the largest draw on top: draws are negated
    limit, words, seen, seen_words = 1.0, 0, 0, 0
    for position, document in enumerate(documents):
        seen, seen_words = seen + 1, seen_words + len(document.words)
        draw = rng.random()
        if draw >= limit or _room(document) > max_words:
            continue
        heapq.heappush(kept, (-draw, position, document))
        words += _room(document)
        while words > max_words:
            largest, _, dropped = heapq.heappop(kept)
            limit, words = -largest, words - _room(dropped)
    chosen = [document for _, _, document in sorted(kept, key=lambda item: item[1])]
    return Sample(chosen, seen, seen_words)


def enough_documents(documents: Iterable[Document], max_words: object, minimum: int, rng: np.random.Generator) -> Sample:
    """The same sample; refuses a bound that is no positive number, or that leaves too few of at least `minimum` documents."""
    if isinstance(max_words, bool) or not isinstance(max_words, (int, np.integer)) or max_words < 1:
        raise ConfigError(f"max_words: expected a whole number of at least 1, got {max_words!r}")
    sample = sample_documents(documents, int(max_words), rng)
    if len(sample.documents) < min(minimum, sample.seen_documents):
        raise InputError(
            f"expected room for at least {minimum} normal documents, got {len(sample.documents)} of "
            f"{sample.seen_documents} within {max_words} words: raise max_words or cut the documents into smaller ones"
        )
    return sample


def _room(document: Document) -> int:
    """Words, but at least one: documents without words take memory too."""
    return max(1, len(document.words))
