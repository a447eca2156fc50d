"""`difa score`: documents -> scores, as JSON lines or, on a terminal, as coloured text."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from difa.cli.options import (
    Allow,
    Cache,
    Fdr,
    Fpr,
    IdColumn,
    InputFormat,
    Inputs,
    ModelFolder,
    Quiet,
    SkipBad,
    TextColumn,
    Threads,
    allowed_words,
    columns_of,
    find_inputs,
    say,
    say_empty,
    say_flagged,
    say_skipped,
)
from difa.cli.score_ray import Address, EngineName, Format, WorkerCount, score_by_ray, uses_ray

if TYPE_CHECKING:
    from difa.document import Scored
    from difa.engines.local import Job
    from difa.estimator import DiFA

EXAMPLES = """Examples:

difa score model new.txt

difa score model new.jsonl --out scores.jsonl --fpr 0.05

difa score model reviews.csv --text-column body --out scored.csv

difa score model 'data/*.jsonl.gz' --out scores --shard-size 100000 --resume

difa score model new.jsonl --screen 0.1 --screen-model fast-model --out scores.jsonl

difa score model today.csv --top 30 --out worst.csv

difa score model new.txt --allow product-names.txt --allow "Gigaset E560"

tail -f log.txt | difa score model - > scores.jsonl

difa score model texts/ --engine ray --out scores
"""


def score(
    model: ModelFolder,
    inputs: Inputs,
    out: Annotated[
        str | None,
        typer.Option(help="File for the results (.jsonl, .csv, .tsv, .parquet), or a folder with --shard-size. Default: stdout."),
    ] = None,
    shard_size: Annotated[
        int | None, typer.Option(help="Write files of this many documents into the folder given by --out.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue where the same command was interrupted.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace what is at --out, whoever wrote it.")] = False,
    screen: Annotated[
        float | None,
        typer.Option(help="Let --screen-model read everything, and MODEL only documents with at most this p-value."),
    ] = None,
    screen_model: Annotated[
        Path | None, typer.Option(help="With --screen: folder of a fast model, fitted on the same documents.")
    ] = None,
    fpr: Fpr = None,
    fdr: Fdr = None,
    allow: Allow = None,
    top: Annotated[int | None, typer.Option(help="Write only this many documents, the most unusual first.")] = None,
    fail_if_flagged: Annotated[
        bool, typer.Option("--fail-if-flagged", help="Exit with code 1 if any document is flagged.")
    ] = False,
    text_column: TextColumn = None,
    id_column: IdColumn = None,
    input_format: InputFormat = None,
    cache: Cache = None,
    threads: Threads = None,
    skip_bad: SkipBad = False,
    quiet: Quiet = False,
    engine: EngineName = "local",
    workers: WorkerCount = None,
    address: Address = None,
    format: Format = None,
) -> None:
    """Score every word and every document."""
    from difa.engines.local import Job
    from difa.errors import ConfigError
    from difa.estimator import DiFA

    words = _words_apart(allow, out, model)
    if (screen is None) != (screen_model is None):
        raise ConfigError("expected both of --screen and --screen-model, or neither, got one")
    by_ray = uses_ray(engine, {"workers": workers, "address": address}, {"input-format": input_format})
    columns = columns_of(text_column, id_column, input_format)
    job = Job(
        model,
        inputs,
        shard_size=shard_size,
        fpr=fpr,
        fdr=fdr,
        allow=words,
        resume=resume,
        force=force,
        skip_bad=skip_bad,
        columns=columns,
        format=format,
        top=top,
        screen=screen_model,
        screen_rate=Job.screen_rate if screen is None else screen,
    )
    if by_ray:
        flagged = score_by_ray(job, out, quiet, workers=workers, threads=threads, address=address, cache=cache)
    else:
        find_inputs(inputs, columns, quiet, skip_bad)
        fitted = DiFA.load(model, cache=cache, threads=threads)
        flagged = _score_here(fitted, replace(job, out=Path(out) if out else None), quiet)
    if flagged and fail_if_flagged:
        raise typer.Exit(1)


def _words_apart(allow: list[str] | None, out: str | None, model: Path) -> list[str]:
    """The words to allow, once it is clear that the results replace neither a file of them nor the model."""
    from difa.formats.replaceable import check_output

    words = allowed_words(allow)
    if out is not None and os.path.isfile(out) and model.is_dir():
        check_output(Path(out), [*model.iterdir(), *filter(os.path.isfile, allow or ())], force=True)
    return words


def _score_here(fitted: DiFA, job: Job, quiet: bool) -> int:
    """Score on this machine, say how it went, and count the documents that are flagged."""
    from difa.cli.progress import stream
    from difa.engines.budget import why_nothing
    from difa.engines.local import score_inputs
    from difa.formats.table_output import format_of

    file = job.out / "part" if job.out is not None and job.shard_size else job.out  # a folder may be called anything
    is_lines = format_of(file, job.format) == "jsonl"
    on_terminal = job.out is None and is_lines and sys.stdout.isatty()
    with stream(quiet or on_terminal) as watch, _to_stdout(job.out, is_lines) as written:
        outcome = score_inputs(fitted, replace(job, out=written), watch, _show if on_terminal else _print)
    say_skipped(outcome.skipped)
    say_empty(outcome.empty, quiet)
    said = say_flagged(outcome.flagged, outcome.documents, job.top)
    say(said + (f", written to {job.out}" if job.out else ""), quiet)
    rule = fitted.rule(job.fpr, job.fdr, warn=False)
    if rule.name == "fdr" and outcome.documents and not outcome.flagged:
        say(f"difa: {why_nothing(outcome.documents, fitted.detector_.document_reference, rule.rate)}", quiet)
    return outcome.flagged


@contextmanager
def _to_stdout(out: Path | None, is_lines: bool) -> Iterator[Path | None]:
    """Where the results go; a table without a file is made aside, and printed when it is complete."""
    from difa.storage.atomic import scratch_folder

    if out is not None or is_lines:
        yield out
        return
    with scratch_folder() as folder:
        yield folder / "table"
        with (folder / "table").open("rb") as content:
            shutil.copyfileobj(content, sys.stdout.buffer)
            sys.stdout.buffer.flush()


def _print(scored: Scored) -> None:
    from difa.formats.write import json_lines

    sys.stdout.buffer.write(json_lines(scored))
    sys.stdout.buffer.flush()  # a reader of the pipe gets each result at once


def _show(scored: Scored) -> None:
    from rich.console import Console

    from difa.report.terminal import document_line

    console = Console(highlight=False)
    for result in scored.results():
        console.print(document_line(result), soft_wrap=True)
