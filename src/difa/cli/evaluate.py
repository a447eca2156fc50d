"""`difa evaluate`: a model and labelled documents -> AUROC and average precision."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Sequence
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
    say_left_out,
    stream_sources,
)

if TYPE_CHECKING:
    from difa.document import Document
    from difa.formats.sources import Source

_OPEN = "without labels (skipped, not annotated, or called anomalous without marked words)"
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
    from difa.decide.evaluate import evaluate as measure
    from difa.estimator import DiFA

    sources = find_inputs(labelled, columns_of(text_column, id_column, input_format), quiet, skip_bad)
    documents = _read_labelled(sources, skip_bad, quiet)
    fitted = DiFA.load(model, cache=cache, threads=threads).allow(allowed_words(allow))
    figures = measure(score_all(fitted, documents, fpr, fdr, quiet), documents)
    if json:
        typer.echo(jsonlib.dumps(figures.to_dict(), indent=2))
        return
    typer.echo(f"{'':10}{'AUROC':>8}{'AP':>8}{'anomalous':>12}{'all':>8}")
    for name, level in (("words", figures.word), ("documents", figures.document)):
        typer.echo(f"{name:10}{level.auroc:8.3f}{level.average_precision:8.3f}{level.anomalous:12d}{level.count:8d}")
    typer.echo(f"flagged: {figures.recall:.0%} of anomalous documents, {figures.false_alarm_rate:.1%} of normal ones")


def _read_labelled(sources: Sequence[Source], skip_bad: bool, quiet: bool) -> list[Document]:
    """All documents that can be evaluated; tasks of an export without labels are left out and counted."""
    from difa.decide.evaluate import check_labels
    from difa.errors import InputError

    left_out = 0

    def is_labelled(source: Source, document: Document) -> bool:
        nonlocal left_out
        is_open = source.suffix == ".json" and document.labels is None
        left_out += is_open
        return not is_open

    documents = list(stream_sources(sources, skip_bad, is_labelled))
    if left_out and not documents:
        raise InputError(f"expected annotated tasks, got {left_out} {_OPEN}: annotate them in Label Studio and export again")
    check_labels(documents)
    say_left_out(left_out, _OPEN, quiet)
    return documents
