"""`difa score --engine ray`: its options, and the call of the engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from difa.cli.options import say, say_empty, say_flagged, say_skipped
from difa.cli.progress import stages
from difa.errors import ConfigError

if TYPE_CHECKING:
    from difa.engines.local import Job
    from difa.engines.ray.worker import Done

ENGINES = ("local", "ray")
EngineName = Annotated[
    str,
    typer.Option(help="`local`, or `ray` for many cores and machines. With ray, --out is a folder of parts."),
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
            other = "the local engine" if engine == "ray" else "--engine ray"
            raise ConfigError(f"--{name} cannot be used with --engine {engine}; use {other}")
    return engine == "ray"


def score_by_ray(job: Job, out: str | None, quiet: bool, **options: Any) -> int:
    """Score into a folder of parts, say how it went, and count the documents that are flagged.

    Args:
        job: what to score.
        out: the folder.
        quiet: show no progress and no summary.
        options: as `difa.engines.ray.score.score_files` has them.
    """
    from difa.engines.ray.score import score_files

    if not out:
        raise ConfigError("--engine ray writes a folder of parts, expected its name: give --out FOLDER")
    with stages(quiet) as bar:

        def report(done: Done, share: float) -> None:
            for message in done.bad:
                say(f"difa: skipped {message}")
            bar("score", share)

        summary = score_files(job, out, report=report, **options)
    say_skipped(summary.skipped)
    say_empty(summary.empty, quiet)
    said = say_flagged(summary.flagged, summary.documents, job.top)
    say(f"{said}, written to {out} in {summary.parts} parts", quiet)
    return summary.flagged
