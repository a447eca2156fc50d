"""What every command of the benchmark shares: options -> a run; a plan of cells -> records, files and progress.

A command plans its cells, the run computes those that are missing, and the records go to `<command>.json`. `results.json` and
`results.csv` hold the records of all commands that used the folder.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from difa.atomic import fresh_text
from difa.bench.data import DataSet, load_sets
from difa.bench.methods import Workbench
from difa.bench.store import Cell, Record, Store
from difa.errors import MissingExtraError
from difa.scratch import scratch_folder

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
    stages: dict[str, Any] | None = field(default=None, compare=False)


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

    def cell(self, command: str, dataset: DataSet, seed: int, method: str, settings: Any, fingerprint: str | None = None) -> Cell:
        """The cell of a method on a set."""
        key = self.bench.fingerprint(method) if fingerprint is None else fingerprint
        settings = json.loads(json.dumps(settings))
        return Cell(command, dataset.name, dataset.form, dataset.digest, seed, method, settings, key)

    def execute(self, tasks: Sequence[Task]) -> list[Record]:
        """Records of all cells, computing those that are missing."""
        records, held = [], ""
        for done, task in enumerate(tasks):
            cell = task.cell
            self.progress(f"{cell.command} {cell.set} {cell.form} seed {cell.seed}: {cell.method}", done, len(tasks))
            if held != cell.digest:
                self.bench.forget()
                held = cell.digest
            records.append(self.store.fetch(cell, task.compute) | {"fingerprint": cell.fingerprint})
        self.progress("done", len(tasks), len(tasks))
        return records


@contextmanager
def open_run(options: Options, progress: CellProgress | None = None) -> Iterator[Run]:
    """Load the sets and open the results folder; vectors live in a temporary folder unless a cache is given."""
    _check_packages()
    sets = load_sets(options.data, options.sets, options.forms, options.revision)
    store = Store(options.out)
    with scratch_folder() as temporary, _limit_threads(options.threads):
        cache = options.cache or temporary
        bench = Workbench(options.encoder, options.layer, options.threads, cache, options.stages)
        yield Run(store, bench, sets, options, progress or (lambda label, done, total: None))


def keep(run: Run, command: str, records: Sequence[Record]) -> list[Record]:
    """Write a command's records, beside older ones of the folder that still stand; all of them are returned."""
    path = run.store.folder / f"{command}.json"
    merged = {_identity(record): record for record in [*_older(path, records), *records]}
    with fresh_text(path) as file:
        json.dump(list(merged.values()), file, indent=1)
    _write_results(run.store.folder)
    return list(merged.values())


def finish(
    run: Run, command: str, tasks: Sequence[Task], markdown: Callable[[Sequence[Record]], str], draw: Drawer | None = None
) -> list[Record]:
    """Execute a plan, and write what came out."""
    return write_records(run, command, run.execute(tasks), markdown, draw)


def write_records(
    run: Run, command: str, records: Sequence[Record], markdown: Callable[[Sequence[Record]], str], draw: Drawer | None = None
) -> list[Record]:
    """Keep a command's records, and write its table and picture; the records that the folder then holds are returned.

    Args:
        run: where to.
        command: the name of all files.
        records: what was measured.
        markdown: makes the table of all records that the folder then holds.
        draw: likewise the picture.
    """
    kept = keep(run, command, records)
    write_text(run.store.folder / f"{command}.md", markdown(kept))
    if draw is not None:
        draw(kept, run.store.folder / command)
    return kept


def load_records(folder: Path, command: str) -> list[Record]:
    """The records of a command in a results folder; none if it was not run."""
    try:
        records: list[Record] = json.loads((folder / f"{command}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return records


COMMANDS = ("table", "spread", "ablation", "efficiency", "contamination", "sparsity", "feed")


def write_text(path: Path, text: str) -> None:
    """A text file, whole or not at all."""
    with fresh_text(path) as file:
        file.write(text)


def _older(path: Path, records: Sequence[Record]) -> list[Record]:
    """Earlier records, but for those of methods that have changed since."""
    current = {(record["method"], record["fingerprint"]) for record in records}
    renewed = {method for method, _ in current}
    older = load_records(path.parent, path.stem)
    return [record for record in older if record["method"] not in renewed or (record["method"], record["fingerprint"]) in current]


def _identity(record: Record) -> str:
    keys = ("command", "set", "form", "seed", "method", "settings")
    return json.dumps([record[key] for key in keys], sort_keys=True)


def _write_results(folder: Path) -> None:
    records = [record for command in COMMANDS for record in load_records(folder, command)]
    with fresh_text(folder / "results.json") as file:
        json.dump(records, file, indent=1)
    rows = [_flat(record, figure) for record in records for figure in record["figures"]]
    names = list(dict.fromkeys(name for row in rows for name in row))
    with fresh_text(folder / "results.csv") as file:
        writer = csv.DictWriter(file, names, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _flat(record: Record, figure: Record) -> Record:
    """One row of the CSV: a figure, and what it is of."""
    row = {key: record[key] for key in ("command", "set", "form", "seed", "method")}
    row["settings"] = json.dumps(record["settings"]) if record["settings"] else ""
    for key, value in figure.items():
        if key.endswith("_interval"):
            name = key.removesuffix("_interval")
            row |= {f"{name}_low": value[0] if value else "", f"{name}_high": value[1] if value else ""}
        else:
            row[key] = "" if value is None else value
    return row | {key: value for key, value in record.items() if key.endswith(("_seconds", "_mib"))}


def _check_packages() -> None:
    from importlib.util import find_spec

    for package in ("sklearn", "pyod", "matplotlib", "threadpoolctl", "torch"):
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
