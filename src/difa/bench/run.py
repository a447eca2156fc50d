"""What every command of the benchmark shares: options -> a run; a plan of cells -> records, files and progress.

A command plans its cells, the run computes those that are missing, and the records go to `<command>.json`. `results.json` and
`results.csv` hold the records of all commands that used the folder.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from difa.bench.data import DataSet, load_sets
from difa.bench.methods import Workbench
from difa.bench.store import Cell, Record, Store
from difa.bench.tables import figures_frame
from difa.errors import MissingExtraError
from difa.storage.atomic import fresh_text, scratch_folder

COMMANDS = ("table", "ablation", "efficiency", "contamination", "sparsity", "feed", "layers")
"""Commands whose records have figures of words and documents."""
OTHERS = ("speed", "promises", "examples")

CellProgress = Callable[[str, int, int], None]
"""Called with the cell under way, the number done and the number in all."""
Drawer = Callable[[Sequence[Record], Path], None]
"""Draws records to files beside a path."""


@dataclass(frozen=True)
class Options:
    """What a user says about a run."""

    out: Path
    data: Path | None = None
    sets: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    seeds: tuple[int, ...] = (42,)
    encoder: str = "minilm"
    layer: int | None = None
    draws: int = 200
    """Draws of the bootstrap; 0 leaves the intervals out."""
    threads: int | None = None
    cache: Path | None = None
    revision: str | None = None
    flags: bool = True
    """Whether the preset paper fits the networks that only p-values need; without them nothing is said of flags."""
    stages: dict[str, Any] | None = field(default=None, compare=False)
    asked_by: str = ""
    """The command line, without folders of this machine: every new cell keeps it."""


@dataclass(frozen=True)
class Task:
    """A cell and how to compute it."""

    cell: Cell
    compute: Callable[[], Record]


@dataclass(frozen=True)
class Run:
    """An open results folder, the sets and the encoder."""

    store: Store
    bench: Workbench
    sets: list[DataSet]
    options: Options
    progress: CellProgress

    def cell(
        self,
        command: str,
        dataset: DataSet,
        seed: int,
        method: str,
        settings: Any,
        fingerprint: str | None = None,
        model_seed: int | None = None,
    ) -> Cell:
        """The cell of a method on a set."""
        key = self.bench.fingerprint(method) if fingerprint is None else fingerprint
        settings = json.loads(json.dumps(settings))
        flags = self.bench.promises(method)
        return Cell(command, dataset.name, dataset.form, dataset.digest, seed, method, settings, key, model_seed, flags)

    def execute(self, tasks: Sequence[Task]) -> list[Record]:
        """Records of all cells, computing those that are missing."""
        records, held = [], ""
        for done, task in enumerate(tasks):
            cell = task.cell
            model = "" if cell.model_seed is None else f", model seed {cell.model_seed}"
            self.progress(f"{cell.command} {cell.set} {cell.form} seed {cell.seed}{model}: {cell.method}", done, len(tasks))
            if held != cell.digest:
                self.bench.forget()
                held = cell.digest
            records.append(self.store.fetch(cell, task.compute))
        self.progress("done", len(tasks), len(tasks))
        return records


@contextmanager
def open_run(options: Options, progress: CellProgress | None = None) -> Iterator[Run]:
    """Load the sets and open the results folder; vectors live in a temporary folder unless a cache is given."""
    _check_packages()
    sets = load_sets(options.data, options.sets, options.forms, options.revision)
    store = Store(options.out, options.asked_by)
    with scratch_folder() as temporary, _limit_threads(options.threads):
        cache = options.cache or temporary
        bench = Workbench(options.encoder, options.layer, options.threads, cache, options.stages, options.flags)
        yield Run(store, bench, sets, options, progress or (lambda label, done, total: None))


def finish(
    run: Run, command: str, tasks: Sequence[Task], markdown: Callable[[Sequence[Record]], str], draw: Drawer | None = None
) -> list[Record]:
    """Execute a plan, and write what came out."""
    return write_records(run, command, run.execute(tasks), markdown, draw)


def write_records(
    run: Run, command: str, records: Sequence[Record], markdown: Callable[[Sequence[Record]], str], draw: Drawer | None = None
) -> list[Record]:
    """Keep a command's records beside older ones that still stand, and write its table and picture; all of them are returned.

    Args:
        run: where to.
        command: the name of all files.
        records: what was measured.
        markdown: makes the table of all records that the folder then holds.
        draw: likewise the picture.
    """
    folder = run.store.folder
    merged = {_identity(record): record for record in [*_older(folder, command, records), *records]}
    kept = list(merged.values())
    write_text(folder / f"{command}.json", json.dumps(kept, indent=1))
    _write_results(folder)
    write_text(folder / f"{command}.md", markdown(kept))
    if draw is not None:
        draw(kept, folder / command)
    return kept


def load_records(folder: Path, command: str) -> list[Record]:
    """The records of a command in a results folder; none if it was not run."""
    try:
        records: list[Record] = json.loads((folder / f"{command}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return records


def write_text(path: Path, text: str) -> None:
    """A text file, whole or not at all."""
    with fresh_text(path) as file:
        file.write(text)


def _older(folder: Path, command: str, records: Sequence[Record]) -> list[Record]:
    """Earlier records, but for those of methods that have changed since."""
    current = {(record["method"], record["fingerprint"]) for record in records}
    renewed = {method for method, _ in current}
    older = load_records(folder, command)
    return [record for record in older if record["method"] not in renewed or (record["method"], record["fingerprint"]) in current]


def _identity(record: Record) -> str:
    keys = ("command", "set", "form", "seed", "model_seed", "method", "settings")
    return json.dumps([record.get(key) for key in keys], sort_keys=True)


def _write_results(folder: Path) -> None:
    records = [record for command in COMMANDS for record in load_records(folder, command)]
    write_text(folder / "results.json", json.dumps(records, indent=1))
    write_text(folder / "results.csv", figures_frame(records).to_csv(index=False, lineterminator="\n"))


def _check_packages() -> None:
    from importlib.util import find_spec

    for package in ("sklearn", "pyod", "pandas", "matplotlib", "threadpoolctl", "torch"):
        if find_spec(package) is None:
            raise MissingExtraError(package, "bench", "the benchmark")


@contextmanager
def _limit_threads(threads: int | None) -> Iterator[None]:
    """Limit the threads of numerical libraries and torch."""
    if threads is None:
        yield
        return
    import torch
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    with threadpool_limits(threads):
        yield
    torch.set_num_threads(before)
