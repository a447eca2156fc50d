"""What every command of the benchmark shares: options -> a run; studies -> cells -> records and files.

A study is a command: how a cell is computed, how all records are shown. Its cells are the settings that it asks of a method on
a split of a set. A finished cell is a JSON file, and what was computed is not computed again: a cell's name comes from everything
that decides its content, from the documents and seeds to a fingerprint of the code and packages behind it. Change any of these
and the cell is a new one; comments and docstrings change nothing. The records of a study go to `<study>.json`, its table to
`<study>.md`, and `results.json` and `results.csv` hold the records of all studies that have figures.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property, partial
from importlib import util as imports
from pathlib import Path
from typing import Any

from difa.bench.data import DataSet, Split, checksum, load_sets, split
from difa.bench.methods import Workbench, fingerprint_of
from difa.bench.metrics import Record, Records
from difa.bench.tables import figures_frame
from difa.errors import InputError, MissingExtraError
from difa.storage.atomic import fresh_text, scratch_folder

WITH_FIGURES = ("table", "ablation", "efficiency", "contamination", "sparsity", "feed", "layers")
"""Studies whose records have figures of words and documents."""


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
class Cell:
    """One figure, or a few that come out of one fit."""

    command: str
    set: str
    form: str
    digest: str
    """Checksum of the documents."""
    seed: int
    method: str
    settings: Mapping[str, Any]
    fingerprint: str
    model_seed: int | None = None
    """Seed of the model where it is not that of the split."""
    flags: bool = True
    """Whether it says anything of flags; the other figures are the same without them."""

    @property
    def name(self) -> str:
        """The file's name: readable, then unmistakable. Two forms with equal documents share a cell."""
        content = [self.command, self.digest, self.seed, self.method, self.settings, self.fingerprint, self.model_seed]
        content += [] if self.flags else ["no flags"]
        return f"{self.command}-{self.set}-{self.seed}-{self.method.replace('/', '_')}-{checksum(content)[:16]}.json"

    def describe(self) -> Record:
        """What the cell is of."""
        keys = ("command", "set", "form", "seed", "model_seed", "method", "fingerprint")
        return {key: getattr(self, key) for key in keys} | {"settings": dict(self.settings)}


@dataclass(frozen=True)
class Task:
    """A cell and how to compute it."""

    cell: Cell
    compute: Callable[[], Record]


class Store:
    """A results folder.

    Args:
        folder: made if it is not there.
        asked_by: the command line that a new cell is measured for.
    """

    def __init__(self, folder: Path, asked_by: str = "") -> None:
        self.folder, self._asked_by = folder, asked_by
        try:
            (folder / "cells").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: expected a folder that can be written, got: {error.strerror}") from None

    def fetch(self, task: Task) -> Record:
        """The finished cell, computed now if it was not before, with when, for whom and for how long it was measured."""
        path = self.folder / "cells" / task.cell.name
        found: Record | None = read_json(path)
        if found is None:
            started = time.perf_counter()
            found = task.compute()
            took = round(time.perf_counter() - started, 1)
            found |= {"measured": date.today().isoformat(), "asked_by": self._asked_by, "took": took}
            text = json.dumps(found, indent=1, allow_nan=False)
            write_text(path, text)
            found = json.loads(text)  # the same kinds of values whether computed or read
        return task.cell.describe() | (found or {})


@dataclass(frozen=True)
class Run:
    """An open results folder, the sets and the encoder."""

    store: Store
    bench: Workbench
    sets: list[DataSet]
    options: Options
    progress: Callable[[str, int, int], None]
    """Called with the cell under way, the number done and the number in all."""

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
            records.append(self.store.fetch(task))
        self.progress("done", len(tasks), len(tasks))
        return records


@dataclass(frozen=True)
class Trial:
    """A method on a split of a set. All cells of it share one trial, so that it may remember what several of them need."""

    run: Run
    dataset: DataSet
    seed: int
    method: str
    model_seed: int | None = None

    @cached_property
    def halves(self) -> Split:
        """Documents to fit on and to test on."""
        return split(self.dataset.documents, self.seed)

    @property
    def bench(self) -> Workbench:
        return self.run.bench

    @property
    def draws(self) -> int:
        """Draws of the bootstrap."""
        return self.run.options.draws


