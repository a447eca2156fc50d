"""A folder of parts, at a local path or at an address such as `s3://bucket/folder`, or one file that they are joined to.

A local folder is filled under a hidden name beside its location and renamed when it is whole. Object storage knows no
renaming: parts are written in place, and the file `_SUCCESS` last. A part's name follows from its piece, so a piece that is
scored twice, since a worker died, still gives one part.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from difa.decide import Cutoff, Rule
from difa.document import Scored
from difa.engines.job import Job, refuse_other
from difa.engines.output import Layout, alone
from difa.engines.sinks import Best, cut_shards
from difa.errors import InputError
from difa.formats.columns import pack_columns, unpack_columns
from difa.formats.shape import Shape
from difa.formats.sources import below, is_address, locate
from difa.formats.table_output import Publisher
from difa.storage.atomic import behind_link, fresh_file, hidden_name, scratch_folder, sync_folder, take_place, unfinished

SUCCESS = "_SUCCESS"
COLUMNS = "columns"
"""The format of parts that are not final."""
_ASKED, _NOTICE = "_asked.json", "_done-"


@dataclass(slots=True)
class OutputFolder:
    """An output folder in the making: `staging` is where parts are written until `finish`.

    Beside the parts it holds what was asked, and a notice of every part that is complete. A run that goes on does the others.
    """

    location: str
    staging: str
    asked: dict[str, Any]
    piece_bytes: int | None = None
    """How large the pieces of the run are that this one goes on with."""
    summary: dict[str, Any] | None = None
    """What the run did that was finished here before."""
    is_file: bool = False
    """Whether the parts are joined to one file."""

    @classmethod
    def prepare(
        cls,
        location: str,
        asked: dict[str, Any] | None = None,
        resume: bool = False,
        force: bool = False,
        is_file: bool = False,
    ) -> OutputFolder:
        """Refuse a location that is taken or cannot be written, before any work is done.

        Args:
            location: the folder's path or address.
            asked: what decides the results, by name.
            resume: go on with what an earlier run left.
            force: replace what an earlier run left.
            is_file: join the parts to one file.
        """
        output = cls(location, location, asked or {}, is_file=is_file)
        system, path = locate(location)
        if not is_address(location):
            output.staging = str(Path(path).with_name(f"{hidden_name(Path(path).name)}.part"))
        try:
            output._look(system, path, resume, force)
            system.create_dir(locate(output.staging)[1], recursive=True)
        except OSError as error:
            raise InputError(f"{location}: cannot be written: {error.strerror or error}") from None
        return output

    def _look(self, system: Any, path: str, resume: bool, force: bool) -> None:
        done = _read_json(system, f"{path}/{SUCCESS}")
        if done is not None and resume:
            refuse_other(self.location, self.asked, done.pop("asked", {}))
            self.summary = done
            return
        begun = _read_json(system, f"{locate(self.staging)[1]}/{_ASKED}")
        is_ours = force if done is not None else begun is not None and self.staging == self.location
        if not self.is_file and _is_taken(system, path) and not is_ours:
            raise InputError(f"{self.location}: expected a new or an empty folder for the results, found files: choose another")
        if begun is not None and not (resume or force):
            raise InputError(f"{self.location}: an interrupted run left its parts there: resume goes on, force starts anew")
        if begun is not None and resume:
            refuse_other(self.location, self.asked, begun.get("asked", {}))
            self.piece_bytes = begun.get("piece_bytes")
        else:
            system.delete_dir_contents(locate(self.staging)[1], missing_dir_ok=True)

    def begin(self, piece_bytes: int) -> None:
        """Note what was asked: from now on the run can be gone on with."""
        write_json(self.staging, _ASKED, {"asked": self.asked, "piece_bytes": piece_bytes})

    def notices(self, format: str) -> dict[int, dict[str, Any]]:
        """What is known of the parts that are complete and there, by their number."""
        system, path = locate(self.staging)
        names, found = set(self._names()), {}
        for name in names:
            if name.startswith(_NOTICE) and (notice := _read_json(system, f"{path}/{name}")) is not None:
                index = int(notice["index"])
                if part_name(index, format) in names:
                    found[index] = notice["done"]
        return found

    def count_parts(self) -> int:
        """Parts that are there."""
        return sum(name.startswith("part-") for name in self._names())

    def missing(self, names: list[str]) -> list[str]:
        """Those of the names that are not there, seen from this machine."""
        found = set(self._names())
        return [name for name in names if name not in found]

    def finish(self, summary: dict[str, Any]) -> None:
        """Mark the folder as complete, leave nothing but the parts in it, and give it its name."""
        system, path = locate(self.staging)
        write_json(self.staging, SUCCESS, summary | ({"asked": self.asked} if self.asked else {}))
        for name in self._names():
            if not name.startswith("part-") and name != SUCCESS:
                system.delete_file(f"{path}/{name}")
        if not is_address(self.location):
            final = Path(self.location).absolute()
            old = unfinished(final)
            take_place(Path(path), final, old)
            for left in (Path(path), old):  # an empty folder, or results that were to be replaced
                shutil.rmtree(left, ignore_errors=True)

    def join(self, pieces: int, publish: Publisher, results: Iterable[Scored] | None) -> None:
        """Make one file of the parts, and give it its name.

        Args:
            pieces: how many parts there are.
            publish: writes the file.
            results: what belongs into it; all lines of the parts as they are by default.
        """
        part = Path(self.staging) / "joined"
        with part.open("wb") as joined:
            if results is None:
                for index in range(pieces):
                    with (Path(self.staging) / part_name(index, "jsonl")).open("rb") as content:
                        shutil.copyfileobj(content, joined)
            else:
                joined.writelines(map(publish.block, results))
            joined.flush()
            os.fsync(joined.fileno())
        final = behind_link(Path(self.location))
        publish(part, final)
        sync_folder(final.parent)
        shutil.rmtree(self.staging, ignore_errors=True)

    def abandon(self) -> int:
        """Remove what was written, unless parts are complete; returns how many are."""
        system, path = locate(self.staging)
        try:
            complete = sum(name.startswith(_NOTICE) for name in self._names())
            if not complete:
                system.delete_dir_contents(path, missing_dir_ok=True)
        except OSError:
            return 0  # without _SUCCESS nobody takes it for complete
        if not complete and not is_address(self.location):
            shutil.rmtree(self.staging, ignore_errors=True)
        return complete

    def _names(self) -> list[str]:
        from pyarrow import fs

        system, path = locate(self.staging)
        return [info.base_name for info in system.get_file_info(fs.FileSelector(path)) if info.is_file]


@contextmanager
def alone_in(out: str) -> Iterator[None]:
    """Hold a location on this machine against other runs."""
    with ExitStack() as stack:
        if not is_address(out):
            location = Path(out).absolute()
            try:
                location.parent.mkdir(parents=True, exist_ok=True)
                stack.enter_context(alone(Layout.file(location)))
            except OSError as error:
                raise InputError(f"{out}: cannot be written: {error.strerror}") from None
        yield


def part_name(index: int, format: str) -> str:
    """Sorted by name, parts stand in the order of the input."""
    return f"{COLUMNS}-{index:06d}" if format == COLUMNS else f"part-{index:06d}.{format}"


@contextmanager
def part_writer(folder: str, index: int, format: str, shape: Shape | None = None) -> Iterator[Callable[[Scored], object]]:
    """A part that takes its name only if all goes well; in object storage it may stay cut short, but the run then fails."""
    name = part_name(index, format)
    with ExitStack() as stack:
        stream = stack.enter_context(_fresh(folder, name))
        if format == COLUMNS:
            yield lambda scored: stream.write(pack_columns(scored))
            return
        publish = Publisher(format, shape or Shape(("id", "text")))
        if format == "jsonl":
            yield lambda scored: stream.write(publish.block(scored))
            return
        part = stack.enter_context(scratch_folder()) / "part"
        with part.open("wb") as file:
            yield lambda scored: file.write(publish.block(scored))
        publish.convert(part, Path(name), stream)


class SecondPass:
    """The columns of all pieces once more: with the flags that need all of them, in the parts that were asked for.

    What is read is counted in `flagged`.
    """

    def __init__(self, folder: str, pieces: int, rule: Rule) -> None:
        self._folder, self._pieces, self.flagged = folder, pieces, 0
        self._cutoff = Cutoff.of(chain.from_iterable(_read(folder, index) for index in range(pieces)), rule)

    def parts(self, job: Job) -> Iterator[tuple[int, Iterable[Scored]]]:
        """Each part's number and what belongs into it, in order."""
        pieces = range(self._pieces)
        if job.top is not None:
            best = Best(job.top)
            for scored in self._flagged(pieces):
                best.add(scored)
            yield 0, best.documents()
        elif job.shard_size is None:
            yield from ((index, self._flagged([index])) for index in pieces)
        else:
            numbered = groupby(cut_shards(self._flagged(pieces), job.shard_size), itemgetter(0))
            yield from ((shard, (scored for _, scored in group)) for shard, group in numbered)

    def write(self, job: Job, format: str, shape: Shape | None) -> None:
        """Write the parts."""
        for index, results in self.parts(job):
            with part_writer(self._folder, index, format, shape) as write:
                for scored in results:
                    write(scored)

    def _flagged(self, indices: Iterable[int]) -> Iterator[Scored]:
        for scored in map(self._cutoff.flag, chain.from_iterable(_read(self._folder, index) for index in indices)):
            self.flagged += int(scored.document_flags.sum())
            yield scored


