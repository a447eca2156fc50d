"""A stream of lines -> chunks of documents that are scored together, read ahead in a thread of its own.

A chunk is bounded in documents and in words, so that memory depends neither on the number of documents nor on their length.
Where the sender pauses, what is there goes out at once.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from difa.ahead import MOST_DOCUMENTS, MOST_WORDS
from difa.document import Document
from difa.formats import Entry, Place, bad_line

_AHEAD = 2  # chunks that wait to be encoded

T = TypeVar("T")


@dataclass(frozen=True)
class _Made(Generic[T]):
    """An item, or what was raised instead."""

    item: T | None = None
    error: BaseException | None = None


@dataclass(slots=True)
class Chunk:
    """Documents in order, and where the input stands behind them."""

    place: Place
    bytes: int = 0
    documents: list[Document] = field(default_factory=list)
    bad: list[str] = field(default_factory=list)
    words: int = 0

    def fits(self, document: Document) -> bool:
        return not self.documents or self.words + len(document.words) <= MOST_WORDS

    def take(self, entry: Entry) -> None:
        """Add what was read."""
        self.place, self.bytes = entry.place, entry.bytes
        if entry.bad is not None:
            self.bad.append(entry.bad)
        if entry.document is not None:
            self.documents.append(entry.document)
            self.words += len(entry.document.words)


def cut_chunks(
    entries: Iterable[Entry], start: Place, *, skip_bad: bool, cut: int | None = None, done: int = 0
) -> Iterator[Chunk]:
    """Chunks of a stream, whose boundaries depend on the documents alone unless the sender pauses.

    Args:
        entries: what was read.
        start: where the stream begins.
        skip_bad: whether bad lines are passed on within the chunk; otherwise the first one raises, after what was before it.
        cut: if given, a chunk also ends behind every such number of documents.
        done: documents before the stream.
    """
    chunk = Chunk(start)
    for entry in entries:
        if entry.bad is not None and not skip_bad:
            yield chunk
            raise bad_line(entry.bad)
        if entry.document is not None and not chunk.fits(entry.document):
            yield chunk
            done += len(chunk.documents)
            chunk = Chunk(chunk.place, chunk.bytes)
        chunk.take(entry)
        is_full = len(chunk.documents) >= MOST_DOCUMENTS or chunk.words >= MOST_WORDS or len(chunk.bad) >= MOST_DOCUMENTS
        is_cut = cut is not None and chunk.documents and (done + len(chunk.documents)) % cut == 0
        if is_full or is_cut or (entry.pause and (chunk.documents or chunk.bad)):
            yield chunk
            done += len(chunk.documents)
            chunk = Chunk(chunk.place, chunk.bytes)
    yield chunk


class ReadAhead(Generic[T]):
    """The same items, made by another thread, a few at most before they are wanted; its errors come out here.

    To be used in a `with` block, which ends the thread's work.
    """

    def __init__(self, items: Iterable[T], ahead: int = _AHEAD) -> None:
        self._room = threading.Semaphore(ahead)
        self._made: queue.SimpleQueue[_Made[T]] = queue.SimpleQueue()
        self._held: _Made[T] | None = None
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
        made = self._held or self._made.get()
        if made.error is not None:
            self._held = made  # there is nothing behind it
            raise made.error
        self._held = None
        self._room.release()
        return made.item  # type: ignore[return-value]

    def ready(self) -> T | None:
        """The next item if it is there already; an error and the end are left for whoever waits."""
        if self._held is None:
            try:
                self._held = self._made.get_nowait()
            except queue.Empty:
                return None
        return None if self._held.error is not None else next(self)

    def _make(self, items: Iterator[T]) -> None:
        while self._room.acquire() and not self._stopped.is_set():
            try:
                self._made.put(_Made(next(items)))
            except BaseException as error:  # the end as well
                self._made.put(_Made(error=error))
                return
