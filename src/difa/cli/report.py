"""Scores -> what others read: `difa report` writes one HTML file for a colleague, `difa export` tasks for Label Studio."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from difa.cli.console import open_text, say, say_next
from difa.cli.options import Force, Quiet, Scores, command

if TYPE_CHECKING:
    from difa.document import Result

export = typer.Typer(name="export", help="Export scores for other tools.", no_args_is_help=True)


@command(
    "difa report scores.jsonl --out report.html",
    'difa report scores.parquet --out report.html --by day --by country --title "Reviews of May"',
)
def report(
    scores: Scores,
    out: Annotated[Path, Option(help="HTML file to write, or - for stdout.")],
    by: Annotated[
        list[str] | None, Option(help="Show the share flagged by `file`, `day` or a column of the input; can be repeated.")
    ] = None,
    title: Annotated[str, Option(help="Title of the report.")] = "What stands out",
    fpr: Annotated[
        float | None, Option(help="Flag at most this share of normal documents. Default: the flags that the scores have.")
    ] = None,
    most: Annotated[int, Option(help="Number of unusual documents to show.", min=1)] = 30,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write a report on scored documents: one HTML file to send to others."""
    from difa.calibrate import check_rate
    from difa.decide import Rule, flag
    from difa.formats.results import check_outputs, read_results, result_files
    from difa.report.html import report_html
    from difa.report.summary import summarise

    check_outputs((out,), result_files(scores), force)
    results = read_results(scores)
    if fpr is not None:
        rule = Rule("fpr", check_rate("fpr", fpr))
        results = (flag([result], rule)[0] for result in results)
    summary = summarise(results, by or (), most)
    with open_text(out) as file:
        file.write(report_html(summary, title, scores))
    said = f"{summary.all.flagged} of {summary.all.documents} documents flagged"
    say(said + ("" if str(out) == "-" else f", written to {out}"), quiet)
    say_next("difa allow MODEL WORD if a word is right; difa fit NORMAL --verdicts REVIEWED teaches what you decide", quiet)


@command(
    "difa export label-studio scores.jsonl --out tasks.json --config labelling.xml",
    "difa export label-studio scores.jsonl --out tasks.json --only-flagged --model-version reviews-3",
)
def label_studio(
    scores: Scores,
    out: Annotated[Path, Option(help="File of tasks, for import into Label Studio.")],
    config: Annotated[Path | None, Option(help="File for the labelling configuration (XML).")] = None,
    model_version: Annotated[str | None, Option(help="Model version to show. Default: the version of difa.")] = None,
    only_flagged: Annotated[bool, Option("--only-flagged", help="Leave out documents that are not flagged.")] = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write tasks for Label Studio, with the flagged words already marked."""
    from difa import __version__
    from difa.formats.labelstudio import CONFIGURATION, write_tasks
    from difa.formats.results import check_outputs, read_results, result_files
    from difa.report.sentences import word_sentence

    check_outputs((out, config), result_files(scores), force)
    count = 0

    def results() -> Iterator[Result]:
        nonlocal count
        for result in read_results(scores):
            if result.is_anomaly or not only_flagged:
                count += 1
                yield result

    with open_text(out) as file:
        file.writelines(write_tasks(results(), model_version or f"difa {__version__}", word_sentence))
    if config is not None:
        with open_text(config) as file:
            file.write(CONFIGURATION)
    say(f"{count} tasks written to {out}" + (f", configuration to {config}" if config else ""), quiet)


export.command(epilog=vars(label_studio)["epilog"])(label_studio)
