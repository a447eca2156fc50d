"""`difa check`: the prose of files -> unusual words at their places, as a linter prints them."""

from __future__ import annotations

from typing import Annotated

import typer

from difa.cli.options import Allow, ModelFolder, Quiet, allowed_words, command, say, say_next
from difa.errors import ConfigError


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
        typer.Argument(
            metavar="FILES...",
            help="Markdown (.md), reStructuredText (.rst), Python (comments and docstrings), plain text, or folders of these.",
        ),
    ],
    per_thousand: Annotated[
        float,
        typer.Option(help="Flag at most this many of a thousand normal words: 1 flags words with a p-value up to 0.001."),
    ] = 1.0,
    format: Annotated[str, typer.Option(help="text, json, github (annotations of a workflow) or sarif.")] = "text",
    diff: Annotated[
        str | None, typer.Option(metavar="REVISION", help="Look only at lines that were added since this git revision.")
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
