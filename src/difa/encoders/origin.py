"""An encoder that a model folder only names, since it could not be exported -> refused unless it is safe to read.

Whoever made the folder chose the name. So it must not lead to files that came with the folder, and reading what it leads to
must neither run code, nor ask a question, nor lead to further files.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from difa.config import DEFAULT_ENCODER
from difa.encoders.source import EncoderFiles
from difa.errors import EncoderError, ModelError

_HUB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*(/[A-Za-z0-9][A-Za-z0-9_.-]*)?")
_ON_A_SERVER = ("//", "\\\\")  # how paths start that make Windows ask another machine
_ADAPTER = "adapter_config.json"  # names other weights, which transformers would fetch
_UNSAFE_SETTINGS = ("quantization_config", "transformers_weights", "experts_implementation")  # other readers, other weights


def check_origin(origin: str, folder: Path) -> None:
    """Raise `ModelError` unless the origin is a hub name, or the full path of a folder that is not in the model folder."""
    path = Path(origin)
    if path.is_absolute():
        safe = not origin.startswith(_ON_A_SERVER) and not path.resolve().is_relative_to(folder.resolve())
    else:
        safe = origin == DEFAULT_ENCODER or (_HUB_NAME.fullmatch(origin) is not None and not path.exists())
    if not safe:
        raise ModelError(
            f"{folder}: expected an encoder by its hub name, or by the full path of a folder outside the model, "
            f"got {origin!r:.100}: not safe to load; fit again with the encoder you mean"
        )


def check_files(source: EncoderFiles) -> None:
    """Raise `EncoderError` for an encoder whose weights are not plain safetensors, whatever its settings say."""
    if not source.has_safetensors:
        raise EncoderError(
            f"encoder {source.origin}: expected weights in model.safetensors, since it runs on torch, got pytorch_model.bin: "
            "save it again with transformers' save_pretrained, and fit with that"
        )
    if (source.folder / _ADAPTER).exists():
        raise EncoderError(
            f"encoder {source.origin}: expected an encoder of its own, got an adapter ({_ADAPTER}): merge it, fit again"
        )
    keys: set[str] = set()

    def collect(entries: dict[str, Any]) -> dict[str, Any]:
        keys.update(entries)
        return entries

    json.loads((source.folder / "config.json").read_text(encoding="utf-8"), object_hook=collect)
    if unsafe := sorted(keys.intersection(_UNSAFE_SETTINGS)):
        raise EncoderError(
            f"encoder {source.origin}: expected a config.json without {unsafe[0]}, since it runs on torch: "
            "fit again with an encoder that has none"
        )
