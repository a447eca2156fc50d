"""Arguments that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from difa.document import Document

Inputs = Annotated[
    list[str],
    typer.Argument(
        help=".txt (one document a line), .jsonl (with `text` or `tokens`), also packed (.gz), folders, patterns, or - for stdin."
    ),
]
ModelFolder = Annotated[Path, typer.Argument(help="A model folder, as `difa fit --out` writes it.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bars and no summary on stderr.")]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Go on without lines that cannot be read, and list them on stderr.")]
Fpr = Annotated[
    float | None, typer.Option(help="Flag this share of normal documents (and words) at most; the model's own by default.")
]
Fdr = Annotated[
    float | None, typer.Option(help="Instead: at most this share of the flagged documents may be normal (Benjamini–Hochberg).")
]
Cache = Annotated[Path | None, typer.Option(help="Folder that keeps word vectors between runs.")]
Threads = Annotated[int | None, typer.Option(help="Threads; all cores by default.")]


def say(message: str, quiet: bool = False) -> None:
    """A line for the person at the terminal, on stderr."""
    if not quiet:
        print(message, file=sys.stderr)


def stream_all(inputs: list[str], skip_bad: bool) -> Iterator[Document]:
    """All documents of the inputs, one by one; skipped lines are named even when quiet, since something was left out."""
    from difa.formats import bad_line, read_entries
    from difa.formats.sources import find_sources

    skipped = 0
    for entry in read_entries(find_sources(inputs)):
        if entry.bad is not None:
            if not skip_bad:
                raise bad_line(entry.bad)
            say(f"difa: skipped {entry.bad}")
            skipped += 1
        elif entry.document is not None:
            yield entry.document
    say_skipped(skipped)


def say_skipped(count: int) -> None:
    """How many bad lines were left out, if any were."""
    if count:
        say(f"difa: {count} bad {'line' if count == 1 else 'lines'} skipped")


def read_all(inputs: list[str], skip_bad: bool) -> list[Document]:
    """All documents of the inputs at once."""
    return list(stream_all(inputs, skip_bad))
