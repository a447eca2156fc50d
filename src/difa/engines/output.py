"""Results -> a file or shards that appear under their names only when they are complete, and a run that can go on.

Results are appended to a partial file. From time to time they are forced to disk, and then a note beside them says how many
documents they hold and where the input stands. A run that goes on cuts the partial file back to the last note and reads on
from there: nothing is lost, nothing is doubled. What is complete is noted first and renamed then; a run that was killed in
between is put right by the next one. Hidden names end in `.part` (results under way), `.journal` (how far they are) and `.lock`,
so that no folder of inputs takes them for documents.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from difa.document import Scored
from difa.engines.job import Counts, refuse_other
from difa.errors import EngineError, InputError
from difa.formats import Position
from difa.formats.write import Publisher
from difa.storage.atomic import behind_link, fresh_file, hidden_name, locked, sync_folder, write_synced, writing

MANIFEST = "manifest.json"
_FIRST_NOTE = 1.0  # seconds: what took less is not worth keeping
_NOTE_SHARE = 20  # notes may take a twentieth of the time


@dataclass(frozen=True)
class Layout:
    """The files of one output."""

    title: Path
    """What the user knows it by."""
    folder: Path
    name: str
    """The file's name, or the pattern of the shards' names."""
    shard_size: int | None = None
    keep_journal: bool = False
    """Whether what is known of the run stays beside the results."""

    @classmethod
    def file(cls, out: Path) -> Layout:
        """One file; where its name is a link, the file that this leads to."""
        place = behind_link(out)
        return cls(out, place.parent, place.name)

    @classmethod
    def shards(cls, out: Path, size: int, format: str = "jsonl") -> Layout:
        return cls(out, out, f"part-{{:05d}}.{format}", size, keep_journal=True)

    def spool(self) -> Layout:
        """A hidden file for a first pass."""
        base = "" if self.shard_size else f".{self.name}"
        return Layout(self.title, self.folder, f"{base}.spool", keep_journal=True)

    @property
    def journal(self) -> Path:
        return self.folder / (MANIFEST if self.shard_size else f"{hidden_name(self.name)}.journal")

    @property
    def lock(self) -> Path:
        return self.folder / (".lock" if self.shard_size else f"{hidden_name(self.name)}.lock")

    def final(self, shard: int) -> Path:
        return self.folder / self.name.format(shard) if self.shard_size else self.folder / self.name

    def remove(self) -> None:
        """Remove the results of a single file and what is known of them."""
        self.final(0).unlink(missing_ok=True)
        self.journal.unlink(missing_ok=True)

    def partial(self, shard: int) -> Path:
        final = self.final(shard)
        return final.with_name(f"{hidden_name(final.name)}.part")


@dataclass
class Progress(Counts):
    """What is known of a run: what was asked, and how much of it is safely on disk."""

    asked: dict[str, Any] = field(default_factory=dict)
    shards: list[dict[str, Any]] = field(default_factory=list)
    place: list[int] = field(default_factory=lambda: [0, 0])
    """Position in the inputs: files read, and lines of the next one."""
    partial: dict[str, int] = field(default_factory=lambda: {"documents": 0, "bytes": 0})
    """The part under way."""
    complete: bool = False

    def write(self, path: Path) -> None:
        """Put it on disk, whole or not at all."""
        # Always the same name: one that a killed run left is written over.
        with fresh_file(path, path.with_name(f"{hidden_name(path.name)}.new")) as fresh:
            # A file name that is no Unicode has halves of surrogate pairs, which JSON can only hold as \\u escapes.
            write_synced(fresh, json.dumps(asdict(self), ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace"))
        sync_folder(path.parent)

    @classmethod
    def read(cls, path: Path) -> Progress | None:
        """What was put there; None if nothing was."""
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(values, dict) or set(values) != {entry.name for entry in fields(cls)}:
                raise ValueError
            progress = cls(**values)
            progress._check()
            return progress
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError, AttributeError, OSError, RecursionError):
            raise InputError(
                f"{path}: expected what a run of difa noted there, got something else: remove it or choose another name"
            ) from None

    def _check(self) -> None:
        """Raise one of several errors unless all of it can be gone on with: the file may have been changed."""
        written = [*(shard["documents"] for shard in self.shards), self.partial["documents"]]
        counts = [self.documents, self.flagged, self.skipped, self.empty, self.partial["bytes"], *self.place, *written]
        names = [*self.asked.keys(), *(shard["file"] for shard in self.shards)]
        sound = all(type(count) is int and 0 <= count < 2**63 for count in counts) and all(
            isinstance(name, str) for name in names
        )
        if not sound or len(self.place) != 2 or type(self.complete) is not bool or sum(written) != self.documents:
            raise ValueError


@contextmanager
def alone(layout: Layout) -> Iterator[None]:
    """Hold an output against other runs."""
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(layout.lock))
        except BlockingIOError:
            raise InputError(f"{layout.title}: another run is writing there: wait for it, or choose another name") from None
        yield


@dataclass(frozen=True, slots=True)
class Block:
    """Results as they are appended to a part, and what is counted of them."""

    content: bytes
    documents: int
    flagged: int

    @classmethod
    def of(cls, parts: Sequence[Scored], publisher: Publisher) -> Block:
        """The block of some documents."""
        flagged = sum(int(part.document_flags.sum()) for part in parts)
        return cls(b"".join(map(publisher.block, parts)), sum(map(len, parts)), flagged)


@dataclass
class Output:
    """One run's results, to be used in a `with` block: nothing is written before."""

    layout: Layout
    asked: dict[str, Any]
    """What decides the results, by name."""
    publisher: Publisher
    resume: bool = False
    """Go on where an earlier run stopped."""
    force: bool = False
    """Throw away what an earlier run left."""
    notes: bool = True
    """Whether the run can be repeated at all, so that notes are of use."""
    _file: BinaryIO | None = field(default=None, init=False)

    def __enter__(self) -> Output:
        with ExitStack() as stack:
            with writing(self.layout.title):
                if self.layout.shard_size:
                    self.layout.folder.mkdir(parents=True, exist_ok=True)
                stack.enter_context(alone(self.layout))
            self.progress = self._begin()
            self._stack = stack.pop_all()
        self._noted, self._wait = time.monotonic(), _FIRST_NOTE
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._stack:  # lets go of the files
            if self._file is not None:
                with suppress(OSError):  # on a full disk; what lies behind the last note does not count
                    self._file.close()
            kept = Progress.read(self.layout.journal)
            if kept is None:
                self._partial.unlink(missing_ok=True)
            elif isinstance(error, (InputError, EngineError)) and not kept.complete:
                how = "resume=True goes on behind them" if self.notes else "they cannot be resumed, force=True starts anew"
                raise type(error)(f"{error}; {kept.documents} scored documents are kept at {self.layout.title}: {how}") from None

    @property
    def counts(self) -> Counts:
        return self.progress

    @property
    def shard_size(self) -> int | None:
        return self.layout.shard_size

    @property
    def position(self) -> Position:
        """Where the input is to be read from."""
        return Position(*self.progress.place)

    def write(self, scored: Scored) -> None:
        """Append the results of documents; a shard must not end within them."""
        self.append(Block.of([scored], self.publisher))

    def append(self, block: Block) -> None:
        """The same for results that were packed elsewhere."""
        with writing(self.layout.title):
            self._file = self._file or self._open()
            self._file.write(block.content)
        self.progress.documents += block.documents
        self.progress.flagged += block.flagged
        self.progress.partial["documents"] += block.documents
        self.progress.partial["bytes"] += len(block.content)

    def note(self, position: Position, skipped: int = 0, empty: int = 0) -> None:
        """Say how far the input has been read, and count; what was written is forced to disk if it is time."""
        self.progress.place = [position.file, position.line]
        self.progress.skipped += skipped
        self.progress.empty += empty
        if self.progress.partial["documents"] == self.layout.shard_size:
            self._close_shard()
        elif self.notes and time.monotonic() - self._noted > self._wait:
            started = time.monotonic()
            with writing(self.layout.title):
                self._sync()
                self.progress.write(self.layout.journal)
            self._noted = time.monotonic()
            self._wait = _NOTE_SHARE * (self._noted - started)

    def finish(self) -> None:
        """All results are written: they get their names."""
        self.progress.complete = True
        if self.progress.partial["documents"] or not self.progress.shards:
            self._close_shard()
        else:
            with writing(self.layout.title):
                self.progress.write(self.layout.journal)
        if not self.layout.keep_journal:
            self.layout.journal.unlink(missing_ok=True)

    @property
    def _partial(self) -> Path:
        return self.layout.partial(len(self.progress.shards))

    def _begin(self) -> Progress:
        layout = self.layout
        stored = Progress.read(layout.journal)
        if stored is None:
            if layout.shard_size and any(not path.name.startswith(".") for path in layout.folder.iterdir()):
                raise InputError(f"{layout.title}: expected a new or empty folder for shards, found other files: choose another")
            return Progress(asked=self.asked)
        last = len(stored.shards) - 1
        if last >= 0 and layout.partial(last).exists():  # the run ended just before this could get its name
            with writing(self.layout.title):
                self.publisher(layout.partial(last), layout.final(last))
        if self.force or (stored.complete and not layout.keep_journal):
            self._remove(stored)
            return Progress(asked=self.asked)
        if self.resume:
            refuse_other(layout.title, self.asked, stored.asked)
            _refuse_missing(layout, stored)
            return stored
        if stored.complete and layout.shard_size:
            raise InputError(
                f"{layout.title}: holds the finished results of {stored.documents} documents: choose another name, or "
                "force=True replaces them"
            )
        what = "resume=True goes on, force=True starts anew" if self.notes else "force=True starts anew"
        raise InputError(f"{layout.title}: an interrupted run left the results of {stored.documents} documents there: {what}")

    def _remove(self, stored: Progress) -> None:
        self.layout.partial(len(stored.shards)).unlink(missing_ok=True)
        if self.layout.keep_journal:  # an older file stays until the new one is complete
            for shard in range(len(stored.shards)):
                self.layout.final(shard).unlink(missing_ok=True)
        self.layout.journal.unlink(missing_ok=True)

    def _open(self) -> BinaryIO:
        size = self.progress.partial["bytes"]
        if not size:
            return self._partial.open("wb")
        found = self._partial.stat().st_size if self._partial.exists() else 0
        if found < size:
            raise InputError(
                f"{self._partial}: expected at least {size} bytes of the interrupted run, got {found}: force=True starts anew"
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
        with writing(self.layout.title):
            self._file = self._file or self._open()
            self._sync()
            self._file.close()
            self._file = None
            shard = len(self.progress.shards)
            self.progress.shards.append({"file": self.layout.final(shard).name, **self.progress.partial})
            self.progress.partial = {"documents": 0, "bytes": 0}
            if self.notes or self.layout.keep_journal:
                self.progress.write(self.layout.journal)
            self.publisher(self.layout.partial(shard), self.layout.final(shard))
            sync_folder(self.layout.folder)


def _refuse_missing(layout: Layout, stored: Progress) -> None:
    """A part that was removed, or cut, since it was complete would be missed by whoever reads all of them."""
    for number, shard in enumerate(stored.shards):
        path = layout.final(number)
        found = path.stat().st_size if path.is_file() else None
        if found is None or (path.suffix == ".jsonl" and found != shard.get("bytes", found)):
            got = "found none" if found is None else f"got {found} bytes instead of {shard['bytes']}"
            raise InputError(
                f"{path}: expected the results of {shard['documents']} documents, which an earlier run wrote, {got}: put "
                "the file back, or force=True starts anew"
            )
