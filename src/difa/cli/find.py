"""What does not belong, and why: `difa find` among new documents, by normal ones; `difa explain` in one text, by a model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from difa.cli.fit import FitOptions
from difa.cli.options import (
    Allow,
    Force,
    Fpr,
    Json,
    ModelFolder,
    allowed_words,
    command,
    print_json,
    read_text,
    say,
    say_next,
    to_stdout,
)

if TYPE_CHECKING:
    from difa.document import Document, Result
    from difa.estimator import DiFA
    from difa.formats.sources import Source

_TERM = re.compile(r"\w+(?:[-.]\w+)*")  # a word that a shell takes as it stands
_SHOWN = 10  # documents on the terminal unless another number is asked for


@command(
    "difa find normal.txt new.txt",
    "difa find last-month.csv today.csv --text-column body --out worst.csv --top 30",
    "difa find normal.txt new.txt --report page.html --keep model",
    "difa find normal.txt new.txt --preset fast --fpr 0.01",
)
def find(
    normal: Annotated[str, typer.Argument(help="Normal documents: a file, a folder or a pattern, in any format of `difa fit`.")],
    new: Annotated[str, typer.Argument(help="New documents, likewise; - is stdin.")],
    given: FitOptions,
    out: Annotated[Path | None, typer.Option(help="File for all results: .jsonl, .csv, .tsv or .parquet; - is stdout.")] = None,
    report: Annotated[Path | None, typer.Option(help="HTML file to send to a colleague.")] = None,
    keep: Annotated[
        Path | None, typer.Option(help="Folder to keep the model in, for `difa score` and the other commands.")
    ] = None,
    top: Annotated[
        int | None, typer.Option(help="Show, and write, only this many documents, the most unusual first.", min=1)
    ] = None,
    fpr: Annotated[float, typer.Option(help="Share of normal documents that may be flagged.")] = 0.05,
    format: Annotated[str | None, typer.Option(help="Format of --out, if its name does not say it.")] = None,
    force: Force = False,
) -> None:
    """Find the new documents that do not belong among the normal ones. Learns from both, needs no labels."""
    from difa.cli.progress import stages
    from difa.errors import InputError
    from difa.formats.replaceable import check_output
    from difa.formats.table_output import format_of
    from difa.storage.persist import check_place

    known, sources = given.other_sources([normal]), given.other_sources([new])
    for written in (place for place in (out, report) if place is not None and str(place) != "-"):
        check_output(written, [source.path for source in (*known, *sources) if not source.is_stdin], force)
    if keep is not None:
        check_place(keep)
    form = format_of(None if str(out) == "-" else out, format)
    documents = list(given.read(sources))
    if not any(document.words for document in documents):
        raise InputError(f"{new}: expected new documents with words, got none: check the file")
    model = given.estimator(fpr)
    with stages(given.quiet) as progress:
        model.fit(given.read(known), feed=documents, report=progress)
    if keep is not None:
        model.save(keep)
    results = given.score(model, documents)
    chosen = sorted(range(len(results)), key=lambda at: (results[at].p_value, -results[at].score))[: top or len(results)]
    if str(out) != "-":
        _show(model, documents, results, chosen[: top or _SHOWN])
    if out is not None:
        _write(out, form, sources, [results[at] for at in chosen] if top else results)
    if report is not None:
        _write_report(report, model, results, [normal, new], top or 30)
    for place, what in ((out, "results"), (report, "report"), (keep, "model")):
        if place is not None:
            say(f"{what} written to {place}", given.quiet)
    more = f"difa allow {keep} WORD if a word is right" if keep else "--report page.html shows more, --keep model keeps the model"
    say_next(f"{more}; difa fit --verdicts REVIEWED teaches what you decide", given.quiet)


def _show(model: DiFA, documents: Sequence[Document], results: Sequence[Result], chosen: Sequence[int]) -> None:
    """What is unusual about all of them, and the most unusual documents with the reason."""
    from rich.console import Console

    from difa.report.sentences import overview
    from difa.report.terminal import found_document

    console = Console(highlight=False)
    lessons = model.detector_.lessons
    console.print(overview(results, model.fpr, lessons.sentences() if lessons else []), soft_wrap=True)
    for place, at in enumerate(chosen, 1):
        reasons = model.explain_unflagged(documents[at]).reasons
        console.print()
        console.print(found_document(place, results[at], reasons), soft_wrap=True)


def _write(out: Path, form: str, sources: Sequence[Source], results: Sequence[Result]) -> None:
    from difa.document import columns_of
    from difa.errors import InputError
    from difa.formats.shape import Shape
    from difa.formats.table_output import write_results

    try:
        with to_stdout(out) as place:
            write_results(cast(Path, place), form, Shape.of_sources(sources), columns_of(results))
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {error.strerror or error}") from None


def _write_report(report: Path, model: DiFA, results: Sequence[Result], inputs: Sequence[str], most: int) -> None:
    from difa.report.html import report_html
    from difa.report.summary import summarise
    from difa.storage.atomic import fresh_text

    lessons = model.detector_.lessons
    learned = lessons.sentences() if lessons else []
    with fresh_text(report) as file:
        file.write(report_html(summarise(results, (), most), "What does not belong", inputs, learned))


@command(
    'difa explain model "My parcel was delivered to the wrnog address"',
    'difa explain model "Is the wpdlkrt bench in stock?" --details',
    'echo "some text" | difa explain model - --json',
)
def explain(
    model: ModelFolder,
    text: Annotated[str, typer.Argument(help="The text, or - for standard input.")],
    fpr: Fpr = None,
    allow: Allow = None,
    most: Annotated[int, typer.Option(help="Maximum number of words to explain.", min=1)] = 6,
    details: Annotated[bool, typer.Option("--details", help="Also show the evidence and the reasons of each view.")] = False,
    json: Json = False,
) -> None:
    """Say in plain words what is unusual about a text."""
    from rich.console import Console

    from difa.errors import InputError
    from difa.estimator import DiFA
    from difa.report.sentences import explanation_record
    from difa.report.terminal import explanation

    text = read_text(text) if text == "-" else text
    if not text.strip():
        raise InputError("expected a text, got an empty one")
    explained = DiFA.load(model).explain(text.rstrip("\n"), fpr=fpr, allow=allowed_words(allow))
    if json:
        print_json(explanation_record(explained))
    else:
        Console(highlight=False).print(explanation(explained, most, details))
        say_next(f"{_advice(model, explained.result)}--details shows the evidence")


def _advice(model: Path, result: Result) -> str:
    """What to do about a result: allow its most unusual word that may be a term, look more closely, or nothing."""
    flagged = sorted((word for word in result.words if word.is_anomaly), key=lambda word: word.p_value)
    edges = {edge for word in flagged if word.fault for edge in (word.start, word.end)}  # a word that a fault cuts is no term
    for word in flagged:
        is_whole = word.start not in edges and word.end not in edges
        if is_whole and not word.fault and not word.suggestion and _TERM.fullmatch(word.text):
            return f"difa allow {model} {word.text} if the word is right; "
    return "" if flagged else "--fpr 0.1 looks more closely; "
