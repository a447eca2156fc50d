"""The command line: parse, call the library, print. One line and exit code 2 for anything a user can mend."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


_COMMANDS: dict[str, Callable[..., None]] = {
    "find": find.find,
    "fit": fit.fit,
    "score": score.score,
    "explain": find.explain,
    "check": find.check,
    "report": report.report,
    "evaluate": evaluate.evaluate,
    "serve": serve.serve,
    "mcp": serve.mcp,
    "monitor": evaluate.monitor,
    "threshold": evaluate.threshold,
    "set": fit.set_,
    "allow": fit.allow,
    "update": fit.update,
}
for name, function in _COMMANDS.items():
    app.command(name, epilog=vars(function)["epilog"])(function)
report.export.command(epilog=vars(report.label_studio)["epilog"])(report.label_studio)
app.add_typer(report.export)
app.add_typer(bench.app)


_INTERRUPTED, _PIPE_CLOSED = (
    128 + 2,
    128 + 13,
)  # what a shell says of a command that SIGINT or SIGPIPE ended; 1 would mean an alarm
_ARGUMENT = re.compile(r"\b(skip_bad|shard_size|max_words|per_thousand)\b|^(diff|top)(?=:| keeps)|\b(resume|force)=True\b")
_OTHERS = {"out=FILE": "--out FILE", "IgnoreConfig.kinds": "--ignore", "IgnoreConfig.patterns": "--ignore-pattern"}


def _as_options(message: str) -> str:
    """A message of the library, with its parameter names written as command-line options."""
    message = _ARGUMENT.sub(lambda found: "--" + found[0].removesuffix("=True").replace("_", "-"), message)
    for name, option in _OTHERS.items():
        message = message.replace(name, option)
    return message


def _can_resume(arguments: list[str]) -> bool:
    """Whether a command could go on with what it had done: it scores files into others, and not only the most unusual."""
    names = {argument.partition("=")[0] for argument in arguments}
    to_file = "--out" in names and not {"-", "--out=-"} & set(arguments)
    return arguments[:1] == ["score"] and to_file and "--top" not in names


def main() -> None:
    """Run the command line."""
    _fill_closed()
    warnings.showwarning = lambda message, *rest, **more: say(f"difa: warning: {message}")
    try:
        try:
            with _interruptible():
                app()
        finally:
            sys.stdout.flush()  # not later, when nobody can say what went wrong
    except DifaError as error:
        say(f"difa: {_as_options(' '.join(str(error).split()))}")
        sys.exit(2)
    except _Interrupted:
        resumes = "; the same command with --resume goes on with what it had done" if _can_resume(sys.argv[1:]) else ""
        say(f"difa: interrupted: files and folders are as they were, or complete{resumes}")
        sys.exit(_INTERRUPTED)
    except (BrokenPipeError, SystemExit) as end:
        if not isinstance(end, BrokenPipeError) and not isinstance(end.__context__, BrokenPipeError):  # typer makes 1 of it
            raise
        _close_stdout()  # whoever reads along has enough
        sys.exit(_PIPE_CLOSED)
    except OSError as error:
        _close_stdout()
        say(f"difa: {error.filename or 'standard output'}: {error.strerror or 'closed'}")
        sys.exit(2)


class _Interrupted(BaseException):
    """Ctrl-C: unlike `KeyboardInterrupt` it reaches `main`, which says what is safe."""


@contextmanager
def _interruptible() -> Iterator[None]:
    """Raise `_Interrupted` on Ctrl-C, where Python would raise `KeyboardInterrupt`."""

    def stop(*given: object) -> None:
        raise _Interrupted

    is_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not is_default or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _fill_closed() -> None:
    """Put something in the place of closed streams that says so when it is used; what says nothing may be lost."""
    sys.stdin = sys.stdin or open(os.devnull, "w")  # noqa: SIM115
    sys.stdout = sys.stdout or open(os.devnull)  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115


def _close_stdout() -> None:
    """Let nothing more be written to standard output: what is left of it would fail again at the end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
