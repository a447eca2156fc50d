"""The command line: parse, call the library, print. One line and exit code 2 for anything a user can mend."""

from __future__ import annotations

import gc
import os
import re
import sys
import warnings
from typing import Annotated

import typer

from difa import __version__
from difa.cli import bench, evaluate, find, fit, report, score, serve
from difa.cli.console import say
from difa.errors import DifaError

app = typer.Typer(
    name="difa",
    help="Find the words, and the documents, that do not belong. Learns from your normal documents, needs no labels.",
    epilog="Start with:\n\ndifa find normal.txt new.txt\n\ndifa fit normal.txt --out model\n\ndifa score model new.txt",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"difa {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options before the command."""


_COMMANDS = (
    find.find,
    fit.fit,
    score.score,
    find.explain,
    find.check,
    report.report,
    evaluate.evaluate,
    serve.serve,
    serve.mcp,
    evaluate.monitor,
    evaluate.threshold,
    fit.set_,
    fit.allow,
    fit.update,
)
for function in _COMMANDS:
    app.command(function.__name__.rstrip("_"), epilog=vars(function)["epilog"])(function)
report.export.command(epilog=vars(report.label_studio)["epilog"])(report.label_studio)
app.add_typer(report.export)
app.add_typer(bench.app)


_INTERRUPTED, _PIPE_CLOSED = 128 + 2, 128 + 13  # what a shell says of a command that SIGINT or SIGPIPE ended; 1 means an alarm
_ARGUMENT = re.compile(r"\b(skip_bad|shard_size|max_words|per_thousand)\b|^(diff|top)(?=:| keeps)|\b(resume|force)=True\b")
_OTHERS = {"out=FILE": "--out FILE", "IgnoreConfig.kinds": "--ignore", "IgnoreConfig.patterns": "--ignore-pattern"}


def main() -> None:
    """Run the command line."""
    # Documents are spread over the cores batch by batch: threads within NumPy's products would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # What is loaded at the start stays: looking for garbage among it takes a tenth of that time.
    gc.freeze()
    gc.set_threshold(50_000)
    # Where a standard stream is closed, its use must be an error that says so; only stderr may lose what it is told.
    sys.stdin = sys.stdin or open(os.devnull, "w")  # noqa: SIM115
    sys.stdout = sys.stdout or open(os.devnull)  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    warnings.showwarning = lambda message, *rest, **more: say(f"difa: warning: {message}")
    try:
        try:
            app()
        finally:
            sys.stdout.flush()  # not later, when nobody can say what went wrong
    except DifaError as error:
        say(f"difa: {_as_options(' '.join(str(error).split()))}")
        sys.exit(2)
    except (KeyboardInterrupt, BrokenPipeError, SystemExit) as end:
        if _was_caused_by(KeyboardInterrupt, end):
            resumes = "; the same command with --resume goes on with what it had done" if _can_resume(sys.argv[1:]) else ""
            say(f"difa: interrupted: files and folders are as they were, or complete{resumes}")
            sys.exit(_INTERRUPTED)
        if _was_caused_by(BrokenPipeError, end):
            _close_stdout()  # whoever reads along has enough
            sys.exit(_PIPE_CLOSED)
        raise
    except OSError as error:
        _close_stdout()
        say(f"difa: {error.filename or 'standard output'}: {error.strerror or 'closed'}")
        sys.exit(2)


def _as_options(message: str) -> str:
    """A message of the library, with its parameter names written as command-line options."""
    message = _ARGUMENT.sub(lambda found: "--" + found[0].removesuffix("=True").replace("_", "-"), message)
    for name, option in _OTHERS.items():
        message = message.replace(name, option)
    return message


def _was_caused_by(kind: type[BaseException], error: BaseException | None) -> bool:
    """Whether an exception is of a kind, or was raised while one of that kind was handled: typer makes exit codes of them."""
    return error is not None and (isinstance(error, kind) or _was_caused_by(kind, error.__context__))


def _can_resume(arguments: list[str]) -> bool:
    """Whether a command could go on with what it had done: it scores files into others, and not only the most unusual."""
    names = {argument.partition("=")[0] for argument in arguments}
    to_file = "--out" in names and not {"-", "--out=-"} & set(arguments)
    return arguments[:1] == ["score"] and to_file and "--top" not in names


def _close_stdout() -> None:
    """Let nothing more be written to standard output: what is left of it would fail again at the end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
