"""Arguments that several commands share."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from difa.document import Document

Inputs = Annotated[
    list[str],
    typer.Argument(help=".txt (one document a line), .jsonl (with `text` or `tokens`), a folder of these, or - for stdin."),
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


def read_all(inputs: list[str], skip_bad: bool) -> list[Document]:
    """All documents of the inputs; lines that are skipped are named even when quiet, since something was left out."""
    from difa.formats import read_documents

    bad: list[str] | None = [] if skip_bad else None
    documents = list(read_documents(inputs, bad))
    for message in bad or ():
        say(f"difa: skipped {message}")
    if bad:
        say(f"difa: {len(bad)} bad {'line' if len(bad) == 1 else 'lines'} skipped")
    return documents
