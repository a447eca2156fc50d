"""`difa score`: documents -> scores, as JSON lines or, on a terminal, as coloured text."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from difa.cli.console import say, say_next, say_skipped, stream, to_stdout
from difa.cli.options import Allow, Fdr, Fpr, Inputs, ModelFolder, ReadIdsOptions, allowed_words, command
from difa.errors import ConfigError

if TYPE_CHECKING:
    from difa.document import Scored
    from difa.engines.job import Counts, Job
    from difa.estimator import DiFA
    from difa.formats.sources import Source


@command(
    "difa score model new.txt",
    "difa score model new.jsonl --out scores.jsonl --fpr 0.05",
    "difa score model reviews.csv --text-column body --out scored.csv",
    "difa score model 'data/*.jsonl.gz' --out scores --shard-size 100000 --resume",
    "difa score model new.jsonl --screen 0.1 --screen-model fast-model --out scores.jsonl",
    "difa score model today.csv --top 30 --out worst.csv",
    'difa score model new.txt --allow product-names.txt --allow "Gigaset E560"',
    "tail -f log.txt | difa score model - > scores.jsonl",
    "difa score model texts/ --engine ray --out scores",
)
def score(
    model: ModelFolder,
    inputs: Inputs,
    given: ReadIdsOptions,
    out: Annotated[
        str | None,
        typer.Option(
            help="File for the results (.jsonl, .csv, .tsv, .parquet); a folder with --shard-size. Default, and -: stdout."
        ),
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
    engine: Annotated[
        str,
        typer.Option(help="`local`, or `ray` for many cores and machines. With ray, --out is a file or a folder of parts."),
    ] = "local",
    workers: Annotated[
        int | None, typer.Option(help="With --engine ray: number of worker processes. Default: one per core.")
    ] = None,
    address: Annotated[str | None, typer.Option(help="With --engine ray: a running cluster, `auto` or host:port.")] = None,
    format: Annotated[
        str | None, typer.Option(help="jsonl, csv, tsv or parquet. Default: by the ending of --out, jsonl without one.")
    ] = None,
) -> None:
    """Score every word and every document."""
    from difa.engines.job import Job
    from difa.formats.streams import suffix_of

    out = None if out == "-" else out
    words = _words_apart(allow, out, model)
    if (screen is None) != (screen_model is None):
        raise ConfigError("expected both of --screen and --screen-model, or neither, got one")
    _check_engine(engine, out, local={"workers": workers, "address": address}, ray={"input-format": given.input_format})
    job = Job(
        model,
        inputs,
        shard_size=shard_size,
        fpr=fpr,
        fdr=fdr,
        allow=words,
        resume=resume,
        force=force,
        skip_bad=given.skip_bad,
        columns=given.columns,
        format=format,
        top=top,
        screen=screen_model,
        screen_rate=Job.screen_rate if screen is None else screen,
    )
    sources, fitted = given.sources(inputs), given.load(model)
    if engine == "ray":
        from difa.engines.ray import score_files

        options: dict[str, Any] = {"workers": workers, "threads": given.threads, "address": address, "cache": given.cache}
        with stream(given.quiet) as watch:
            counts: Counts = score_files(job, str(out), model=fitted, sources=sources, watch=watch, **options)
    else:
        job = replace(job, out=Path(out) if out else None)
        counts = _score_here(fitted, job, sources, given.quiet)
    _tell(fitted, job, counts, out, given.quiet)
    has_words = out and suffix_of(Path(out)) not in (".csv", ".tsv")
    shown = f"difa report {out} --out report.html shows them; " if has_words else ""
    say_next(f'{shown}difa explain {model} "TEXT" says why a text is flagged', given.quiet)
    if counts.flagged and fail_if_flagged:
        raise typer.Exit(1)


def _check_engine(engine: str, out: str | None, **others: Mapping[str, object]) -> None:
    """Refuse, and not ignore, options that an engine does not have."""
    if engine not in others:
        raise ConfigError(f"engine: expected one of {', '.join(others)}, got {engine!r}")
    if name := next((name for name, value in others[engine].items() if value is not None), None):
        other = "the local engine" if engine == "ray" else "--engine ray"
        raise ConfigError(f"--{name} cannot be used with --engine {engine}; use {other}")
    if engine == "ray" and not out:
        raise ConfigError("--engine ray writes a folder of parts, or a file, expected its name: give --out FOLDER")


def _words_apart(allow: list[str] | None, out: str | None, model: Path) -> list[str]:
    """The words to allow, once it is clear that the results replace neither a file of them nor the model."""
    from difa.formats.results import check_output

    words = allowed_words(allow)
    if out is not None and os.path.isfile(out) and model.is_dir():
        check_output(Path(out), [*model.iterdir(), *filter(os.path.isfile, allow or ())], force=True)
    return words


def _score_here(fitted: DiFA, job: Job, sources: list[Source], quiet: bool) -> Counts:
    """Score on this machine, into files or to standard output."""
    from difa.engines.local import score_inputs
    from difa.formats.write import format_of

    file = job.out / "part" if job.out is not None and job.shard_size else job.out  # a folder may be called anything
    is_lines = format_of(file, job.format) == "jsonl"
    on_terminal = job.out is None and is_lines and sys.stdout.isatty()
    place = nullcontext(job.out) if is_lines or job.out is not None else to_stdout(Path("-"))
    with stream(quiet or on_terminal) as watch, place as written:
        return score_inputs(fitted, replace(job, out=written), watch, _show if on_terminal else _print, sources)


def _tell(fitted: DiFA, job: Job, counts: Counts, out: str | None, quiet: bool) -> None:
    from difa.engines.second_pass import why_nothing

    say_skipped(counts.skipped)
    if counts.empty:
        what = "1 document has" if counts.empty == 1 else f"{counts.empty} documents have"
        say(f"difa: {what} no text: score 0, not flagged", quiet)
    given = f", the {min(job.top, counts.documents)} most unusual given" if job.top is not None else ""
    written = f", written to {out}" if out else ""
    say(f"{counts.flagged} of {counts.documents} documents flagged{given}{written}", quiet)
    rule = fitted.rule(job.fpr, job.fdr, warn=False)
    if rule.name == "fdr" and counts.documents and not counts.flagged:
        say(f"difa: {why_nothing(counts.documents, fitted.detector_.document_reference, rule.rate)}", quiet)


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
