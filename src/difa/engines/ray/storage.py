"""Where inputs lie and output goes: local paths, or addresses such as `s3://bucket/folder` and `gs://bucket/folder`.

A local output folder is filled under a hidden name beside its place and renamed when it is whole. Object storage knows no
renaming: parts are written in place, and the file `_SUCCESS` last.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from difa.atomic import unfinished
from difa.errors import InputError

SUCCESS = "_SUCCESS"


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
    """The place of a file in a folder; the settings behind the `?` of an address stay at the end."""
    if not is_address(folder):
        return str(Path(folder) / relative)
    head, mark, settings = folder.partition("?")
    return f"{head.rstrip('/')}/{relative}{mark}{settings}"


@dataclass(frozen=True, slots=True)
class OutputFolder:
    """An output folder in the making: `staging` is where parts are written until `finish`."""

    location: str
    staging: str

    @classmethod
    def prepare(cls, location: str) -> OutputFolder:
        """Refuse a folder that is taken or cannot be written, before any work is done."""
        system, path = locate(location)
        try:
            if _is_taken(system, path):
                raise InputError(f"{location}: expected a new or an empty folder for the results, found files: choose another")
            staging = location
            if not is_address(location):
                staging = path = str(unfinished(Path(path)))
            system.create_dir(path, recursive=True)
        except OSError as error:
            raise InputError(f"{location}: cannot be written: {_reason(error)}") from None
        return cls(location, staging)

    def missing(self, names: list[str]) -> list[str]:
        """Those of the names that are not there, seen from this machine."""
        from pyarrow import fs

        system, path = locate(self.staging)
        found = {info.base_name for info in system.get_file_info(fs.FileSelector(path))}
        return [name for name in names if name not in found]

    def finish(self, summary: dict[str, Any]) -> None:
        """Mark the folder as complete, and give it its name."""
        system, path = locate(self.staging)
        with system.open_output_stream(f"{path}/{SUCCESS}") as file:
            file.write(json.dumps(summary).encode() + b"\n")
        if not is_address(self.location):
            os.rename(path, Path(self.location).absolute())  # an empty folder there is replaced

    def abandon(self) -> None:
        """Remove what was written, as far as that is possible."""
        if not is_address(self.location):
            shutil.rmtree(self.staging, ignore_errors=True)
            return
        system, path = locate(self.staging)
        try:
            system.delete_dir_contents(path, missing_dir_ok=True)
        except OSError:
            return  # without _SUCCESS nobody takes it for complete


def _is_taken(system: Any, path: str) -> bool:
    from pyarrow import fs

    if system.get_file_info(path).type == fs.FileType.File:
        return True
    return bool(system.get_file_info(fs.FileSelector(path, allow_not_found=True)))


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
