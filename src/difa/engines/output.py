"""Parts of pieces -> a file, shards or a folder of parts, which appear under their names only when they are complete.

A journal (of shards `manifest.json`) says what was asked, before the first piece is scored: only the same run can go on. It skips
what the notes of pieces say is done. The rest happens again whenever a run was killed meanwhile: parts are joined, or flags are
set in a second pass, and what is complete gets its name.
"""

from __future__ import annotations

import json
import shutil
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

from difa.decide import Rule
from difa.engines.job import Counts, Job, Watch, refuse_other
from difa.engines.pieces import Notice, in_order
from difa.engines.second_pass import second_pass
from difa.engines.target import SUCCESS, Target, names_in, read_small
from difa.errors import EngineError, InputError
from difa.formats.sources import below, locate
from difa.formats.streams import is_address
from difa.formats.write import COLUMNS, Publisher
from difa.storage.atomic import locked, sync_file, sync_folder, take_place, unfinished, writing

_BLOCK = 1 << 20
PIECE = "piece bytes"
"""What is noted beside what was asked: the bytes of a piece, or null where there is one only."""


@dataclass
class Progress(Counts):
    """What is known of a run: what was asked, and what is counted so far."""

    asked: dict[str, Any] = field(default_factory=dict)
    shards: list[dict[str, Any]] = field(default_factory=list)
    """Those that have their names."""
    complete: bool = False

    @classmethod
    def read(cls, location: str) -> Progress | None:
        """What a run noted there; None if nothing was."""
        try:
            if not (content := read_small(location)):
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
        written = sum(shard["documents"] for shard in self.shards)
        counts = [*(getattr(self, entry.name) for entry in fields(Counts)), self.asked.get(PIECE) or 0]
        counts += [shard[name] for shard in self.shards for name in shard if name != "file"]
        sound = all(type(count) is int and 0 <= count < 2**63 for count in counts)
        sound &= type(self.complete) is bool and type(self.shards) is list
        sound &= all(isinstance(shard["file"], str) for shard in self.shards)
        if not sound or (written != self.documents if self.complete else written > self.documents):
            raise ValueError


