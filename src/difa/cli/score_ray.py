"""`difa score --engine ray`: its options, and the call of the engine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from difa.cli.options import say, say_empty, say_skipped
from difa.cli.progress import stages
from difa.errors import ConfigError

if TYPE_CHECKING:
    from difa.engines.ray.worker import Done
    from difa.formats.tables import Columns

ENGINES = ("local", "ray")
EngineName = Annotated[
    str,
    typer.Option(
        help="`local`, or `ray` for many cores and machines. With ray, --out is a folder of parts, and --fdr is refused."
    ),
]
WorkerCount = Annotated[int | None, typer.Option(help="With --engine ray: number of worker processes. Default: one per core.")]
Address = Annotated[str | None, typer.Option(help="With --engine ray: a running cluster, `auto` or host:port.")]
Format = Annotated[
    str | None,
    typer.Option(help="jsonl, csv, tsv or parquet. Default: by the ending of --out; jsonl with --engine ray."),
]


def uses_ray(engine: str, only_ray: Mapping[str, object], only_local: Mapping[str, object]) -> bool:
    """Whether Ray was chosen; options of the other engine are refused, not ignored."""
    if engine not in ENGINES:
        raise ConfigError(f"engine: expected one of {', '.join(ENGINES)}, got {engine!r}")
    for name, value in (only_local if engine == "ray" else only_ray).items():
        if value is not None:
            why = "it looks at all documents at once: give --fpr, or use" if name == "fdr" else "use"
            other = "the local engine" if engine == "ray" else "--engine ray"
            raise ConfigError(f"--{name} cannot be used with --engine {engine}; {why} {other}")
    return engine == "ray"


def score_by_ray(
    model: Path,
    inputs: list[str],
    out: str | None,
    *,
    fpr: float | None,
    allow: list[str],
    threads: int | None,
    skip_bad: bool,
    quiet: bool,
    workers: int | None,
    address: str | None,
    format: str | None,
    columns: Columns,
    resume: bool,
    force: bool,
) -> None:
    """Score into a folder of parts, and say how it went."""
    from difa.engines.ray.score import score_files

    if not out:
        raise ConfigError("--engine ray writes a folder of parts, expected its name: give --out FOLDER")
    with stages(quiet) as bar:

        def report(done: Done, share: float) -> None:
            for message in done.bad:
                say(f"difa: skipped {message}")
            bar("score", share)

        summary = score_files(
            model,
            inputs,
            out,
            fpr=fpr,
            allow=allow,
            workers=workers,
            threads=threads,
            address=address,
            format=format or "jsonl",
            skip_bad=skip_bad,
            report=report,
            columns=columns,
            resume=resume,
            force=force,
        )
    say_skipped(summary.skipped)
    say_empty(summary.empty, quiet)
    say(f"{summary.flagged} of {summary.documents} documents flagged, written to {out} in {summary.parts} parts", quiet)
