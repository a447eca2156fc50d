"""What a command says: lines for people on stderr, results on stdout, and progress.

Progress is a bar on a terminal, a line now and then in a log, and nothing when asked to be quiet.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

from difa.storage.atomic import fresh_text, scratch_folder

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_EVERY = 10.0  # seconds between two lines of a log


def say(message: str, quiet: bool = False) -> None:
    """A line for the person at the terminal, on stderr; what could steer the terminal is escaped."""
    if not quiet:
        print(escaped(message), file=sys.stderr)


def say_next(advice: str, quiet: bool = False) -> None:
    """What to do next: the last line of a command."""
    say(f"next: {advice}", quiet)


@contextmanager
def to_stdout(out: Path) -> Iterator[Path]:
    """Where a command writes: for `-` a file aside, which is printed when it is complete."""
    if str(out) != "-":
        yield out
        return
    with scratch_folder() as folder:
        yield folder / "printed"
        with (folder / "printed").open("rb") as content:
            shutil.copyfileobj(content, sys.stdout.buffer)
            sys.stdout.buffer.flush()


@contextmanager
def open_text(out: Path) -> Iterator[TextIO]:
    """A text file that appears whole or not at all; - is standard output."""
    with to_stdout(out) as place, fresh_text(place) as file:
        yield file


def escaped(text: str) -> str:
    """Control characters, and all else that is not printed, escaped: names and ids come from strangers."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def print_json(record: Any) -> None:
    """An object on standard output, to be read by people and programs."""
    typer.echo(json.dumps(record, ensure_ascii=False, indent=2))


def say_skipped(count: int) -> None:
    """How many bad lines were left out, if any were."""
    if count:
        say(f"difa: {counted(count, 'bad line')} skipped")


def say_left_out(count: int, why: str, quiet: bool) -> None:
    """How many documents were left out for a reason, if any were."""
    if count:
        say(f"difa: {counted(count, 'document')} left out: {why}", quiet)


def counted(count: int, noun: str) -> str:
    """A number of things."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


class _Bars:
    """Bars on a terminal, and a line now and then where there is none; the first one appears with the first report.

    Rich, which takes long to load, is not needed without them.
    """

    def __init__(self, *columns: str, quiet: bool, in_logs: bool = False, **options: Any) -> None:
        """Columns of Rich go by the names of their classes, all others are texts; `in_logs` shows finished bars there, too."""
        self._progress: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._started = self._last = time.monotonic()
        has_bars = not quiet and sys.stderr.isatty()
        self.silent = quiet or has_bars
        if has_bars or (in_logs and not quiet):
            from rich import progress
            from rich.console import Console

            made = [progress.TextColumn(column) if "Column" not in column else getattr(progress, column)() for column in columns]
            self._progress = progress.Progress(*made, console=Console(stderr=True), **options)

    def show(self, name: str, note: str = "", **state: Any) -> None:
        """Where the bar of that name stands, and in a log what `note` says."""
        if self._progress is not None:
            self._progress.start()
            if name not in self._tasks:
                self._tasks[name] = self._progress.add_task(**{"description": name, "total": None, **state})
            self._progress.update(self._tasks[name], **state)
        now = time.monotonic()
        if note and not self.silent and now - self._last >= _EVERY:
            self._last = now
            say(f"difa: {note}, {now - self._started:.0f} s")

    def __enter__(self) -> _Bars:
        return self

    def __exit__(self, *error: object) -> None:
        if self._progress is not None and self._tasks:
            self._progress.stop()


@contextmanager
def stages(quiet: bool) -> Iterator[Callable[[str, float], None]]:
    """A bar per stage, for work that reports (stage, share done); also where there is no terminal, once it has ended."""
    columns = ("{task.description:<22}", "BarColumn", "{task.percentage:>3.0f}%", "TimeElapsedColumn")
    with _Bars(*columns, quiet=quiet, in_logs=True) as bars:
        yield lambda stage, share: bars.show(stage, f"{stage} {100 * share:.0f} %", completed=share, total=1.0)


@contextmanager
def stream(quiet: bool) -> Iterator[Stream]:
    """A bar for documents that are scored."""
    numbers = "{task.fields[documents]} documents {task.fields[speed]}"
    with _Bars("score", "BarColumn", numbers, "TimeRemainingColumn", quiet=quiet, transient=True) as bars:
        yield Stream(bars)


class Stream:
    """A bar by what was read, with documents scored, their speed and the time left; without the last where no end is known."""

    def __init__(self, bars: _Bars) -> None:
        self._bars, self._documents = bars, 0

    def begin(self, total: int | None) -> None:
        self._total, self._started = total, time.monotonic()
        self.advance(0, 0)

    def advance(self, documents: int, read: int) -> None:
        self._documents += documents
        speed = f"{self._documents / max(time.monotonic() - self._started, 1e-3):.0f}/s"
        note = f"{self._documents} documents scored, {speed}"
        self._bars.show("score", note, total=self._total, completed=read, documents=self._documents, speed=speed)

    def skip(self, complaint: str) -> None:
        # Named even when quiet, since something was left out.
        say(f"difa: skipped {complaint}")


@contextmanager
def cells(quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """A bar over the cells of a benchmark, with the one under way; a line each where there is no terminal."""
    with _Bars("BarColumn", "MofNCompleteColumn", "TimeElapsedColumn", "{task.description}", quiet=quiet) as bars:

        def report(label: str, done: int, total: int) -> None:
            say(f"{done}/{total} {label}", bars.silent)
            bars.show("cells", description=label, completed=done, total=total)

        yield report
