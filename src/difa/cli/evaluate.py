"""`difa evaluate`: a model and labelled documents -> AUROC and average precision."""

from __future__ import annotations

import json as jsonlib
from typing import Annotated

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
    read_all,
)

EXAMPLES = """Examples:

difa evaluate model labelled.jsonl

difa evaluate model labelled.jsonl --json > figures.json
"""


def evaluate(
    model: ModelFolder,
    labelled: Inputs,
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    fpr: Fpr = None,
    fdr: Fdr = None,
    allow: Allow = None,
    text_column: TextColumn = None,
    id_column: IdColumn = None,
    input_format: InputFormat = None,
    cache: Cache = None,
    threads: Threads = None,
    skip_bad: SkipBad = False,
    quiet: Quiet = False,
) -> None:
    """Measure a model on documents whose words are labelled."""
    from difa.cli.scoring import score_all
    from difa.estimator import DiFA
    from difa.evaluate import check_labels
    from difa.evaluate import evaluate as measure

    documents = read_all(labelled, skip_bad, columns_of(text_column, id_column, input_format), quiet)
    check_labels(documents)
    fitted = DiFA.load(model, cache=cache, threads=threads).allow(allowed_words(allow))
    figures = measure(score_all(fitted, documents, fpr, fdr, quiet), documents)
    if json:
        typer.echo(jsonlib.dumps(figures.to_dict(), indent=2))
        return
    typer.echo(f"{'':10}{'AUROC':>8}{'AP':>8}{'anomalous':>12}{'all':>8}")
    for name, level in (("words", figures.word), ("documents", figures.document)):
        typer.echo(f"{name:10}{level.auroc:8.3f}{level.average_precision:8.3f}{level.anomalous:12d}{level.count:8d}")
    typer.echo(f"flagged: {figures.recall:.0%} of anomalous documents, {figures.false_alarm_rate:.1%} of normal ones")
