"""Words -> vectors: one vector per word, max-pooled over its subwords, at a chosen hidden layer.

`source` finds an encoder's folder, `export` cuts it at its layer and writes it as ONNX, `onnx` runs it, `cache` keeps vectors
on disk, `stored` puts an encoder into a model folder, `origin` checks one that a folder only names, `none` stands in where there
is no encoder. Nothing here but `export` needs torch or transformers, once per encoder and layer, and `eager`, for an encoder that
cannot be exported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from difa.config import NO_ENCODER, EncoderConfig
from difa.document import Document, Encoded

LONGEST_WORD = 1000
"""Characters of a word that an encoder reads, so that one word cannot cost more than a page of text; the views see all of it."""

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


def load_encoder(config: EncoderConfig, cache: str | Path | None = None) -> Encoder:
    """The encoder that the settings name, exported if this is its first use; with a vector cache on request."""
    if config.name == NO_ENCODER:
        from difa.encoders.none import NoEncoder

        return NoEncoder()
    from difa.encoders.export import exported
    from difa.encoders.onnx import OnnxEncoder
    from difa.encoders.source import find

    return with_cache(OnnxEncoder(exported(find(config)), config.batch_tokens, config.threads), cache)


def with_cache(encoder: Encoder, cache: str | Path | None) -> Encoder:
    """The encoder itself, or one that looks into a folder of vectors first."""
    from difa.encoders.cache import CachedEncoder

    return encoder if cache is None or not encoder.spec.dimension else CachedEncoder(encoder, Path(cache))
