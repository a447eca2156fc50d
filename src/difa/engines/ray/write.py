"""Results of a piece -> one part of the output, in any format; and the second pass over parts, for what needs all of them.

A part's name follows from its piece, so a piece that is scored twice, since a worker died, still gives one part. JSON lines are
written as they come; a table is made of columns when the piece is complete, as the local engine does. Where a false-discovery
rate, the most unusual documents or shards were asked for, workers write columns, and the parts are made of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from difa.decide import Cutoff, Rule
from difa.document import Scored
from difa.engines.budget import most_unusual
from difa.engines.chunks import cut_shards
from difa.engines.ray.storage import below, is_address, locate
from difa.formats.columns import pack_columns, unpack_columns
from difa.formats.shape import Shape
from difa.formats.table_output import Publisher
from difa.storage.atomic import fresh_file, scratch_folder

Write = Callable[[Scored], object]


COLUMNS = "columns"
"""The format of parts that are not final."""


def part_name(index: int, format: str) -> str:
    """Sorted by name, parts stand in the order of the input."""
    return f"{COLUMNS}-{index:06d}" if format == COLUMNS else f"part-{index:06d}.{format}"


@contextmanager
def part_writer(folder: str, index: int, format: str, shape: Shape | None = None) -> Iterator[Write]:
    """A part that takes its name only if all goes well; in object storage it may stay cut short, but the run then fails."""
    name = part_name(index, format)
    location = below(folder, name)
    with ExitStack() as stack:
        written = location if is_address(folder) else str(stack.enter_context(fresh_file(Path(location))))
        system, path = locate(written)
        stream = stack.enter_context(system.open_output_stream(path))
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


@dataclass(frozen=True)
class SecondPass:
    """What is made of all documents together, once they are scored."""

    rule: Rule
    top: int | None = None
    """Keep only this many documents, the most unusual first."""
    shard_size: int | None = None
    """Documents of a part; one part for each piece by default."""

    @property
    def is_needed(self) -> bool:
        return self.rule.name == "fdr" or self.top is not None or self.shard_size is not None

    def run(self, folder: str, pieces: int, format: str, shape: Shape | None) -> int:
        """Write the parts from columns, and count what is flagged."""
        cutoff = Cutoff.of((scored for index in range(pieces) for scored in _read(folder, index)), self.rule)
        flagged = 0

        def all_flagged(indices: Iterable[int]) -> Iterator[Scored]:
            nonlocal flagged
            for scored in (cutoff.flag(scored) for index in indices for scored in _read(folder, index)):
                flagged += int(scored.document_flags.sum())
                yield scored

        for index, results in self._parts(pieces, all_flagged):
            with part_writer(folder, index, format, shape) as write:
                for scored in results:
                    write(scored)
        return flagged

    def _parts(self, pieces: int, results: Callable[[Iterable[int]], Iterator[Scored]]) -> Iterator[tuple[int, Iterable[Scored]]]:
        """Each part's number and what belongs into it, in order."""
        if self.top is not None:
            yield 0, most_unusual(results(range(pieces)), self.top)
        elif self.shard_size is None:
            yield from ((index, results([index])) for index in range(pieces))
        else:
            numbered = _numbered(results(range(pieces)), self.shard_size)
            yield from ((shard, (part for _, part in group)) for shard, group in groupby(numbered, key=lambda pair: pair[0]))


def _numbered(results: Iterable[Scored], size: int) -> Iterator[tuple[int, Scored]]:
    """Results in parts that end where shards do, with the number of their shard."""
    done = 0
    for scored in results:
        for part in cut_shards(scored, size, done):
            yield done // size, part
            done += len(part)


def _read(folder: str, index: int) -> Iterator[Scored]:
    system, path = locate(below(folder, part_name(index, COLUMNS)))
    with system.open_input_stream(path) as file:
        yield from unpack_columns(file)
