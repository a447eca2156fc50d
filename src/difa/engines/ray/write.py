"""Results of a piece -> one part of the output, in any format.

A part's name follows from its piece, so a piece that is scored twice, since a worker died, still gives one part. JSON lines are
written as they come; a table is made of them when the piece is complete, as the local engine does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from difa.atomic import fresh_file
from difa.document import Scored
from difa.engines.ray.storage import below, is_address, locate
from difa.formats.shape import Shape
from difa.formats.table_output import Publisher
from difa.scratch import scratch_folder

Write = Callable[[Scored], object]


def part_name(index: int, format: str) -> str:
    """Sorted by name, parts stand in the order of the input."""
    return f"part-{index:06d}.{format}"


@contextmanager
def part_writer(folder: str, index: int, format: str, shape: Shape | None = None) -> Iterator[Write]:
    """A part that takes its name only if all goes well; in object storage it may stay cut short, but the run then fails."""
    name = part_name(index, format)
    location = below(folder, name)
    with ExitStack() as stack:
        written = location if is_address(folder) else str(stack.enter_context(fresh_file(Path(location))))
        system, path = locate(written)
        stream = stack.enter_context(system.open_output_stream(path))
        publish = Publisher(format, shape or Shape(("id", "text")))
        if format == "jsonl":
            yield lambda scored: stream.write(publish.block(scored))
            return
        part = stack.enter_context(scratch_folder()) / "part"
        with part.open("wb") as file:
            yield lambda scored: file.write(publish.block(scored))
        publish.convert(part, Path(name), stream)
