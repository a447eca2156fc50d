"""What every command of the benchmark shares: options -> a run; studies -> cells -> records and files.

A study is a command: how a cell is computed, how all records are shown. A cell is a method with some settings on a split of a
set. A finished cell is a JSON file, and what was computed is not computed again: its name comes from everything that decides its
content, from the documents and seeds to a fingerprint of the code and packages behind it. Change any of these and the cell is a
new one; comments and docstrings change nothing. The records of a study go to `<study>.json`, its table to `<study>.md`, and
`results.json` and `results.csv` hold the records of all studies that have figures.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property, lru_cache
from importlib import util as imports
from pathlib import Path
from typing import Any

from difa.bench.data import DataSet, Split, checksum, load_sets, split
from difa.bench.methods import Options as Options
from difa.bench.methods import clock, fingerprint_of
from difa.bench.metrics import Record, Records
from difa.bench.tables import figures_frame
from difa.errors import InputError, MissingExtraError
from difa.storage.atomic import fresh_text, scratch_folder

WITH_FIGURES = ("table", "ablation", "efficiency", "contamination", "sparsity", "feed", "layers")
"""Studies whose records have figures of words and documents."""


@dataclass(frozen=True, eq=False)
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
class Cell:
    """A method with some settings on a split of a set: one figure, or a few that come out of one fit."""

    study: Study
    run: Run
    dataset: DataSet
    seed: int
    method: str
    model_seed: int | None = None
    """Seed of the model where it is not that of the split."""
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def options(self) -> Options:
        return self.run.options

    @property
    def halves(self) -> Split:
        return _split(self.dataset, self.seed)

    @property
    def label(self) -> str:
        """What it is of, for people."""
        model = "" if self.model_seed is None else f", model seed {self.model_seed}"
        return f"{self.study.name} {self.dataset.name} {self.dataset.form} seed {self.seed}{model}: {self.method}"

    @cached_property
    def fingerprint(self) -> str:
        """Checksum of all that decides the figures beside documents, seeds and settings."""
        key = self.options.fingerprint(self.method)
        return fingerprint_of(self.study.code, method=key, **self.study.depends(self.run)) if self.study.code else key

    @property
    def path(self) -> Path:
        """Its file, whose name is readable, then unmistakable. Two forms with equal documents share a cell."""
        content = [self.study.name, self.dataset.digest, self.seed, self.method, self.settings, self.fingerprint, self.model_seed]
        content += [] if self.options.promises(self.method) else ["no flags"]
        content += [fingerprint_of(self.study.judging)] if self.settings and self.study.judging else []
        name = f"{self.study.name}-{self.dataset.name}-{self.seed}-{self.method.replace('/', '_')}-{checksum(content)[:16]}.json"
        return self.run.folder / "cells" / name

    def fetch(self) -> Record:
        """The finished cell, computed now if it was not before, with when, for whom and for how long it was measured."""
        found: Record = read_json(self.path)
        if found is None:
            made, seconds = clock(lambda: self.study.compute(self))
            made |= {"measured": date.today().isoformat(), "asked_by": self.options.asked_by, "took": round(seconds, 1)}
            write_text(self.path, json.dumps(made, indent=1, allow_nan=False))
            found = read_json(self.path) or {}  # the same kinds of values whether computed or read
        of = {"command": self.study.name, "set": self.dataset.name, "form": self.dataset.form, "seed": self.seed}
        of |= {"model_seed": self.model_seed, "method": self.method, "fingerprint": self.fingerprint}
        return of | {"settings": self.settings} | found


@lru_cache(maxsize=1)
def _split(dataset: DataSet, seed: int) -> Split:
    return split(dataset.documents, seed)


@dataclass(frozen=True)
class Study:
    """A command of the benchmark."""

    name: str
    compute: Callable[[Cell], Record]
    """What a cell holds."""
    markdown: Callable[[Records], str]
    """The tables of all records."""
    draw: Callable[[Records, Path], None] | None = None
    """Their picture, to files beside a path."""
    code: tuple[str, ...] = ()
    """Files and folders of the package that decide its figures beside those of the method."""
    judging: tuple[str, ...] = ()
    """Files and folders that decide what is said of settings alone: cells without any stay as they are when these change."""
    depends: Callable[[Run], Mapping[str, Any]] = lambda run: {}
    """What else decides them."""
    title: str = ""
    """Of its tables, where it is not the name."""

    def measure(
        self, run: Run, methods: Sequence[str], settings: Callable[[Cell], Iterable[Record]] = lambda cell: [{}]
    ) -> list[Record]:
        """Compute the cells of all sets, seeds and methods that are missing, with the settings of each, and write all."""
        usual = [Cell(self, run, dataset, seed, name) for dataset in run.sets for seed in run.options.seeds for name in methods]
        return self.write(run, run.execute([each for cell in usual for each in with_settings(cell, settings(cell))]))

    def write(self, run: Run, records: Records) -> list[Record]:
        """Keep records beside older ones, but for those of methods that have changed since, and write table and picture."""
        path, current = run.folder / self.name, {record["method"]: record["fingerprint"] for record in records}
        older = read_json(path.with_suffix(".json")) or []
        older = [record for record in older if record["fingerprint"] == current.get(record["method"], record["fingerprint"])]
        keys = ("command", "set", "form", "seed", "model_seed", "method", "settings")
        newest = {json.dumps([record.get(key) for key in keys], sort_keys=True): record for record in [*older, *records]}
        kept = list(newest.values())
        write_text(path.with_suffix(".json"), json.dumps(kept, indent=1))
        results = [record for study in WITH_FIGURES for record in read_json(run.folder / f"{study}.json") or ()]
        write_text(run.folder / "results.json", json.dumps(results, indent=1))
        write_text(run.folder / "results.csv", figures_frame(results).to_csv(index=False, lineterminator="\n"))
        write_text(path.with_suffix(".md"), f"# {self.title or self.name.capitalize()}\n\n{self.markdown(kept).rstrip()}\n")
        if self.draw is not None:
            self.draw(kept, path)
        return kept


def with_settings(cell: Cell, settings: Iterable[Mapping[str, Any]]) -> list[Cell]:
    """The cell with each of some settings, as JSON holds them."""
    return [replace(cell, settings=each) for each in json.loads(json.dumps(list(settings)))]


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
