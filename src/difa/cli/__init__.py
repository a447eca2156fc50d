"""The command line: parse, call the library, print. One line and exit code 2 for anything a user can mend."""

from __future__ import annotations

import gc
import os
import re
import sys
import warnings
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from difa import __version__
from difa.cli.console import say
from difa.errors import DifaError

_MODULES = {
    "find": "find",
    "fit": "fit",
    "score": "score",
    "explain": "find",
    "check": "find",
    "report": "report",
    "evaluate": "evaluate",
    "serve": "serve",
    "mcp": "serve",
    "monitor": "evaluate",
    "threshold": "evaluate",
    "set": "fit",
    "allow": "fit",
    "update": "fit",
    "export": "report",
    "bench": "bench",
}
"""The commands as `--help` lists them, and the module of each."""


class _Commands(TyperGroup):
    """The commands, each loaded when it is asked for: all of them take as long as NumPy."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given | {"commands": dict.fromkeys(_MODULES)})  # their names alone

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in _MODULES:
            return None
        names = vars(import_module(f"difa.cli.{_MODULES[cmd_name]}"))
        made = names.get(cmd_name) or names[f"{cmd_name}_"]  # `set` is Python's
        if isinstance(made, typer.Typer):
            return typer.main.get_group(made)
        alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
        alone.command(cmd_name, epilog=vars(made)["epilog"])(made)
        return typer.main.get_command(alone)


app = typer.Typer(
    name="difa",
    cls=_Commands,
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
