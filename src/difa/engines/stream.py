"""A stream of lines -> chunks of documents, read ahead in a thread of its own; and what takes their results in order.

Where the sender pauses, what is there goes out at once. Results are shown, or the most unusual of them kept, or cut into shards.
"""

from __future__ import annotations

import math
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, TypeVar

import numpy as np

from difa.calibrate import TailReference
from difa.document import Document, Scored
from difa.engines.job import Counts
from difa.formats import Entry, Position, bad_line
from difa.runtime.parallel import cut_chunks, weight

_AHEAD = 2  # chunks that wait to be encoded
_ROOM = 4  # times as many results are held as are wanted, at most: to choose among them takes time

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReadChunk:
    """Documents in order, the complaints about bad lines between them, and where the input stands behind them."""

    documents: list[Document]
    bad: list[str]
    position: Position
    bytes: int


def read_chunks(entries: Iterable[Entry], *, skip_bad: bool, shard_size: int | None = None, done: int = 0) -> Iterator[ReadChunk]:
    """Chunks of a stream, whose boundaries depend on its lines alone unless the sender pauses.

    Args:
        entries: what was read.
        skip_bad: whether bad lines are passed on within the chunk; otherwise the first one raises, after what was before it.
        shard_size: if given, a chunk also ends behind every such number of documents.
        done: documents before the stream.
    """

    def is_last(entry: Entry) -> bool:
        nonlocal done
        if entry.document is None:
            return entry.pause or (entry.bad is not None and not skip_bad)
        done += 1
        return shard_size is not None and done % shard_size == 0

    for part in cut_chunks(entries, lambda entry: weight(entry.document) if entry.document else 0, is_last):
        complaint = None if skip_bad else part[-1].bad
        before = part if complaint is None else part[:-1]
        documents = [entry.document for entry in before if entry.document is not None]
        bad = [entry.bad for entry in before if entry.bad is not None]
        if documents or bad:  # and not just a pause
            yield ReadChunk(documents, bad, before[-1].position, before[-1].bytes)
        if complaint is not None:
            raise bad_line(complaint)


class ReadAhead(Generic[T]):
    """The same items, made by another thread, a few at most before they are wanted; its errors come out here.

    To be used in a `with` block, which ends the thread's work.
    """

    def __init__(self, items: Iterable[T], ahead: int = _AHEAD) -> None:
        self._room = threading.Semaphore(ahead)
        self._made: queue.SimpleQueue[Future[T]] = queue.SimpleQueue()
        self._held: Future[T] | None = None
        self._stopped = threading.Event()
        # A daemon: it may be waiting for standard input when the run is already over.
        threading.Thread(target=self._make, args=(iter(items),), daemon=True).start()

    def __enter__(self) -> ReadAhead[T]:
        return self

    def __exit__(self, *error: object) -> None:
        self._stopped.set()
        self._room.release()

    def __iter__(self) -> ReadAhead[T]:
        return self

    def __next__(self) -> T:
        """The next item, waited for."""
        self._held = self._held or self._made.get()
        item = self._held.result()  # an error stays: there is nothing behind it
        self._held = None
        self._room.release()
        return item

    def ready(self) -> T | None:
        """The next item if it is there already; an error and the end are left for whoever waits."""
        if self._held is None:
            try:
                self._held = self._made.get_nowait()
            except queue.Empty:
                return None
        return next(self) if self._held.exception() is None else None

    def _make(self, items: Iterator[T]) -> None:
        while self._room.acquire() and not self._stopped.is_set():
            made: Future[T] = Future()
            try:
                made.set_result(next(items))
            except BaseException as error:  # the end as well
                made.set_exception(error)
                return
            finally:
                self._made.put(made)


class Shown:
    """Results that are handed on at once and not kept."""

    shard_size = None
    position = Position()

    def __init__(self, show: Callable[[Scored], None]) -> None:
        self._show, self.counts = show, Counts()

    def write(self, scored: Scored) -> None:
        self._show(scored)
        self.counts.documents += len(scored)
        self.counts.flagged += int(scored.document_flags.sum())

    def note(self, position: Position, skipped: int = 0, empty: int = 0) -> None:
        self.counts.skipped += skipped
        self.counts.empty += empty


class Top(Shown):
    """Takes all results, counts them, and passes on the most unusual ones, the most unusual first, at the end.

    Only so many are held at a time. Of two alike the earlier comes first.
    """

    def __init__(self, write: Callable[[Scored], None], most: int) -> None:
        super().__init__(self._keep)
        self._write, self._most, self._kept = write, most, list[Scored]()

    def finish(self) -> None:
        """All results are there."""
        for part, at in self._places(self._kept):
            self._write(self._kept[part].take([at]))

    def _keep(self, scored: Scored) -> None:
        self._kept.append(scored.take(sorted(at for _, at in self._places([scored]))))
        if sum(map(len, self._kept)) > _ROOM * self._most:
            chosen = sorted(self._places(self._kept))
            parts = {part: [at for other, at in chosen if other == part] for part, _ in chosen}
            self._kept = [self._kept[part].take(places) for part, places in parts.items()]

    def _places(self, parts: Sequence[Scored]) -> list[tuple[int, int]]:
        """Part and place of the most unusual documents, in order."""
        places = [(part, at) for part, scored in enumerate(parts) for at in range(len(scored))]
        p_values, scores = (
            np.concatenate([np.empty(0), *(getattr(part, name) for part in parts)]) for name in ("document_p", "document_scores")
        )
        return [places[at] for at in np.lexsort((-scores, p_values))[: self._most].tolist()]


def cut_shards(results: Iterable[Scored], shard_size: int | None, done: int = 0) -> Iterator[tuple[int, Scored]]:
    """Scored documents, behind `done` others, in parts that end where shards do, each with the number of its shard."""
    for scored in results:
        ends = range(-done % shard_size or shard_size, len(scored), shard_size) if shard_size else ()
        for start, end in pairwise([0, *ends, len(scored)]):
            yield done // shard_size if shard_size else 0, scored.take(range(start, end))
            done += end - start


def why_nothing(documents: int, reference: TailReference, rate: float) -> str:
    """Why a false-discovery rate flags no document, and what can be done."""
    least, normal = reference.least_p, len(reference.values)
    needed = max(1, math.ceil(documents * least / rate - 1e-9))
    lowest = f"with {normal} normal documents no p-value is below {least:.2g}"
    reason = f"{needed} of the {documents} documents would have to be that unusual" if needed <= documents else "it is too high"
    return (
        f"nothing is flagged at a false-discovery rate of {rate:g}: {lowest}, and {reason}; fit on more normal documents, "
        "score fewer at a time, raise the rate, or flag at a false-alarm rate"
    )
