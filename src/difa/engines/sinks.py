"""What takes results in order: anything with a `Sink`'s methods, those that are shown at once, and pipes and devices."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from difa.document import Scored
from difa.engines.output_files import State
from difa.errors import InputError
from difa.formats import Position


class Sink(Protocol):
    """Something that takes results in order."""

    state: State

    @property
    def shard_size(self) -> int | None: ...

    @property
    def position(self) -> Position: ...

    def write(self, scored: Scored) -> None: ...

    def note(self, position: Position, skipped: int = 0, empty: int = 0) -> None: ...


class Shown:
    """Results that are shown at once and not kept."""

    shard_size = None
    position = Position()

    def __init__(self, show: Callable[[Scored], None]) -> None:
        self._show, self.state = show, State({})

    def write(self, scored: Scored) -> None:
        self._show(scored)
        self.state.documents += len(scored)
        self.state.flagged += int(scored.document_flags.sum())

    def note(self, position: Position, skipped: int = 0, empty: int = 0) -> None:
        self.state.skipped += skipped
        self.state.empty += empty


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
