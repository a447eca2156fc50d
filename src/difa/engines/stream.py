"""Lines of the input -> chunks of documents; where the sender pauses, what is there goes out at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from difa.document import Document
from difa.formats import Entry, Position, bad_line
from difa.runtime.parallel import cut_chunks, weight


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
