"""Documents -> chunks that are scored together, and the next chunk's work done while the one before is in use.

Encoding and looking at vectors wait in different places: side by side they keep the cores busy that one of them would leave idle.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from difa.document import Document
from difa.runtime.ordered import ordered_map

MOST_DOCUMENTS, MOST_WORDS = 256, 4096
"""Documents and words that are scored together: enough to fill batches, and few, since two chunks are in work at a time."""

_COLUMN_WORD = 1 << 14  # characters of columns that count as a word: those of a chunk take some 64 MB at most
_SLOT = 8  # characters that an entry of a list counts for, whatever it holds

T = TypeVar("T")
R = TypeVar("R")


class HasDocuments(Protocol):
    """Documents that are scored together, and what belongs to them."""

    @property
    def documents(self) -> Sequence[Document]: ...


@dataclass(frozen=True, slots=True)
class Chunk:
    """Documents that are scored together."""

    documents: Sequence[Document]


def chunk_documents(documents: Iterable[Document]) -> Iterator[Chunk]:
    """Chunks of documents in order; a document with too many words is a chunk of its own."""
    return map(Chunk, cut_chunks(documents, weight))


def weight(document: Document) -> int:
    """Words of a document, and one for every few thousand characters of its columns, which are held as long as its words."""
    return len(document.words) + sum(map(_characters, document.columns.values())) // _COLUMN_WORD


def _characters(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(map(_characters, value.values()))
    return sum(map(_characters, value)) + _SLOT * len(value) if isinstance(value, (list, tuple)) else 0


def cut_chunks(
    items: Iterable[T], count_words: Callable[[T], int], is_last: Callable[[T], bool] = lambda item: False
) -> Iterator[list[T]]:
    """Items in order, at most `MOST_DOCUMENTS` of them and `MOST_WORDS` words together unless one alone has more.

    Args:
        items: documents, or what holds them.
        count_words: the words of an item.
        is_last: whether a chunk must end behind an item; called once for each, in order.
    """
    chunk: list[T] = []
    words = 0
    for item in items:
        more = count_words(item)
        if chunk and words + more > MOST_WORDS:
            yield chunk
            chunk, words = [], 0
        chunk.append(item)
        words += more
        if is_last(item) or len(chunk) == MOST_DOCUMENTS or words >= MOST_WORDS:
            yield chunk
            chunk, words = [], 0
    if chunk:
        yield chunk


def prefetch(
    work: Callable[[T], R], items: Iterator[T], ready: Callable[[], T | None] | None
) -> Generator[tuple[T, R], None, None]:
    """Each item and what `work` makes of it, in order; an error of `work` comes out in the place of its item.

    Args:
        work: called for one item at a time.
        items: waits for the next item.
        ready: gives the next item if there is one already, and None otherwise. It is worked on in another thread while the
            caller has the one before; at most one is finished and waits. Without it, all work is done in the caller's thread.
    """
    if ready is None:
        yield from ((item, work(item)) for item in items)
        return
    with ThreadPoolExecutor(1) as worker:  # leaving waits for what is under way: native code must not outlive the process
        # In a copy of our context: who gives up the work gives up this, too.
        made = ordered_map(lambda item: worker.submit(copy_context().run, work, item), items, ready, 1)
        with closing(made):
            yield from made
