"""A torch module -> an ONNX graph, quietly, and the folder that keeps such graphs."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from difa.errors import EncoderError


def cache_folder() -> Path:
    """Where exported graphs are kept: DIFA_CACHE, or `difa` in the user's cache folder."""
    if chosen := os.environ.get("DIFA_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "difa"


@contextmanager
def quiet_exporter() -> Iterator[None]:
    """Keep torch's exporter from chatting on stderr."""
    names = ("torch.onnx", "torch.onnx._internal.exporter._registration", "onnxscript", "onnx_ir", "torch.export", "transformers")
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)


def export_graph(module: Any, inputs: dict[str, Any], outputs: list[str], longest: int, optimize: bool = True) -> bytes:
    """A torch module of (batch, length, …) inputs as ONNX with both axes free."""
    import torch

    batch, length = torch.export.Dim("batch"), torch.export.Dim("length", max=longest)
    with quiet_exporter(), torch.no_grad():
        program = torch.onnx.export(
            module,
            tuple(inputs.values()),
            dynamo=True,
            verbose=False,
            optimize=optimize,
            input_names=list(inputs),
            output_names=outputs,
            dynamic_shapes=tuple({0: batch, 1: length} for _ in inputs),
        )
    if program is None:
        raise EncoderError("export to ONNX: torch's exporter returned nothing")
    return bytes(program.model_proto.SerializeToString())
