"""`difa bench efficiency`: accuracy against the time to fit, the time to score and memory, side by side in one run.

Each method runs in a process of its own, one after the other: the peak of a process's memory never falls, so in a fresh one it
is that of this method alone. The process is this module, with a job as JSON on standard input and what it cost as JSON on
standard output. Nothing is cached: fitting and scoring include the encoding of their documents, where the method needs vectors.
Loading libraries and the encoder is not counted.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from difa.baselines import method
from difa.bench.data import DataSet
from difa.bench.methods import DIFA, FED, Workbench, check_methods, has_encoder, preset_of, run_method
from difa.bench.metrics import Scores, figures_of
from difa.bench.plots import draw_efficiency
from difa.bench.run import Run, Task, finish
from difa.bench.split import Split, split
from difa.bench.store import Record, fingerprint_of
from difa.bench.tables_studies import efficiency_markdown
from difa.document import Document, FloatArray
from difa.errors import DifaError
from difa.runtime.parallel import core_count
from difa.words import from_tokens


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
    parts = ["bench/efficiency.py"]
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
    pooled = {rule: np.array(scores) for rule, scores in outcome["documents"].items()}
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
    command = [sys.executable, "-m", "difa.bench.efficiency"]
    done = subprocess.run(command, input=json.dumps(job), capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise DifaError(f"{job['method']}: expected figures from a process of its own, got: {last[0]}")
    outcome: Record = json.loads(done.stdout)
    return outcome


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """Fit and score, and say how long it took, how much memory, and what the scores were."""
    training, test = ([from_tokens(words, id=str(at)) for at, words in enumerate(job[half])] for half in ("training", "test"))
    name, bench = job["method"], Workbench(job["encoder"], job["layer"], job["threads"], None, job["stages"])
    encode_seconds = 0.0
    if has_encoder(preset_of(name)) if name in DIFA else method(name).needs_vectors:
        import torch  # noqa: F401  # loading it is not fitting

        bench.encoder.encode(training[:2])
        begun = time.perf_counter()
        bench.encoder.encode([*training, *(test if name in FED else ())])
        encode_seconds = time.perf_counter() - begun
    scores = run_method(name, {}, Split(training, test), job["seed"], bench)
    return {
        "encode_seconds": encode_seconds,
        "fit_seconds": scores.fit_seconds + scores.encode_seconds[0],
        "score_seconds": scores.score_seconds + scores.encode_seconds[1],
        "peak_mib": peak_mib(),
        "words": [each.tolist() for each in scores.words or ()],
        "documents": {rule: pooled.tolist() for rule, pooled in scores.documents.items()},
    }


def peak_mib() -> float:
    """The most memory this process has held, in MiB."""
    status = Path("/proc/self/status")
    if status.is_file():  # of this program alone: the figure of `getrusage` is inherited from the process that started it
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    import resource

    unit = 1024 * 1024 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


if __name__ == "__main__":
    json.dump(measure(json.load(sys.stdin)), sys.stdout)
