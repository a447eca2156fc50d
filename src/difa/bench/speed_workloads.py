"""What `difa bench speed` runs against the clock: DiFA whole and in stages, its encoder, a peer, matrix products, counting."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from difa.bench.methods import quiet_rates
from difa.bench.split import Split
from difa.calibrate import tail_evidence
from difa.config import EncoderConfig
from difa.detector import fuse_words, raw_evidence
from difa.document import Document
from difa.document_score import describe
from difa.encoders import Encoder
from difa.encoders.source import find
from difa.engines.local import Job, Silent, score_inputs
from difa.estimator import DiFA
from difa.formats.write import to_json_line
from difa.words import from_tokens

Workload = Callable[[], object]
_ROWS = 1024  # rows of a product: as many as the encoder has subwords in a batch


def clock(work: Workload) -> float:
    """Seconds that some work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def score_and_write(model: DiFA, documents: Sequence[Document], path: Path) -> None:
    """Scoring from Python, and the results as lines of JSON."""
    with path.open("w", encoding="utf-8") as file, quiet_rates():
        file.writelines(map(to_json_line, model.score(documents)))


def score_file(model: DiFA, folder: Path, source: Path, path: Path) -> None:
    """Scoring as the command does it, from file to file through its pipeline, without its start-up."""
    with quiet_rates():
        score_inputs(model, Job(folder, [str(source)], out=path), Silent())


def stage_seconds(model: DiFA, documents: Sequence[Document], path: Path) -> dict[str, float]:
    """Seconds of each stage, one after the other."""
    seconds: dict[str, float] = {}

    def timed(name: str, work: Callable[[], Any]) -> Any:
        started = time.perf_counter()
        result = work()
        seconds[name] = time.perf_counter() - started
        return result

    fitted = model.detector_
    encoded = timed("encoder", lambda: fitted.encoder.encode(documents))
    for view in fitted.views:
        timed(f"{view.name} view", partial(view.raw, encoded))
    raw = raw_evidence(fitted.views, encoded)

    def decide() -> None:
        lengths = [len(document) for document in encoded]
        evidence = tail_evidence(np.concatenate(raw), fitted.references, fitted.config.calibration.epsilon)
        describe(fuse_words(evidence, lengths, fitted.config, fitted.heads), evidence, lengths, fitted.config.views.names)

    timed("calibration, fusion, documents", decide)
    with quiet_rates():
        results = model.score(documents[:200])
    started = time.perf_counter()
    path.write_text("".join(map(to_json_line, results)), encoding="utf-8")
    seconds["JSON"] = (time.perf_counter() - started) * len(documents) / len(results)
    return seconds


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


def peer(halves: Split, documents: Sequence[Document], encoder: Encoder, name: str, seed: int) -> Workload | None:
    """PyTextAD's TokenCore on the same encoder and layer, fitted, ready to score; None where it is not installed."""
    from importlib.util import find_spec

    if find_spec("pytextad") is None:
        return None
    import warnings

    import pytextad
    from transformers.utils import logging

    logging.disable_progress_bar()
    source, most = find(EncoderConfig(name=name, layer=encoder.spec.layer)), min(512, encoder.spec.max_length)
    embedder = pytextad.TokenEmbedder(str(source.folder), layer=source.layer, max_length=most, word_pooling="max", device="cpu")
    model = pytextad.TokenDetector(pytextad.TokenCore(), embedder=embedder, random_state=seed)
    tokens = [[word.text for word in document.words] for document in documents]
    with warnings.catch_warnings(action="ignore"):
        model.fit([[word.text for word in document.words] for document in halves.training])

    def score() -> None:
        with warnings.catch_warnings(action="ignore"):
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
