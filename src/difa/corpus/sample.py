"""Documents in any number -> a uniform sample of them that fits into a bounded number of words, in one pass.

Every document draws a random number. Kept are those with the smallest numbers, as many as fit: the draw knows nothing of a
document's content, and once one did not fit, none with a larger number is taken, or short documents would be favoured. As long as
all fit, all are kept, in their order.
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
    """Documents in their order, and how much they were drawn from."""

    documents: list[Document]
    seen_documents: int
    seen_words: int


def sample_documents(documents: Iterable[Document], max_words: int, rng: np.random.Generator) -> Sample:
    """A sample of at most `max_words` words; documents that are longer than that by themselves are left out."""
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


def enough_documents(documents: Iterable[Document], max_words: object, least: int, rng: np.random.Generator) -> Sample:
    """The same, refused where the bound is no bound, or leaves fewer than `least` of enough documents."""
    if isinstance(max_words, bool) or not isinstance(max_words, (int, np.integer)) or max_words < 1:
        raise ConfigError(f"max_words: expected a whole number of at least 1, got {max_words!r}")
    sample = sample_documents(documents, int(max_words), rng)
    if len(sample.documents) < min(least, sample.seen_documents):
        raise InputError(
            f"expected room for at least {least} normal documents, got {len(sample.documents)} of "
            f"{sample.seen_documents} within {max_words} words: raise max_words or cut the documents into smaller ones"
        )
    return sample


def _room(document: Document) -> int:
    """Words, but at least one: documents without words take memory too."""
    return max(1, len(document.words))
