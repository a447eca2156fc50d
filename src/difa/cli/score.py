"""`difa score`: documents -> scores, as JSON lines or, on a terminal, as coloured text."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from difa.cli.options import Cache, Fdr, Fpr, Inputs, ModelFolder, Quiet, SkipBad, Threads, say, say_skipped

if TYPE_CHECKING:
    from difa.document import Result

EXAMPLES = """Examples:

difa score model new.txt

difa score model new.jsonl --out scores.jsonl --fpr 0.05

difa score model 'data/*.jsonl.gz' --out scores --shard-size 100000 --resume

tail -f log.txt | difa score model - > scores.jsonl
"""


def score(
    model: ModelFolder,
    inputs: Inputs,
    out: Annotated[
        Path | None,
        typer.Option(help="File for the JSON lines, or with --shard-size a folder; without it they go to stdout."),
    ] = None,
    shard_size: Annotated[int | None, typer.Option(help="Write files of this many documents into the folder --out.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where the same command was interrupted.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace what an earlier run left at --out.")] = False,
    fpr: Fpr = None,
    fdr: Fdr = None,
    cache: Cache = None,
    threads: Threads = None,
    skip_bad: SkipBad = False,
    quiet: Quiet = False,
) -> None:
    """Score every word and every document."""
    from difa.cli.progress import stream
    from difa.engines.local import Job, score_inputs
    from difa.estimator import DiFA

    detector = DiFA.load(model, cache=cache, threads=threads)
    job = Job(model, inputs, out, shard_size, fpr, fdr, resume, force, skip_bad)
    on_terminal = out is None and sys.stdout.isatty()
    with stream(quiet or on_terminal) as watch:
        outcome = score_inputs(detector, job, watch, _show if on_terminal else _print)
    say_skipped(outcome.skipped)
    say(f"{outcome.flagged} of {outcome.documents} documents flagged" + (f", written to {out}" if out else ""), quiet)


def _print(results: Sequence[Result]) -> None:
    from difa.formats.write import to_json_line

    sys.stdout.buffer.write("".join(map(to_json_line, results)).encode())
    sys.stdout.buffer.flush()  # whoever reads along gets what is there


def _show(results: Sequence[Result]) -> None:
    from rich.console import Console

    from difa.report.terminal import document_line

    console = Console(highlight=False)
    for result in results:
        console.print(document_line(result), soft_wrap=True)
