"""What `difa bench speed` runs against the clock: DiFA whole and in stages, its encoder, a peer, matrix products, counting,
and commands as processes of their own.
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from difa.bench import peers
from difa.bench.methods import Workbench, quiet_rates
from difa.bench.split import Split
from difa.config import EncoderConfig
from difa.document import Document, Encoded, FloatArray, IntArray, Reason, columns_of
from difa.encoders import Encoder, EncoderSpec, Progress
from difa.encoders.convert import find
from difa.engines.local import Job, Silent, score_inputs
from difa.errors import DifaError
from difa.estimator import DiFA
from difa.formats.write import json_lines
from difa.views import View
from difa.words import from_tokens

Workload = Callable[[], object]
_REST = "calibration, fusion, documents"  # what scoring does beside its encoder and its views
_PAUSE = 0.01  # seconds between looks at a process's memory
_ROWS = 1024  # rows of a product: as many as the encoder has subwords in a batch


def clock(work: Workload) -> float:
    """Seconds that some work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def score_and_write(model: DiFA, documents: Sequence[Document], path: Path) -> None:
    """Scoring from Python, and the results as lines of JSON."""
    with path.open("wb") as file, quiet_rates():
        file.writelines(map(json_lines, columns_of(model.score(documents))))


def score_file(model: DiFA, folder: Path, source: Path, path: Path) -> None:
    """Scoring as the command does it, from file to file through its pipeline, without its start-up."""
    with quiet_rates():
        score_inputs(model, Job(folder, [str(source)], out=path), Silent())


class _Timer:
    """Seconds by name, of what was done within `time`."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def time(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.seconds[name] += time.perf_counter() - started


@dataclass(frozen=True)
class _TimedEncoder:
    """An encoder that is timed."""

    encoder: Encoder
    timer: _Timer

    @property
    def spec(self) -> EncoderSpec:
        return self.encoder.spec

    def encode(self, documents: Sequence[Document], progress: Progress | None = None) -> list[Encoded]:
        with self.timer.time("encoder"):
            return self.encoder.encode(documents, progress)

    def vocabulary(self) -> list[str]:
        return self.encoder.vocabulary()


@dataclass(frozen=True)
class _TimedView:
    """A view whose raw evidence is timed."""

    view: View
    timer: _Timer

    @property
    def name(self) -> str:
        return self.view.name

    def raw(self, documents: Sequence[Encoded]) -> list[FloatArray]:
        with self.timer.time(f"{self.name} view"):
            return self.view.raw(documents)

    def explain(self, document: Encoded) -> list[list[Reason]]:
        return self.view.explain(document)

    def tensors(self) -> Mapping[str, FloatArray | IntArray]:
        return self.view.tensors()

    def graph(self) -> bytes | None:
        return self.view.graph()


def stage_seconds(model: DiFA, documents: Sequence[Document], path: Path) -> dict[str, float]:
    """Seconds of each stage, one after the other: the detector scores with an encoder and views that are timed."""
    timer, fitted = _Timer(), model.detector_
    # With one thread nothing overlaps; the encoder and the views keep the threads that they were made with.
    timed = replace(
        fitted,
        encoder=_TimedEncoder(fitted.encoder, timer),
        views=tuple(_TimedView(view, timer) for view in fitted.views),
        threads=1,
    )
    with timer.time(_REST):
        timed.score(documents)
    timer.seconds[_REST] -= sum(seconds for name, seconds in timer.seconds.items() if name != _REST)
    with quiet_rates():
        results = model.score(documents[:200])
    with timer.time("JSON"):
        path.write_bytes(b"".join(map(json_lines, columns_of(results))))
    timer.seconds["JSON"] *= len(documents) / len(results)
    return dict(timer.seconds)


def matrix_limit(encoder: Encoder, name: str, subwords: int, threads: int) -> Workload:
    """The matrix products of the encoder up to its layer, and nothing else, by the faster of two ways to use the cores."""
    import torch

    config = json.loads((find(EncoderConfig(name=name, layer=encoder.spec.layer)).folder / "config.json").read_text())
    width, inner = config["hidden_size"], config.get("intermediate_size", 4 * config["hidden_size"])
    shapes = [(width, 3 * width), (width, width), (width, inner), (inner, width)]  # QKV, output, MLP up and down
    pairs = [(torch.rand(_ROWS, rows), torch.rand(rows, columns)) for rows, columns in shapes]
    blocks = [min(_ROWS, subwords - start) for start in range(0, subwords, _ROWS)] * encoder.spec.layer

    def products(rows: int) -> None:
        for a, b in pairs:
            torch.mm(a[:rows], b)

    def with_threads(count: int, work: Workload) -> float:
        before = torch.get_num_threads()
        torch.set_num_threads(count)
        try:
            return clock(work)
        finally:
            torch.set_num_threads(before)

    def side_by_side() -> None:
        with ThreadPoolExecutor(threads, initializer=lambda: torch.set_num_threads(1)) as pool:
            list(pool.map(products, blocks))

    def best() -> float:
        together = with_threads(threads, lambda: list(map(products, blocks)))
        return min(together, with_threads(1, side_by_side))

    return best


def peer(halves: Split, documents: Sequence[Document], bench: Workbench, seed: int) -> Workload | None:
    """PyTextAD's TokenCore on the same encoder and layer, fitted, ready to score; None where it is not installed."""
    from importlib.util import find_spec

    if find_spec("pytextad") is None:
        return None
    model = peers.token_detector("TokenCore", bench, seed)
    tokens = peers.tokens_of(documents)
    with peers.quiet():
        model.fit(peers.tokens_of(halves.training))

    def score() -> None:
        with peers.quiet():
            model.token_scores(tokens)

    return score


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
    words = [word.text for document in documents for word in document.words]
    varied = []
    for index in range(count):
        tokens = [word.text for word in documents[index % len(documents)].words][:most]
        if index >= len(documents) and tokens:
            tokens[int(rng.integers(len(tokens)))] = words[int(rng.integers(len(words)))]
        varied.append(tokens)
    return varied


