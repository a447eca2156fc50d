"""Results -> a file or shards that appear under their names only when they are complete, and a run that can go on.

Results are appended to a partial file. From time to time they are forced to disk, and then a note beside them says how many
documents they hold and where the input stands. A run that goes on cuts the partial file back to the last note and reads on
from there: nothing is lost, nothing is doubled. What is complete is noted first and renamed then; a run that was killed in
between is put right by the next one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from difa.document import Scored
from difa.engines.output_files import Layout, State, alone
from difa.errors import EngineError, InputError
from difa.formats import Position
from difa.formats.write import json_lines
from difa.storage.atomic import sync_folder

_FIRST_NOTE = 1.0  # seconds: what took less is not worth keeping
_NOTE_SHARE = 20  # notes may take a twentieth of the time

Publish = Callable[[Path, Path], None]
Pack = Callable[[Scored], bytes]


@dataclass(frozen=True, slots=True)
class Block:
    """Results as they are appended to a part, and what is counted of them."""

    content: bytes
    documents: int
    flagged: int

    @classmethod
    def of(cls, parts: Iterable[Scored], pack: Pack) -> Block:
        """The block of some documents."""
        known = list(parts)
        flagged = sum(int(part.document_flags.sum()) for part in known)
        return cls(b"".join(map(pack, known)), sum(map(len, known)), flagged)


class Output:
    """One run's results, to be used in a `with` block."""

    def __init__(
        self,
        layout: Layout,
        asked: dict[str, Any],
        *,
        resume: bool = False,
        force: bool = False,
        notes: bool = True,
        pack: Pack = json_lines,
        publish: Publish | None = None,
    ) -> None:
        """Decide what is to be done at the place; nothing is written yet.

        Args:
            layout: where to.
            asked: what decides the results, by name.
            resume: go on where an earlier run stopped.
            force: throw away what an earlier run left.
            notes: whether the run can be repeated at all, so that notes are of use.
            pack: what documents append to a part.
            publish: gives a complete part its final name, perhaps in another format; renames it by default.
        """
        self.pack = pack
        self._publish = publish or _rename
        self.layout, self._asked, self._resume, self._force, self._notes = layout, asked, resume, force, notes
        self._file: BinaryIO | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Output:
        with self._writing():
            if self.layout.shard_size:
                self.layout.folder.mkdir(parents=True, exist_ok=True)
            self._stack.enter_context(alone(self.layout))
        try:
            self.state = self._begin()
        except BaseException:
            self._stack.close()
            raise
        self.resumed = self.state.documents > 0
        self._noted, self._wait = time.monotonic(), _FIRST_NOTE
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._stack:  # lets go of the files
            if self._file is not None:
                with suppress(OSError):  # on a full disk; what lies behind the last note does not count
                    self._file.close()
            kept = State.read(self.layout.state)
            if kept is None:
                self._partial.unlink(missing_ok=True)
            elif isinstance(error, (InputError, EngineError)) and not kept.complete:
                how = "resume goes on behind them" if self._notes else "they cannot be resumed, force starts anew"
                raise type(error)(f"{error}; {kept.documents} scored documents are kept at {self.layout.title}: {how}") from None

    @property
    def shard_size(self) -> int | None:
        return self.layout.shard_size

    @property
    def position(self) -> Position:
        """Where the input is to be read from."""
        return Position(*self.state.place)

    def write(self, scored: Scored) -> None:
        """Append the results of documents; a shard must not end within them."""
        self.append(Block.of([scored], self.pack))

    def append(self, block: Block) -> None:
        """The same for results that were packed elsewhere."""
        with self._writing():
            if self._file is None:
                self._file = self._open()
            self._file.write(block.content)
        self.state.documents += block.documents
        self.state.flagged += block.flagged
        self.state.partial["documents"] += block.documents
        self.state.partial["bytes"] += len(block.content)

    def note(self, position: Position, skipped: int = 0, empty: int = 0) -> None:
        """Say how far the input has been read, and count; what was written is forced to disk if it is time."""
        self.state.place = [position.file, position.line]
        self.state.skipped += skipped
        self.state.empty += empty
        if self.state.partial["documents"] == self.layout.shard_size:
            self._close_shard()
        elif self._notes and time.monotonic() - self._noted > self._wait:
            started = time.monotonic()
            with self._writing():
                self._sync()
                self.state.write(self.layout.state)
            self._noted = time.monotonic()
            self._wait = _NOTE_SHARE * (self._noted - started)

    def finish(self) -> None:
        """All results are written: they get their names."""
        self.state.complete = True
        if self.state.partial["documents"] or not self.state.shards:
            self._close_shard()
        else:
            with self._writing():
                self.state.write(self.layout.state)
        if not self.layout.keep_state:
            self.layout.state.unlink(missing_ok=True)

    @property
    def _partial(self) -> Path:
        return self.layout.partial(len(self.state.shards))

    def _begin(self) -> State:
        layout = self.layout
        stored = State.read(layout.state)
        if stored is None:
            if layout.shard_size and any(not path.name.startswith(".") for path in layout.folder.iterdir()):
                raise InputError(f"{layout.title}: expected a new or empty folder for shards, found other files: choose another")
            return State(self._asked)
        with self._writing():
            _settle(layout, stored, self._publish)
        if self._force or (stored.complete and not layout.keep_state):
            self._remove(stored)
            return State(self._asked)
        if self._resume:
            refuse_other(layout.title, self._asked, stored.asked)
            _refuse_missing(layout, stored)
            return stored
        if stored.complete and layout.shard_size:
            raise InputError(
                f"{layout.title}: holds the finished results of {stored.documents} documents: choose another name, or force "
                "replaces them"
            )
        what = "resume goes on, force starts anew" if self._notes else "force starts anew"
        raise InputError(f"{layout.title}: an interrupted run left the results of {stored.documents} documents there: {what}")

    def _remove(self, stored: State) -> None:
        self.layout.partial(len(stored.shards)).unlink(missing_ok=True)
        if self.layout.keep_state:  # an older file stays until the new one is complete
            for shard in range(len(stored.shards)):
                self.layout.final(shard).unlink(missing_ok=True)
        self.layout.state.unlink(missing_ok=True)

    def _open(self) -> BinaryIO:
        size = self.state.partial["bytes"]
        if not size:
            return self._partial.open("wb")
        found = self._partial.stat().st_size if self._partial.exists() else 0
        if found < size:
            raise InputError(
                f"{self._partial}: expected at least {size} bytes of the interrupted run, got {found}: force starts anew"
            )
        file = self._partial.open("r+b")
        file.truncate(size)
        file.seek(size)
        return file

    def _sync(self) -> None:
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())

    def _close_shard(self) -> None:
        with self._writing():
            if self._file is None:
                self._file = self._open()
            self._sync()
            self._file.close()
            self._file = None
            shard = len(self.state.shards)
            self.state.shards.append({"file": self.layout.final(shard).name, **self.state.partial})
            self.state.partial = {"documents": 0, "bytes": 0}
            if self._notes or self.layout.keep_state:
                self.state.write(self.layout.state)
            self._publish(self.layout.partial(shard), self.layout.final(shard))
            sync_folder(self.layout.folder)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InputError(f"{self.layout.title}: cannot be written: {error.strerror}") from None


