"""`difa update`: further normal documents for a stored model."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from difa.cli.options import (
    Cache,
    InputFormat,
    ModelFolder,
    Quiet,
    SkipBad,
    TextColumn,
    Threads,
    columns_of,
    find_inputs,
    say,
    say_left_out,
    stream_sources,
)

if TYPE_CHECKING:
    from difa.document import Document
    from difa.formats.sources import Source

EXAMPLES = """Examples:

difa update model --normal reviewed.txt

difa update model --normal export.json --out model-2

difa update model --normal week-19.csv --normal week-20.csv --text-column body
"""


def update(
    model: ModelFolder,
    normal: Annotated[
        list[str],
        typer.Option(help="New normal documents: any input of `difa fit`, or a Label Studio export; can be repeated."),
    ],
    out: Annotated[Path | None, typer.Option(help="Folder for the updated model. Default: replace the model itself.")] = None,
    text_column: TextColumn = None,
    input_format: InputFormat = None,
    cache: Cache = None,
    threads: Threads = None,
    skip_bad: SkipBad = False,
    quiet: Quiet = False,
) -> None:
    """Add normal documents to a model, without a new fit: they, and others like them, score lower from then on."""
    from difa.estimator import DiFA
    from difa.storage.persist import check_place

    place = out or model
    check_place(place)
    fitted = DiFA.load(model, cache=cache, threads=threads)
    before, left_out = fitted.detector_.updates, Counter[str]()

    def is_normal(source: Source, document: Document) -> bool:
        if why := _why_not(source, document):
            left_out[why] += 1
        return not why

    sources = find_inputs(normal, columns_of(text_column, None, input_format), quiet, skip_bad)
    try:
        fitted.update(stream_sources(sources, skip_bad, is_normal))
    finally:  # also where nothing is left: this says why
        for why, count in left_out.items():
            say_left_out(count, why, quiet)
    after = fitted.detector_.updates
    if after is before and out is None:
        say(f"{model}: nothing new", quiet)
        return
    fitted.save(place)
    documents, words = after.documents - before.documents, after.words - before.words
    added = f"{documents} {'document' if documents == 1 else 'documents'}, {words} words"
    say(f"{place}: {added} added, in update {after.times}", quiet)


def _why_not(source: Source, document: Document) -> str:
    """Why nobody called a document normal; empty if someone did."""
    if any(document.labels or ()):
        return "words are marked as anomalies"
    return "nobody called the task normal" if source.suffix == ".json" and document.labels is None else ""
