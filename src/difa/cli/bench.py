"""`difa bench`: measure methods on labelled sets, and draw what came out.

Every command takes the options of `common` beside its own: `BenchCommand` reads them, opens the run, and hands it to the
command as `context.obj`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from difa.cli.options import Cache, Quiet, Threads, say

if TYPE_CHECKING:
    from difa.bench.run import Options
else:
    Options = Any  # signatures are read when the commands are made, long before a benchmark is loaded

EXAMPLES = """Examples:

difa bench table --data data --out bench

difa bench table --seeds 0,1,2,3,4 --forms clean --methods tokencore,difa-full

difa bench report bench --into docs/benchmark-tables.md
"""

app = typer.Typer(
    name="bench",
    help="Compare methods on labelled sets: tables, ablations, figures.",
    epilog=EXAMPLES,
    no_args_is_help=True,
    rich_markup_mode="rich",
)

DataFolder = Annotated[
    Path | None,
    typer.Option(help="Folder with tokenad/, or with your own labelled files. Default: DIFA_DATA, ../shared/data or the hub."),
]
EncoderName = Annotated[str, typer.Option("--encoder", help="minilm (embedded), a Hugging Face hub name, or a local folder.")]
Methods = Annotated[str, typer.Option(help="Methods, separated by commas. A wrong name lists the right ones.")]
_RESAMPLES = ",".join(map(str, range(10)))
PresetName = Annotated[str, typer.Option("--preset", help="Which preset of DiFA.")]


def common(
    out: Annotated[Path, typer.Option(help="Results folder; a stopped run continues where it was.")] = Path("bench"),
    data: DataFolder = None,
    sets: Annotated[str, typer.Option(help="Sets, separated by commas. Empty: all.")] = "",
    forms: Annotated[str, typer.Option(help="Forms, separated by commas: original, clean. Empty: both.")] = "",
    seeds: Annotated[
        str, typer.Option(help="Seeds of the split and of the methods, separated by commas; 42 is the published split.")
    ] = "42",
    encoder: EncoderName = "minilm",
    layer: Annotated[int | None, typer.Option(help="Hidden layer to read: 0 is the embedding, −1 the last.")] = None,
    draws: Annotated[int, typer.Option(help="Bootstrap draws over documents; 0 for no intervals.", min=0)] = 200,
    threads: Threads = None,
    cache: Cache = None,
    revision: Annotated[str | None, typer.Option(help="Commit of the original form on the hub.")] = None,
    flags: Annotated[
        bool,
        typer.Option("--flags/--no-flags", help="Without flags the preset paper fits in a quarter of the time: same scores."),
    ] = True,
    quiet: Quiet = False,
) -> tuple[Options, bool]:
    """Options of every command, and whether to keep quiet."""
    from difa.bench.run import Options

    names = {"sets": _names(sets), "forms": _names(forms), "seeds": _numbers(seeds)}
    more = {"encoder": encoder, "layer": layer, "draws": draws, "threads": threads, "cache": cache}
    more |= {"revision": revision, "flags": flags}
    return Options(out, data, **names, **more), quiet  # type: ignore[arg-type]


class BenchCommand(TyperCommand):
    """A command with the options of `common` beside its own."""

    shows: str | None = None
    """File of the results folder that is printed in the end, when no progress bar stands in its way."""
    defaults: Mapping[str, str] = {}
    """Other defaults for options of `common`."""

    def __init__(self, *arguments: Any, params: list[Any], **rest: Any) -> None:
        """Add the options of `common`, as Typer makes them, behind the command's own."""
        app = typer.Typer(add_completion=False)
        app.command()(common)
        self._common = typer.main.get_command(app)
        for option in self._common.params:
            option.default = self.defaults.get(option.name or "", option.default)
        super().__init__(*arguments, params=[*params, *self._common.params], **rest)

    def invoke(self, ctx: Any) -> None:
        """Open a run by the options of `common`, and let the command work in it."""
        from difa.bench.run import open_run
        from difa.cli.progress import cells

        asked_by = _command_line(self, ctx.params)
        read: Any = self._common.callback  # `common`, once Typer has turned what was given into its types
        options, quiet = read(**{option.name: ctx.params.pop(option.name) for option in self._common.params})
        options = replace(options, asked_by=asked_by)
        with cells(quiet) as progress, open_run(options, progress) as run:
            ctx.obj = run
            super().invoke(ctx)
        say(f"written to {options.out}", quiet)
        if self.shows:
            typer.echo((options.out / self.shows).read_text(encoding="utf-8"))


