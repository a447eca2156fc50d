"""`difa score`: documents -> scores, as JSON lines or, on a terminal, as coloured text."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from difa.cli.options import Cache, Fdr, Fpr, Inputs, ModelFolder, Quiet, SkipBad, Threads, read_all, say
from difa.cli.score_ray import Address, Engine, Format, Workers, score_by_ray, uses_ray

if TYPE_CHECKING:
    from difa.document import Result

EXAMPLES = """Examples:

difa score model new.txt

difa score model new.jsonl --out scores.jsonl --fpr 0.05

cat new.txt | difa score model - --fdr 0.1 > scores.jsonl

difa score model texts/ --engine ray --out scores
"""


def score(
    model: ModelFolder,
    inputs: Inputs,
    out: Annotated[
        str | None, typer.Option(help="File for the JSON lines; without it they go to stdout. With --engine ray: a new folder.")
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
    if uses_ray(engine, {"workers": workers, "address": address, "format": format}, {"fdr": fdr, "cache": cache}):
        score_by_ray(model, inputs, out, fpr, threads, skip_bad, quiet, workers, address, format)
        return
    from difa.cli.scoring import score_all
    from difa.estimator import DiFA
    from difa.formats.write import atomic_writer, to_json_line

    detector = DiFA.load(model, cache=cache, threads=threads)
    documents = read_all(inputs, skip_bad)
    flagged = 0
    on_terminal = out is None and sys.stdout.isatty()
    with atomic_writer(Path(out) if out else None) as file:
        for result in score_all(detector, documents, fpr, fdr, quiet or on_terminal):
            if on_terminal:
                _show(result)
            else:
                file.write(to_json_line(result))
            flagged += result.is_anomaly
    say(f"{flagged} of {len(documents)} documents flagged" + (f", written to {out}" if out else ""), quiet)


def _show(result: Result) -> None:
    from rich.console import Console

    from difa.report.terminal import document_line

    Console(highlight=False).print(document_line(result), soft_wrap=True)
