"""`difa set`: change the rate at which a stored model flags."""

from __future__ import annotations

import warnings
from typing import Annotated

import typer

from difa.cli.options import ModelFolder, Quiet, say

EXAMPLES = """Examples:

difa set model --fpr 0.05
"""


def set_(
    model: ModelFolder,
    fpr: Annotated[float, typer.Option(help="Share of normal documents, and words, that may be flagged from now on.")],
    quiet: Quiet = False,
) -> None:
    """Change the false-alarm rate of a model, without a new fit."""
    from difa.calibrate import check_rate
    from difa.estimator import DiFA
    from difa.storage.persist import set_rate

    check_rate("--fpr", fpr)
    if why := DiFA.load(model).detector_.document_reference.why_too_small(fpr):
        warnings.warn(why, stacklevel=1)
    set_rate(model, fpr)
    say(f"{model}: flags {fpr:g} of normal documents from now on", quiet)