_OF_THIS_MACHINE = ("out", "data", "cache", "threads", "quiet")


def _command_line(command: TyperCommand, given: Mapping[str, Any]) -> str:
    """The command as anybody may repeat it: options that differ from their defaults, without this machine's folders."""
    words = ["difa", "bench", command.name or ""]
    for option in command.params:
        value = given.get(option.name or "")
        if option.name in _OF_THIS_MACHINE or value in (None, option.default):
            continue
        shown = Path(value).name if option.name == "encoder" and Path(value).is_dir() else value
        switch = {True: option.opts, False: option.secondary_opts}.get(value) if isinstance(value, bool) else None
        words += [switch[0]] if switch else [option.opts[0], str(shown)]
    return " ".join(words)


def command(
    file: str | None = None, *, examples: Sequence[str], **other: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function that works in an open run, `context.obj`.

    Args:
        file: file of the results folder that is printed in the end.
        examples: examples that `--help` shows, without the command's own name.
        other: other defaults for options of `common`.
    """

    class Command(BenchCommand):
        shows, defaults = file, other

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        lines = (f"difa bench {function.__name__} {example}".rstrip() for example in examples)
        return app.command(cls=Command, epilog="\n\n".join(("Examples:", *lines)))(function)

    return decorate


@command(
    "table.md",
    examples=(
        "--data data --out bench",
        "--seeds 0,1,2,3,4 --forms clean --methods tokencore,difa-full",
        "--data labelled --methods trigram,difa-full,pytextad-sik",
        "--forms original --methods difa-paper --model-seeds 0,1,2,3,4",
    ),
)
def table(
    context: typer.Context,
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
    from difa.bench.table import run_table

    run_table(
        context.obj,
        _names(methods),
        grid=grid,
        with_peers=peers,
        model_seeds=_numbers(model_seeds, "model-seeds") if model_seeds else (),
    )


@command(
    "ablation.md",
    examples=("--sets review --out bench", "--judge pseudo --sets review,grammar", "--preset paper --forms original"),
    forms="clean",
)
def ablation(
    context: typer.Context,
    preset: PresetName = "full",
    judge: Annotated[
        str, typer.Option(help="Judge by `labels`, or by `pseudo` anomalies made in held-out normal documents.")
    ] = "labels",
) -> None:
    """Measure what each view, the fusion, the aggregation and the calibration of DiFA contribute."""
    from difa.bench.ablation import run_ablation

    run_ablation(context.obj, preset, judge)


@command("efficiency.md", examples=("", "--methods tokencore,lunar,difa-full"), sets="grammar,review", forms="clean")
def efficiency(context: typer.Context, methods: Methods = "") -> None:
    """Measure accuracy against time to fit, time to score and memory."""
    from difa.bench.analyses import run_efficiency

    run_efficiency(context.obj, _names(methods))


@command("speed.md", examples=("", "--many 200000"), sets="review", forms="clean")
def speed(
    context: typer.Context,
    docs: Annotated[int, typer.Option(help="Documents to score; four times as many are scored to see growth.", min=4)] = 200,
    rounds: Annotated[int, typer.Option(help="Number of times each part runs; medians are compared.", min=1)] = 3,
    many: Annotated[int, typer.Option(help="Also measure the memory for this many short documents, such as 200000.", min=0)] = 0,
) -> None:
    """Measure the speed of scoring, compared with its encoder, matrix products, a peer library and a cold start."""
    from difa.bench.speed import run_speed

    run_speed(context.obj, docs, rounds, many)


@command(
    "contamination.md",
    examples=("", "--data labelled --sets mine --methods difa-full", "--forms original --kinds noise"),
    sets="spam",
    forms="clean",
)
def contamination(
    context: typer.Context,
    methods: Methods = "difa-full,difa-paper,tokencore,iforest",
    kinds: Annotated[str, typer.Option(help="Ways of contamination, separated by commas: noise, anomalies. Empty: both.")] = "",
) -> None:
    """Measure document AUROC with noise and real anomalies in the training data."""
    from difa.bench.analyses import run_contamination, shares_of

    run_contamination(context.obj, _names(methods), shares_of(_names(kinds)))


@command("sparsity.md", examples=("", "--sets review --methods trigram,difa-full"), sets="spam", forms="clean")
def sparsity(context: typer.Context, methods: Methods = "difa-full,difa-paper,tokencore,iforest,trigram") -> None:
    """Measure document AUROC by the number of anomalous words in a document."""
    from difa.bench.analyses import run_sparsity

    run_sparsity(context.obj, _names(methods))


@command(
    "layers.md", examples=("--encoder folder", "--encoder folder --layers 6,8,10,12"), sets="spam,review,grammar", forms="clean"
)
def layers(
    context: typer.Context,
    layers: Annotated[str, typer.Option(help="Layers, separated by commas. Empty: every other one, back from the last.")] = "",
    preset: PresetName = "paper",
    docs: Annotated[int, typer.Option(help="Training documents of each set that are looked at, at most.", min=20)] = 300,
) -> None:
    """Choose the layer of an encoder by pseudo anomalies in held-out normal documents."""
    from difa.bench.ablation import run_layers

    run_layers(context.obj, _numbers(layers, "layers") if layers else (), preset, docs)


@command(
    "feed.md",
    examples=("", "--sets review,spam --seeds 0,1,2 --presets fast", "--data labelled --sets mine --out bench"),
    forms="clean",
)
def feed(
    context: typer.Context,
    presets: Annotated[str, typer.Option(help="Presets of DiFA that learn from a feed, separated by commas.")] = "full,fast",
) -> None:
    """Measure what DiFA learns from unlabelled new text, and from a few reviewed documents."""
    from difa.bench.feed import run_feed

    run_feed(context.obj, _names(presets))


@command(
    "promises.md",
    examples=("", "--sets review --seeds 0,1,2", "--preset full", "--preset full --only feed"),
    forms="clean",
    seeds=_RESAMPLES,
)
def promises(
    context: typer.Context,
    preset: PresetName = "fast",
    only: Annotated[
        str,
        typer.Option(help="Parts to measure, separated by commas: whole, small, copies, templates, spoilt, feed. Empty: all."),
    ] = "",
) -> None:
    """Measure whether false-alarm and false-discovery rates hold, and when they do not."""
    from difa.bench.promises import run_promises

    run_promises(context.obj, preset, _names(only))


@command(examples=("--sets spam --count 5",), forms="clean")
def examples(
    context: typer.Context,
    preset: PresetName = "full",
    count: Annotated[int, typer.Option(help="Documents drawn at random from each set.", min=0)] = 3,
) -> None:
    """Draw scored documents with coloured words, as HTML and PNG."""
    from difa.bench.analyses import run_examples

    run_examples(context.obj, preset, count)


@app.command()
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


def _numbers(text: str, option: str = "seeds") -> tuple[int, ...]:
    from difa.errors import ConfigError

    try:
        numbers = tuple(int(name) for name in _names(text))
    except ValueError:
        raise ConfigError(f"{option}: expected whole numbers separated by commas, got {text!r}") from None
    if not numbers or min(numbers) < 0:
        raise ConfigError(f"{option}: expected whole numbers of at least 0, separated by commas, got {text!r}")
    return numbers
