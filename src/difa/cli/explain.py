"""`difa explain`: one text, its suspicious words in place, and why."""

from __future__ import annotations

from typing import Annotated

import typer

from difa.cli.options import Allow, Fpr, Json, ModelFolder, allowed_words, command, print_json, read_text


@command(
    'difa explain model "My parcel was banana to the wrong address"',
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
