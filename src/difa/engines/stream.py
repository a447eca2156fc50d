"""Lines of the input -> chunks of documents, read ahead in a thread of its own.

Where the sender pauses, what is there goes out at once.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic, TypeVar

from difa.document import Document
from difa.formats import Entry, Position, bad_line
from difa.runtime.parallel import cut_chunks, weight

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReadChunk:
    """Documents in order, the complaints about bad lines between them, and where the input stands behind them."""

    documents: list[Document]
    bad: list[str]
    position: Position
    bytes: int
    is_pause: bool = False
    """Whether nothing more came for a moment."""


def read_chunks(entries: Iterable[Entry], *, skip_bad: bool, times: int = 1) -> Iterator[ReadChunk]:
    """Chunks of a stream, whose boundaries depend on its lines alone unless the sender pauses.

    Args:
        entries: what was read.
        skip_bad: whether bad lines are passed on within the chunk; otherwise the first one raises, after what was before it.
        times: as in `cut_chunks`.
    """

    def is_last(entry: Entry) -> bool:
        return entry.pause or (entry.bad is not None and not skip_bad)

    for part in cut_chunks(entries, lambda entry: weight(entry.document) if entry.document else 0, is_last, times):
        complaint = None if skip_bad else part[-1].bad
        before = part if complaint is None else part[:-1]
        documents = [entry.document for entry in before if entry.document is not None]
        bad = [entry.bad for entry in before if entry.bad is not None]
        if documents or bad:  # and not just a pause
            yield ReadChunk(documents, bad, before[-1].position, before[-1].bytes, before[-1].pause)
        if complaint is not None:
            raise bad_line(complaint)


class ReadAhead(Generic[T]):
    """The same items, made by another thread, a few at most before they are wanted; its errors come out here.

    To be used in a `with` block, which ends the thread's work.
    """

    def __init__(self, items: Iterable[T]) -> None:
        self._room = threading.Semaphore(2)  # items that may wait
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
