"""Chunks of documents -> blocks of results, by several processes of one machine, in the order of the chunks.

For models without an encoder: their work is Python's, of which one process does one thing at a time. The workers are forked, so
that the model is in memory once. Only texts, offsets and finished blocks go between processes.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from functools import partial
from typing import TypeAlias

from difa.document import Document, Words
from difa.engines.cascade import Judge
from difa.engines.output import Block
from difa.engines.stream import ReadAhead, ReadChunk
from difa.errors import EngineError
from difa.formats.write import Publisher
from difa.runtime.parallel import Chunk, core_count, ordered_map

_Sent: TypeAlias = tuple[str | None, str, Words, str]  # id, text, words, other columns as JSON
_LEAST_BYTES = 1 << 18  # inputs for which a second process is worth its start
_AHEAD = 2  # chunks in work for each worker, so that none waits
_HEARTBEAT = 1.0  # seconds after which a worker notices that it is alone


Score: TypeAlias = Callable[[ReadAhead[ReadChunk]], Generator[tuple[ReadChunk, Block]]]
"""Gives each chunk and its block, in order; what is done goes out before anything is waited for."""


@contextmanager
def start_workers(judge: Judge, publish: Publisher, size: int | None) -> Iterator[Score]:
    """Several processes, where they help a model without an encoder; this one otherwise.

    To be called before files are opened and threads are started: a worker has all that is there when it starts. `size` is the
    number of bytes that are to be read, if that is known.
    """
    detector = judge.model.detector_
    count = detector.threads or core_count()
    has_fork = sys.platform == "linux" and "fork" in multiprocessing.get_all_start_methods()
    if detector.encoder.spec.dimension or count < 2 or not has_fork or (size is not None and size < _LEAST_BYTES):
        yield partial(_score_here, judge, publish)
        return
    context = multiprocessing.get_context("fork")
    pool = ProcessPoolExecutor(count, context, _begin, (judge, publish, os.getpid()))
    try:
        pool.submit(int).result()  # forks now
        yield partial(_score_there, pool, _AHEAD * count)
    finally:
        pool.shutdown(cancel_futures=True)


def _score_here(judge: Judge, publish: Publisher, chunks: ReadAhead[ReadChunk]) -> Generator[tuple[ReadChunk, Block]]:
    with closing(judge.score(chunks, chunks.ready)) as scored:
        for chunk, parts in scored:
            yield chunk, Block.of(parts, publish)


def _score_there(pool: ProcessPoolExecutor, ahead: int, chunks: ReadAhead[ReadChunk]) -> Generator[tuple[ReadChunk, Block]]:
    def submit(chunk: ReadChunk) -> Future[Block]:
        return pool.submit(_score, [_pack(document) for document in chunk.documents])

    try:
        with closing(ordered_map(submit, chunks, chunks.ready, ahead)) as made:
            yield from made
    except BrokenProcessPool:
        raise EngineError("expected all worker processes to live, one was killed: give one thread, or more memory") from None


class _Here:
    """What a worker was started with."""

    judge: Judge
    publish: Publisher


def _begin(judge: Judge, publish: Publisher, parent: int) -> None:
    _Here.judge, _Here.publish = judge, publish
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupted run is ended by the process that started it
    warnings.simplefilter("ignore")  # said already, once
    threading.Thread(target=_end_without, args=(parent,), daemon=True).start()


def _end_without(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_HEARTBEAT)
    os._exit(1)


def _score(sent: Iterable[_Sent]) -> Block:
    chunk = Chunk([_unpack(*item) for item in sent])
    ((_, parts),) = _Here.judge.score(iter([chunk]))
    return Block.of(parts, _Here.publish)


def _pack(document: Document) -> _Sent:
    return document.id, document.text, document.words, json.dumps(dict(document.columns)) if document.columns else ""


def _unpack(id: str | None, text: str, words: Words, columns: str) -> Document:
    return Document(text, words, id, columns=json.loads(columns) if columns else {})