class Output:
    """One run's results in the making.

    Args:
        target: what is to be written, and where.
        asked: what decides the results, by name.
        job: whether the run may go on with an earlier one, or replaces it.
        can_resume: whether the input can be read again, and a run may go on at all.
    """

    def __init__(self, target: Target, asked: dict[str, Any], job: Job, can_resume: bool = True) -> None:
        """Refuse a place that is taken or cannot be written, before any work is done."""
        self.target, self.asked, self._job, self._can_resume = target, asked, job, can_resume
        self.publish = Publisher(target.format, target.shape)
        self.summary: dict[str, Any] | None = None  # what the run did that filled the folder before
        with writing(target.location):
            self.progress = self._begin(job.resume, job.force)

    @classmethod
    @contextmanager
    def open(cls, target: Target, asked: dict[str, Any], job: Job, can_resume: bool = True) -> Iterator[Output]:
        """Hold a place against other runs on this machine; of a run that fails, complete parts are kept and the rest goes."""
        with alone(target):
            output = cls(target, asked, job, can_resume)
            try:
                yield output
            except BaseException as error:
                output._abandon(error)
                raise
            output._remove_staging()

    def begin(self, size: int | None) -> int | None:
        """Note what was asked; the bytes of a piece, which are those of the run that goes on."""
        if PIECE not in self.progress.asked:
            self.progress.asked[PIECE] = size
            if self._can_resume or self.target.kind == "shards":
                self._keep(sync=False)  # a power failure this early costs nothing
        noted: int | None = self.progress.asked[PIECE]
        return noted

    def fill(self, notices: Iterable[Notice], rule: Rule, watch: Watch) -> int:
        """Make what was asked for of the parts that notices tell of, and return the number of files."""
        target, arriving = self.target, self._arriving(notices, watch)
        if target.kind == "shards" and rule.name == "fpr":  # each appears when it is full
            return self._write_files([arriving], rule)
        parts = list(arriving)
        self.check_parts(parts)
        if target.written == COLUMNS:
            by_piece = [list(names) for _, names in groupby(parts, lambda name: name.partition("-")[0])]
            return self._write_files(by_piece if target.kind == "parts" else [parts], rule)
        if target.kind == "parts":
            return len(parts)
        if len(parts) == 1:
            self._publish(Path(target.staging) / parts[0], 0)
            return 1
        with self._new_file(0) as file:
            for name in parts:
                with target.open_part(name) as part:
                    shutil.copyfileobj(part, file, _BLOCK)
        return 1

    def check_parts(self, expected: Sequence[str]) -> None:
        """Refuse to go on where some of the parts are not there, seen from this machine."""
        if missing := sorted(set(expected) - names_in(self.target.staging)):
            raise EngineError(
                f"{self.target.location}: expected {len(expected)} parts, but {len(missing)} are missing, as {missing[0]}: "
                "workers on other machines wrote to their own disks; give a folder that all share, or object storage"
            )

    def finish_folder(self, summary: dict[str, Any]) -> None:
        """Mark a folder of parts as complete, leave nothing but the parts in it, and give it its name."""
        staging, path = self.target.staging, self.target.path
        self.target.write_small(below(staging, SUCCESS), json.dumps(summary | {"asked": self.asked}).encode() + b"\n")
        system, folder = locate(staging)
        for name in names_in(staging):
            if not name.startswith("part-") and name != SUCCESS:
                system.delete_file(f"{folder}/{name}")
        if not is_address(staging):
            old = unfinished(path)
            take_place(Path(staging), path, old)
            shutil.rmtree(old, ignore_errors=True)  # results that were to be replaced

    def _arriving(self, notices: Iterable[Notice], watch: Watch) -> Iterator[str]:
        """The names of parts in the order of the input, each as soon as it can be; all is counted and shown on the way."""

        def seen() -> Iterator[Notice]:
            read = 0
            for notice in notices:
                read += notice.bytes
                self.progress.add(notice.counts)
                watch.advance(notice.counts.documents, read)
                yield notice

        before = 0
        for notice in in_order(seen()):
            for complaint in notice.bad:
                watch.skip(complaint)
            yield from (self.target.part_name(notice.piece, at) for at in range(before, notice.parts))
            before = 0 if notice.done else notice.parts

    def _write_files(self, groups: Sequence[Iterable[str]], rule: Rule) -> int:
        """Make files of groups of parts of columns, and return their number; shards that an earlier run has made stay."""
        index, shards = 0, self.progress.shards
        for index, found in second_pass(groups, self.target.read_part, rule, self._job, self.progress):
            if self.target.kind == "parts":
                with replace(self.target, written=self.target.format).write_part(index) as write:
                    deque(map(write, found), 0)
            elif self.target.kind == "shards" and index < len(shards):
                deque(found, 0)
            else:
                documents = 0
                with self._new_file(index) as file:
                    for scored in found:
                        file.write(self.publish.block(scored))
                        documents += len(scored)
                    size = file.tell()
                if self.target.kind == "shards":
                    shards.append({"file": self.target.final(index).name, "documents": documents, "bytes": size})
                    self._keep()
        if self.target.kind == "shards":
            self.progress.complete = True
            self._keep()
        return index + 1

    @contextmanager
    def _new_file(self, index: int) -> Iterator[BinaryIO]:
        """A file to write results to, which gets its name once it is on disk."""
        joined = Path(self.target.staging) / "joined"
        with writing(self.target.location), joined.open("wb") as file:
            yield file
            sync_file(file)
        self._publish(joined, index)

    def _publish(self, joined: Path, index: int) -> None:
        """Give a file of parts its name, as a table or packed if that was asked for."""
        final = self.target.final(index)
        with writing(self.target.location):
            self.publish(joined, final)
            sync_folder(final.parent)

    def _abandon(self, error: BaseException) -> None:
        """Let go of a run that failed, and say what is kept of it."""
        kept, location = self.target.noted().documents, self.target.location
        if Progress.read(self.target.journal) is None or not (kept or self.progress.shards):
            with suppress(OSError):  # at an address: without _SUCCESS nobody takes it for complete
                self._clear()
            self._remove_staging()
        elif isinstance(error, (InputError, EngineError)) and not self.progress.complete:
            how = "resume=True goes on with the rest" if self._can_resume else "they cannot be resumed, force=True starts anew"
            raise type(error)(f"{error}; {kept} scored documents are kept at {location}: {how}") from None

    def _begin(self, resume: bool, force: bool) -> Progress:
        """What the run goes on with; a place that is taken is refused."""
        target, title = self.target, self.target.location
        stored, finished = Progress.read(target.journal), self._find_summary()
        is_ours = finished is not None or (stored is not None and (target.kind == "shards" or is_address(title)))
        if target.kind != "file" and not is_ours and self._is_taken():
            raise InputError(f"{title}: expected a new or empty folder for the results, found other files: choose another")
        stored = finished or stored
        kept = 0 if stored is None else stored.documents if stored.complete else target.noted().documents
        if stored is None or force or not (resume or kept or stored.shards or stored.complete):
            self._clear()
            return Progress(asked=dict(self.asked))
        if resume:
            refuse_other(title, self.asked, stored.asked)
            return self._go_on(stored)
        if stored.complete:
            what = f"holds the finished results of {kept} documents: choose another name, or force=True replaces them"
            raise InputError(f"{title}: {what}")
        how = "resume=True goes on, force=True starts anew" if self._can_resume else "force=True starts anew"
        raise InputError(f"{title}: an interrupted run left the results of {kept} documents there: {how}")

    def _find_summary(self) -> Progress | None:
        """What is known of a folder of parts that is complete."""
        if self.target.kind == "parts" and (content := read_small(below(self.target.location, SUCCESS))) is not None:
            with suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
                summary = json.loads(content)
                found = Progress(documents=summary["documents"], asked=dict(summary.pop("asked")), complete=True)
                self.summary = summary
                return found
        return None

    def _is_taken(self) -> bool:
        """Whether others have something there; a folder that gets another in its place must be empty."""
        return any(self.target.kind == "parts" or not name.startswith(".") for name in names_in(self.target.location))

    def _go_on(self, stored: Progress) -> Progress:
        """Refuse to go on where a shard is missing; what is not complete is counted again."""
        for number, shard in enumerate(stored.shards):
            _refuse_missing(self.target.final(number), shard)
        if stored.complete:
            return stored
        if not is_address(self.target.location):
            Path(self.target.staging).mkdir(exist_ok=True)
        return Progress(asked=stored.asked, shards=stored.shards)

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

    def _keep(self, *, sync: bool = True) -> None:
        # A file name that is no Unicode has halves of surrogate pairs, which JSON can only hold as \\u escapes.
        content = json.dumps(asdict(self.progress), ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace")
        self.target.write_small(self.target.journal, content, sync=sync)


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


def _refuse_missing(path: Path, shard: dict[str, Any]) -> None:
    """A file that was removed, or cut, since it was complete would be missed by whoever reads all of them."""
    found = path.stat().st_size if path.is_file() else None
    if found is None or (path.suffix == ".jsonl" and found != shard.get("bytes", found)):
        got = "found none" if found is None else f"got {found} bytes instead of {shard['bytes']}"
        raise InputError(
            f"{path}: expected the results of {shard['documents']} documents, which an earlier run wrote, {got}: put "
            "the file back, or force=True starts anew"
        )
