"""Labelled documents -> normal ones to fit on, and the rest to test on, as in the TokenCore paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from difa.document import Document, IntArray
from difa.errors import InputError


@dataclass(frozen=True)
class Split:
    """Documents to fit on, all normal, and documents to test on."""

    training: list[Document]
    test: list[Document]

    @property
    def word_labels(self) -> list[IntArray]:
        """Labels of the test words, (T,) per document."""
        return [np.array(document.labels, dtype=np.int64) for document in self.test]


def is_anomalous(document: Document) -> bool:
    """Whether any word is labelled 1."""
    return any(document.labels or ())


def without_labels(documents: Sequence[Document]) -> list[Document]:
    """The documents as they were before anybody judged them."""
    return [replace(document, labels=None, odd=None) for document in documents]


def split(documents: Sequence[Document], seed: int) -> Split:
    """Half of the normal documents, rounded down, for fitting; everything else for testing."""
    normal = [index for index, document in enumerate(documents) if not is_anomalous(document)]
    if len(normal) < 2 or len(normal) == len(documents):
        raise InputError(
            f"expected normal and anomalous documents, got {len(normal)} normal and {len(documents) - len(normal)} anomalous"
        )
    # The legacy generator is part of the published split; a private one draws the same numbers as the global one.
    chosen = set(np.random.RandomState(seed).choice(normal, len(normal) // 2, replace=False).tolist())
    rest = [document for index, document in enumerate(documents) if index not in chosen]
    return Split([documents[index] for index in sorted(chosen)], rest)
