"""`difa bench`: measure methods on labelled sets, and draw what came out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from difa.cli.console import say
from difa.cli.options import Cache, Quiet, Threads, command

EXAMPLES = """Examples:

difa bench table --data data --out bench

difa bench table --seeds 0,1,2,3,4 --forms clean --methods tokencore,difa-full

difa bench report bench --into docs/benchmark-tables.md
"""

bench = typer.Typer(
    name="bench",
    help="Compare methods on labelled sets: tables, ablations, figures.",
    epilog=EXAMPLES,
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Methods = Annotated[str, typer.Option(help="Methods, separated by commas. A wrong name lists the right ones.")]
PresetName = Annotated[str, typer.Option("--preset", help="Which preset of DiFA.")]
_OF_THIS_MACHINE = ("out", "data", "cache", "threads", "quiet")


@dataclass(frozen=True)
class RunOptions:
    """Options of every command that measures."""

    out: Annotated[Path, typer.Option(help="Results folder; a stopped run continues where it was.")] = Path("bench")
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder with tokenad/, or with your own labelled files. Default: DIFA_DATA, ../shared/data or the hub."
        ),
    ] = None
    sets: Annotated[str, typer.Option(help="Sets, separated by commas. Empty: all.")] = ""
    forms: Annotated[str, typer.Option(help="Forms, separated by commas: original, clean. Empty: both.")] = ""
    seeds: Annotated[
        str, typer.Option(help="Seeds of the split and of the methods, separated by commas; 42 is the published split.")
    ] = "42"
    encoder: Annotated[str, typer.Option(help="minilm (embedded), a Hugging Face hub name, or a local folder.")] = "minilm"
    layer: Annotated[int | None, typer.Option(help="Hidden layer to read: 0 is the embedding, −1 the last.")] = None
    draws: Annotated[int, typer.Option(help="Bootstrap draws over documents; 0 for no intervals.", min=0)] = 200
    threads: Threads = None
    cache: Cache = None
    revision: Annotated[str | None, typer.Option(help="Commit of the original form on the hub.")] = None
    flags: Annotated[
        bool,
        typer.Option("--flags/--no-flags", help="Without flags the preset paper fits in a quarter of the time: same scores."),
    ] = True
    quiet: Quiet = False

    def measure(self, context: typer.Context, module: str, *arguments: object, printed: bool = True, **more: object) -> None:
        """Call the function of `difa.bench` that has the command's name, under a progress bar; in the end print its table."""
        from difa.bench.run import Options, open_run
        from difa.cli.console import cells

        command = context.command.name
        run_command = getattr(import_module(f"difa.bench.{module}"), f"run_{command}")
        given = {name: value for name, value in vars(self).items() if name != "quiet"}
        given |= {"sets": _names(self.sets), "forms": _names(self.forms), "seeds": _numbers(self.seeds, "seeds")}
        with cells(self.quiet) as progress, open_run(Options(**given, asked_by=_command_line(context)), progress) as run:
            run_command(run, *arguments, **more)
        say(f"written to {self.out}", self.quiet)
        if printed:
            typer.echo((self.out / f"{command}.md").read_text(encoding="utf-8"))


def _command_line(context: typer.Context) -> str:
    """The command as anybody may repeat it: options that differ from their defaults, without this machine's folders."""
    words = ["difa", "bench", context.command.name or ""]
    for option in context.command.params:
        value = context.params.get(option.name or "")
        if option.name in _OF_THIS_MACHINE or value in (None, option.default):
            continue
        shown = Path(value).name if option.name == "encoder" and Path(value).is_dir() else value
        name = (option.opts if value else option.secondary_opts)[0] if isinstance(value, bool) else option.opts[0]
        words += [name] if isinstance(value, bool) else [name, str(shown)]
    return " ".join(words)


