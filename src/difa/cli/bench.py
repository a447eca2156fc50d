"""`difa bench`: measure methods on labelled sets, and draw what came out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from difa.cli.options import Cache, Quiet, Threads, say

if TYPE_CHECKING:
    from difa.bench.run import Run

EXAMPLES = """Examples:

difa bench table --data data --out bench

difa bench table --seeds 0,1,2,3,4 --forms clean --methods tokencore,difa-full

difa bench report bench --into docs/benchmark.md
"""

app = typer.Typer(
    name="bench",
    help="Compare methods on labelled sets: tables, ablations, figures.",
    epilog=EXAMPLES,
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Data = Annotated[
    Path | None,
    typer.Option(help="Folder with tokenad/, or with labelled files of your own; else DIFA_DATA, ../shared/data or the hub."),
]
Out = Annotated[Path, typer.Option(help="Results folder; a run that was stopped goes on where it was.")]
Sets = Annotated[str, typer.Option(help="Sets, separated by commas; all by default.")]
Forms = Annotated[str, typer.Option(help="original, clean or both.")]
Seeds = Annotated[str, typer.Option(help="Seeds of split and methods, separated by commas; 42 is the published split.")]
EncoderName = Annotated[str, typer.Option("--encoder", help="minilm (embedded), a Hugging Face hub name, or a local folder.")]
Layer = Annotated[int | None, typer.Option(help="Hidden layer to read: 0 is the embedding, −1 the last.")]
Draws = Annotated[int, typer.Option(help="Draws of the bootstrap over documents; 0 for no intervals.", min=0)]
Revision = Annotated[str | None, typer.Option(help="Commit of the original form on the hub, where no folder has it.")]
PresetName = Annotated[str, typer.Option("--preset", help="Which preset of DiFA.")]

_OUT = Path("bench")


@contextmanager
def _open(
    out: Path,
    data: Path | None,
    sets: str,
    forms: str,
    seeds: str,
    encoder: str,
    layer: int | None,
    draws: int,
    threads: int | None,
    cache: Path | None,
    revision: str | None,
    quiet: bool,
) -> Iterator[Run]:
    from difa.bench.run import Options, open_run
    from difa.cli.progress import cells

    options = Options(
        out=out,
        data=data,
        sets=_names(sets),
        forms=_names(forms),
        seeds=_numbers(seeds),
        encoder=encoder,
        layer=layer,
        draws=draws,
        threads=threads,
        cache=cache,
        revision=revision,
    )
    with cells(quiet) as progress, open_run(options, progress) as run:
        yield run
    say(f"{out}: written", quiet)


@app.command()
def table(
    out: Out = _OUT,
    data: Data = None,
    sets: Sets = "",
    forms: Forms = "",
    seeds: Seeds = "42",
    methods: Annotated[str, typer.Option(help="Methods, separated by commas; all by default.")] = "",
    grid: Annotated[bool, typer.Option("--grid", help="Also the settings that the TokenCore authors searched.")] = False,
    peers: Annotated[bool, typer.Option("--peers", help="Also the detectors of PyTextAD.")] = False,
    encoder: EncoderName = "minilm",
    layer: Layer = None,
    draws: Draws = 200,
    threads: Threads = None,
    cache: Cache = None,
    revision: Revision = None,
    quiet: Quiet = False,
) -> None:
    """Every method on every set: AUROC, average precision and false alarms at 95 % recall, for words and documents."""
    from difa.bench.table import run_table

    with _open(out, data, sets, forms, seeds, encoder, layer, draws, threads, cache, revision, quiet) as run:
        run_table(run, _names(methods), grid=grid, with_peers=peers)
    typer.echo((out / "table.md").read_text(encoding="utf-8"))


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _numbers(text: str) -> tuple[int, ...]:
    from difa.errors import ConfigError

    try:
        numbers = tuple(int(name) for name in _names(text))
    except ValueError:
        raise ConfigError(f"seeds: expected whole numbers separated by commas, got {text!r}") from None
    if not numbers or min(numbers) < 0:
        raise ConfigError(f"seeds: expected whole numbers of at least 0, separated by commas, got {text!r}")
    return numbers
