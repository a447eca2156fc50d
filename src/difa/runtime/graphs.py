"""ONNX graphs: made of torch modules, refused where they could read files, and run on many batches."""

from __future__ import annotations

import logging
import os
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import Any, TypeVar

from difa.document import FloatArray, IntArray
from difa.errors import EncoderError, ModelError
from difa.runtime.parallel import check_cancelled, core_count

T = TypeVar("T")
R = TypeVar("R")

# Wire types that a field may have in protobuf's encoding, by what it holds; numbers that repeat stand alone or packed.
_WIRES = {"number": (0,), "float": (5,), "numbers": (0, 2), "floats": (5, 2), "doubles": (1, 2)}
_BYTES = (2,)  # all else: text, data, and messages within
# Fields of ONNX's messages (onnx.proto): kind of message -> number of field -> what it holds. Messages that can lead to neither a
# tensor nor a node are bytes. Not known, on purpose: functions and training of a model, and all that only they use.
_FIELDS: dict[str, dict[int, str]] = {
    "model": {1: "number", 5: "number", 7: "graph"} | dict.fromkeys((2, 3, 4, 6, 8, 14), "bytes"),
    "graph": {1: "node", 5: "tensor", 15: "sparse"} | dict.fromkeys((2, 10, 11, 12, 13, 14, 16), "bytes"),
    "node": {5: "attribute"} | dict.fromkeys((1, 2, 3, 4, 6, 7, 9), "bytes"),
    "attribute": {2: "float", 3: "number", 7: "floats", 8: "numbers", 20: "number"}
    | {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"}
    | dict.fromkeys((1, 4, 9, 13, 14, 15), "bytes"),
    "tensor": {1: "numbers", 2: "number", 4: "floats", 5: "numbers", 7: "numbers", 10: "doubles", 11: "numbers", 14: "number"}
    | dict.fromkeys((6, 8, 9, 12, 13, 16), "bytes"),
    "sparse": {1: "tensor", 2: "tensor", 3: "numbers"},
}
_OPERATOR, _DOMAIN = 4, 7  # fields of a node: its operator, and whose it is
_EXTERNAL, _LOCATION = 13, 14  # fields of a tensor: where else its data lie, and whether they do
_ONNX_DOMAINS = (b"", b"ai.onnx")  # operators of ONNX Runtime's own have loops under other names
_FIXED = {1: 8, 5: 4}  # bytes of a field by its wire type


def refuse_unsafe(name: str, graph: bytes) -> None:
    """Raise `ModelError` for a graph that is no plain ONNX, has data elsewhere, or has loops."""
    todo = [("model", memoryview(graph), 0)]
    try:
        if graph[4:8] == b"ORTM":  # ONNX Runtime would take the file for one of its own
            raise ValueError("the format of ONNX Runtime")
        while todo:
            kind, message, depth = todo.pop()
            if depth > 64:
                raise ValueError("graphs within graphs without end")
            for field, value in _fields(kind, message):
                _refuse_field(name, kind, field, value)
                within = _FIELDS[kind][field]
                if within in _FIELDS and isinstance(value, memoryview):
                    todo.append((within, value, depth + 1))
    except (ValueError, IndexError) as error:
        raise ModelError(f"{name}: expected a plain ONNX graph, got something else ({error})") from None


def _refuse_field(name: str, kind: str, field: int, value: int | memoryview) -> None:
    """Every occurrence of a field counts: where one must be alone, protobuf takes the last or puts them together."""
    if kind == "tensor" and (field == _EXTERNAL or (field == _LOCATION and value)):
        raise ModelError(f"{name}: expected a graph that holds its data, got one with external data: not safe to load")
    if kind != "node" or not isinstance(value, memoryview):
        return
    if field == _OPERATOR and bytes(value) in (b"Loop", b"Scan", b"SequenceMap"):
        raise ModelError(f"{name}: expected a graph without loops, got the operator {bytes(value).decode()}")
    if field == _DOMAIN and bytes(value) not in _ONNX_DOMAINS:
        raise ModelError(f"{name}: expected operators of ONNX itself, got the domain {ascii(bytes(value[:40]))[1:]}")


def _fields(kind: str, message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The numbers of a message's fields and their values: whole numbers, or bytes."""
    known = _FIELDS[kind]
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        field, wire = key >> 3, key & 7
        # Protobuf cuts the key to 32 bits; none that is longer is in the table.
        if field not in known or wire not in _WIRES.get(known[field], _BYTES):
            raise ValueError(f"field {field} of type {wire} in a {kind}")
        if wire == 0:
            value, at = _varint(message, at)
            yield field, value
            continue
        if wire == 2:
            size, at = _varint(message, at)
        else:
            size = _FIXED[wire]
        if at + size > len(message):
            raise ValueError("cut short")
        yield field, message[at : at + size]
        at += size


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    """A number of at most 64 bits in as few bytes as it needs, and where the next one starts."""
    value = 0
    for shift in range(0, 70, 7):
        byte = message[at]
        value |= (byte & 127) << shift
        at += 1
        if byte < 128:
            if shift and not byte:
                raise ValueError("a number in more bytes than it needs")
            if value >> 64:
                break
            return value, at
    raise ValueError("a number of more than 64 bits")


@contextmanager
def quiet_exporter() -> Iterator[None]:
    """Keep torch's exporter from chatting on stderr."""
    names = ("torch.onnx", "torch.onnx._internal.exporter._registration", "onnxscript", "onnx_ir", "torch.export", "transformers")
    with warnings.catch_warnings(action="ignore"), ExitStack() as restored:
        for logger in map(logging.getLogger, names):
            restored.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.ERROR)
        yield


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
    model = program.model_proto
    for part in (model, model.graph, *model.graph.node, *model.graph.input, *model.graph.output, *model.graph.value_info):
        del part.metadata_props[:]  # the exporter notes paths of this machine there, line by line of the module's source
    return bytes(model.SerializeToString())


def session(graph: bytes) -> Any:
    """An ONNX Runtime session of one thread on the processor, or on CUDA where its provider is installed."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # read when it is imported: nothing here phones home
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    wanted = ("CUDAExecutionProvider", "CPUExecutionProvider")
    providers = [name for name in wanted if name in onnxruntime.get_available_providers()]
    return onnxruntime.InferenceSession(graph, options, providers=providers)


class GraphRunner:
    """Runs a graph on many batches side by side, a thread each.

    A batch that is spread over threads makes them wait for each other at every step, and for the slowest core; batches of
    their own do not, and nothing spins.
    """

    def __init__(self, graph: bytes, threads: int | None) -> None:
        self.threads = threads or core_count()
        self._session = session(graph)
        self._pool = ThreadPoolExecutor(self.threads) if self.threads > 1 else None

    def run(self, **inputs: FloatArray | IntArray) -> list[FloatArray]:
        """The graph's outputs for one batch, on the calling thread."""
        outputs: list[FloatArray] = self._session.run(None, inputs)
        return outputs

    def each(self, work: Callable[[T], R], batches: Sequence[T]) -> Iterator[R]:
        """What `work` returns for each batch, in order.

        One batch waits beside those that run, and no more: whoever else uses this graph gets a turn after a batch or two,
        however many there are. Between batches the work may be given up.
        """
        if self._pool is None or len(batches) < 2:
            for batch in batches:
                check_cancelled()
                yield work(batch)
            return
        pool, rest = self._pool, iter(batches)

        def submit(most: int) -> list[Future[R]]:
            check_cancelled()
            return [pool.submit(work, batch) for batch in islice(rest, most)]

        waiting = deque(submit(self.threads + 1))
        try:
            while waiting:
                output = waiting.popleft().result()
                waiting.extend(submit(1))
                yield output
        finally:
            for future in waiting:
                future.cancel()
