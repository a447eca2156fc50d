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
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from difa.decide import Cutoff, Rule
from difa.document import Scored
from difa.engines.job import Counts, Job, refuse_other
from difa.engines.output import Layout, alone
from difa.engines.stream import Top, cut_shards
from difa.errors import EngineError, InputError
from difa.formats.sources import below, locate
from difa.formats.streams import is_address
from difa.formats.tables import Shape
from difa.formats.write import COLUMNS, Publisher, unpack_columns
from difa.storage.atomic import behind_link, fresh_file, hidden_name, sync_folder, take_place, unfinished, writing

SUCCESS = "_SUCCESS"
_ASKED, _NOTICE = "_asked.json", "_done-"


class OutputFolder:
    """An output folder in the making: `staging` is where parts are written until `finish`.

    Beside the parts it holds what was asked, and a notice of every part that is complete. A run that goes on does the others.
    """

    def __init__(
        self, location: str, asked: dict[str, Any], resume: bool = False, force: bool = False, is_file: bool = False
    ) -> None:
        """Refuse a location that is taken or cannot be written, before any work is done; with `is_file`, parts are joined."""
        self.location, self.is_file, self._asked = location, is_file, asked
        self.piece_bytes: int | None = None  # of the run that this one goes on with
        self.summary: dict[str, Any] | None = None  # what the run did that was finished here before
        path = Path(location).absolute()
        self.staging = location if is_address(location) else str(path.with_name(f"{hidden_name(path.name)}.part"))
        self._system, self._path = locate(self.staging)
        with writing(location):
            self._look(locate(location)[1], resume, force)

    @classmethod
    @contextmanager
    def open(cls, location: str, *choices: Any) -> Iterator[OutputFolder]:
        """Hold a location against other runs on this machine; of a run that fails, complete parts are kept and the rest goes."""
        with ExitStack() as stack:
            if not is_address(location):
                path = Path(location).absolute()
                with writing(location):
                    path.parent.mkdir(parents=True, exist_ok=True)
                    stack.enter_context(alone(Layout.file(path)))
            output = cls(location, *choices)
            try:
                yield output
            except BaseException as error:
                kept = output.abandon()
                if kept and isinstance(error, (EngineError, InputError)):
                    raise type(error)(f"{error}; {kept} finished parts are kept: resume=True goes on with the others") from None
                raise

    def _look(self, path: str, resume: bool, force: bool) -> None:
        done = self._read_json(f"{path}/{SUCCESS}")
        if done is not None and resume:
            refuse_other(self.location, self._asked, done.pop("asked", {}))
            self.summary = done
            return
        begun = self._read_json(f"{self._path}/{_ASKED}")
        is_ours = force if done is not None else begun is not None and self.staging == self.location
        if not self.is_file and self._is_taken(path) and not is_ours:
            raise InputError(f"{self.location}: expected a new or an empty folder for the results, found files: choose another")
        if begun is not None and not (resume or force):
            how = "resume=True goes on, force=True starts anew"
            raise InputError(f"{self.location}: an interrupted run left its parts there: {how}")
        if begun is not None and resume:
            refuse_other(self.location, self._asked, begun.get("asked", {}))
            self.piece_bytes = begun.get("piece_bytes")
        else:
            self._system.delete_dir_contents(self._path, missing_dir_ok=True)
        self._system.create_dir(self._path, recursive=True)

    def begin(self, piece_bytes: int) -> None:
        """Note what was asked: from now on the run can be gone on with."""
        _write_json(self.staging, _ASKED, {"asked": self._asked, "piece_bytes": piece_bytes})

    def notices(self, format: str) -> list[dict[str, Any]]:
        """What is known of the parts that are complete and there."""
        names = self._names()
        found = [self._read_json(f"{self._path}/{name}") for name in sorted(names) if name.startswith(_NOTICE)]
        return [notice for notice in found if notice is not None and part_name(notice["index"], format) in names]

    def check_parts(self, expected: list[str]) -> None:
        """Refuse to go on where some of the parts are not there, seen from this machine."""
        names = self._names()
        missing = [name for name in expected if name not in names]
        if missing:
            raise EngineError(
                f"{self.location}: expected {len(expected)} parts, but {len(missing)} are missing, as {missing[0]}: workers "
                "on other machines wrote to their own disks; give a folder that all share, or object storage"
            )

    def finish(self, summary: dict[str, Any]) -> None:
        """Mark the folder as complete, leave nothing but the parts in it, and give it its name."""
        _write_json(self.staging, SUCCESS, summary | {"asked": self._asked})
        for name in self._names():
            if not name.startswith("part-") and name != SUCCESS:
                self._system.delete_file(f"{self._path}/{name}")
        if not is_address(self.location):
            fresh, final = Path(self.staging), Path(self.location).absolute()
            old = unfinished(final)
            take_place(fresh, final, old)
            for left in (fresh, old):  # an empty folder, or results that were to be replaced
                shutil.rmtree(left, ignore_errors=True)

    def join(self, pieces: int, publish: Publisher, results: Iterable[Scored] | None) -> None:
        """Make one file of the parts, or of the results that belong into it instead of them, and give it its name."""
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
        try:
            complete = sum(name.startswith(_NOTICE) for name in self._names())
            if not complete:
                self._system.delete_dir_contents(self._path, missing_dir_ok=True)
        except OSError:
            return 0  # without _SUCCESS nobody takes it for complete
        if not complete and not is_address(self.location):
            shutil.rmtree(self.staging, ignore_errors=True)
        return complete

    def _names(self) -> set[str]:
        from pyarrow import fs

        return {info.base_name for info in self._system.get_file_info(fs.FileSelector(self._path)) if info.is_file}

    def _read_json(self, path: str) -> dict[str, Any] | None:
        """What such a file holds; None if it is not there, or holds something else."""
        if not self._system.get_file_info(path).is_file:
            return None
        with self._system.open_input_stream(path) as file:
            try:
                held = json.loads(file.read())
            except (ValueError, RecursionError):
                return None
        return held if isinstance(held, dict) else None

    def _is_taken(self, path: str) -> bool:
        from pyarrow import fs

        is_file = self._system.get_file_info(path).is_file
        return is_file or bool(self._system.get_file_info(fs.FileSelector(path, allow_not_found=True)))


