"""`difa bench speed`: how fast scoring is beside what it could be, as ratios measured in one run.

Absolute seconds say little on a machine that others use. So every part runs in turn, several rounds long, and the medians
are compared: DiFA from file to file and from Python, its encoder alone on the same documents, bare matrix products of the
encoder's shapes, a peer, and processes from their start. The preset without an encoder has many more documents, and is compared
with counting their words.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from difa.bench.data import Split, words_of
from difa.bench.methods import Options, clock, fingerprint_of, peer_detector, quiet_peers, quiet_rates
from difa.bench.metrics import Record, Records
from difa.bench.run import Cell, Run, Study
from difa.bench.tables import markdown, page
from difa.document import Document, Result, columns_of
from difa.encoders import Encoder
from difa.engines.local import Job, Silent, score_inputs
from difa.errors import DifaError
from difa.estimator import DiFA
from difa.formats.write import json_lines
from difa.runtime.parallel import core_count, one_torch_thread
from difa.storage.atomic import scratch_folder
from difa.words import from_tokens

Part = Callable[[], dict[str, float]]
"""What is measured: runs once, and says how many seconds that took, and a process its memory, too."""
_MIB = 1024
_OF_MANY = ("fast", "counting")  # parts that have many times the documents
_SHORT = 8  # words of a short document
_MANY_TIMES = 100  # for the preset without an encoder: once is over before it can be measured
_PAUSE = 0.01  # seconds between looks at a process's memory
_ROWS = 1024  # rows of a product: as many as the encoder has subwords in a batch
_IMPORTS = {
    "import difa": "import difa",
    "numpy and typer": "import numpy, typer",
    "torch, transformers": "import sys, torch; from transformers import AutoModel, AutoTokenizer; "
    "AutoModel.from_pretrained(sys.argv[1]); AutoTokenizer.from_pretrained(sys.argv[1])",
}
_THROUGHPUT = {
    "command": "`difa score`, process and all",
    "end to end": "from file to file, in process",
    "score": "`DiFA.score` and JSON, in process",
    "encoder": "encoder alone",
    "matrix": "matrix products alone",
    "peer": "PyTextAD TokenCore, in process",
    "fast": "preset `fast`, from file to file, many times the documents",
    "counting": "plain counting of the same words",
}
"""Parts whose words a second are shown."""


def run_speed(run: Run, documents: int = 200, rounds: int = 3, many: int = 0) -> list[Record]:
    """Measure with some documents, and four times as many for growth, and write `speed.json` and `speed.md`.

    Each part runs so many rounds. Many short documents show the memory of a long run; 0 leaves it out.
    """
    settings = {"documents": documents, "rounds": rounds, "many": many}
    return SPEED.measure(run, ["difa-full"], lambda cell: [settings])


def _compute(cell: Cell) -> Record:
    options, halves, settings, count = cell.options, cell.halves, cell.settings, cell.settings["documents"]
    documents, threads = halves.test[:count], options.threads or core_count()
    with scratch_folder() as folder, quiet_rates():
        shared: dict[str, Any] = {"seed": cell.seed, "threads": options.threads, "stages": options.stages or {}}
        DiFA(encoder=options.encoder, layer=options.layer, **shared).fit(halves.training).save(folder / "model")
        model, fast = DiFA.load(folder / "model", threads=options.threads), DiFA("fast", **shared).fit(halves.training)
        fast.save(folder / "fast")
        encoder = model.detector_.encoder
        subwords = sum(int(item.pieces.sum()) + 2 for item in encoder.encode(documents))
        varied = vary(documents, _MANY_TIMES * len(documents), cell.seed)
        commands = _commands(folder, vary(documents, 4 * len(documents), cell.seed), varied, options)

        def score_file(fitted: DiFA, name: str, source: str) -> None:
            """Scoring as the command does it, from file to file through its pipeline, without its start-up."""
            score_inputs(fitted, Job(folder / name, [str(folder / source)], out=folder / f"{name}.jsonl"), Silent())

        parts: dict[str, Part] = {
            "end to end": timed(lambda: score_file(model, "model", "once.jsonl")),
            "score": timed(lambda: write_results(folder / "out.jsonl", model.score(documents))),
            "encoder": timed(partial(encoder.encode, documents)),
            "matrix": matrix_limit(encoder, options.source.folder, subwords, threads),
            **peer(halves, documents, options, cell.seed),
            "fast": timed(lambda: score_file(fast, "fast", "repeated.jsonl")),
            "counting": timed(partial(count_words, folder / "repeated.jsonl")),
            **{part: partial(measure, command) for part, command in commands.items()},
        }
        measured = _rounds(settings["rounds"], parts)
        staged = [stage_seconds(model, documents, folder / "out.jsonl") for _ in range(settings["rounds"])]
        record: Record = {
            "documents": len(documents),
            "words": sum(len(document.words) for document in documents),
            "subwords": subwords,
            "fast_words": sum(map(len, varied)),
            "threads": threads,
            **measured,
            "stages": {stage: statistics.median(one[stage] for one in staged) for stage in staged[0]},
        }
        if settings["many"]:
            _write(folder / "many.jsonl", vary(documents, settings["many"], cell.seed, _SHORT))
            memory = {"full": _score(folder, "many", options)}
            memory["fast"] = _score(folder, "many", replace(options, threads=1), "fast")  # all in the process that is looked at
            record["many"] = {preset: measure(command) for preset, command in memory.items()}
    return record


def timed(work: Callable[[], object]) -> Part:
    """A part of which nothing but the time counts."""
    return lambda: {"seconds": clock(work)[1]}


def _rounds(rounds: int, parts: dict[str, Part]) -> Record:
    """Every part in turn, several times: what slows the machine for a while then slows all of them. Medians and ranges."""
    # DiFA must not spend time on searching for garbage among what was loaded for the comparison.
    gc.collect()
    gc.freeze()
    found = [{part: work() for part, work in parts.items()} for _ in range(rounds)]
    gc.unfreeze()
    seconds = {part: [one[part]["seconds"] for one in found] for part in parts}
    peaks = {part: [one[part]["peak"] for one in found] for part in parts if "peak" in found[0][part]}
    return {
        "seconds": {part: statistics.median(values) for part, values in seconds.items()},
        "spread": {part: [min(values), max(values)] for part, values in seconds.items()},
        "peak_mib": {part: statistics.median(values) for part, values in peaks.items()},
    }


def _commands(folder: Path, documents: list[list[str]], varied: list[list[str]], options: Options) -> dict[str, list[str]]:
    """What runs as processes of their own; the files that they and other parts score are written on the way."""
    sources = {"once": documents[: len(documents) // 4], "four": documents, "one": documents[:1], "repeated": varied}
    for name, each in sources.items():
        _write(folder / f"{name}.jsonl", each)
    return {
        "command": _score(folder, "once", options),
        "four times": _score(folder, "four", options),
        "one line": _score(folder, "one", options),
        "help": [sys.executable, "-m", "difa", "--help"],
        **{part: [sys.executable, "-c", code, str(options.source.folder)] for part, code in _IMPORTS.items()},
        "fast one line": _score(folder, "one", options, "fast"),
        "fast command": _score(folder, "repeated", options, "fast"),
    }


def _score(folder: Path, source: str, options: Options, model: str = "model") -> list[str]:
    limit = ["--threads", str(options.threads)] if options.threads else []
    inputs = [str(folder / model), str(folder / f"{source}.jsonl"), "--out", str(folder / "scores.jsonl"), "--quiet"]
    return [sys.executable, "-m", "difa", "score", *inputs, *limit]


def _write(path: Path, documents: Sequence[Sequence[str]]) -> None:
    path.write_text("".join(json.dumps({"tokens": tokens}) + "\n" for tokens in documents), encoding="utf-8")


def stage_seconds(model: DiFA, documents: Sequence[Document], path: Path) -> dict[str, float]:
    """Seconds of each stage by itself, and what scoring takes beside its encoder and its views."""
    fitted = model.detector_
    encoded, encoding = clock(lambda: fitted.encoder.encode(documents))
    seconds = {"encoder": encoding} | {f"{view.name} view": clock(partial(view.raw, encoded))[1] for view in fitted.views}
    _, whole = clock(lambda: replace(fitted, threads=1).score(documents))  # with one thread nothing overlaps
    seconds["calibration, fusion, documents"] = max(0.0, whole - sum(seconds.values()))
    results = model.score(documents[:200])
    _, written = clock(lambda: write_results(path, results))
    return {**seconds, "JSON": written * len(documents) / len(results)}


def write_results(path: Path, results: Sequence[Result]) -> None:
    """Results as lines of JSON."""
    path.write_bytes(b"".join(map(json_lines, columns_of(results))))


def matrix_limit(encoder: Encoder, weights: Path, subwords: int, threads: int) -> Part:
    """The matrix products of the encoder up to its layer, and nothing else, by the faster of two ways to use the cores."""
    import torch

    config = json.loads((weights / "config.json").read_text())
    width, inner = config["hidden_size"], config.get("intermediate_size", 4 * config["hidden_size"])
    shapes = [(width, 3 * width), (width, width), (width, inner), (inner, width)]  # QKV, output, MLP up and down
    pairs = [(torch.rand(_ROWS, rows), torch.rand(rows, columns)) for rows, columns in shapes]
    blocks = [min(_ROWS, subwords - start) for start in range(0, subwords, _ROWS)] * encoder.spec.layer

    def products(rows: int) -> None:
        for a, b in pairs:
            torch.mm(a[:rows], b)

    def side_by_side() -> None:
        with ThreadPoolExecutor(threads, initializer=lambda: torch.set_num_threads(1)) as pool:
            list(pool.map(products, blocks))

    def best() -> dict[str, float]:
        _, together = clock(lambda: list(map(products, blocks)))
        with one_torch_thread():
            return {"seconds": min(together, clock(side_by_side)[1])}

    return best


def peer(halves: Split, documents: Sequence[Document], options: Options, seed: int) -> dict[str, Part]:
    """PyTextAD's TokenCore on the same encoder and layer, fitted, ready to score; nothing where it is not installed."""
    if find_spec("pytextad") is None:
        return {}
    model = peer_detector("TokenCore", options, seed)
    tokens = list(map(words_of, documents))
    with quiet_peers():
        model.fit(list(map(words_of, halves.training)))

    def score() -> None:
        with quiet_peers():
            model.token_scores(tokens)

    return {"peer": timed(score)}


