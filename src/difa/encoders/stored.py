"""An encoder <-> its files in a model folder: graph and tokenizer, or nothing where there is no encoder.

An encoder that could not be exported has no graph: its folder or hub name, the origin, is kept instead.
"""

from __future__ import annotations

from collections.abc import Mapping

from difa.encoders import Encoder, EncoderSpec
from difa.encoders.cache import CachedEncoder
from difa.encoders.none import NoEncoder
from difa.errors import ModelError

_GRAPH, _TOKENIZER = "encoder.onnx", "tokenizer.json"


def files_of(encoder: Encoder) -> dict[str, bytes]:
    """The files of an encoder by name."""
    from difa.encoders.onnx import OnnxEncoder

    inner = _inner(encoder)
    if isinstance(inner, NoEncoder):
        return {}
    if not isinstance(inner, OnnxEncoder):
        raise ModelError(f"expected an exported encoder to save, got {type(inner).__name__}")
    files = {_TOKENIZER: inner.exported.tokenizer.encode()}
    return files | {_GRAPH: inner.exported.graph} if inner.exported.graph else files


def origin_of(encoder: Encoder) -> str:
    """Where torch finds an encoder without graph; empty for any other."""
    from difa.encoders.onnx import OnnxEncoder

    inner = _inner(encoder)
    return inner.exported.origin if isinstance(inner, OnnxEncoder) else ""


def restore(spec: EncoderSpec, files: Mapping[str, bytes], origin: str, batch_tokens: int, threads: int | None) -> Encoder:
    """The encoder of a model folder."""
    if not spec.dimension:
        return NoEncoder()
    from difa.encoders.export import ExportedEncoder
    from difa.encoders.onnx import OnnxEncoder

    graph = b"" if origin else files[_GRAPH]
    return OnnxEncoder(ExportedEncoder(graph, files[_TOKENIZER].decode(), spec, origin), batch_tokens, threads)


def _inner(encoder: Encoder) -> Encoder:
    return encoder.inner if isinstance(encoder, CachedEncoder) else encoder
