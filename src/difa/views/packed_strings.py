"""Lists of strings as arrays, so that what a view learned about words fits into safetensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from difa.document import FloatArray, IntArray


def pack(strings: Sequence[str]) -> dict[str, IntArray]:
    """All strings as one array of UTF-8 bytes, and the length of each."""
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    return {
        "bytes": np.frombuffer(b"".join(encoded), dtype=np.uint8),
        "lengths": np.array([len(item) for item in encoded], dtype=np.int64),
    }


def unpack(content: FloatArray | IntArray, lengths: FloatArray | IntArray) -> list[str]:
    """The strings that `pack` packed."""
    if content.ndim != 1 or lengths.ndim != 1 or (lengths < 0).any() or lengths.sum() != len(content):
        raise ValueError(f"expected strings of {len(content)} bytes together, got other lengths")
    whole, ends = content.astype(np.uint8).tobytes(), [0, *np.cumsum(lengths).tolist()]
    return [whole[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(ends)]


def unpack_values(tensors: Mapping[str, FloatArray], values: str = "counts", prefix: str = "") -> dict[str, Any]:
    """Strings, each with its number, which must be one number of at least 0 where numbers are counts."""
    strings, numbers = unpack(tensors[f"{prefix}bytes"], tensors[f"{prefix}lengths"]), tensors[f"{prefix}{values}"]
    if numbers.shape != (len(strings),) or (values == "counts" and (numbers < 0).any()):
        raise ValueError(f"expected {prefix}{values} of {len(strings)} strings, got an array of shape {numbers.shape}")
    if values == "counts":
        numbers = numbers.astype(np.int64)
    return dict(zip(strings, numbers.tolist(), strict=True))
