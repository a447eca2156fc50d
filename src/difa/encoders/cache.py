"""Vectors on disk, keyed by encoder, layer and words: a document is encoded once.

One small file per document; several processes can share a folder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from difa.document import Document, Encoded
from difa.encoders import Encoder, EncoderSpec, Progress
from difa.errors import EncoderError
from difa.storage.atomic import fresh_file


class CachedEncoder:
    """An encoder that looks into a folder first."""

    def __init__(self, inner: Encoder, folder: Path) -> None:
        self.inner = inner
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise EncoderError(f"cache {folder}: expected a folder that can be written, got: {error.strerror}") from None

    @property
    def spec(self) -> EncoderSpec:
        return self.inner.spec

    def encode(self, documents: Sequence[Document], progress: Progress | None = None) -> list[Encoded]:
        """Vectors from the folder, or computed and put there."""
        found = [self._read(document) for document in documents]
        if progress is not None:
            progress(sum(item is not None for item in found))
        missing = [document for document, item in zip(documents, found, strict=True) if item is None]
        fresh = iter(self.inner.encode(missing, progress))
        encoded = []
        for document, item in zip(documents, found, strict=True):
            if item is None:
                item = next(fresh)
                self._write(document, item)
            encoded.append(item)
        return encoded

    def vocabulary(self) -> list[str]:
        """The inner encoder's words."""
        return self.inner.vocabulary()

    def _path(self, document: Document) -> Path:
        spec = self.spec
        words = [word.text for word in document.words]
        key = hashlib.sha256(json.dumps([spec.fingerprint, spec.layer, spec.max_length, words]).encode()).hexdigest()
        return self._folder / key[:2] / f"{key}.npz"

    def _read(self, document: Document) -> Encoded | None:
        words = tuple(word.text for word in document.words)
        try:
            with np.load(self._path(document), allow_pickle=False) as stored:
                vectors, pieces = stored["vectors"], stored["pieces"]
        except (OSError, ValueError, EOFError, KeyError, BadZipFile):
            return None
        fits = vectors.shape == (len(words), self.spec.dimension) and vectors.dtype == np.float32 and len(pieces) == len(words)
        return Encoded(words, vectors, pieces) if fits else None

    def _write(self, document: Document, encoded: Encoded) -> None:
        path = self._path(document)
        try:
            path.parent.mkdir(exist_ok=True)
            with fresh_file(path) as partial, partial.open("wb") as file:
                np.savez(file, allow_pickle=False, vectors=encoded.vectors, pieces=encoded.pieces)
        except OSError as error:
            raise EncoderError(
                f"cache {self._folder}: cannot be written: {error.strerror}: make room, or go on without a cache"
            ) from None
