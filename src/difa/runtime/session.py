"""A graph and many batches -> the graph's outputs, on ONNX Runtime."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any, TypeVar

from difa.document import FloatArray, IntArray
from difa.runtime.ordered import ordered_map
from difa.runtime.stopping import check_wanted
from difa.runtime.threads import core_count

T = TypeVar("T")
R = TypeVar("R")


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
                check_wanted()
                yield work(batch)
            return
        pool, rest = self._pool, iter(batches)

        def submit(batch: T) -> Future[R]:
            check_wanted()
            return pool.submit(work, batch)

        with closing(ordered_map(submit, rest, lambda: next(rest, None), self.threads + 1)) as made:
            for _, output in made:
                yield output