def _read(folder: str, index: int) -> Iterator[Scored]:
    system, path = locate(below(folder, part_name(index, COLUMNS)))
    with system.open_input_stream(path) as file:
        yield from unpack_columns(file)


def write_notice(folder: str, index: int, done: dict[str, Any]) -> None:
    """Note that a part is complete."""
    write_json(folder, f"{_NOTICE}{index:06d}.json", {"index": index, "done": done})


def write_json(folder: str, name: str, content: dict[str, Any]) -> None:
    """A small file in a folder, whole or not at all."""
    with _fresh(folder, name) as file:
        file.write(json.dumps(content).encode() + b"\n")


@contextmanager
def _fresh(folder: str, name: str) -> Iterator[Any]:
    """A file in a folder to write to; in object storage it may stay cut short."""
    location = below(folder, name)
    with ExitStack() as stack:
        written = location if is_address(folder) else str(stack.enter_context(fresh_file(Path(location))))
        system, path = locate(written)
        with system.open_output_stream(path) as stream:
            yield stream


def _read_json(system: Any, path: str) -> dict[str, Any] | None:
    """What such a file holds; None if it is not there, or holds something else."""
    from pyarrow import fs

    if system.get_file_info(path).type != fs.FileType.File:
        return None
    with system.open_input_stream(path) as file:
        try:
            held = json.loads(file.read())
        except (ValueError, RecursionError):
            return None
    return held if isinstance(held, dict) else None


def _is_taken(system: Any, path: str) -> bool:
    from pyarrow import fs

    if system.get_file_info(path).type == fs.FileType.File:
        return True
    return bool(system.get_file_info(fs.FileSelector(path, allow_not_found=True)))
