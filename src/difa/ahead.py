"""Documents in chunks -> what is made of them, the next chunk on a thread of its own while the one before is in use.

Encoding and looking at vectors wait in different places: side by side they keep the cores busy that one of them would leave idle.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from difa.document import Document

MOST_DOCUMENTS, MOST_WORDS = 256, 4096
"""Documents and words that are scored together: enough to fill batches, and few, since two chunks are in work at a time."""

T = TypeVar("T")
R = TypeVar("R")


def cut_chunks(documents: Sequence[Document]) -> Iterator[list[Document]]:
    """Documents in order, so many at most in a chunk; one with more words is by itself."""
    chunk: list[Document] = []
    words = 0
    for document in documents:
        if chunk and (len(chunk) == MOST_DOCUMENTS or words + len(document.words) > MOST_WORDS):
            yield chunk
            chunk, words = [], 0
        chunk.append(document)
        words += len(document.words)
    if chunk:
        yield chunk


def work_ahead(
    work: Callable[[T], R], items: Iterator[T], ready: Callable[[], T | None], *, side_by_side: bool
) -> Generator[tuple[T, R], None, None]:
    """Each item and what `work` makes of it, in order; an error of `work` comes out in the place of its item.

    Args:
        work: called for one item at a time.
        items: waits for the next item.
        ready: gives the next item if there is one already, and None otherwise.
        side_by_side: work on the next item while the caller has the one before; at most one is finished and waits.
    """
    if not side_by_side:
        yield from ((item, work(item)) for item in items)
        return
    with ThreadPoolExecutor(1) as worker:  # leaving waits for what is under way: native code must not outlive the process
        for item in items:
            waiting = [(item, worker.submit(work, item))]
            while waiting:
                current, made = waiting.pop()
                pair = [(current, made.result())]
                del made  # what was made belongs to the caller alone, who may let go of it: it can be large
                if (following := ready()) is not None:
                    waiting.append((following, worker.submit(work, following)))
                yield pair.pop()
