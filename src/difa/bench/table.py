"""`difa bench table`: every method on every set -> word and document figures.

Baselines run with their library's default settings. With `grid` they also run with those that the TokenCore authors searched,
and the table shows two choices among them: the best on validation data, and the best by test AUROC, which is the TokenCore
authors' way. Published figures stand beside the measured ones. With `model_seeds` each method is fitted with several seeds on the
same split, to show how much of a figure is chance in the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from difa.baselines import METHODS, MethodSettings
from difa.bench import peers
from difa.bench.data import DataSet
from difa.bench.methods import ALL_METHODS, check_methods, run_method
from difa.bench.metrics import alarms_of, figures_of
from difa.bench.plots import draw_table
from difa.bench.run import Run, Task, write_records
from difa.bench.split import split
from difa.bench.store import Record
from difa.bench.tables import table_markdown
from difa.bench.validation import attach, validation_tasks

DEFAULT, GRID = "library default", "grid"


def run_table(
    run: Run,
    methods: Sequence[str] = (),
    *,
    grid: bool = False,
    with_peers: bool = False,
    model_seeds: Sequence[int] = (),
) -> list[Record]:
    """Measure, and write `table.json` and `table.md`.

    Args:
        run: where to, and on what.
        methods: which; all for none.
        grid: whether baselines also run with the settings that the TokenCore authors searched.
        with_peers: whether all peers run.
        model_seeds: seeds of the models; for none, a model has the seed of its split.
    """
    names, chosen = _choose(methods, with_peers)
    tasks = []
    for dataset in run.sets:
        for seed in run.options.seeds:
            tasks += _tasks(run, dataset, seed, names, grid, model_seeds)
            tasks += validation_tasks(run, dataset, seed, names) if grid else []
            tasks += _peer_tasks(run, dataset, seed, chosen)
    return write_records(run, "table", attach(run.execute(tasks)), table_markdown, draw_table)


def _choose(names: Sequence[str], with_peers: bool) -> tuple[list[str], list[peers.Peer]]:
    """The methods and the peers that are meant: all methods and no peers for no name."""
    meant = check_methods(names or ALL_METHODS, (*ALL_METHODS, *peers.LABELS))
    return [name for name in meant if name in ALL_METHODS], [p for p in peers.PEERS if with_peers or p.name in meant]


def _tasks(run: Run, dataset: DataSet, seed: int, names: Sequence[str], grid: bool, model_seeds: Sequence[int]) -> list[Task]:
    tasks = [
        Task(
            run.cell("table", dataset, seed, name, {}, model_seed=model_seed),
            partial(_compute, run, dataset, seed, name, {}, model_seed),
        )
        for name in names
        for model_seed in model_seeds
    ]
    for name in names if grid or not model_seeds else ():
        searched: tuple[MethodSettings, ...] = METHODS[name].grid if grid and name in METHODS else ()
        for settings in ({}, *searched):
            cell = run.cell("table", dataset, seed, name, settings)
            tasks.append(Task(cell, partial(_compute, run, dataset, seed, name, settings, seed)))
    return tasks


def _compute(run: Run, dataset: DataSet, seed: int, name: str, settings: MethodSettings, model_seed: int) -> Record:
    halves = split(dataset.documents, seed)
    scores = run_method(name, settings, halves, model_seed, run.bench)
    return {
        "selection": GRID if settings else DEFAULT,
        "figures": figures_of(scores, halves.word_labels, run.options.draws, seed),
        "alarms": alarms_of(scores, halves.test),
        "fit_seconds": scores.fit_seconds,
        "score_seconds": scores.score_seconds,
    }


def _peer_tasks(run: Run, dataset: DataSet, seed: int, chosen: Sequence[peers.Peer]) -> list[Task]:
    if not chosen:
        return []
    fingerprint = peers.fingerprint(run.bench)
    cells = [run.cell("table", dataset, seed, peer.name, {}, fingerprint) for peer in chosen]
    return [Task(cell, partial(_compute_peer, run, dataset, seed, peer)) for cell, peer in zip(cells, chosen, strict=True)]


def _compute_peer(run: Run, dataset: DataSet, seed: int, peer: peers.Peer) -> Record:
    halves = split(dataset.documents, seed)
    outcome = peers.run_peer(peer, halves, seed, run.bench)
    if isinstance(outcome, str):
        return {"selection": DEFAULT, "figures": [], "reason": outcome}
    figures = figures_of(outcome, halves.word_labels, run.options.draws, seed)
    return {
        "selection": DEFAULT,
        "figures": figures,
        "fit_seconds": outcome.fit_seconds,
        "score_seconds": outcome.score_seconds,
    }
