"""An encoder that cannot be exported, on torch itself: slower, and it needs the encoder's own files.

Sequences run one by one: torch's arithmetic depends on the size of a batch, and a document must have the same vectors alone or in
any batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from difa.config import EncoderConfig
from difa.document import FloatArray, IntArray
from difa.encoders.origin import check_files
from difa.encoders.source import find
from difa.errors import EncoderError
from difa.runtime.stopping import check_wanted

if TYPE_CHECKING:
    from difa.encoders.export import ExportedEncoder

T = TypeVar("T")
R = TypeVar("R")


class TorchRunner:
    """Runs the original where `runtime.session.GraphRunner` runs a graph."""

    threads = 1  # of ours: torch has its own

    def __init__(self, encoder: ExportedEncoder, threads: int | None) -> None:
        from difa.encoders.export import open_module

        # Only fitting downloads: a model folder must not make whoever loads it ask a server for a name that it chose.
        source = find(EncoderConfig(name=encoder.origin, layer=encoder.spec.layer), download=False)
        if source.fingerprint != encoder.spec.fingerprint:
            raise EncoderError(
                f"encoder {encoder.origin}: expected the files that the model was fitted with "
                f"({encoder.spec.fingerprint[:12]}…), got others ({source.fingerprint[:12]}…): restore them or fit again"
            )
        check_files(source)
        self._module = open_module(source)
        if threads is not None:
            import torch

            torch.set_num_threads(threads)

    def run(self, **inputs: FloatArray | IntArray) -> list[FloatArray]:
        """Hidden states of a batch: (B, L, d)."""
        import torch

        tensors = [torch.from_numpy(value) for value in inputs.values()]
        with torch.inference_mode():
            rows = [self._module(*(tensor[row : row + 1] for tensor in tensors)).numpy() for row in range(len(tensors[0]))]
        return [np.concatenate(rows)]

    def each(self, work: Callable[[T], R], batches: Sequence[T]) -> Iterator[R]:
        """What `work` returns for each batch, in order."""
        for batch in batches:
            check_wanted()
            yield work(batch)
