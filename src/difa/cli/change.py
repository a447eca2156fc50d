"""What changes a stored model without a new fit: `difa update` adds normal documents, `difa set` a rate, `difa allow` words."""

from __future__ import annotations

import re
import sys
import unicodedata
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from difa.cli.options import ModelFolder, Quiet, ReadOptions, allowed_words, command, escaped, say, say_left_out

if TYPE_CHECKING:
    from difa.document import Document
    from difa.formats.sources import Source

# Signs of a regular expression, or of a wildcard.
_PATTERN = re.compile(r"\\[a-zA-Z.]|\[[^]]+\]|\(\?|[.)\]][*+]|^\^|[\w)]\$$|[\w-]\*$|^\*\w|\{\d+,?\d*\}")


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
    given: ReadOptions,
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


@command(
    "difa allow model product-names.txt",
    'difa allow model Gigaset "New York" LK-48213',
    "difa allow model Gigaset --remove",
    "difa allow model --list",
)
def allow(
    model: ModelFolder,
    words: Annotated[
        list[str] | None,
        typer.Argument(help="Words or phrases, files with one per line, or - for stdin."),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take these words off the list instead.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="Print the allowed words, one per line, after any change.")] = False,
    quiet: Quiet = False,
) -> None:
    """Allow words from now on: they are never flagged, and documents are scored without them."""
    from difa.errors import ConfigError
    from difa.estimator import DiFA
    from difa.storage.persist import set_allowed

    given = allowed_words(words)
    if not words and (remove or not list_):
        raise ConfigError("expected words or a file of words, got none: give some, or --list alone")
    before = now = DiFA.load(model).detector_.allow
    if given:
        before, now = set_allowed(model, lambda stored: stored.minus(given) if remove else stored.plus(given))
    if like := next((word for word in given if not remove and _PATTERN.search(word)), None):
        say(f"difa: {like!r} looks like a pattern, but is allowed as it stands: difa fit --ignore-pattern takes patterns", quiet)
    if words:
        count = abs(len(now.entries) - len(before.entries))
        say(f"{model}: {count} {'removed' if remove else 'added'}, {len(now.entries)} words and phrases allowed", quiet)
    if list_:
        for word in now.entries:
            # Joiners within words stay in a list that goes to a file and may be read again; what steers a terminal never does.
            controls = any(unicodedata.category(character) == "Cc" for character in word)
            typer.echo(escaped(word) if controls or sys.stdout.isatty() else word)
