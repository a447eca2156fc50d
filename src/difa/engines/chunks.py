"""A stream of lines -> chunks of documents that are scored together, read ahead in a thread of its own.

A chunk is bounded in documents and in words, so that memory depends neither on the number of documents nor on their length.
Where the sender pauses, what is there goes out at once.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from difa.document import Document
from difa.formats import Entry, Place, bad_line

MOST_DOCUMENTS = 256
MOST_WORDS = 16_384  # some 200 MB of vectors and what the views make of them
_AHEAD = 2  # chunks that wait to be scored

T = TypeVar("T")


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


def read_ahead(items: Iterable[T], ahead: int = _AHEAD) -> Iterator[T]:
    """The same items, made by another thread, a few at most before they are wanted; its errors come out here."""
    ready: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue(maxsize=ahead)
    stopped = threading.Event()

    def put(item: T | None, error: BaseException | None) -> None:
        while not stopped.is_set():
            try:
                ready.put((item, error), timeout=0.1)
            except queue.Full:
                continue
            return

    def produce() -> None:
        try:
            for item in items:
                put(item, None)
                if stopped.is_set():
                    return
            put(None, StopIteration())
        except BaseException as error:
            put(None, error)

    # A daemon: it may be waiting for standard input when the run is already over.
    threading.Thread(target=produce, daemon=True).start()
    try:
        while True:
            item, error = ready.get()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield item  # type: ignore[misc]
    finally:
        stopped.set()
