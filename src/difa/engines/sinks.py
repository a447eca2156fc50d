"""What takes results in order: what shows them at once or keeps the most unusual ones, pipes and devices; and shards."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import numpy as np

from difa.calibrate import TailReference
from difa.document import Scored
from difa.engines.job import Counts
from difa.errors import InputError
from difa.formats import Position

_ROOM = 4  # times as many are held as are wanted, at most: to choose among them takes time


class Sink(Protocol):
    """Something that takes results in order."""

    @property
    def counts(self) -> Counts: ...

    @property
    def shard_size(self) -> int | None: ...

    @property
    def position(self) -> Position: ...

    def write(self, scored: Scored) -> None: ...

    def note(self, position: Position, skipped: int = 0, empty: int = 0) -> None: ...


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


class Best:
    """The most unusual of many documents, in bounded memory."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: list[Scored] = []

    def add(self, scored: Scored) -> None:
        """Look at some more."""
        self._kept.append(scored.take(sorted(at for _, at in self._places([scored]))))
        if sum(map(len, self._kept)) > _ROOM * self._most:
            chosen = sorted(self._places(self._kept))
            parts = {part: [at for other, at in chosen if other == part] for part, _ in chosen}
            self._kept = [self._kept[part].take(places) for part, places in parts.items()]

    def documents(self) -> Iterator[Scored]:
        """One by one, the most unusual first and of two alike the earlier."""
        for part, at in self._places(self._kept):
            yield self._kept[part].take([at])

    def _places(self, parts: Sequence[Scored]) -> list[tuple[int, int]]:
        places = [(part, at) for part, scored in enumerate(parts) for at in range(len(scored))]
        p_values, scores = (
            np.concatenate([np.empty(0), *(getattr(part, name) for part in parts)]) for name in ("document_p", "document_scores")
        )
        return [places[at] for at in np.lexsort((-scores, p_values))[: self._most].tolist()]


class Top(Shown):
    """Takes all results, counts them, and passes on the most unusual ones, the most unusual first, at the end."""

    def __init__(self, write: Callable[[Scored], None], most: int) -> None:
        self._write, self._best = write, Best(most)
        super().__init__(self._best.add)

    def finish(self) -> None:
        """All results are there."""
        for scored in self._best.documents():
            self._write(scored)


def cut_shards(results: Iterable[Scored], shard_size: int | None, done: int = 0) -> Iterator[tuple[int, Scored]]:
    """Scored documents in parts that end where shards do, each with the number of its shard.

    Args:
        results: the documents.
        shard_size: documents of a shard, if there are shards.
        done: documents before these.
    """
    for scored in results:
        ends = range(-done % shard_size or shard_size, len(scored), shard_size) if shard_size else ()
        for start, end in pairwise([0, *ends, len(scored)]):
            yield done // shard_size if shard_size else 0, scored.take(range(start, end))
            done += end - start


@contextmanager
def open_stream(out: Path) -> Iterator[Callable[[bytes], None]]:
    """A pipe or a device to write to at once; what goes wrong with it is one line."""
    try:
        with out.open("wb", buffering=0) as file:
            yield lambda content: _write_all(file, content)
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {error.strerror}") from None


def _write_all(file: io.FileIO, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[file.write(rest) :]


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
