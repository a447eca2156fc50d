"""What takes results in order: anything with a `Sink`'s methods, what shows them at once or keeps the best, pipes and devices."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from difa.document import Scored
from difa.engines.job import Counts
from difa.engines.second_pass import Best
from difa.errors import InputError
from difa.formats import Position


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


class Top(Shown):
    """Takes all results, counts them, and passes on the most unusual ones, the most unusual first, at the end."""

    def __init__(self, write: Callable[[Scored], None], most: int) -> None:
        self._write, self._best = write, Best(most)
        super().__init__(self._best.add)

    def finish(self) -> None:
        """All results are there."""
        for scored in self._best.documents():
            self._write(scored)


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
