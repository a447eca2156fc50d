"""Lists of strings as arrays, so that what a view learned about words fits into safetensors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

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
    whole, ends = content.astype(np.uint8).tobytes(), [0, *np.cumsum(lengths).tolist()]
    return [whole[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(ends)]
