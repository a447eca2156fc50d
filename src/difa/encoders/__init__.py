"""Words -> vectors: one vector per word, max-pooled over its subwords, at a chosen hidden layer.

`convert` finds an encoder's folder, cuts it at its layer and writes it as ONNX, `onnx` runs it; on request vectors
are kept on disk. Nothing here but `convert` needs torch or transformers, once per encoder and layer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol
from zipfile import BadZipFile

import numpy as np

from difa.config import NO_ENCODER, EncoderConfig
from difa.document import Document, Encoded
from difa.errors import EncoderError, ModelError
from difa.storage.atomic import fresh_file

LONGEST_WORD = 1000
"""Characters of a word that an encoder reads, so that one word cannot cost more than a page of text; the views see all of it."""
GRAPH, TOKENIZER = "encoder.onnx", "tokenizer.json"
"""Files of an encoder in a folder."""

Progress = Callable[[int], None]
"""Called with the number of documents just finished."""


@dataclass(frozen=True, slots=True)
class EncoderSpec:
    """What an encoder is: two encoders with the same spec give the same vectors."""

    name: str
    layer: int
    dimension: int
    """0 where words have no vectors."""
    max_length: int
    """Subwords that the encoder reads at once, special ones included."""
    sha256: str
    """Checksum of the weights it was made from."""
    fingerprint: str
    """Checksum of weights, settings and tokenizer together: equal ones give equal vectors."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ExportedEncoder:
    """A self-contained encoder: what it is, and its graph and tokenizer, by the names of their files in a folder."""

    spec: EncoderSpec
    files: Mapping[str, bytes]


class Encoder(Protocol):
    """Anything that turns documents into word vectors."""

    @property
    def spec(self) -> EncoderSpec: ...

    def encode(self, documents: Sequence[Document], progress: Progress | None = None) -> list[Encoded]:
        """One `Encoded` per document, one vector per word; the same alone or in any batch."""
        ...

    def vocabulary(self) -> list[str]:
        """Words that the tokenizer knows as a whole, sorted; none where there is no tokenizer."""
        ...


class NoEncoder:
    """No encoder: every word has a vector of no numbers, and is one piece."""

    spec = EncoderSpec(NO_ENCODER, layer=0, dimension=0, max_length=0, sha256="", fingerprint=NO_ENCODER)

    def encode(self, documents: Sequence[Document], progress: Progress | None = None) -> list[Encoded]:
        """The words alone: vectors (T, 0), pieces 1."""
        encoded = [Encoded.of_words(document.words.texts) for document in documents]
        if progress is not None:
            progress(len(encoded))
        return encoded

    def vocabulary(self) -> list[str]:
        """No words: there is no tokenizer."""
        return []


def load_encoder(config: EncoderConfig, cache: str | Path | None = None) -> Encoder:
    """The encoder that the settings name, exported if this is its first use; with a vector cache on request."""
    if config.name == NO_ENCODER:
        return NoEncoder()
    from difa.encoders.convert import exported, find
    from difa.encoders.onnx import OnnxEncoder

    return with_cache(OnnxEncoder(exported(find(config)), config.batch_tokens, config.threads), cache)


def with_cache(encoder: Encoder, cache: str | Path | None) -> Encoder:
    """The encoder itself, or one that looks into a folder of vectors first."""
    return encoder if cache is None or not encoder.spec.dimension else CachedEncoder(encoder, Path(cache))


def encoder_files(encoder: Encoder) -> dict[str, bytes]:
    """The files of an encoder in a model folder, by name; none where there is no encoder."""
    from difa.encoders.onnx import OnnxEncoder

    inner = encoder.inner if isinstance(encoder, CachedEncoder) else encoder
    if not isinstance(inner, (NoEncoder, OnnxEncoder)):
        raise ModelError(f"expected an exported encoder to save, got {type(inner).__name__}")
    return dict(inner.exported.files) if isinstance(inner, OnnxEncoder) else {}


def restore_encoder(spec: EncoderSpec, files: Mapping[str, bytes], batch_tokens: int, threads: int | None) -> Encoder:
    """The encoder of a model folder."""
    if not spec.dimension:
        return NoEncoder()
    from difa.encoders.onnx import OnnxEncoder

    return OnnxEncoder(ExportedEncoder(spec, {name: files[name] for name in (GRAPH, TOKENIZER)}), batch_tokens, threads)


class CachedEncoder:
    """An encoder that looks into a folder first: one small file per document; several processes can share it."""

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
        found = list(map(self._read, documents))
        if progress is not None:
            progress(sum(item is not None for item in found))
        fresh = self.inner.encode([document for document, item in zip(documents, found, strict=True) if item is None], progress)
        for item in fresh:
            self._write(item)
        made = iter(fresh)
        return [next(made) if item is None else item for item in found]

    def vocabulary(self) -> list[str]:
        """The inner encoder's words."""
        return self.inner.vocabulary()

    def _path(self, words: tuple[str, ...]) -> Path:
        spec = self.spec
        key = hashlib.sha256(json.dumps([spec.fingerprint, spec.layer, spec.max_length, words]).encode()).hexdigest()
        return self._folder / key[:2] / f"{key}.npz"

    def _read(self, document: Document) -> Encoded | None:
        words = document.words.texts
        try:
            with np.load(self._path(words), allow_pickle=False) as stored:
                vectors, pieces = stored["vectors"], stored["pieces"]
        except (OSError, ValueError, EOFError, KeyError, BadZipFile):
            return None
        fits = vectors.shape == (len(words), self.spec.dimension) and vectors.dtype == np.float32 and len(pieces) == len(words)
        return Encoded(words, vectors, pieces) if fits else None

    def _write(self, encoded: Encoded) -> None:
        path = self._path(encoded.words)
        try:
            path.parent.mkdir(exist_ok=True)
            with fresh_file(path) as partial, partial.open("wb") as file:
                np.savez(file, allow_pickle=False, vectors=encoded.vectors, pieces=encoded.pieces)
        except OSError as error:
            raise EncoderError(
                f"cache {self._folder}: cannot be written: {error.strerror}: make room, or go on without a cache"
            ) from None
