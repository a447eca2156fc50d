"""What a model does on documents: `difa evaluate` measures it by labels, `difa threshold` finds the rate for a review budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from difa.cli.options import (
    Allow,
    Fdr,
    Fpr,
    Inputs,
    Json,
    ModelFolder,
    ReadIdsOptions,
    allowed_words,
    command,
    print_json,
    say_left_out,
)

if TYPE_CHECKING:
    from difa.document import Document
    from difa.formats.sources import Source

_OPEN = "without labels (skipped, not annotated, or called anomalous without marked words)"


@command("difa evaluate model labelled.jsonl", "difa evaluate model labelled.jsonl --json > figures.json")
def evaluate(
    model: ModelFolder,
    labelled: Inputs,
    given: ReadIdsOptions,
    json: Json = False,
    fpr: Fpr = None,
    fdr: Fdr = None,
    allow: Allow = None,
) -> None:
    """Measure a model on documents whose words are labelled."""
    from difa.decide.evaluate import evaluate as measure

    documents = _read_labelled(given.sources(labelled), given)
    fitted = given.load(model).allow(allowed_words(allow))
    figures = measure(given.score(fitted, documents, fpr, fdr), documents)
    if json:
        print_json(figures.to_dict())
        return
    typer.echo(f"{'':10}{'AUROC':>8}{'AP':>8}{'anomalous':>12}{'all':>8}")
    for name, level in (("words", figures.word), ("documents", figures.document)):
        typer.echo(f"{name:10}{level.auroc:8.3f}{level.average_precision:8.3f}{level.anomalous:12d}{level.count:8d}")
    typer.echo(f"flagged: {figures.recall:.0%} of anomalous documents, {figures.false_alarm_rate:.1%} of normal ones")


def _read_labelled(sources: Sequence[Source], given: ReadIdsOptions) -> list[Document]:
    """All documents that can be evaluated; tasks of an export without labels are left out and counted."""
    from difa.decide.evaluate import check_labels
    from difa.errors import InputError

    left_out = 0

    def is_labelled(source: Source, document: Document) -> bool:
        nonlocal left_out
        is_open = source.suffix == ".json" and document.labels is None
        left_out += is_open
        return not is_open

    documents = list(given.read(sources, is_labelled))
    if left_out and not documents:
        raise InputError(f"expected annotated tasks, got {left_out} {_OPEN}: annotate them in Label Studio and export again")
    check_labels(documents)
    say_left_out(left_out, _OPEN, given.quiet)
    return documents


@command("difa threshold model recent.csv --budget 30/2000", "difa threshold model recent.csv --budget 30/2000 --set")
def threshold(
    model: ModelFolder,
    inputs: Inputs,
    budget: Annotated[
        str, typer.Option(help="Documents to review, such as 30/2000; 30 alone means 30 of all documents in the inputs.")
    ],
    given: ReadIdsOptions,
    set_: Annotated[bool, typer.Option("--set", help="Also store the rate in the model, as `difa set` does.")] = False,
    json: Json = False,
) -> None:
    """Find the rate that keeps the number of flagged documents within a budget, from recent documents."""
    import numpy as np

    from difa.cli.change import set_rate
    from difa.decide.review_budget import parse_budget, rate_for_budget
    from difa.errors import InputError

    parse_budget(budget, 1 << 62)  # one that cannot be read is refused before anything is scored
    documents = list(given.read(given.sources(inputs)))
    if not documents:
        raise InputError("expected recent documents, got none")
    fitted = given.load(model)
    p_values = np.array([result.p_value for result in given.score(fitted, documents, fitted.fpr)])
    reference = fitted.detector_.document_reference
    found = rate_for_budget(p_values, *parse_budget(budget, len(documents)), len(reference.values))
    if json:
        print_json(found.to_dict())
    else:
        low, high = found.interval
        typer.echo(
            f"rate {found.rate!r}: flags {found.recent_flagged} of the {found.recent} recent documents, and of the next "
            f"{found.documents} like them {found.expected:.0f} on average, {low} to {high} with 95 % confidence"
        )
    if set_:
        set_rate(model, found.rate, given.quiet)
    elif not json:
        typer.echo(f"put it in force: difa set {model} --fpr {found.rate!r}")
