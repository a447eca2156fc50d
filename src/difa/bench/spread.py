"""`difa bench spread`: one split, several seeds of the model -> how much of a figure is chance of training.

The other commands take one seed for the split and the model together. Here the documents stay the same, and only what is random
in learning changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from difa.bench.data import DataSet
from difa.bench.figures import figures_of
from difa.bench.methods import check_methods, run_method
from difa.bench.render import unique
from difa.bench.render_table import section
from difa.bench.run import Run, Task, finish
from difa.bench.split import split
from difa.bench.store import Record

COMMAND = "spread"


def run_spread(run: Run, methods: Sequence[str], model_seeds: Sequence[int]) -> list[Record]:
    """Measure, and write `spread.json` and `spread.md`."""
    tasks = [
        Task(
            run.cell(COMMAND, dataset, seed, name, {"model_seed": model_seed}),
            partial(_compute, run, dataset, seed, name, model_seed),
        )
        for dataset in run.sets
        for seed in run.options.seeds
        for name in check_methods(methods)
        for model_seed in model_seeds
    ]
    return finish(run, COMMAND, tasks, spread_markdown)


def _compute(run: Run, dataset: DataSet, seed: int, name: str, model_seed: int) -> Record:
    halves = split(dataset.documents, seed)
    scores = run_method(name, {}, halves, model_seed, run.bench)
    return {"figures": figures_of(scores, halves.word_labels, 0, seed), "fit_seconds": scores.fit_seconds}


def spread_markdown(records: Sequence[Record]) -> str:
    """Mean and deviation over the seeds of the model, by form and split; published figures beside the published split."""
    lines = ["# Spread over seeds of the model", ""]
    for form, seed in unique((record["form"], record["seed"]) for record in records):
        mine = [record for record in records if (record["form"], record["seed"]) == (form, seed)]
        seeds = ", ".join(map(str, unique(record["settings"]["model_seed"] for record in mine)))
        lines += section(
            [record | {"settings": {}} for record in mine], form, f"split {seed}, seeds {seeds} of the model: mean ± sd"
        )
    return "\n".join(lines) + "\n"
