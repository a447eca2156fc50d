"""`difa allow`: words that a stored model calls normal for good."""

from __future__ import annotations

import re
import sys
import unicodedata
from typing import Annotated

import typer

from difa.cli.options import ModelFolder, Quiet, allowed_words, escaped, say

# Signs of a regular expression, or of a wildcard.
_PATTERN = re.compile(r"\\[a-zA-Z.]|\[[^]]+\]|\(\?|[.)\]][*+]|^\^|[\w)]\$$|[\w-]\*$|^\*\w|\{\d+,?\d*\}")
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