@dataclass(frozen=True)
class Study:
    """A command of the benchmark."""

    name: str
    compute: Callable[[Any, Record], Record]
    """From a trial and settings to what a cell holds."""
    markdown: Callable[[Records], str] = lambda records: ""
    """The table of all records."""
    draw: Callable[[Records, Path], None] | None = None
    """Their picture, to files beside a path."""
    code: tuple[str, ...] = ()
    """Files and folders of the package that decide its figures beside those of the method."""
    depends: Callable[[Run], Mapping[str, Any]] = lambda run: {}
    """What else decides them."""
    trial: type[Trial] = Trial

    def tasks(self, trial: Trial, settings: Iterable[Record]) -> list[Task]:
        """A task for each of the settings."""
        run, dataset = trial.run, trial.dataset
        key = run.bench.fingerprint(trial.method)
        if self.code:
            key = fingerprint_of(self.code, method=key, **self.depends(run))
        of = (self.name, dataset.name, dataset.form, dataset.digest, trial.seed, trial.method)
        flags = run.bench.promises(trial.method)
        return [
            Task(Cell(*of, json.loads(json.dumps(each)), key, trial.model_seed, flags), partial(self.compute, trial, each))
            for each in settings
        ]

    def measure(
        self, run: Run, methods: Sequence[str], settings: Callable[[Any], Iterable[Record]] = lambda trial: [{}]
    ) -> list[Record]:
        """Compute the cells of all sets, seeds and methods that are missing, and write what came out.

        Args:
            run: where to, and on what.
            methods: what is measured.
            settings: the settings of the cells of a trial.
        """
        trials = [self.trial(run, dataset, seed, name) for dataset in run.sets for seed in run.options.seeds for name in methods]
        return self.write(run, run.execute([task for trial in trials for task in self.tasks(trial, settings(trial))]))

    def write(self, run: Run, records: Records) -> list[Record]:
        """Keep records beside older ones that still stand, and write table and picture of all of them, which are returned."""
        folder = run.store.folder
        merged = {_identity(record): record for record in [*_older(folder, self.name, records), *records]}
        kept = list(merged.values())
        write_text(folder / f"{self.name}.json", json.dumps(kept, indent=1))
        _write_results(folder)
        write_text(folder / f"{self.name}.md", self.markdown(kept))
        if self.draw is not None:
            self.draw(kept, folder / self.name)
        return kept


@contextmanager
def open_run(options: Options, progress: Callable[[str, int, int], None] | None = None) -> Iterator[Run]:
    """Load the sets and open the results folder; vectors live in a temporary folder unless a cache is given."""
    for package in ("sklearn", "pyod", "pandas", "matplotlib", "threadpoolctl", "torch"):
        if imports.find_spec(package) is None:
            raise MissingExtraError(package, "bench", "the benchmark")
    sets = load_sets(options.data, options.sets, options.forms, options.revision)
    store = Store(options.out, options.asked_by)
    with scratch_folder() as temporary, _limit_threads(options.threads):
        folder = options.cache or temporary
        bench = Workbench(options.encoder, options.layer, options.threads, folder, options.stages, options.flags)
        yield Run(store, bench, sets, options, progress or (lambda label, done, total: None))


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


def load_records(folder: Path, study: str) -> list[Record]:
    """The records of a study in a results folder; none if it was not run."""
    return read_json(folder / f"{study}.json") or []


def read_json(path: Path) -> Any:
    """What a file holds; None if there is none, or a damaged one."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def write_text(path: Path, text: str) -> None:
    """A text file, whole or not at all."""
    with fresh_text(path) as file:
        file.write(text)


def _older(folder: Path, study: str, records: Records) -> list[Record]:
    """Earlier records, but for those of methods that have changed since."""
    current = {(record["method"], record["fingerprint"]) for record in records}
    renewed = {method for method, _ in current}
    older = load_records(folder, study)
    return [record for record in older if record["method"] not in renewed or (record["method"], record["fingerprint"]) in current]


def _identity(record: Record) -> str:
    keys = ("command", "set", "form", "seed", "model_seed", "method", "settings")
    return json.dumps([record.get(key) for key in keys], sort_keys=True)


def _write_results(folder: Path) -> None:
    records = [record for study in WITH_FIGURES for record in load_records(folder, study)]
    write_text(folder / "results.json", json.dumps(records, indent=1))
    write_text(folder / "results.csv", figures_frame(records).to_csv(index=False, lineterminator="\n"))
