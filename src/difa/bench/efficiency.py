"""`difa bench efficiency`: accuracy against the time to fit, the time to score and memory, side by side in one run.

Each method runs in a process of its own, one after the other. Times include the encoding of the documents, where a method
needs vectors, and leave out the loading of libraries; memory is the peak of the process, libraries included.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from functools import partial

import numpy as np

from difa.bench.data import DataSet
from difa.bench.figures import figures_of
from difa.bench.methods import DIFA, Scores, check_methods
from difa.bench.metrics import pool_max, pool_mean
from difa.bench.plots import draw_efficiency
from difa.bench.render_studies import efficiency_markdown
from difa.bench.run import Run, Task, finish
from difa.bench.split import split
from difa.bench.store import Record, fingerprint_of
from difa.document import Document, FloatArray
from difa.errors import DifaError
from difa.runtime.threads import core_count


def run_efficiency(run: Run, methods: Sequence[str] = ()) -> list[Record]:
    """Measure, and write `efficiency.json`, `efficiency.md` and the picture."""
    tasks = [
        _task(run, dataset, seed, name)
        for dataset in run.sets
        for seed in run.options.seeds
        for name in check_methods(methods)
    ]  # fmt: skip
    return finish(run, "efficiency", tasks, efficiency_markdown, draw_efficiency)


def _task(run: Run, dataset: DataSet, seed: int, name: str) -> Task:
    parts = ["bench/efficiency.py", "bench/worker.py"]
    fingerprint = fingerprint_of(parts, method=run.bench.fingerprint(name), cores=core_count(), threads=run.options.threads)
    return Task(run.cell("efficiency", dataset, seed, name, {}, fingerprint), partial(_compute, run, dataset, seed, name))


def _compute(run: Run, dataset: DataSet, seed: int, name: str) -> Record:
    halves = split(dataset.documents, seed)
    job: Record = {
        "method": name,
        "seed": seed,
        "encoder": run.options.encoder,
        "layer": run.options.layer,
        "threads": run.options.threads,
        "stages": run.options.stages,
        "training": _words(halves.training),
        "test": _words(halves.test),
    }
    _ = run.bench.encoder  # exported once, before anybody's clock runs
    outcome = _in_fresh_process(job)
    words: list[FloatArray] = [np.array(scores, dtype=np.float64) for scores in outcome["words"]]
    pooled = {"max": pool_max(words), "mean": pool_mean(words)}
    if name in DIFA:
        pooled = {"learned": np.array(outcome["documents"]), **pooled}
    return {
        "figures": figures_of(Scores(words, pooled), halves.word_labels, run.options.draws, seed),
        **{key: outcome[key] for key in ("encode_seconds", "fit_seconds", "score_seconds", "peak_mib")},
        "training_words": sum(map(len, job["training"])),
        "test_words": sum(map(len, job["test"])),
        "cores": core_count(),
    }


def _words(documents: Sequence[Document]) -> list[list[str]]:
    return [[word.text for word in document.words] for document in documents]


def _in_fresh_process(job: Record) -> Record:
    command = [sys.executable, "-m", "difa.bench.worker"]
    done = subprocess.run(command, input=json.dumps(job), capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise DifaError(f"{job['method']}: expected figures from a process of its own, got: {last[0]}")
    outcome: Record = json.loads(done.stdout)
    return outcome
