"""`difa threshold`: what reviewers have time for -> the rate to flag at."""

from __future__ import annotations

import json as jsonlib
from typing import Annotated

import typer

from difa.cli.options import (
    Cache,
    IdColumn,
    InputFormat,
    Inputs,
    ModelFolder,
    Quiet,
    SkipBad,
    TextColumn,
    Threads,
    columns_of,
    read_all,
)

EXAMPLES = """Examples:

difa threshold model recent.csv --budget 30/2000

difa threshold model recent.csv --budget 30/2000 --set
"""


def threshold(
    model: ModelFolder,
    inputs: Inputs,
    budget: Annotated[
        str, typer.Option(help="Documents to review, such as 30/2000; 30 alone means 30 of all documents in the inputs.")
    ],
    set_: Annotated[bool, typer.Option("--set", help="Also store the rate in the model, as `difa set` does.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    text_column: TextColumn = None,
    id_column: IdColumn = None,
    input_format: InputFormat = None,
    cache: Cache = None,
    threads: Threads = None,
    skip_bad: SkipBad = False,
    quiet: Quiet = False,
) -> None:
    """Find the rate that keeps the number of flagged documents within a budget, from recent documents."""
    import numpy as np

    from difa.cli.scoring import score_all
    from difa.cli.set_rate import set_ as put_in_force
    from difa.decide.review_budget import parse_budget, rate_for_budget
    from difa.errors import InputError
    from difa.estimator import DiFA

    parse_budget(budget, 1 << 62)  # one that cannot be read is refused before anything is scored
    documents = read_all(inputs, skip_bad, columns_of(text_column, id_column, input_format), quiet)
    if not documents:
        raise InputError("expected recent documents, got none")
    fitted = DiFA.load(model, cache=cache, threads=threads)
    results = score_all(fitted, documents, fitted.fpr, None, quiet)
    p_values = np.array([result.p_value for result in results])
    reference = fitted.detector_.document_reference
    found = rate_for_budget(p_values, *parse_budget(budget, len(documents)), len(reference.values))
    if json:
        typer.echo(jsonlib.dumps(found.to_dict(), indent=2))
    else:
        low, high = found.interval
        typer.echo(
            f"rate {found.rate!r}: flags {found.recent_flagged} of the {found.recent} recent documents, and of the next "
            f"{found.documents} like them {found.expected:.0f} on average, {low} to {high} with 95 % confidence"
        )
    if set_:
        put_in_force(model, found.rate, quiet)
    elif not json:
        typer.echo(f"put it in force: difa set {model} --fpr {found.rate!r}")