def part_name(index: int, format: str) -> str:
    """Sorted by name, parts stand in the order of the input."""
    return f"{COLUMNS}-{index:06d}" if format == COLUMNS else f"part-{index:06d}.{format}"


@contextmanager
def part_writer(folder: str, index: int, format: str, shape: Shape) -> Iterator[Callable[[Scored], object]]:
    """A part that takes its name only if all goes well; in object storage it may stay cut short, but the run then fails."""
    name = part_name(index, format)
    with _fresh(folder, name) as stream, Publisher(format, shape).writer(Path(name), stream) as write:
        yield write


def second_pass(folder: str, pieces: int, rule: Rule, job: Job, counts: Counts) -> Iterator[tuple[int, Iterable[Scored]]]:
    """Each part's number and what belongs into it, in order, with flags that need the columns of all pieces.

    What is read is counted in `counts.flagged`.
    """

    def read(indices: Iterable[int]) -> Iterator[Scored]:
        for index in indices:
            system, path = locate(below(folder, part_name(index, COLUMNS)))
            with system.open_input_stream(path) as file:
                yield from unpack_columns(file)

    def flagged(indices: Iterable[int]) -> Iterator[Scored]:
        for scored in map(cutoff.flag, read(indices)):
            counts.flagged += int(scored.document_flags.sum())
            yield scored

    cutoff, counts.flagged, everything = Cutoff.of(read(range(pieces)), rule), 0, range(pieces)
    if job.top is not None:
        best: list[Scored] = []
        top = Top(best.append, job.top)
        for scored in flagged(everything):
            top.write(scored)
        top.finish()
        yield 0, best
    elif job.shard_size is None:
        yield from ((index, flagged([index])) for index in everything)
    else:
        numbered = groupby(cut_shards(flagged(everything), job.shard_size), itemgetter(0))
        yield from ((shard, (scored for _, scored in group)) for shard, group in numbered)


def write_notice(folder: str, index: int, notice: dict[str, Any]) -> None:
    """Note that a part is complete."""
    _write_json(folder, f"{_NOTICE}{index:06d}.json", notice)


def _write_json(folder: str, name: str, content: dict[str, Any]) -> None:
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