def measures(*examples: str, **defaults: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function, with examples, without the command's own name, and its defaults of `RunOptions`."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        lines = (f"difa bench {function.__name__} {example}".rstrip() for example in examples)
        made = command(*lines, **defaults)(function)
        return bench.command(epilog=vars(made)["epilog"])(made)

    return decorate


@measures(
    "--data data --out bench",
    "--seeds 0,1,2,3,4 --forms clean --methods tokencore,difa-full",
    "--data labelled --methods trigram,difa-full,pytextad-sik",
    "--forms original --methods difa-paper --model-seeds 0,1,2,3,4",
)
def table(
    context: typer.Context,
    given: RunOptions,
    methods: Methods = "",
    grid: Annotated[
        bool,
        typer.Option("--grid", help="Also the best of the TokenCore authors' settings: on validation data, and by test AUROC."),
    ] = False,
    peers: Annotated[
        bool, typer.Option("--peers", help="Also all detectors of PyTextAD; --methods selects single ones.")
    ] = False,
    model_seeds: Annotated[
        str, typer.Option(help="Seeds of the models on each split, separated by commas. Empty: the seed of the split.")
    ] = "",
) -> None:
    """Measure every method on every set: AUROC, average precision, false alarms at 95 % recall; words and documents."""
    models = _numbers(model_seeds, "model-seeds") if model_seeds else ()
    given.measure(context, "table", _names(methods), grid=grid, with_peers=peers, model_seeds=models)


@measures("--sets review --out bench", "--judge pseudo --sets review,grammar", "--preset paper --forms original", forms="clean")
def ablation(
    context: typer.Context,
    given: RunOptions,
    preset: PresetName = "full",
    judge: Annotated[
        str, typer.Option(help="Judge by `labels`, or by `pseudo` anomalies made in held-out normal documents.")
    ] = "labels",
) -> None:
    """Measure what each view, the fusion, the aggregation and the calibration of DiFA contribute."""
    given.measure(context, "ablation", preset, judge)


@measures("", "--methods tokencore,lunar,difa-full", sets="grammar,review", forms="clean")
def efficiency(context: typer.Context, given: RunOptions, methods: Methods = "") -> None:
    """Measure accuracy against time to fit, time to score and memory."""
    given.measure(context, "analyses", _names(methods))


@measures("", "--many 200000", sets="review", forms="clean")
def speed(
    context: typer.Context,
    given: RunOptions,
    docs: Annotated[int, typer.Option(help="Documents to score; four times as many are scored to see growth.", min=4)] = 200,
    rounds: Annotated[int, typer.Option(help="Number of times each part runs; medians are compared.", min=1)] = 3,
    many: Annotated[int, typer.Option(help="Also measure the memory for this many short documents, such as 200000.", min=0)] = 0,
) -> None:
    """Measure the speed of scoring, compared with its encoder, matrix products, a peer library and a cold start."""
    given.measure(context, "speed", docs, rounds, many)


@measures("", "--data labelled --sets mine --methods difa-full", "--forms original --kinds noise", sets="spam", forms="clean")
def contamination(
    context: typer.Context,
    given: RunOptions,
    methods: Methods = "difa-full,difa-paper,tokencore,iforest",
    kinds: Annotated[str, typer.Option(help="Ways of contamination, separated by commas: noise, anomalies. Empty: both.")] = "",
) -> None:
    """Measure document AUROC with noise and real anomalies in the training data."""
    given.measure(context, "analyses", _names(methods), kinds=_names(kinds))


@measures("", "--sets review --methods trigram,difa-full", sets="spam", forms="clean")
def sparsity(
    context: typer.Context, given: RunOptions, methods: Methods = "difa-full,difa-paper,tokencore,iforest,trigram"
) -> None:
    """Measure document AUROC by the number of anomalous words in a document."""
    given.measure(context, "analyses", _names(methods))


@measures("--encoder folder", "--encoder folder --layers 6,8,10,12", sets="spam,review,grammar", forms="clean")
def layers(
    context: typer.Context,
    given: RunOptions,
    layers: Annotated[str, typer.Option(help="Layers, separated by commas. Empty: every other one, back from the last.")] = "",
    preset: PresetName = "paper",
    docs: Annotated[int, typer.Option(help="Training documents of each set that are looked at, at most.", min=20)] = 300,
) -> None:
    """Choose the layer of an encoder by pseudo anomalies in held-out normal documents."""
    given.measure(context, "ablation", _numbers(layers, "layers") if layers else (), preset, docs)


@measures("", "--sets review,spam --seeds 0,1,2 --presets fast", "--data labelled --sets mine --out bench", forms="clean")
def feed(
    context: typer.Context,
    given: RunOptions,
    presets: Annotated[str, typer.Option(help="Presets of DiFA that learn from a feed, separated by commas.")] = "full,fast",
) -> None:
    """Measure what DiFA learns from unlabelled new text, and from a few reviewed documents."""
    given.measure(context, "feed", _names(presets))


@measures(
    *("", "--sets review --seeds 0,1,2", "--preset full", "--preset full --only feed"), forms="clean", seeds="0,1,2,3,4,5,6,7,8,9"
)
def promises(
    context: typer.Context,
    given: RunOptions,
    preset: PresetName = "fast",
    only: Annotated[
        str,
        typer.Option(help="Parts to measure, separated by commas: whole, small, copies, templates, spoilt, feed. Empty: all."),
    ] = "",
) -> None:
    """Measure whether false-alarm and false-discovery rates hold, and when they do not."""
    given.measure(context, "promises", preset, _names(only))


@measures("--sets spam --count 5", forms="clean")
def examples(
    context: typer.Context,
    given: RunOptions,
    preset: PresetName = "full",
    count: Annotated[int, typer.Option(help="Documents drawn at random from each set.", min=0)] = 3,
) -> None:
    """Draw scored documents with coloured words, as HTML and PNG."""
    given.measure(context, "analyses", preset, count, printed=False)


@bench.command()
def report(
    results: Annotated[Path, typer.Argument(help="A results folder, as the other commands write it.")],
    into: Annotated[Path, typer.Option(help="Markdown page with the marks to fill in.")],
    quiet: Quiet = False,
) -> None:
    """Fill the tables and pictures of a Markdown page from a results folder."""
    from difa.bench.report import write_report

    filled = write_report(results, into)
    say(f"{into}: filled in {', '.join(filled) or 'nothing'}", quiet)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _numbers(text: str, option: str) -> tuple[int, ...]:
    from difa.errors import ConfigError

    try:
        numbers = tuple(map(int, _names(text)))
    except ValueError:
        numbers = ()
    if not numbers or min(numbers) < 0:
        raise ConfigError(f"{option}: expected whole numbers of at least 0, separated by commas, got {text!r}")
    return numbers
