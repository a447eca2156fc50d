"""`difa score`: documents -> scores, as JSON lines or, on a terminal, as coloured text."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from difa.cli.options import Cache, Fdr, Fpr, Inputs, ModelFolder, Quiet, SkipBad, Threads, say, say_skipped
from difa.cli.score_ray import Address, Engine, Format, Workers, score_by_ray, uses_ray

if TYPE_CHECKING:
    from difa.document import Result

EXAMPLES = """Examples:

difa score model new.txt

difa score model new.jsonl --out scores.jsonl --fpr 0.05

difa score model 'data/*.jsonl.gz' --out scores --shard-size 100000 --resume

difa score model new.jsonl --screen 0.1 --screen-model fast-model --out scores.jsonl

tail -f log.txt | difa score model - > scores.jsonl

difa score model texts/ --engine ray --out scores
"""


def score(
    model: ModelFolder,
    inputs: Inputs,
    out: Annotated[
        str | None,
        typer.Option(help="File for the JSON lines, or with --shard-size a folder; without it they go to stdout."),
    ] = None,
    shard_size: Annotated[int | None, typer.Option(help="Write files of this many documents into the folder --out.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where the same command was interrupted.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace what an earlier run left at --out.")] = False,
    screen: Annotated[
        float | None,
        typer.Option(help="Let --screen-model read everything and MODEL only what is among this share of normal documents."),
    ] = None,
    screen_model: Annotated[
        Path | None, typer.Option(help="With --screen: the folder of a fast model, fitted on the same documents.")
    ] = None,
    fpr: Fpr = None,
    fdr: Fdr = None,
    cache: Cache = None,
    threads: Threads = None,
    skip_bad: SkipBad = False,
    quiet: Quiet = False,
    engine: Engine = "local",
    workers: Workers = None,
    address: Address = None,
    format: Format = None,
) -> None:
    """Score every word and every document."""
    only_ray = {"workers": workers, "address": address, "format": format}
    only_local = {"fdr": fdr, "cache": cache, "shard-size": shard_size, "screen": screen}
    only_local |= {"resume": resume or None, "force": force or None}
    if uses_ray(engine, only_ray, only_local):
        score_by_ray(
            model,
            inputs,
            out,
            fpr=fpr,
            threads=threads,
            skip_bad=skip_bad,
            quiet=quiet,
            workers=workers,
            address=address,
            format=format,
        )
        return
    from difa.cli.progress import stream
    from difa.engines.local import Job, score_inputs
    from difa.errors import ConfigError
    from difa.estimator import DiFA

    if (screen is None) != (screen_model is None):
        raise ConfigError("expected both of --screen and --screen-model, or neither, got one")
    detector = DiFA.load(model, cache=cache, threads=threads)
    job = Job(
        model,
        inputs,
        Path(out) if out else None,
        shard_size=shard_size,
        fpr=fpr,
        fdr=fdr,
        resume=resume,
        force=force,
        skip_bad=skip_bad,
        screen=screen_model,
        screen_rate=screen or 0.1,
    )
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
