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
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from importlib import util as imports
from pathlib import Path
from typing import Any

from difa.bench.data import DataSet, Split, checksum, load_sets, split
from difa.bench.methods import Options as Options
from difa.bench.methods import fingerprint_of
from difa.bench.metrics import Record, Records
from difa.bench.tables import figures_frame
from difa.errors import InputError, MissingExtraError
from difa.storage.atomic import fresh_text, scratch_folder

WITH_FIGURES = ("table", "ablation", "efficiency", "contamination", "sparsity", "feed", "layers")
"""Studies whose records have figures of words and documents."""


@dataclass(frozen=True)
class Run:
    """The sets, and in `options` the results folder, the encoder and all else that was asked for."""

    options: Options
    sets: list[DataSet]
    progress: Callable[[str, int, int], None]
    """Called with the cell under way, the number done and the number in all."""

    @property
    def folder(self) -> Path:
        return self.options.out

    def execute(self, cells: Sequence[Cell]) -> list[Record]:
        """Records of all cells, computing those that are missing."""
        records = []
        for done, cell in enumerate(cells):
            self.progress(cell.label, done, len(cells))
            records.append(cell.fetch())
        self.progress("done", len(cells), len(cells))
        return records


@dataclass(frozen=True)
class Trial:
    """A method on a split of a set. All cells of it share one trial, so that it may remember what several of them need."""

    run: Run
    dataset: DataSet
    seed: int
    method: str
    model_seed: int | None = None
    """Seed of the model where it is not that of the split."""

    @cached_property
    def halves(self) -> Split:
        """Documents to fit on and to test on."""
        return split(self.dataset.documents, self.seed)

    @property
    def options(self) -> Options:
        return self.run.options


@dataclass(frozen=True)
class Cell:
    """One figure, or a few that come out of one fit."""

    study: Study
    trial: Trial
    settings: Record
    fingerprint: str

    @property
    def label(self) -> str:
        """What it is of, for people."""
        trial, model = self.trial, "" if self.trial.model_seed is None else f", model seed {self.trial.model_seed}"
        return f"{self.study.name} {trial.dataset.name} {trial.dataset.form} seed {trial.seed}{model}: {trial.method}"

    @property
    def name(self) -> str:
        """The file's name: readable, then unmistakable. Two forms with equal documents share a cell."""
        study, trial, dataset = self.study.name, self.trial, self.trial.dataset
        content = [study, dataset.digest, trial.seed, trial.method, self.settings, self.fingerprint, trial.model_seed]
        content += [] if trial.options.promises(trial.method) else ["no flags"]
        return f"{study}-{dataset.name}-{trial.seed}-{trial.method.replace('/', '_')}-{checksum(content)[:16]}.json"

    def fetch(self) -> Record:
        """The finished cell, computed now if it was not before, with when, for whom and for how long it was measured."""
        trial, path = self.trial, self.trial.run.folder / "cells" / self.name
        found: Record | None = read_json(path)
        if found is None:
            started = time.perf_counter()
            found = self.study.compute(trial, self.settings)
            took = round(time.perf_counter() - started, 1)
            found |= {"measured": date.today().isoformat(), "asked_by": trial.options.asked_by, "took": took}
            write_text(path, json.dumps(found, indent=1, allow_nan=False))
            found = read_json(path) or {}  # the same kinds of values whether computed or read
        of = {"command": self.study.name, "set": trial.dataset.name, "form": trial.dataset.form, "seed": trial.seed}
        of |= {"model_seed": trial.model_seed, "method": trial.method, "fingerprint": self.fingerprint}
        return of | {"settings": self.settings} | found


@dataclass(frozen=True)
class Study:
    """A command of the benchmark."""

    name: str
    compute: Callable[[Any, Record], Record]
    """From a trial and settings to what a cell holds."""
    markdown: Callable[[Records], str] = lambda records: ""
    """The tables of all records."""
    draw: Callable[[Records, Path], None] | None = None
    """Their picture, to files beside a path."""
    code: tuple[str, ...] = ()
    """Files and folders of the package that decide its figures beside those of the method."""
    depends: Callable[[Run], Mapping[str, Any]] = lambda run: {}
    """What else decides them."""
    trial: type[Trial] = Trial
    title: str = ""
    """Of its tables, where it is not the name."""

    def cells(self, trial: Trial, settings: Iterable[Mapping[str, Any]]) -> list[Cell]:
        """A cell for each of the settings."""
        key = trial.options.fingerprint(trial.method)
        if self.code:
            key = fingerprint_of(self.code, method=key, **self.depends(trial.run))
        return [Cell(self, trial, each, key) for each in json.loads(json.dumps(list(settings)))]

    def measure(
        self, run: Run, methods: Sequence[str], settings: Callable[[Any], Iterable[Record]] = lambda trial: [{}]
    ) -> list[Record]:
        """Compute the cells of all sets, seeds and methods that are missing, with the settings of each trial, and write all."""
        trials = [self.trial(run, dataset, seed, name) for dataset in run.sets for seed in run.options.seeds for name in methods]
        return self.write(run, run.execute([cell for trial in trials for cell in self.cells(trial, settings(trial))]))

    def write(self, run: Run, records: Records) -> list[Record]:
        """Keep records beside older ones, but for those of methods that have changed since, and write table and picture."""
        path, current = run.folder / self.name, {record["method"]: record["fingerprint"] for record in records}
        older = read_json(path.with_suffix(".json")) or []
        older = [record for record in older if record["fingerprint"] == current.get(record["method"], record["fingerprint"])]
        kept = list({_identity(record): record for record in [*older, *records]}.values())
        write_text(path.with_suffix(".json"), json.dumps(kept, indent=1))
        results = [record for study in WITH_FIGURES for record in read_json(run.folder / f"{study}.json") or ()]
        write_text(run.folder / "results.json", json.dumps(results, indent=1))
        write_text(run.folder / "results.csv", figures_frame(results).to_csv(index=False, lineterminator="\n"))
        write_text(path.with_suffix(".md"), f"# {self.title or self.name.capitalize()}\n\n{self.markdown(kept).rstrip()}\n")
        if self.draw is not None:
            self.draw(kept, path)
        return kept


def _identity(record: Record) -> str:
    keys = ("command", "set", "form", "seed", "model_seed", "method", "settings")
    return json.dumps([record.get(key) for key in keys], sort_keys=True)


@contextmanager
def open_run(options: Options, progress: Callable[[str, int, int], None] = lambda label, done, total: None) -> Iterator[Run]:
    """Load the sets, open the results folder, limit threads; vectors live in a temporary folder unless a cache is given."""
    for package in ("sklearn", "pyod", "pandas", "matplotlib", "threadpoolctl", "torch"):
        if imports.find_spec(package) is None:
            raise MissingExtraError(package, "bench", "the benchmark")
    import torch
    from threadpoolctl import threadpool_limits

    sets = load_sets(options.data, options.sets, options.forms, options.revision)
    try:
        (options.out / "cells").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{options.out}: expected a folder that can be written, got: {error.strerror}") from None
    before = torch.get_num_threads()
    with scratch_folder() as temporary, threadpool_limits(options.threads):
        torch.set_num_threads(options.threads or before)
        yield Run(replace(options, cache=options.cache or temporary), sets, progress)
    torch.set_num_threads(before)


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
