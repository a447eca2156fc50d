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
from typing import TYPE_CHECKING, Any

import typer

from difa.storage.atomic import scratch_folder

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


class _Log:
    """A line now and then, where there is no terminal to draw a bar on."""

    def __init__(self, progress: Progress, quiet: bool) -> None:
        self._silent, self._started = quiet or progress.console.is_terminal, time.monotonic()
        self._last = self._started

    def note(self, what: str) -> None:
        now = time.monotonic()
        if not self._silent and now - self._last >= _EVERY:
            self._last = now
            say(f"difa: {what}, {now - self._started:.0f} s")


def _bar(*columns: Any, quiet: bool, **options: Any) -> Progress:
    """A bar on stderr: texts are columns, and those of Rich go by their names."""
    from rich import progress
    from rich.console import Console

    console = Console(stderr=True)
    made = [progress.TextColumn(column) if "Column" not in column else getattr(progress, column)() for column in columns]
    return progress.Progress(*made, console=console, **{"disable": quiet or not console.is_terminal, **options})


@contextmanager
def stages(quiet: bool) -> Iterator[Callable[[str, float], None]]:
    """A bar per stage, for work that reports (stage, share done); also where there is no terminal, once it has ended."""
    columns = ("{task.description:<22}", "BarColumn", "{task.percentage:>3.0f}%", "TimeElapsedColumn")
    progress = _bar(*columns, quiet=quiet, disable=quiet)
    log = _Log(progress, quiet)
    tasks: dict[str, TaskID] = {}

    def report(stage: str, share: float) -> None:
        progress.start()  # with the first report, so that an early error stands alone
        if stage not in tasks:
            tasks[stage] = progress.add_task(stage, total=1.0)
        progress.update(tasks[stage], completed=share)
        log.note(f"{stage} {100 * share:.0f} %")

    try:
        yield report
    finally:
        if tasks:
            progress.stop()


@contextmanager
def counter(what: str, total: int | None, quiet: bool) -> Iterator[Callable[[int], None]]:
    """A bar that counts, with the time left where the end is known."""
    with _bar(what, "BarColumn", "MofNCompleteColumn", "TimeRemainingColumn", quiet=quiet, transient=True) as progress:
        task, log = progress.add_task(what, total=total), _Log(progress, quiet)

        def advance(count: int) -> None:
            progress.advance(task, count)
            log.note(f"{what} {progress.tasks[0].completed:.0f}" + (f" of {total}" if total else ""))

        yield advance


class Stream:
    """A bar by bytes read, with documents done, their speed and the time left; without the last where no end is known."""

    def __init__(self, progress: Progress, log: _Log) -> None:
        self._progress, self._documents, self._task = progress, 0, progress.add_task("", start=False, documents=0, speed="")
        self._log = log

    def begin(self, total: int | None) -> None:
        self._progress.update(self._task, total=total)
        self._progress.start_task(self._task)
        self._started = time.monotonic()

    def advance(self, documents: int, read: int) -> None:
        self._documents += documents
        speed = f"{self._documents / max(time.monotonic() - self._started, 1e-3):.0f}/s"
        self._progress.update(self._task, completed=read, documents=self._documents, speed=speed)
        self._log.note(f"{self._documents} documents scored, {speed}")

    def skip(self, complaint: str) -> None:
        # Named even when quiet, since something was left out.
        say(f"difa: skipped {complaint}")


@contextmanager
def stream(quiet: bool) -> Iterator[Stream]:
    """A bar for documents that are read while they are scored."""
    numbers = "{task.fields[documents]} documents {task.fields[speed]}"
    with _bar("score", "BarColumn", numbers, "TimeRemainingColumn", quiet=quiet, transient=True) as progress:
        yield Stream(progress, _Log(progress, quiet))


@contextmanager
def cells(quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """A bar over the cells of a benchmark, with the one under way; a line each where there is no terminal."""
    progress = _bar("BarColumn", "MofNCompleteColumn", "TimeElapsedColumn", "{task.description}", quiet=quiet)
    task: TaskID | None = None

    def report(label: str, done: int, total: int) -> None:
        nonlocal task
        if not quiet and progress.disable:
            progress.console.print(f"{done}/{total} {label}", highlight=False, soft_wrap=True)
        elif not quiet:
            progress.start()
            task = progress.add_task(label, total=total) if task is None else task
            progress.update(task, description=label, completed=done)

    try:
        yield report
    finally:
        progress.stop()