def count_words(source: Path) -> int:
    """The limit of a method that looks words up: read the file, take its words with their offsets, find each in a dictionary."""
    counts: dict[str, int] = {}
    with source.open(encoding="utf-8") as lines:
        for line in lines:
            for word in from_tokens(json.loads(line)["tokens"]).words:
                counts[word.text] = counts.get(word.text, 0) + 1
    return len(counts)


def vary(documents: Sequence[Document], count: int, seed: int, most: int | None = None) -> list[list[str]]:
    """So many word lists: the documents again and again, each time with one word replaced by a word of another."""
    rng = np.random.default_rng(seed)
    words = [word for document in documents for word in words_of(document)]
    varied = []
    for index in range(count):
        tokens = words_of(documents[index % len(documents)])[:most]
        if index >= len(documents) and tokens:
            tokens[int(rng.integers(len(tokens)))] = words[int(rng.integers(len(words)))]
        varied.append(tokens)
    return varied


def measure(command: Sequence[str]) -> dict[str, float]:
    """Run a command and look at its memory on the way: seconds, and MiB at the peak, after a quarter of the time, at the end.

    Where there is no /proc, memory is 0.
    """
    started, looks, message = time.perf_counter(), list[dict[str, float]](), None
    # Compiled modules are kept on a user's machine, whatever the environment of this one says.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    quiet: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, text=True, env=env, **quiet)
    # Not the usage that the system reports in the end: a child's peak there is never below what its parent held.
    while message is None:
        try:
            message = process.communicate(timeout=_PAUSE)[1]
        except subprocess.TimeoutExpired:
            looks.append(memory_of(process.pid))
    seconds = time.perf_counter() - started
    if process.returncode:
        last = message.strip().splitlines()[-1:] or [f"exit code {process.returncode}"]
        raise DifaError(f"{' '.join(command[:4])} …: expected it to end well, got: {last[0]}")
    seen = list(filter(None, looks)) or [{"VmRSS": 0.0, "VmHWM": 0.0}]
    held = [look["VmRSS"] for look in seen]
    # The very last look may find a process that is already giving its memory back.
    end = max(held[-max(1, len(held) // 10) :])
    return {"seconds": seconds, "peak": max(look["VmHWM"] for look in seen), "quarter": held[len(held) // 4], "end": end}


def memory_of(process: int | str) -> dict[str, float]:
    """What a process holds and the most that it held, in MiB, by the kernel's names for them; empty where there is no /proc."""
    with suppress(OSError):
        rows = (line.split() for line in Path(f"/proc/{process}/status").read_text().splitlines())
        return {row[0][:-1]: int(row[1]) / 1024 for row in rows if row and row[0] in ("VmRSS:", "VmHWM:")}
    return {}


def ratios(record: Record) -> list[tuple[str, tuple[float, str]]]:
    """What is compared: its name, the figure and its target."""
    s = record["seconds"]
    # In a pipeline stages run beside the encoder: what counts is the time by which all of it exceeds the encoder's alone.
    after = 1 - s["encoder"] / s["end to end"]
    found = {
        "time beyond that of the encoder alone, share of scoring from file to file": (after, "≤ 0.30"),
        "`DiFA.score` and JSON to encoder alone, time": (s["score"] / s["encoder"], "≤ 1.7"),
        "encoder to bare matrix products, speed": (s["matrix"] / s["encoder"], "≥ 0.65"),
        "first score from a cold start to loading torch, transformers": (s["one line"] / s["torch, transformers"], "≤ 0.10"),
        "`difa --help` to importing numpy and typer": (s["help"] / s["numpy and typer"], "≤ 2"),
        "`import difa` to importing numpy and typer": (s["import difa"] / s["numpy and typer"], "≤ 1.5"),
        "four times the documents, time of the command": (s["four times"] / s["command"], "≤ 4.3"),
        "preset fast to plain counting, speed": (s["counting"] / s["fast"], "≥ 0.25"),
        "preset fast to full, first score from a cold start": (s["fast one line"] / s["one line"], "≤ 0.5"),
        "preset fast, peak in GiB of one process": (record["peak_mib"]["fast command"] / _MIB, "≤ 0.39"),
    }
    if "peer" in s:
        times_as_many = record["fast_words"] / record["words"]
        beside = {
            "in process": (s["peer"] / s["end to end"], "≥ 6"),
            "command": (s["peer"] / s["command"], "≥ 3"),
            "preset fast, in process": (times_as_many * s["peer"] / s["fast"], "≥ 160"),
        }
        found = {f"{how} to PyTextAD (TokenCore, without start-up), speed": figure for how, figure in beside.items()} | found
    for preset, held in record.get("many", {}).items():
        what = f"{record['settings']['many']:,} short documents, preset {preset}"
        found[f"{what}, memory at the end to a quarter of the way"] = (held["end"] / max(held["quarter"], 1e-9), "≤ 1.10")
        found[f"{what}, peak in GiB"] = (held["peak"] / _MIB, "< 1")
    return list(found.items())


def meets(figure: float, target: str) -> bool:
    """Whether a figure keeps to its target, such as `≤ 0.5`."""
    sign, limit = target.split()
    return figure >= float(limit) if sign == "≥" else figure <= float(limit)


def speed_markdown(records: Records) -> str:
    """Ratios with their targets, then words per second, stages and memory."""
    blocks = []
    for record in records:
        s, words, spread = record["seconds"], record["words"], record["spread"]
        about = (
            f"{record['documents']} documents, {words:,} words, {record['subwords']:,} subwords; {record['threads']} threads; "
            f"medians of {record['settings']['rounds']} rounds in which all parts took turns."
        )
        compared = [
            {"ratio": name, "measured": f"{figure:.2f}", "target": aim, "kept": "yes" if meets(figure, aim) else "no"}
            for name, (figure, aim) in ratios(record)
        ]
        speeds = []
        for part, label in _THROUGHPUT.items():
            if part in s:
                rate = (record["fast_words"] if part in _OF_MANY else words) / s[part]
                row = {"part": label, "words a second": f"{rate:,.0f}", "seconds": f"{s[part]:.2f}"}
                speeds.append(row | {"least–most": "–".join(map("{:.2f}".format, spread[part]))})
        stages = [{"stage": stage, "seconds": f"{seconds:.3f}"} for stage, seconds in record["stages"].items()]
        peaks = record["peak_mib"].items()
        processes = [{"process": part, "seconds": f"{s[part]:.2f}", "peak MiB": f"{peak:.0f}"} for part, peak in peaks]
        blocks += [f"## {record['set']}, {record['form']} form", about]
        blocks += map(markdown, (compared, speeds, stages, processes))
    return page(*blocks)


SPEED = Study(
    "speed",
    _compute,
    speed_markdown,
    code=("bench/speed.py", "formats", "cli", "engines"),
    depends=lambda run: {"packages": fingerprint_of((), ["pytextad", "torch"]), "cores": core_count()},
)
