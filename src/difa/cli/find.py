"""What does not belong, and why: `difa find` among new documents, by normal ones; by a model `difa explain` in one text, and
`difa check` in the prose of files, as a linter prints it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from difa.cli.console import open_text, print_json, say, say_next, stages, to_stdout
from difa.cli.fit import FitOptions
from difa.cli.options import Allow, Force, Fpr, Json, ModelFolder, Quiet, allowed_words, command
from difa.errors import ConfigError, InputError
from difa.storage.atomic import writing

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
    normal: Annotated[str, Argument(help="Normal documents: a file, a folder or a pattern, in any format of `difa fit`.")],
    new: Annotated[str, Argument(help="New documents, likewise; - is stdin.")],
    given: FitOptions,
    out: Annotated[Path | None, Option(help="File for all results: .jsonl, .csv, .tsv or .parquet; - is stdout.")] = None,
    report: Annotated[Path | None, Option(help="HTML file to send to a colleague.")] = None,
    keep: Annotated[Path | None, Option(help="Folder to keep the model in, for `difa score` and the other commands.")] = None,
    top: Annotated[int | None, Option(help="Show, and write, only this many documents, the most unusual first.", min=1)] = None,
    fpr: Annotated[float, Option(help="Share of normal documents that may be flagged.")] = 0.05,
    format: Annotated[str | None, Option(help="Format of --out, if its name does not say it.")] = None,
    force: Force = False,
) -> None:
    """Find the new documents that do not belong among the normal ones. Learns from both, needs no labels."""
    from difa.formats.results import check_outputs
    from difa.formats.write import format_of
    from difa.report.html import report_html
    from difa.report.summary import summarise
    from difa.storage.model_folder import check_place

    known, sources = given.sources([normal], main=False), given.sources([new], main=False)
    check_outputs((out, report), [source.path for source in (*known, *sources) if not source.is_stdin], force)
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
    learned = lessons.sentences() if (lessons := model.detector_.feed_summary) else []
    if str(out) != "-":
        _show(model, documents, results, chosen[: top or _SHOWN], learned)
    if out is not None:
        _write(out, form, sources, [results[at] for at in chosen] if top else results)
    if report is not None:
        summary, of_result = summarise(results, (), top or 30), dict(zip(map(id, results), documents, strict=True))
        page = report_html(
            summary, "What does not belong", [normal, new], learned, lambda result: model.detector_.reasons(of_result[id(result)])
        )
        with open_text(report) as file:
            file.write(page)
    for place, what in ((out, "results"), (report, "report"), (keep, "model")):
        if place is not None:
            say(f"{what} written to {place}", given.quiet)
    more = f"difa allow {keep} WORD if a word is right" if keep else "--report page.html shows more, --keep model keeps the model"
    say_next(f"{more}; difa fit --verdicts REVIEWED teaches what you decide", given.quiet)


def _show(
    model: DiFA, documents: Sequence[Document], results: Sequence[Result], chosen: Sequence[int], learned: Sequence[str]
) -> None:
    """What is unusual about all of them, and the most unusual documents with the reason."""
    from rich.console import Console

    from difa.report.sentences import overview
    from difa.report.terminal import found_document

    console = Console(highlight=False)
    console.print(overview(results, model.fpr, learned), soft_wrap=True)
    for place, at in enumerate(chosen, 1):
        reasons = model.detector_.reasons(documents[at])
        console.print()
        console.print(found_document(place, results[at], reasons), soft_wrap=True)


def _write(out: Path, form: str, sources: Sequence[Source], results: Sequence[Result]) -> None:
    from difa.document import columns_of
    from difa.formats.tables import Shape
    from difa.formats.write import write_results

    with writing(out), to_stdout(out) as place:
        write_results(place, form, Shape.of_sources(sources), columns_of(results))


@command(
    'difa explain model "My parcel was delivered to the wrnog address"',
    'difa explain model "Is the wpdlkrt bench in stock?" --details',
    'echo "some text" | difa explain model - --json',
)
def explain(
    model: ModelFolder,
    text: Annotated[str, Argument(help="The text, or - for standard input.")],
    fpr: Fpr = None,
    allow: Allow = None,
    most: Annotated[int, Option(help="Maximum number of words to explain.", min=1)] = 6,
    details: Annotated[bool, Option("--details", help="Also show the evidence and the reasons of each view.")] = False,
    json: Json = False,
) -> None:
    """Say in plain words what is unusual about a text."""
    from rich.console import Console

    from difa.estimator import DiFA
    from difa.formats.streams import read_text
    from difa.report.sentences import explanation_record
    from difa.report.terminal import explanation

    text = read_text(text) if text == "-" else text
    if not text.strip():
        raise InputError("expected a text, got an empty one")
    explained = DiFA.load(model).explain(text.rstrip("\n"), fpr=fpr, allow=allowed_words(allow))
    if json:
        print_json(explanation_record(explained))
    else:
        console = Console(highlight=False)
        console.print(explanation(explained, most, details), soft_wrap=not console.is_terminal)
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


@command(
    "difa check model README.md docs",
    "difa check model docs/*.md --diff main",
    "difa check model src --format github --per-thousand 0.5",
    "difa check model docs --format sarif > difa.sarif",
)
def check(
    model: ModelFolder,
    files: Annotated[
        list[str],
        Argument(
            metavar="FILES...",
            help="Markdown (.md), reStructuredText (.rst), Python (comments and docstrings), plain text, or folders of these.",
        ),
    ],
    per_thousand: Annotated[
        float, Option(help="Flag at most this many of a thousand normal words: 1 flags words with a p-value up to 0.001.")
    ] = 1.0,
    format: Annotated[str, Option(help="text, json, github (annotations of a workflow) or sarif.")] = "text",
    diff: Annotated[
        str | None, Option(metavar="REVISION", help="Look only at lines that were added since this git revision.")
    ] = None,
    allow: Allow = None,
    quiet: Quiet = False,
) -> None:
    """Check the prose of files, word by word. Exit code 0: nothing is found. 1: something is. 2: an error."""
    from difa.estimator import DiFA
    from difa.formats.prose import find_prose
    from difa.report.findings import FORMATS, find_unusual

    if format not in FORMATS:
        raise ConfigError(f"--format: expected one of {', '.join(FORMATS)}, got {format!r}")
    words, paths = allowed_words(allow), find_prose(files)
    findings = find_unusual(DiFA.load(model), paths, per_thousand, diff, words)
    if findings or format in ("json", "sarif"):  # which are never empty
        typer.echo(FORMATS[format](findings))
    within = len({found.path for found in findings})
    say(f"difa: {len(findings)} found in {within} of {len(paths)} files, at {per_thousand:g} in 1,000 normal words", quiet)
    if findings:
        say_next(f"if a word is right, difa allow {model} WORD keeps it from being found again", quiet)
        raise typer.Exit(1)
