"""Results of a piece -> one part of the output, as JSON lines or Parquet.

A part's name follows from its piece, so a piece that is scored twice, since a worker died, still gives one part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from difa.atomic import fresh_file
from difa.document import Result
from difa.engines.ray.storage import below, is_address, locate
from difa.formats.write import to_json_line

FORMATS = ("jsonl", "parquet")
_ROW_GROUP = 32 << 20  # bytes before compression
Write = Callable[[Sequence[Result]], None]


def part_name(index: int, format: str) -> str:
    """Sorted by name, parts stand in the order of the input."""
    return f"part-{index:06d}.{format}"


@contextmanager
def part_writer(folder: str, index: int, format: str) -> Iterator[Write]:
    """A part that takes its name only if all goes well; in object storage it may stay cut short, but the run then fails."""
    path = below(folder, part_name(index, format))
    with ExitStack() as stack:
        written = path if is_address(folder) else str(stack.enter_context(fresh_file(Path(path))))
        system, path = locate(written)
        stream = stack.enter_context(system.open_output_stream(path))
        yield stack.enter_context(_FORMATS[format](stream))


@contextmanager
def _json_lines(stream: Any) -> Iterator[Write]:
    def write(results: Sequence[Result]) -> None:
        stream.write("".join(map(to_json_line, results)).encode())

    yield write


@contextmanager
def _parquet(stream: Any) -> Iterator[Write]:
    import pyarrow as pa
    from pyarrow import parquet

    evidence = pa.map_(pa.string(), pa.float64())
    scored = {"score": pa.float64(), "p_value": pa.float64(), "is_anomaly": pa.bool_()}
    span = {"text": pa.string(), "start": pa.int64(), "end": pa.int64()}
    word = pa.struct({**span, **scored, "suggestion": pa.string(), "evidence": evidence})
    schema = pa.schema(
        {"id": pa.string(), "text": pa.string(), **scored, "summary": pa.string(), "evidence": evidence, "words": pa.list_(word)}
    )

    with parquet.ParquetWriter(stream, schema, compression="zstd") as writer:
        waiting: list[Any] = []

        def flush() -> None:
            if waiting:
                writer.write_table(pa.Table.from_batches(waiting))
                waiting.clear()

        def write(results: Sequence[Result]) -> None:
            waiting.append(pa.RecordBatch.from_pylist([_row(result) for result in results], schema))
            if sum(batch.nbytes for batch in waiting) > _ROW_GROUP:
                flush()

        yield write
        flush()


def _row(result: Result) -> dict[str, Any]:
    """The fields of the JSON, with maps as Arrow takes them: lists of pairs."""
    row = result.to_dict()
    for item in (row, *row["words"]):
        item["evidence"] = list(item["evidence"].items())
    return row


_FORMATS = {"jsonl": _json_lines, "parquet": _parquet}
