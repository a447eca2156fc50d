"""Where inputs lie and output goes: local paths, or addresses such as `s3://bucket/folder` and `gs://bucket/folder`.

A local output folder is filled under a hidden name beside its location and renamed when it is whole. Object storage knows no
renaming: parts are written in location, and the file `_SUCCESS` last.
"""

from __future__ import annotations

import json
import shutil
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from difa.engines.output import refuse_other
from difa.errors import InputError
from difa.storage.atomic import fresh_file, hidden_name, take_place, unfinished

SUCCESS = "_SUCCESS"
_ASKED, _NOTICE = "_asked.json", "_done-"


def is_address(location: str) -> bool:
    """Whether a location is given as an address rather than as a path."""
    return "://" in location


def locate(location: str) -> tuple[Any, str]:
    """The file system of a location, and the path within it."""
    from pyarrow import fs

    if not is_address(location):
        return fs.LocalFileSystem(), str(Path(location).absolute())
    try:
        system, path = fs.FileSystem.from_uri(location)
    except (OSError, ValueError) as error:
        raise InputError(f"{location}: expected an address such as s3://bucket/folder, got: {error}") from None
    return system, path.rstrip("/")


def below(folder: str, relative: str) -> str:
    """The location of a file in a folder; the settings behind the `?` of an address stay at the end."""
    if not is_address(folder):
        return str(Path(folder) / relative)
    head, mark, settings = folder.partition("?")
    return f"{head.rstrip('/')}/{relative}{mark}{settings}"


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

    @classmethod
    def prepare(
        cls, location: str, asked: dict[str, Any] | None = None, resume: bool = False, force: bool = False
    ) -> OutputFolder:
        """Refuse a location that is taken or cannot be written, before any work is done.

        Args:
            location: the folder's path or address.
            asked: what decides the results, by name.
            resume: go on with what an earlier run left.
            force: replace what an earlier run left.
        """
        output = cls(location, location, asked or {})
        system, path = locate(location)
        if not is_address(location):
            output.staging = str(Path(path).with_name(f"{hidden_name(Path(path).name)}.part"))
        try:
            output._look(system, path, resume, force)
            system.create_dir(locate(output.staging)[1], recursive=True)
        except OSError as error:
            raise InputError(f"{location}: cannot be written: {_reason(error)}") from None
        return output

    def _look(self, system: Any, path: str, resume: bool, force: bool) -> None:
        done = _read_json(system, f"{path}/{SUCCESS}")
        if done is not None and resume:
            refuse_other(self.location, self.asked, done.pop("asked", {}))
            self.summary = done
            return
        begun = _read_json(system, f"{locate(self.staging)[1]}/{_ASKED}")
        is_ours = force if done is not None else begun is not None and self.staging == self.location
        if _is_taken(system, path) and not is_ours:
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
        self._write(_ASKED, {"asked": self.asked, "piece_bytes": piece_bytes})

    def notices(self) -> dict[int, dict[str, Any]]:
        """What is known of the parts that are complete, by their number."""
        system, path = locate(self.staging)
        found = {}
        for name in self._names():
            if name.startswith(_NOTICE) and (notice := _read_json(system, f"{path}/{name}")) is not None:
                found[int(notice["index"])] = notice["done"]
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
        self._write(SUCCESS, summary | ({"asked": self.asked} if self.asked else {}))
        for name in self._names():
            if not name.startswith("part-") and name != SUCCESS:
                system.delete_file(f"{path}/{name}")
        if not is_address(self.location):
            final = Path(self.location).absolute()
            old = unfinished(final)
            take_place(Path(path), final, old)
            for left in (Path(path), old):  # an empty folder, or results that were to be replaced
                shutil.rmtree(left, ignore_errors=True)

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

    def _write(self, name: str, content: dict[str, Any]) -> None:
        write_json(self.staging, name, content)


def write_notice(folder: str, index: int, done: dict[str, Any]) -> None:
    """Note that a part is complete."""
    write_json(folder, f"{_NOTICE}{index:06d}.json", {"index": index, "done": done})


def write_json(folder: str, name: str, content: dict[str, Any]) -> None:
    """A small file in a folder, whole or not at all."""
    location = below(folder, name)
    with ExitStack() as stack:
        written = location if is_address(folder) else str(stack.enter_context(fresh_file(Path(location))))
        system, path = locate(written)
        with system.open_output_stream(path) as file:
            file.write(json.dumps(content).encode() + b"\n")


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


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
