"""A Hugging Face encoder -> ONNX, cut at its layer: what lies above is not in the graph and never computed.

Runs torch and transformers once per encoder and layer and keeps the result in the user's cache folder, so that later
fits start at once. The exported graph is checked against the original before it is used.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np

from difa.encoders import EncoderSpec
from difa.encoders.source import EncoderFiles
from difa.errors import EncoderError, MissingExtraError
from difa.runtime.onnx_export import cache_folder, export_graph, quiet_exporter
from difa.storage.atomic import fresh_folder

TOLERANCE = 1e-4
_EXPORT_VERSION = 1
_LOCAL_DATA = {"trust_remote_code": False, "local_files_only": True}  # no code of an encoder, no question about it, no server
_MODEL_LENGTH_LIMIT = 512  # windows beyond this cost quadratic attention and bring nothing for single words


@dataclass(frozen=True, slots=True)
class ExportedEncoder:
    """A self-contained encoder: graph, tokenizer and what they are."""

    graph: bytes
    tokenizer: str
    spec: EncoderSpec


def exported(source: EncoderFiles) -> ExportedEncoder:
    """The encoder as ONNX, from the cache folder or exported now."""
    folder = cache_folder() / f"encoder-{source.fingerprint[:16]}-layer{source.layer}-v{_EXPORT_VERSION}"
    kept = _read(folder, source)
    if kept is not None:
        return kept
    fresh = _export(source)
    _keep(folder, fresh)
    return fresh


def _read_model(source: EncoderFiles) -> Any:
    try:
        import onnxscript  # noqa: F401  (used by torch's exporter)
        import torch  # noqa: F401
        import transformers
    except ImportError as error:
        raise MissingExtraError(error.name or "torch", "fit", f"reading the encoder {source.name}") from None
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    # What safetensors there are is what the fingerprint is of; other weights are pickles, of which torch reads numbers alone.
    weights = {"use_safetensors": source.has_safetensors, "weights_only": True}
    with _reading(source):
        return transformers.AutoModel.from_pretrained(source.folder, attn_implementation="eager", **weights, **_LOCAL_DATA).eval()


@contextmanager
def _reading(source: EncoderFiles) -> Iterator[None]:
    try:
        with quiet_exporter():
            yield
    except UnpicklingError:
        raise EncoderError(
            f"encoder {source.name}: expected weights that are numbers alone, got a pickle of something else: not safe to read"
        ) from None
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise EncoderError(
            f"encoder {source.name}: expected a Transformers encoder with a fast tokenizer: {_first_line(error)}"
        ) from None


def _export(source: EncoderFiles) -> ExportedEncoder:
    model = _read_model(source)
    import torch
    import transformers

    with _reading(source):
        tokenizer = transformers.AutoTokenizer.from_pretrained(source.folder, use_fast=True, add_prefix_space=True, **_LOCAL_DATA)
        text = tokenizer.backend_tokenizer.to_str()
    spec = EncoderSpec(
        source.name, source.layer, model.config.hidden_size, _max_length(model, tokenizer), source.sha256, source.fingerprint
    )
    module = _hidden_state_module(model, source.layer)
    ids = torch.randint(5, min(1000, model.config.vocab_size), (3, 13), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids)
    mask[1, 8:] = 0
    try:
        with quiet_exporter():
            graph = export_graph(module, {"input_ids": ids, "attention_mask": mask}, ["hidden"], spec.max_length)
            _verify(graph, module, ids, mask)
    except Exception as error:  # the exporter raises dozens of kinds, all meaning that the graph cannot be had
        raise EncoderError(
            f"encoder {source.name}: expected one that can be exported to ONNX, got {_first_line(error)}: choose another encoder"
        ) from None
    return ExportedEncoder(graph, text, spec)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".:")


def _hidden_state_module(model: Any, layer: int) -> Any:
    import torch

    class HiddenState(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            states = self.model(input_ids=input_ids, attention_mask=attention_mask, output_hidden_states=True)
            return states.hidden_states[layer]  # (B, L, d)

    return HiddenState().eval()


def _max_length(model: Any, tokenizer: Any) -> int:
    positions = getattr(model.config, "max_position_embeddings", None) or _MODEL_LENGTH_LIMIT
    if "roberta" in model.config.model_type or model.config.model_type in ("camembert", "mpnet", "longformer"):
        positions -= (model.config.pad_token_id or 1) + 1  # their positions start behind the padding's
    return int(min(positions, tokenizer.model_max_length, _MODEL_LENGTH_LIMIT))


def _verify(graph: bytes, module: Any, ids: Any, mask: Any) -> None:
    import torch

    from difa.runtime.graph_check import refuse_unsafe
    from difa.runtime.session import session

    refuse_unsafe("encoder.onnx", graph)  # or a model could be fitted, and not loaded again
    with torch.no_grad():
        expected = module(ids, mask).numpy()
    got = session(graph).run(None, {"input_ids": ids.numpy(), "attention_mask": mask.numpy()})[0]
    error = float(np.abs(expected - got)[mask.numpy() > 0].max())
    if not error < TOLERANCE:
        raise EncoderError(f"exported vectors differ from the original by {error:.2g}, over {TOLERANCE:g}")


def _read(folder: Path, source: EncoderFiles) -> ExportedEncoder | None:
    try:
        spec = json.loads((folder / "spec.json").read_text())
        kept = ExportedEncoder(
            (folder / "encoder.onnx").read_bytes(),
            (folder / "tokenizer.json").read_text(encoding="utf-8"),
            EncoderSpec(**(spec | {"name": source.name})),
        )
    except (OSError, ValueError, TypeError):
        return None
    return kept if kept.spec.fingerprint == source.fingerprint and kept.spec.layer == source.layer else None


def _keep(folder: Path, encoder: ExportedEncoder) -> None:
    try:
        with fresh_folder(folder) as fresh:
            (fresh / "encoder.onnx").write_bytes(encoder.graph)
            (fresh / "tokenizer.json").write_text(encoder.tokenizer, encoding="utf-8")
            (fresh / "spec.json").write_text(json.dumps(encoder.spec.to_dict()))
    except OSError:
        return  # a cache that cannot be written only costs the next fit its export
