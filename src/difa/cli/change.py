"""What changes a stored model without a new fit: `difa update` adds normal documents, `difa set` changes the rate."""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from difa.cli.options import ModelFolder, Quiet, Reading, command, say, say_left_out

if TYPE_CHECKING:
    from difa.document import Document
    from difa.formats.sources import Source


@command(
    "difa update model --normal reviewed.txt",
    "difa update model --normal export.json --out model-2",
    "difa update model --normal week-19.csv --normal week-20.csv --text-column body",
)
def update(
    model: ModelFolder,
    normal: Annotated[
        list[str],
        typer.Option(help="New normal documents: any input of `difa fit`, or a Label Studio export; can be repeated."),
    ],
    given: Reading,
    out: Annotated[Path | None, typer.Option(help="Folder for the updated model. Default: replace the model itself.")] = None,
) -> None:
    """Add normal documents to a model, without a new fit: they, and others like them, score lower from then on."""
    from difa.storage.persist import check_place

    place = out or model
    check_place(place)
    fitted = given.load(model)
    before, left_out = fitted.detector_.updates, Counter[str]()

    def is_normal(source: Source, document: Document) -> bool:
        if why := _why_not(source, document):
            left_out[why] += 1
        return not why

    sources = given.sources(normal)
    try:
        fitted.update(given.read(sources, is_normal))
    finally:  # also where nothing is left: this says why
        for why, count in left_out.items():
            say_left_out(count, why, given.quiet)
    after = fitted.detector_.updates
    if after is before and out is None:
        say(f"{model}: nothing new", given.quiet)
        return
    fitted.save(place)
    documents, words = after.documents - before.documents, after.words - before.words
    added = f"{documents} {'document' if documents == 1 else 'documents'}, {words} words"
    say(f"{place}: {added} added, in update {after.times}", given.quiet)


def _why_not(source: Source, document: Document) -> str:
    """Why nobody called a document normal; empty if someone did."""
    if any(document.labels or ()):
        return "words are marked as anomalies"
    return "nobody called the task normal" if source.suffix == ".json" and document.labels is None else ""


@command("difa set model --fpr 0.05")
def set_(
    model: ModelFolder,
    fpr: Annotated[float, typer.Option(help="Share of normal documents, and words, that may be flagged from now on.")],
    quiet: Quiet = False,
) -> None:
    """Change the false-alarm rate of a model, without a new fit."""
    set_rate(model, fpr, quiet)


def set_rate(model: Path, rate: float, quiet: bool) -> None:
    """Store the rate, and say so."""
    from difa.calibrate import check_rate
    from difa.estimator import DiFA
    from difa.storage.persist import set_rate as store_rate

    check_rate("--fpr", rate)
    if why := DiFA.load(model).detector_.document_reference.why_too_small(rate):
        warnings.warn(why, stacklevel=1)
    store_rate(model, rate)
    say(f"{model}: flags {rate:g} of normal documents from now on", quiet)
