"""The settings of a baseline, judged on validation data: pseudo anomalies in normal text that it was not fitted on.

The paper selects models "based on validation performance" and says that anomaly labels serve evaluation alone; it does not
describe its validation data. Here the normal training half is cut in two: a setting is fitted on one part and judged by the
paper's own pseudo anomalies, made in the other. No test document and no label has a part in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial

from difa.baselines import METHODS, MethodSettings
from difa.bench.data import DataSet
from difa.bench.figures import figures_of
from difa.bench.methods import score_baseline
from difa.bench.pseudo import PseudoTest, make_pseudo_test
from difa.bench.run import Run, Task
from difa.bench.split import split
from difa.bench.store import Record, fingerprint_of
from difa.config import Config

COMMAND = "validation"


def validation_tasks(run: Run, dataset: DataSet, seed: int, names: Sequence[str]) -> list[Task]:
    """A task for each setting that a named method's authors searched; none for methods without a choice."""

    @cache  # made once for all settings, and only if one of them is not finished
    def make() -> PseudoTest:
        return make_pseudo_test(split(dataset.documents, seed).training, seed, run.bench, Config.preset("paper").perturb)

    return [
        _task(run, dataset, seed, name, settings, make) for name in names if name in METHODS for settings in METHODS[name].grid
    ]


def _task(run: Run, dataset: DataSet, seed: int, name: str, settings: MethodSettings, make: Callable[[], PseudoTest]) -> Task:
    parts = ["bench/validation.py", "bench/pseudo.py", "perturb"]
    fingerprint = fingerprint_of(parts, method=run.bench.fingerprint(name), encoder=run.bench.encoder_key)
    return Task(run.cell(COMMAND, dataset, seed, name, settings, fingerprint), partial(_compute, run, seed, name, settings, make))


def _compute(run: Run, seed: int, name: str, settings: MethodSettings, make: Callable[[], PseudoTest]) -> Record:
    made = make()
    scores = score_baseline(name, settings, run.bench.encode(made.halves.training), made.encoder.encode(made.halves.test), seed)
    return {"figures": figures_of(scores, made.halves.word_labels, 0, seed)}


def attach(records: Sequence[Record]) -> list[Record]:
    """The records without those of validation, whose figures go to the record of the same setting, as `validation`."""
    judged = {_key(record): record["figures"] for record in records if record["command"] == COMMAND}
    tested = [record for record in records if record["command"] != COMMAND]
    return [record | {"validation": judged[_key(record)]} if _key(record) in judged else record for record in tested]


def _key(record: Record) -> str:
    return repr([record[key] for key in ("set", "form", "seed", "method")] + sorted(record["settings"].items()))
