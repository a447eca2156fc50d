"""`difa allow`: words that a stored model calls normal for good."""

from __future__ import annotations

from typing import Annotated

import typer

from difa.cli.options import ModelFolder, Quiet, allowed_words, say

EXAMPLES = """Examples:

difa allow model product-names.txt

difa allow model Gigaset "New York" LK-48213

difa allow model Gigaset --remove

difa allow model --list
"""


def allow(
    model: ModelFolder,
    words: Annotated[
        list[str] | None,
        typer.Argument(help="Words and phrases, files with one of them a line, or - for stdin."),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take these words off the list instead.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="Print the words that are allowed then, one a line.")] = False,
    quiet: Quiet = False,
) -> None:
    """Call words normal for good: they are never flagged, and documents are scored without them."""
    from difa.errors import ConfigError
    from difa.estimator import DiFA
    from difa.persist import set_allowed

    given = allowed_words(words)
    if not words and (remove or not list_):
        raise ConfigError("expected words or a file of words, got none: give some, or --list alone")
    detector = DiFA.load(model)
    before = len(detector.allowed_)
    if given:
        detector = detector.disallow(given) if remove else detector.allow(given)
        set_allowed(model, detector.detector_.allow)
    now = len(detector.allowed_)
    if words:
        say(f"{model}: {abs(now - before)} {'removed' if remove else 'added'}, {now} words and phrases allowed", quiet)
    if list_:
        for word in detector.allowed_:
            typer.echo(word)
