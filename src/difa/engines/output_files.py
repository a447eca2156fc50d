"""Where the results of a run go, and under which names they lie until they are complete.

One file, or a folder of shards with a manifest. Hidden names end in `.part` (results under way), `.journal` (how far they are)
and `.lock`, so that no folder of inputs takes them for documents.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from difa.errors import InputError
from difa.storage.atomic import behind_link, fresh_file, hidden_name, locked, sync_folder, write_synced

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Layout:
    """The files of one output."""

    title: Path
    """What the user knows it by."""
    folder: Path
    name: str
    """The file's name, or the pattern of the shards' names."""
    shard_size: int | None = None
    keep_state: bool = False
    """Whether what is known of the run stays beside the results."""

    @classmethod
    def file(cls, out: Path) -> Layout:
        """One file; where its name is a link, the file that this leads to."""
        place = behind_link(out)
        return cls(out, place.parent, place.name)

    @classmethod
    def shards(cls, out: Path, size: int, format: str = "jsonl") -> Layout:
        return cls(out, out, f"part-{{:05d}}.{format}", size, keep_state=True)

    def spool(self) -> Layout:
        """A hidden file for a first pass."""
        base = "" if self.shard_size else f".{self.name}"
        return Layout(self.title, self.folder, f"{base}.spool", keep_state=True)

    @property
    def state(self) -> Path:
        return self.folder / (MANIFEST if self.shard_size else f"{hidden_name(self.name)}.journal")

    @property
    def lock(self) -> Path:
        return self.folder / (".lock" if self.shard_size else f"{hidden_name(self.name)}.lock")

    def final(self, shard: int) -> Path:
        return self.folder / self.name.format(shard) if self.shard_size else self.folder / self.name

    def remove(self) -> None:
        """Remove the results of a single file and what is known of them."""
        self.final(0).unlink(missing_ok=True)
        self.state.unlink(missing_ok=True)

    def partial(self, shard: int) -> Path:
        final = self.final(shard)
        return final.with_name(f"{hidden_name(final.name)}.part")


@dataclass
class State:
    """What is known of a run: what was asked, and how much of it is safely on disk."""

    asked: dict[str, Any]
    shards: list[dict[str, Any]] = field(default_factory=list)
    documents: int = 0
    flagged: int = 0
    skipped: int = 0
    empty: int = 0
    """Documents without any word."""
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
    def read(cls, path: Path) -> State | None:
        """What was put there; None if nothing was."""
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(values, dict) or set(values) != {entry.name for entry in fields(cls)}:
                raise ValueError
            state = cls(**values)
            state._check()
            return state
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
