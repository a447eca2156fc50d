"""`difa export`: scores -> what other tools read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from difa.cli.options import Force, Quiet, say

if TYPE_CHECKING:
    from difa.document import Result

EXAMPLES = """Examples:

difa export label-studio scores.jsonl --out tasks.json --config labelling.xml

difa export label-studio scores.jsonl --out tasks.json --only-flagged --model-version reviews-3
"""

app = typer.Typer(name="export", help="Export scores for other tools.", no_args_is_help=True)


@app.command("label-studio", epilog=EXAMPLES)
def label_studio(
    scores: Annotated[
        list[str], typer.Argument(help="What `difa score` wrote: .jsonl, .parquet, compressed or not, or folders.")
    ],
    out: Annotated[Path, typer.Option(help="File of tasks, for import into Label Studio.")],
    config: Annotated[Path | None, typer.Option(help="File for the labelling configuration (XML).")] = None,
    model_version: Annotated[str | None, typer.Option(help="Model version to show. Default: the version of difa.")] = None,
    only_flagged: Annotated[bool, typer.Option("--only-flagged", help="Leave out documents that are not flagged.")] = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write tasks for Label Studio, with the flagged words already marked."""
    from difa import __version__
    from difa.formats.labelstudio_export import CONFIGURATION, write_tasks
    from difa.formats.replaceable import check_output
    from difa.formats.results import read_results, result_files
    from difa.report.sentences import word_sentence
    from difa.storage.atomic import fresh_text

    for written in filter(None, (out, config)):
        check_output(written, result_files(scores), force)
    chosen = [0]

    def results() -> Iterator[Result]:
        for result in read_results(scores):
            if result.is_anomaly or not only_flagged:
                chosen[0] += 1
                yield result

    with fresh_text(out) as file:
        file.writelines(write_tasks(results(), model_version or f"difa {__version__}", word_sentence))
    if config is not None:
        with fresh_text(config) as file:
            file.write(CONFIGURATION)
    say(f"{chosen[0]} tasks written to {out}" + (f", configuration to {config}" if config else ""), quiet)
