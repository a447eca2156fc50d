"""No encoder: words without vectors. Nothing is loaded and nothing is computed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from difa.config import NO_ENCODER
from difa.document import Document, Encoded
from difa.encoders import EncoderSpec, Progress

_SPEC = EncoderSpec(NO_ENCODER, layer=0, dimension=0, max_length=0, sha256="", fingerprint=NO_ENCODER)


class NoEncoder:
    """Gives every word a vector of no numbers, and one piece."""

    spec = _SPEC

    def encode(self, documents: Sequence[Document], progress: Progress | None = None) -> list[Encoded]:
        """The words alone: vectors (T, 0), pieces 1."""
        encoded = [
            Encoded(
                tuple([word.text for word in document.words]),
                np.empty((len(document.words), 0), np.float32),
                np.ones(len(document.words), np.int64),
            )
            for document in documents
        ]
        if progress is not None:
            progress(len(encoded))
        return encoded

    def vocabulary(self) -> list[str]:
        """No words: there is no tokenizer."""
        return []