def _rename(lines: Path, final: Path) -> None:
    lines.replace(final)


def _settle(layout: Layout, state: State, publish: Publish) -> None:
    """Give the last complete part its name, if the run ended just before it could."""
    last = len(state.shards) - 1
    if last >= 0 and layout.partial(last).exists():
        publish(layout.partial(last), layout.final(last))


def refuse_other(title: object, asked: dict[str, Any], stored: dict[str, Any]) -> None:
    """Say what is different from the run that is to go on, if anything is."""
    for name in asked:
        if asked[name] != stored.get(name):
            old, new = _difference(stored.get(name), asked[name])
            raise InputError(
                f"{title}: expected the same {name} as in the interrupted run, {old}, got {new}: give the same to "
                "resume, or force to start anew"
            )


def _refuse_missing(layout: Layout, stored: State) -> None:
    """A part that was removed, or cut, since it was complete would be missed by whoever reads all of them."""
    for number, shard in enumerate(stored.shards):
        path = layout.final(number)
        found = path.stat().st_size if path.is_file() else None
        if found is None or (path.suffix == ".jsonl" and found != shard.get("bytes", found)):
            got = "found none" if found is None else f"got {found} bytes instead of {shard['bytes']}"
            raise InputError(
                f"{path}: expected the results of {shard['documents']} documents, which an earlier run wrote, {got}: put "
                "the file back, or force starts anew"
            )


def _difference(old: Any, new: Any) -> tuple[str, str]:
    """The first thing that differs, in words."""
    if not isinstance(old, list) or not isinstance(new, list):
        return str(old), str(new)
    pairs = [(a, b) for a, b in zip(old, new, strict=False) if a != b]
    if not pairs:
        return f"{len(old)} files", f"{len(new)} files"
    old, new = pairs[0]
    return _describe(old), _describe(new)


def _describe(source: Any) -> str:
    known = isinstance(source, dict) and {"name", "bytes", "modified"} <= set(source)
    return f"{source['name']} of {source['bytes']} bytes, modified {source['modified']}" if known else str(source)
