"""A piece of the input -> parts of results, and how far it is; all pieces one after the other, or side by side in processes.

A part holds results of a piece. Once it is on disk, the piece's note says so, and whoever scores the piece again goes on behind
it. So every executor takes pieces and gives notices, and a run that goes on simply does everything again.
"""

from __future__ import annotations

import gc
import multiprocessing
import signal
import sys
import time
import warnings
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from math import inf
from multiprocessing.connection import Connection, wait
from typing import Any, TypeAlias

from difa.document import Scored
from difa.engines.cascade import Judge
from difa.engines.job import Counts
from difa.engines.plan import Piece
from difa.engines.stream import ReadChunk, read_chunks
from difa.engines.target import Note, Target
from difa.errors import EngineError
from difa.formats import Position, read_entries
from difa.formats.sources import Source
from difa.runtime.parallel import core_count, prefetch

_LEAST_BYTES = 1 << 18  # inputs for which a second process is worth its start
_OBJECTS = 100_000  # made between two searches for cycles in a worker: each looks at all documents of a chunk


@dataclass(frozen=True, slots=True)
class Notice:
    """What was done of a piece since the notice before."""

    piece: int
    parts: int
    """Its parts that are complete."""
    done: bool = False
    counts: Counts = field(default_factory=Counts)
    bytes: int = 0
    """Read of the input."""
    bad: Sequence[str] = ()
    """Complaints about lines that were left out."""


Score: TypeAlias = Callable[[Piece], Iterator[Notice]]


def score_sources(
    judge: Judge, sources: Sequence[Source], skip_bad: bool, start: Position | None = None
) -> Generator[tuple[ReadChunk, list[Scored]]]:
    """Chunks of the sources from a position on, each with the columns of its documents."""
    detector = judge.model.detector_
    chunks = read_chunks(read_entries(sources, start), skip_bad=skip_bad, times=detector.chunk_times)
    most = 2 if detector.has_threads else 0
    with prefetch(lambda chunk: chunk, chunks, most) as read, closing(judge.score(read)) as scored:
        yield from scored


def score_piece(judge: Judge, target: Target, skip_bad: bool, piece: Piece, seconds: float = inf) -> Generator[Notice]:
    """Write the parts of a piece that are not there yet, each the work of so many seconds, and give notice of each chunk."""
    note = Note.read(target, piece.index)
    yield Notice(piece.index, note.parts, bool(note.done), replace(note), note.bytes)
    if note.done:
        return
    with closing(score_sources(judge, piece.sources, skip_bad, Position(note.file, note.line))) as scored:
        while not note.done:
            until = time.monotonic() + seconds
            with target.write_part(piece.index, note.parts) as write:
                for chunk, columns in scored:
                    for part in columns:
                        write(part)
                    counts = Counts.of(columns, skipped=len(chunk.bad))
                    yield Notice(piece.index, note.parts, False, counts, chunk.bytes - note.bytes, chunk.bad)
                    note.add(counts)
                    note.file, note.line, note.bytes = chunk.position.file, chunk.position.line, chunk.bytes
                    if chunk.is_pause or time.monotonic() > until:
                        break
                else:
                    note.done = 1
            note.parts += 1
            note.write(target, piece.index)
            yield Notice(piece.index, note.parts, bool(note.done))


def in_order(notices: Iterable[Notice]) -> Iterator[Notice]:
    """Notices of one piece after the other: those of later pieces wait until all before them are done."""
    waiting, piece = defaultdict[int, deque[Notice]](deque), 0
    for notice in notices:
        waiting[notice.piece].append(notice)
        while waiting[piece]:
            following = waiting[piece].popleft()
            piece += following.done
            yield following


def run_here(score: Score, pieces: Iterable[Piece]) -> Generator[Notice]:
    """Score pieces one after the other in this process."""
    for piece in pieces:
        yield from score(piece)


def process_count(judge: Judge, size: int | None) -> int:
    """Processes that are worth their start for so many bytes of input: more than one only for a model without an encoder.

    Its work is Python's, of which one process does one thing at a time.
    """
    detector = judge.model.detector_
    has_fork = sys.platform == "linux" and "fork" in multiprocessing.get_all_start_methods()
    is_small = detector.encoder.spec.dimension or size is None or size < _LEAST_BYTES
    return 1 if is_small or not has_fork else detector.threads or core_count()


def run_forked(score: Score, pieces: Sequence[Piece], count: int) -> Generator[Notice]:
    """Score pieces by processes that are forked now, so that the model is in memory once; each takes the next piece when it can.

    The first bad line of all pieces is the one that is raised, as without processes.
    """
    context: Any = multiprocessing.get_context("fork")
    turn, last = context.Value("l", 0), context.Value("l", len(pieces))
    workers: dict[Any, Any] = {}
    gc.freeze()  # what is there now is shared, and nobody's garbage
    for _ in range(min(count, len(pieces))):
        notices, ours = context.Pipe(duplex=False)
        worker = context.Process(target=_work, args=(score, pieces, turn, last, ours), daemon=True)
        worker.start()
        ours.close()
        workers[notices] = worker
    gc.unfreeze()
    return _listen(workers)


def _listen(workers: dict[Any, Any]) -> Generator[Notice]:
    failed: dict[int, Exception] = {}
    alive = dict(workers)
    try:
        while alive:
            ready: list[Any] = wait(list(alive))
            for notices in ready:
                try:
                    said = notices.recv()
                except EOFError:
                    worker = alive.pop(notices)
                    worker.join()
                    if worker.exitcode:
                        why = "expected all worker processes to live, one was killed"
                        raise EngineError(f"{why}: give one thread, or more memory") from None
                    continue
                if isinstance(said, Notice):
                    yield said
                else:
                    failed |= said
        if failed:
            raise failed[min(failed)]
    finally:
        for worker in workers.values():
            worker.kill()
            worker.join()


def _work(score: Score, pieces: Sequence[Piece], turn: Any, last: Any, notices: Connection) -> None:
    """A worker: take pieces up to the last, which is the first that fails anywhere."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupted run is ended by the process that started it
    warnings.simplefilter("ignore")  # said already, once
    gc.set_threshold(_OBJECTS)
    with suppress(BrokenPipeError):  # that process was killed
        while True:
            with turn.get_lock():
                at = turn.value
                turn.value += 1
            if at >= last.value:
                return
            try:
                for notice in score(pieces[at]):
                    notices.send(notice)
                    if at > last.value:
                        return
            except Exception as error:
                with last.get_lock():
                    last.value = min(last.value, at)
                notices.send({at: error})
