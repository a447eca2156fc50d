"""Arguments that several commands share."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

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


def list_bad(bad: list[str]) -> None:
    """Name the lines that were skipped; said even when quiet, since something was left out."""
    for message in bad:
        say(f"difa: skipped {message}")
    if bad:
        say(f"difa: {len(bad)} bad {'line' if len(bad) == 1 else 'lines'} skipped")
