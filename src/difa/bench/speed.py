"""`difa bench speed`: how fast scoring is beside what it could be, as ratios measured in one run.

Absolute seconds say little on a machine that others use. So every part runs in turn, several rounds long, and the medians
are compared: DiFA from file to file and from Python, its encoder alone on the same documents, bare matrix products of the
encoder's shapes, a peer, and processes from their start. The preset without an encoder has many more documents, and is compared
with counting their words.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from difa.bench.data import DataSet
from difa.bench.methods import merge_stages, quiet_rates
from difa.bench.run import Run, Task, finish
from difa.bench.speed_workloads import (
    clock,
    count_words,
    matrix_limit,
    measure,
    peer,
    score_and_write,
    score_file,
    stage_seconds,
    vary,
)
from difa.bench.split import split
from difa.bench.store import Record, fingerprint_of
from difa.bench.tables import markdown
from difa.config import EncoderConfig
from difa.encoders.convert import find
from difa.estimator import DiFA
from difa.runtime.parallel import core_count
from difa.storage.atomic import scratch_folder

_MIB = 1024
_OF_MANY = ("fast", "counting")  # parts that have many times the documents
_SHORT = 8  # words of a short document
_ONCE = "once.jsonl"  # the documents as a file
_MANY_TIMES = 100  # for the preset without an encoder: once is over before it can be measured
_IMPORTS = {
    "import difa": "import difa",
    "numpy and typer": "import numpy, typer",
    "torch, transformers": "import sys, torch; from transformers import AutoModel, AutoTokenizer; "
    "AutoModel.from_pretrained(sys.argv[1]); AutoTokenizer.from_pretrained(sys.argv[1])",
}


def run_speed(run: Run, documents: int = 200, rounds: int = 3, many: int = 0) -> list[Record]:
    """Measure, and write `speed.json` and `speed.md`.

    Args:
        run: where to, and on what.
        documents: documents that are scored; four times as many for growth.
        rounds: times that each part runs.
        many: short documents for the memory of a long run; 0 leaves it out.
    """
    settings = {"documents": documents, "rounds": rounds, "many": many}
    tasks = [_task(run, dataset, seed, settings) for dataset in run.sets for seed in run.options.seeds]
    return finish(run, "speed", tasks, speed_markdown)


def _task(run: Run, dataset: DataSet, seed: int, settings: dict[str, int]) -> Task:
    parts = ["bench/speed.py", "bench/speed_workloads.py", "bench/peers.py", "formats", "cli", "engines"]
    key = fingerprint_of(parts, ["pytextad", "torch"], method=run.bench.fingerprint("difa-full"), cores=core_count())
    cell = run.cell("speed", dataset, seed, "difa-full", settings, key)
    return Task(cell, partial(_compute, run, dataset, seed, settings))


def _compute(run: Run, dataset: DataSet, seed: int, settings: dict[str, int]) -> Record:
    options = run.options
    halves = split(dataset.documents, seed)
    documents = halves.test[: settings["documents"]]
    threads = options.threads or core_count()
    with scratch_folder() as folder, quiet_rates():
        stages = merge_stages(options.stages)
        DiFA(encoder=options.encoder, layer=options.layer, seed=seed, threads=options.threads, stages=stages).fit(
            halves.training
        ).save(folder / "model")
        model = DiFA.load(folder / "model", threads=options.threads)
        encoder = model.detector_.encoder
        words = sum(len(document.words) for document in documents)
        subwords = sum(int(item.pieces.sum()) + 2 for item in encoder.encode(documents))
        out = folder / "out.jsonl"
        commands = _commands(folder, documents_of=vary(documents, 4 * len(documents), seed), count=len(documents), run=run)
        swarm = _write(folder / "swarm.jsonl", varied := vary(documents, _MANY_TIMES * len(documents), seed))
        fast = DiFA("fast", seed=seed, threads=options.threads, stages=stages)
        fast_fit = clock(lambda: fast.fit(halves.training))
        fast.save(folder / "fast")
        commands["fast one line"] = _score_command(folder, folder / "one.jsonl", run, "fast")
        commands["fast command"] = _score_command(folder, swarm, run, "fast")
        clocked: dict[str, Callable[[], object] | None] = {
            "end to end": partial(score_file, model, folder / "model", folder / _ONCE, folder / "end.jsonl"),
            "score": partial(score_and_write, model, documents, out),
            "encoder": partial(encoder.encode, documents),
            "matrix": matrix_limit(encoder, options.encoder, subwords, threads),
            "peer": peer(halves, documents, run.bench, seed),
            "fast": partial(score_file, fast, folder / "fast", swarm, folder / "fast.jsonl"),
            "counting": partial(count_words, swarm),
        }
        seconds = _rounds(settings["rounds"], clocked, commands)
        staged = [stage_seconds(model, documents, out) for _ in range(settings["rounds"])]
        record: Record = {
            "documents": len(documents),
            "words": words,
            "subwords": subwords,
            "fast_words": sum(map(len, varied)),
            "fast_fit": {"words": fast.detector_.training_words, "seconds": fast_fit},
            "threads": threads,
            **_medians(seconds, staged),
        }
        if settings["many"]:
            source = _write(folder / "many.jsonl", vary(documents, settings["many"], seed, _SHORT))
            command = _score_command(folder, source, run)
            record["many"] = {"documents": settings["many"], **asdict(measure(command))}
    return record


def _medians(seconds: dict[str, dict[str, list[float]]], staged: Sequence[dict[str, float]]) -> Record:
    return {
        "seconds": {part: statistics.median(values) for part, values in seconds["seconds"].items()},
        "spread": {part: [min(values), max(values)] for part, values in seconds["seconds"].items()},
        "peak_mib": {part: statistics.median(values) for part, values in seconds["peak"].items()},
        "stages": {stage: statistics.median(one[stage] for one in staged) for stage in staged[0]},
    }


def _rounds(
    rounds: int, clocked: dict[str, Callable[[], object] | None], commands: dict[str, list[str]]
) -> dict[str, dict[str, list[float]]]:
    """Every part in turn, several times: what slows the machine for a while then slows all of them."""
    seconds: dict[str, list[float]] = {part: [] for part in [*(part for part, work in clocked.items() if work), *commands]}
    peak: dict[str, list[float]] = {part: [] for part in commands}
    # What this process has loaded for the comparison is not DiFA's to search for garbage.
    gc.collect()
    gc.freeze()
    for _ in range(rounds):
        for part, work in clocked.items():
            if work:
                # The limit is the better of two ways, and says itself how long that took.
                seconds[part].append(_number(work()) if part == "matrix" else clock(work))
        for part, command in commands.items():
            outcome = measure(command)
            seconds[part].append(outcome.seconds)
            peak[part].append(outcome.peak)
    gc.unfreeze()
    return {"seconds": seconds, "peak": peak}


def _number(value: object) -> float:
    return value if isinstance(value, float) else 0.0


def _commands(folder: Path, documents_of: list[list[str]], count: int, run: Run) -> dict[str, list[str]]:
    encoder = find(EncoderConfig(name=run.options.encoder, layer=run.options.layer)).folder
    python = [sys.executable, "-c"]
    return {
        "command": _score_command(folder, _write(folder / _ONCE, documents_of[:count]), run),
        "four times": _score_command(folder, _write(folder / "four.jsonl", documents_of), run),
        "one line": _score_command(folder, _write(folder / "one.jsonl", documents_of[:1]), run),
        "help": [sys.executable, "-m", "difa", "--help"],
        **{part: [*python, code, str(encoder)] for part, code in _IMPORTS.items()},
    }


def _score_command(folder: Path, source: Path, run: Run, model: str = "model") -> list[str]:
    threads = ["--threads", str(run.options.threads)] if run.options.threads else []
    inputs = [str(folder / model), str(source), "--out", str(folder / "scores.jsonl"), "--quiet"]
    return [sys.executable, "-m", "difa", "score", *inputs, *threads]


def _write(path: Path, documents: Sequence[Sequence[str]]) -> Path:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"tokens": tokens}) + "\n" for tokens in documents)
    return path


def speed_markdown(records: Sequence[Record]) -> str:
    """Ratios with their targets, then words per second, stages and memory."""
    parts = ["# Speed", ""]
    for record in records:
        parts += _section(record)
    return "\n".join(parts)


def ratios(record: Record) -> list[tuple[str, tuple[float, str]]]:
    """What is compared: its name, the figure and its target."""
    s = record["seconds"]
    # In a pipeline stages run beside the encoder: what counts is the time by which all of it exceeds the encoder's alone.
    after = 1 - s["encoder"] / s["end to end"]
    found = [
        ("time beyond that of the encoder alone, share of scoring from file to file", (after, "≤ 0.40")),
        ("`DiFA.score` and JSON to encoder alone, time", (s["score"] / s["encoder"], "≤ 1.7")),
        ("encoder to bare matrix products, speed", (s["matrix"] / s["encoder"], "≥ 0.70")),
        ("first score from a cold start to loading torch, transformers", (s["one line"] / s["torch, transformers"], "≤ 0.5")),
        ("`difa --help` to importing numpy and typer", (s["help"] / s["numpy and typer"], "≤ 2")),
        ("`import difa` to importing numpy and typer", (s["import difa"] / s["numpy and typer"], "≤ 1.5")),
        ("four times the documents, time of the command", (s["four times"] / s["command"], "≤ 4.3")),
    ]
    if "fast" in s:
        faster = (record["fast_words"] / s["fast"]) / (record["words"] / s["end to end"])
        found += [
            ("preset fast to full, words a second from file to file", (faster, "≥ 10")),
            ("preset fast to plain counting, speed", (s["counting"] / s["fast"], "≥ 0.25")),
            ("preset fast to full, first score from a cold start", (s["fast one line"] / s["one line"], "≤ 0.5")),
            ("preset fast, peak in GiB of one process", (record["peak_mib"]["fast command"] / _MIB, "≤ 0.39")),
        ]
    if "peer" in s:
        found.insert(
            0, ("command end to end to PyTextAD (TokenCore, without start-up), speed", (s["peer"] / s["command"], "≥ 3"))
        )
    if "many" in record:
        many = record["many"]
        count = f"{many['documents']:,} short documents"
        found.append((f"{count}, memory at the end to a quarter", (many["end"] / max(many["quarter"], 1e-9), "≤ 1.10")))
        found.append((f"{count}, peak in GiB", (many["peak"] / _MIB, "< 1")))
    return found


def meets(figure: float, target: str) -> bool:
    """Whether a figure keeps to its target, such as `≤ 0.5`."""
    sign, limit = target.split()
    return figure >= float(limit) if sign == "≥" else figure <= float(limit)


def _section(record: Record) -> list[str]:
    s, words = record["seconds"], record["words"]
    about = (
        f"{record['documents']} documents, {words:,} words, {record['subwords']:,} subwords; {record['threads']} threads; "
        f"medians of {record['settings']['rounds']} rounds in which all parts took turns."
    )
    compared = [
        {"ratio": name, "measured": f"{figure:.2f}", "target": aim, "kept": "yes" if meets(figure, aim) else "no"}
        for name, (figure, aim) in ratios(record)
    ]
    throughput = {
        "command": "`difa score`, process and all",
        "end to end": "from file to file, in process",
        "score": "`DiFA.score` and JSON, in process",
        "encoder": "encoder alone",
        "matrix": "matrix products alone",
        "peer": "PyTextAD TokenCore, in process",
        "fast": "preset `fast`, from file to file, many times the documents",
        "counting": "plain counting of the same words",
    }
    speeds = [
        {
            "part": label,
            "words a second": f"{(record['fast_words'] if part in _OF_MANY else words) / s[part]:,.0f}",
            "seconds": f"{s[part]:.2f}",
            "least–most": "–".join(f"{value:.2f}" for value in record["spread"][part]),
        }
        for part, label in throughput.items()
        if part in s
    ]
    stages = [{"stage": stage, "seconds": f"{seconds:.3f}"} for stage, seconds in record["stages"].items()]
    processes = [
        {"process": part, "seconds": f"{s[part]:.2f}", "peak MiB": f"{peak:.0f}"} for part, peak in record["peak_mib"].items()
    ]
    tables = [line for rows in (compared, speeds, stages, processes) for line in (*markdown(rows), "")]
    return [f"## {record['set']}, {record['form']} form", "", about, "", *tables]
