"""Results -> a file, shards or a folder of parts that appear under their names only when they are complete, and runs that go on.

What is under way lies in a hidden folder, `staging`; at an address, where nothing can be renamed, in its place, and the file
`_SUCCESS` comes last. A journal (of shards `manifest.json`) says what was asked and what is safely on disk: parts of pieces, or
so much of the part that a stream is appended to, and where the input stands behind it. A run that goes on does the other pieces,
or cuts that part back and reads on from there: nothing is lost, nothing is doubled. What is complete is noted first and renamed
then; a run that was killed in between is put right by the next one.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal

from difa.document import Scored
from difa.engines.job import Counts, Job, refuse_other
from difa.errors import EngineError, InputError
from difa.formats import Position
from difa.formats.sources import Source, below, locate
from difa.formats.streams import is_address
from difa.formats.tables import Shape
from difa.formats.write import COLUMNS, Publisher, unpack_columns
from difa.storage.atomic import (
    behind_link,
    fresh_file,
    hidden_name,
    locked,
    sync_file,
    sync_folder,
    take_place,
    unfinished,
    writing,
)

MANIFEST, SUCCESS = "manifest.json", "_SUCCESS"
PIECE = "piece bytes"
"""What is noted beside what was asked, where the work is cut into pieces."""
_FIRST_NOTE = 1.0  # seconds: what took less of a stream is not worth keeping
_NOTE_SHARE = 20  # notes may take a twentieth of the time
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Target:
    """What is to be written, and where it lies until it is complete."""

    location: str
    """A path, or the address of a folder."""
    kind: Literal["file", "shards", "parts"]
    format: str
    written: str
    """The format of parts: columns where a second pass makes of them what was asked for."""
    shape: Shape
    """The columns of a table."""

    @property
    def path(self) -> Path:
        """What the path leads to: a link stays."""
        return behind_link(Path(self.location).absolute())

    @property
    def anywhere(self) -> Target:
        """The same by a path that leads to it from every folder."""
        return self if is_address(self.location) else replace(self, location=str(self.path))

    @property
    def staging(self) -> str:
        return self.location if is_address(self.location) else str(self._hidden("part"))

    @property
    def journal(self) -> str:
        return str(self.path / MANIFEST) if self.kind == "shards" else below(self.staging, "_journal.json")

    @property
    def lock(self) -> Path:
        return self._hidden("lock")

    def part_name(self, index: int, format: str | None = None) -> str:
        """In the order of the input, by default for parts as they are written first; only those that stay look like results."""
        form = format or self.written
        return f"part-{index:06d}.{form}" if self.kind == "parts" and form != COLUMNS else f"{index:06d}.part"

    def part(self, index: int) -> Path:
        """A part under way."""
        return Path(self.staging) / self.part_name(index)

    def final(self, index: int) -> Path:
        """The file, or a shard."""
        return self.path / f"part-{index:05d}.{self.format}" if self.kind == "shards" else self.path

    def _hidden(self, ending: str) -> Path:
        inside = self.path / f".{ending}"
        return inside if self.kind == "shards" else self.path.with_name(f"{hidden_name(self.path.name)}.{ending}")


@dataclass
class Progress(Counts):
    """What is known of a run: what was asked, and how much of it is safely on disk."""

    asked: dict[str, Any] = field(default_factory=dict)
    shards: list[dict[str, Any]] = field(default_factory=list)
    """Complete files, or complete parts of pieces."""
    place: list[int] = field(default_factory=lambda: [0, 0])
    """Position of a stream in the inputs: files read, and lines of the next one."""
    partial: dict[str, int] = field(default_factory=lambda: {"documents": 0, "bytes": 0})
    """The part of a stream that is under way."""
    complete: bool = False

    @classmethod
    def read(cls, location: str) -> Progress | None:
        """What a run noted there; None if nothing was."""
        try:
            if (content := _read(location)) is None:
                return None
            values = json.loads(content)
            if set(values) != {entry.name for entry in fields(cls)}:
                raise ValueError
            progress = cls(**values)
            progress._check()
            return progress
        except (ValueError, TypeError, KeyError, AttributeError, OSError, RecursionError):
            raise InputError(
                f"{location}: expected what a run of difa noted there, got something else: remove it or choose another name"
            ) from None

    def _check(self) -> None:
        """Raise one of several errors unless all of it can be gone on with: the file may have been changed."""
        written = [*(shard["documents"] for shard in self.shards), self.partial["documents"]]
        counts = [*(getattr(self, entry.name) for entry in fields(Counts)), self.partial["bytes"], *self.place, *written]
        counts += [shard[name] for shard in self.shards for name in shard if name != "file"]
        sound = all(type(count) is int and 0 <= count < 2**63 for count in [*counts, self.asked.get(PIECE, 0)])
        sound &= all(isinstance(shard["file"], str) for shard in self.shards) and type(self.complete) is bool
        if not sound or len(self.place) != 2 or sum(written) != self.documents:
            raise ValueError


@dataclass(frozen=True, slots=True)
class Block:
    """Results as they are appended to a part, and what is counted of them."""

    content: bytes
    counts: Counts

    @classmethod
    def of(cls, parts: Sequence[Scored], publish: Publisher) -> Block:
        """The block of some documents."""
        return cls(b"".join(map(publish.block, parts)), Counts.of(parts))


class Output:
    """One run's results in the making.

    Args:
        target: what is to be written, and where.
        asked: what decides the results, by name.
        job: whether the run may go on with an earlier one, or replaces it.
        notes: whether the run can be repeated at all, so that notes are of use.
    """

    def __init__(self, target: Target, asked: dict[str, Any], job: Job, notes: bool = True) -> None:
        """Refuse a place that is taken or cannot be written, before any work is done."""
        self.target, self.asked, self._job, self._notes = target, asked, job, notes
        self.publish = Publisher(target.format, target.shape)
        self.summary: dict[str, Any] | None = None  # what the run did that filled the folder before
        self.shard_size = job.shard_size if target.kind == "shards" and target.written != COLUMNS else None
        self._file: BinaryIO | None = None
        with writing(target.location):
            self.progress = self._begin(job.resume, job.force)
        self._noted, self._wait = time.monotonic(), _FIRST_NOTE

    @classmethod
    @contextmanager
    def open(cls, target: Target, asked: dict[str, Any], job: Job, notes: bool = True) -> Iterator[Output]:
        """Hold a place against other runs on this machine; of a run that fails, what was noted is kept and the rest goes."""
        with alone(target):
            output = cls(target, asked, job, notes)
            try:
                yield output
            except BaseException as error:
                output.abandon(error)
                raise
            output._remove_staging()

    def append(self, block: Block) -> None:
        """Append results of a stream; a shard must not end within them."""
        with writing(self.target.location):
            self._file = self._file or self._reopen()
            self._file.write(block.content)
        self.progress.add(block.counts)
        self.progress.partial["documents"] += block.counts.documents
        self.progress.partial["bytes"] += len(block.content)

    def note(self, position: Position, skipped: int = 0) -> None:
        """Say how far a stream has been read; what was written is forced to disk if it is time."""
        self.progress.place = [position.file, position.line]
        self.progress.skipped += skipped
        if self.progress.partial["documents"] == self.shard_size:
            self._close_part()
        elif self._notes:
            self._keep_if_time()

    def begin(self, size: int) -> None:
        """The work is cut into pieces of so many bytes: from now on the run can be gone on with."""
        self.progress.asked = self.asked | {PIECE: size}
        self.keep()
        self._wait = 0.0  # the first piece is worth a note

    def add(self, index: int, counts: Counts) -> None:
        """The part of a piece is complete."""
        self.progress.shards.append({"file": self.target.part_name(index), **asdict(counts)})
        self.progress.add(counts)
        self._keep_if_time()

    def keep(self) -> None:
        """Note what is complete; with the first note, the run becomes one that can be gone on with."""
        started = time.monotonic()
        with writing(self.target.location):
            if self._file is not None:
                sync_file(self._file)
            # A file name that is no Unicode has halves of surrogate pairs, which JSON can only hold as \\u escapes.
            content = json.dumps(asdict(self.progress), ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace")
            # Always the same name: one that a killed run left is written over.
            with _fresh(self.target.journal, Path(self.target.staging) / "journal") as file:
                file.write(content)
        self._noted = time.monotonic()
        self._wait = _NOTE_SHARE * (self._noted - started)

    def finish(self, files: int) -> None:
        """All of so many files is written: the last file gets its name, unless there is a second pass."""
        self.progress.place, self.progress.complete = [files, 0], self.target.written != COLUMNS
        if self.progress.partial["documents"] or not self.progress.shards:
            self._close_part()
        else:
            self.keep()

    def read(self, index: int) -> Iterator[Scored]:
        """The columns of a part."""
        with Source(below(self.target.staging, self.target.part_name(index))).open_bytes() as (file, _):
            yield from unpack_columns(file)

    def content(self, count: int) -> Iterator[bytes]:
        """So many parts, one behind the other."""
        for index in range(count):
            with self.target.part(index).open("rb") as file:
                yield from iter(partial(file.read, _BLOCK), b"")

    def publish_all(self, files: Iterable[tuple[int, Iterable[bytes]]]) -> None:
        """Write what belongs into each file, and give it its name."""
        progress, part, left = self.progress, Path(self.target.staging) / "joined", self.progress.documents
        progress.shards, progress.partial = [], Progress().partial
        for index, blocks in files:
            with writing(self.target.location):
                with part.open("wb") as file:
                    file.writelines(blocks)
                    size = file.tell()
                    sync_file(file)
                self._publish(part, index)
            documents = min(left, self._job.shard_size or left)
            progress.shards.append({"file": self.target.final(index).name, "documents": documents, "bytes": size})
            left -= documents
        progress.complete = True
        if self.target.kind == "shards":
            self.keep()

    def check_parts(self, expected: Sequence[str]) -> None:
        """Refuse to go on where some of the parts are not there, seen from this machine."""
        if missing := sorted(set(expected) - _names(self.target.staging)):
            raise EngineError(
                f"{self.target.location}: expected {len(expected)} parts, but {len(missing)} are missing, as {missing[0]}: "
                "workers on other machines wrote to their own disks; give a folder that all share, or object storage"
            )

    def finish_folder(self, summary: dict[str, Any]) -> None:
        """Mark a folder of parts as complete, leave nothing but the parts in it, and give it its name."""
        staging, path = self.target.staging, self.target.path
        with _fresh(below(staging, SUCCESS)) as file:
            file.write(json.dumps(summary | {"asked": self.asked}).encode() + b"\n")
        system, folder = locate(staging)
        for name in _names(staging):
            if not name.startswith("part-") and name != SUCCESS:
                system.delete_file(f"{folder}/{name}")
        if not is_address(staging):
            old = unfinished(path)
            take_place(Path(staging), path, old)
            shutil.rmtree(old, ignore_errors=True)  # results that were to be replaced

    def abandon(self, error: BaseException | None = None) -> None:
        """Let go of a run that failed, and say what is kept of it."""
        if self._file is not None:
            with suppress(OSError):  # on a full disk; what lies behind the last note does not count
                self._file.close()
        kept, location = Progress.read(self.target.journal), self.target.location
        if kept is None or not (kept.documents or kept.shards):
            with suppress(OSError):  # at an address: without _SUCCESS nobody takes it for complete
                self._clear()
            self._remove_staging()
        elif isinstance(error, (InputError, EngineError)) and not kept.complete:
            how = "resume=True goes on with the rest" if self._notes else "they cannot be resumed, force=True starts anew"
            raise type(error)(f"{error}; {kept.documents} scored documents are kept at {location}: {how}") from None

    def _begin(self, resume: bool, force: bool) -> Progress:
        """What the run goes on with; a place that is taken is refused."""
        target, title = self.target, self.target.location
        stored, finished = Progress.read(target.journal), self._find_summary()
        is_ours = finished is not None or (stored is not None and (target.kind == "shards" or is_address(title)))
        if target.kind != "file" and not is_ours and self._is_taken():
            raise InputError(f"{title}: expected a new or empty folder for the results, found other files: choose another")
        stored = finished or stored
        # The journal of a complete file is there only if the run was killed before it could remove it.
        if stored is None or force or (stored.complete and target.kind == "file" and not resume):
            self._clear()
            return Progress(asked=self.asked)
        if resume:
            refuse_other(title, self.asked, stored.asked)
            return stored if finished else self._go_on(stored)
        if stored.complete:
            what = f"holds the finished results of {stored.documents} documents: choose another name, or force=True replaces them"
            raise InputError(f"{title}: {what}")
        how = "resume=True goes on, force=True starts anew" if self._notes else "force=True starts anew"
        raise InputError(f"{title}: an interrupted run left the results of {stored.documents} documents there: {how}")

    def _find_summary(self) -> Progress | None:
        """What is known of a folder of parts that is complete."""
        if self.target.kind == "parts" and (content := _read(below(self.target.location, SUCCESS))) is not None:
            with suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
                summary = json.loads(content)
                found = Progress(documents=summary["documents"], asked=dict(summary.pop("asked")), complete=True)
                self.summary = summary
                return found
        return None

    def _is_taken(self) -> bool:
        """Whether others have something there; a folder that gets another in its place must be empty."""
        return any(self.target.kind == "parts" or not name.startswith(".") for name in _names(self.target.location))

    def _go_on(self, stored: Progress) -> Progress:
        """Put right what a killed run left, and refuse to go on where something is missing."""
        target, last = self.target, len(stored.shards) - 1
        if target.kind == "shards" or stored.complete:
            is_named = target.written == COLUMNS or last < 0 or not target.part(last).exists()
            if not is_named:  # the run ended just before it could be
                self._publish(target.part(last), last)
            for number, shard in enumerate(stored.shards):
                _refuse_missing(target.final(number), shard)
            Path(target.staging).mkdir(exist_ok=True)
        elif stored.shards:
            there, parts = _names(target.staging), stored.shards
            stored = Progress(asked=stored.asked, shards=[part for part in parts if part["file"] in there])
            for part in stored.shards:
                stored.add(Counts(**{entry.name: part.get(entry.name, 0) for entry in fields(Counts)}))
        return stored

    def _clear(self) -> None:
        """Make room for a new run; an older file, or folder of parts, stays until the new one is complete."""
        target = self.target
        if is_address(target.location):
            system, path = locate(target.location)
            system.delete_dir_contents(path, missing_dir_ok=True)
            system.create_dir(path, recursive=True)
            return
        if target.kind == "shards":
            for left in (Path(target.journal), *target.path.glob("part-*")):
                left.unlink(missing_ok=True)
        self._remove_staging()
        Path(target.staging).mkdir(parents=True)

    def _remove_staging(self) -> None:
        if not is_address(self.target.location):
            shutil.rmtree(self.target.staging, ignore_errors=True)

    def _keep_if_time(self) -> None:
        if time.monotonic() - self._noted > self._wait:
            self.keep()

    def _reopen(self) -> BinaryIO:
        """The part of a stream, cut back to what was noted."""
        path, size = self.target.part(len(self.progress.shards)), self.progress.partial["bytes"]
        found = path.stat().st_size if path.exists() else 0
        if found < size:
            raise InputError(
                f"{path}: expected at least {size} bytes of the interrupted run, got {found}: force=True starts anew"
            )
        file = path.open("r+b" if size else "wb")
        file.truncate(size)
        file.seek(size)
        return file

    def _close_part(self) -> None:
        """A stream goes on in another file, or has come to its end."""
        index, progress, target = len(self.progress.shards), self.progress, self.target
        with writing(target.location):
            with self._file or self._reopen() as file:
                sync_file(file)
            self._file = None
            if target.written != COLUMNS:
                progress.shards.append({"file": target.final(index).name, **progress.partial})
                progress.partial = Progress().partial
            if target.kind == "shards" or Path(target.journal).exists():
                self.keep()
            if target.written != COLUMNS:
                self._publish(target.part(index), index)

    def _publish(self, part: Path, index: int) -> None:
        """Give a file that is on disk its name."""
        final = self.target.final(index)
        self.publish(part, final)
        sync_folder(final.parent)


@contextmanager
def alone(target: Target) -> Iterator[None]:
    """Hold a path against other runs."""
    with ExitStack() as stack:
        if not is_address(target.location):
            with writing(target.location):
                if not target.lock.parent.is_dir():
                    target.lock.parent.mkdir(parents=True, exist_ok=True)
                try:
                    stack.enter_context(locked(target.lock))
                except BlockingIOError:
                    what = "another run is writing there: wait for it, or choose another name"
                    raise InputError(f"{target.location}: {what}") from None
        yield


@contextmanager
def part_writer(target: Target, index: int, format: str) -> Iterator[Callable[[Scored], object]]:
    """A part that takes its name only if all goes well; at an address it may stay cut short, but the run then fails."""
    name = target.part_name(index, format)
    with _fresh(below(target.staging, name)) as stream, Publisher(format, target.shape).writer(Path(name), stream) as write:
        yield write


def _refuse_missing(path: Path, shard: dict[str, Any]) -> None:
    """A file that was removed, or cut, since it was complete would be missed by whoever reads all of them."""
    found = path.stat().st_size if path.is_file() else None
    if found is None or (path.suffix == ".jsonl" and found != shard.get("bytes", found)):
        got = "found none" if found is None else f"got {found} bytes instead of {shard['bytes']}"
        raise InputError(
            f"{path}: expected the results of {shard['documents']} documents, which an earlier run wrote, {got}: put "
            "the file back, or force=True starts anew"
        )


def _read(location: str) -> bytes | None:
    """What is in a small file; None if there is none."""
    with suppress(FileNotFoundError):
        if not is_address(location):
            return Path(location).read_bytes()
        system, path = locate(location)
        with system.open_input_stream(path) as file:
            return bytes(file.read())
    return None


def _names(folder: str) -> set[str]:
    """What is in a folder, if it is there."""
    if not is_address(folder):
        return set(os.listdir(folder)) if os.path.exists(folder) else set()
    from pyarrow import fs

    system, path = locate(folder)
    return {info.base_name for info in system.get_file_info(fs.FileSelector(path, allow_not_found=True))}


@contextmanager
def _fresh(location: str, partial: Path | None = None) -> Iterator[Any]:
    """A file to write to, on disk before it takes its name; at an address it may stay cut short."""
    if is_address(location):
        system, path = locate(location)
        with system.open_output_stream(path) as stream:
            yield stream
        return
    with fresh_file(Path(location), partial) as fresh, fresh.open("wb") as file:
        yield file
        sync_file(file)
    sync_folder(Path(location).parent)