@dataclass(frozen=True)
class ProcessCost:
    """Seconds, and MiB: at the peak, after a quarter of the time, and towards the end."""

    seconds: float
    peak: float
    quarter: float
    end: float


def measure(command: Sequence[str]) -> ProcessCost:
    """Run a command and look at its memory on the way; where there is no /proc, memory is 0."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    looks: list[dict[str, float]] = []
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(_PAUSE):
            looks.append(_memory(process.pid))

    # Not the usage that the system reports in the end: a child's peak there is never below what its parent held.
    watcher = threading.Thread(target=look)
    watcher.start()
    _, message = process.communicate()
    seconds = time.perf_counter() - started
    ended.set()
    watcher.join()
    if process.returncode:
        last = message.strip().splitlines()[-1:] or [f"exit code {process.returncode}"]
        raise DifaError(f"{' '.join(command[:4])} …: expected it to end well, got: {last[0]}")
    seen = [one for one in looks if one] or [{"VmRSS:": 0.0, "VmHWM:": 0.0}]
    held = [one["VmRSS:"] for one in seen]
    # The very last look may find a process that is already giving its memory back.
    return ProcessCost(seconds, max(one["VmHWM:"] for one in seen), held[len(held) // 4], max(held[-max(1, len(held) // 10) :]))


def _memory(process: int) -> dict[str, float]:
    """Memory of a process now and at its peak, in MiB."""
    try:
        rows = [line.split() for line in Path(f"/proc/{process}/status").read_text().splitlines()]
    except OSError:
        return {}
    found = {row[0]: int(row[1]) / 1024 for row in rows if row and row[0] in ("VmRSS:", "VmHWM:")}
    return found if len(found) == 2 else {}
