"""Where results lie until they are complete: parts of results and, for each piece of the input, a note of how far it is.

They lie in a hidden folder beside their place; at an address, where nothing can be renamed, in their place. A part counts once
the note says so: then it is on disk. A note that is cut short, or whose parts are gone, counts for nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import BinaryIO, Literal

from difa.document import Scored
from difa.engines.job import Counts
from difa.formats.sources import Source, below, locate
from difa.formats.streams import is_address
from difa.formats.tables import Shape
from difa.formats.write import COLUMNS, Publisher, unpack_columns
from difa.storage.atomic import behind_link, fresh_file, hidden_name, sync_file, sync_folder, write_synced, writing

MANIFEST, SUCCESS = "manifest.json", "_SUCCESS"
_NOTE = ".note"


@dataclass(frozen=True)
class Target:
    """What is to be written, and where it lies until it is complete."""

    location: str
    """A path, or the address of a folder."""
    kind: Literal["file", "shards", "parts"]
    """One file, a folder of files of so many documents each, or a folder of the parts as they are."""
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
    def is_joined(self) -> bool:
        """Whether parts are not what was asked for, but files are made of them."""
        return self.kind != "parts" or self.written == COLUMNS

    @property
    def staging(self) -> str:
        return self.location if is_address(self.location) else str(self._hidden("part"))

    @property
    def journal(self) -> str:
        return str(self.path / MANIFEST) if self.kind == "shards" else below(self.staging, "_journal.json")

    @property
    def lock(self) -> Path:
        return self._hidden("lock")

    def part_name(self, piece: int, at: int = 0) -> str:
        """In the order of the input; only those that stay look like results."""
        return f"{piece:06d}-{at:06d}.part" if self.is_joined else f"part-{piece:06d}.{self.written}"

    def final(self, index: int) -> Path:
        """The file, or a shard."""
        return self.path / f"part-{index:05d}.{self.format}" if self.kind == "shards" else self.path

    @contextmanager
    def write_part(self, piece: int, at: int = 0) -> Iterator[Callable[[Scored], object]]:
        """A function that adds to a part, which is on disk behind the block."""
        name, publisher = self.part_name(piece, at), Publisher(self.written, self.shape)
        with ExitStack() as stack:
            with writing(self.location):
                file = stack.enter_context(_open_to_write(below(self.staging, name)))
                write = None if self.is_joined else stack.enter_context(publisher.writer(Path(name), file))

            def add(scored: Scored) -> None:
                with writing(self.location):
                    write(scored) if write else file.write(publisher.block(scored))

            yield add
            with writing(self.location):
                stack.close()

    @contextmanager
    def open_part(self, name: str) -> Iterator[BinaryIO]:
        """A part to be read."""
        with Source(below(self.staging, name)).open_bytes() as (file, _):
            yield file

    def read_part(self, name: str) -> Iterator[Scored]:
        """The columns of a part."""
        with self.open_part(name) as file:
            yield from unpack_columns(file)

    def write_small(self, location: str, content: bytes, *, sync: bool = True) -> None:
        """Write a file that takes the place of an older one in one step; at an address it may stay cut short.

        Without `sync` a power failure may undo that, or leave it cut short.
        """
        with writing(self.location):
            if is_address(location):
                with _open_to_write(location) as file:
                    file.write(content)
                return
            # Always the same other name: one that a killed run left is written over.
            with fresh_file(Path(location), Path(self.staging) / f"{Path(location).name}.new") as fresh:
                if sync:
                    write_synced(fresh, content)
                else:
                    fresh.write_bytes(content)
            if sync:
                sync_folder(Path(location).parent)

    def noted(self) -> Counts:
        """What is counted in all notes."""
        counts = Counts()
        for name in names_in(self.staging):
            if name.endswith(_NOTE):
                counts.add(Note.read(self, int(name.removesuffix(_NOTE))))
        return counts

    def _hidden(self, ending: str) -> Path:
        inside = self.path / f".{ending}"
        return inside if self.kind == "shards" else self.path.with_name(f"{hidden_name(self.path.name)}.{ending}")


@dataclass
class Note(Counts):
    """How far a piece is, and what is counted of its parts."""

    parts: int = 0
    """Those that are complete."""
    file: int = 0
    """Files of the piece that were read."""
    line: int = 0
    """Lines of the next one."""
    bytes: int = 0
    done: int = 0
    """1 once all of the piece was read."""

    @classmethod
    def read(cls, target: Target, piece: int) -> Note:
        """The note of a piece; an empty one unless there is a sound one and its parts are there."""
        with suppress(ValueError, TypeError, RecursionError):
            values = json.loads(read_small(cls._location(target, piece)) or b"")
            note = cls(**values)
            if all(type(value) is int and 0 <= value < 2**63 for value in values.values()) and note._has_parts(target, piece):
                return note
        return cls()

    def write(self, target: Target, piece: int) -> None:
        """Say that the parts so far are complete."""
        target.write_small(self._location(target, piece), json.dumps(asdict(self)).encode(), sync=False)

    def _has_parts(self, target: Target, piece: int) -> bool:
        names = (target.part_name(piece, at) for at in range(self.parts))
        return all(is_there(below(target.staging, name)) for name in names)

    @staticmethod
    def _location(target: Target, piece: int) -> str:
        return below(target.staging, f"{piece:06d}{_NOTE}")


@contextmanager
def _open_to_write(location: str) -> Iterator[BinaryIO]:
    """A new file, which is on disk behind the block."""
    if is_address(location):
        system, path = locate(location)
        with system.open_output_stream(path) as stream:
            yield stream
        return
    with open(location, "wb") as file:
        yield file
        sync_file(file)


def read_small(location: str) -> bytes | None:
    """What is in a small file; None if there is none."""
    with suppress(FileNotFoundError):
        if not is_address(location):
            return Path(location).read_bytes()
        system, path = locate(location)
        with system.open_input_stream(path) as file:
            return bytes(file.read())
    return None


def is_there(location: str) -> bool:
    """Whether there is a file."""
    if not is_address(location):
        return os.path.isfile(location)
    system, path = locate(location)
    return bool(system.get_file_info(path).is_file)


def names_in(folder: str) -> set[str]:
    """What is in a folder, if it is there."""
    if not is_address(folder):
        return set(os.listdir(folder)) if os.path.exists(folder) else set()
    from pyarrow import fs

    system, path = locate(folder)
    return {info.base_name for info in system.get_file_info(fs.FileSelector(path, allow_not_found=True))}
