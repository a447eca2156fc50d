"""`difa report`: scores -> one HTML file for a colleague."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from difa.cli.options import Force, Quiet, say

EXAMPLES = """Examples:

difa report scores.jsonl --out report.html

difa report scores.parquet --out report.html --by day --by country --title "Reviews of May"
"""


def report(
    scores: Annotated[
        list[str], typer.Argument(help="What `difa score` wrote: .jsonl, .parquet, compressed or not, or folders.")
    ],
    out: Annotated[Path, typer.Option(help="HTML file to write.")],
    by: Annotated[
        list[str] | None,
        typer.Option(help="Show the share flagged by `file`, `day` or a column of the input; can be repeated."),
    ] = None,
    title: Annotated[str, typer.Option(help="Title of the report.")] = "What stands out",
    most: Annotated[int, typer.Option(help="Number of unusual documents to show.", min=1)] = 30,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write a report on scored documents: one HTML file to send to others."""
    from difa.formats.replaceable import check_output
    from difa.formats.results import read_results, result_files
    from difa.report.html import report_html
    from difa.report.summary import summarise
    from difa.storage.atomic import fresh_text

    check_output(out, result_files(scores), force)
    summary = summarise(read_results(scores), by or (), most)
    with fresh_text(out) as file:
        file.write(report_html(summary, title, scores))
    say(f"{summary.all.flagged} of {summary.all.documents} documents flagged, written to {out}", quiet)
