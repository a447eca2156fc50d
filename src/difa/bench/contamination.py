"""`difa bench contamination`: what happens when the training documents are not as normal as one thinks.

Two ways. `noise`, as in the paper: a share of the training word vectors gets Gaussian noise of the vectors' own spread.
`anomalies`, closer to life: a share of the training documents are real anomalies that nobody noticed. These are taken from
the test, always the same ones, so that all shares are judged on the same documents and fitted on the same number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from difa.bench.data import DataSet
from difa.bench.methods import DIFA, Scores, check_methods, run_difa, run_method, score_baseline
from difa.bench.metrics import judge_documents
from difa.bench.plots import draw_contamination
from difa.bench.render_studies import contamination_markdown
from difa.bench.run import Run, Task, finish
from difa.bench.split import Split, is_anomalous, split
from difa.bench.store import Record, fingerprint_of
from difa.document import Document, Encoded
from difa.encoders import Encoder, EncoderSpec, Progress

METHODS = ("difa-full", "difa-paper", "tokencore", "iforest")
SHARES: dict[str, tuple[float, ...]] = {
    "noise": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5),
    "anomalies": (0.0, 0.05, 0.1, 0.15, 0.2),
}


def run_contamination(run: Run, methods: Sequence[str] = METHODS, shares: Mapping[str, Sequence[float]] = SHARES) -> list[Record]:
    """Measure, and write `contamination.json`, `contamination.md` and the picture."""
    tasks = [
        _task(run, dataset, seed, name, kind, share)
        for dataset in run.sets
        for seed in run.options.seeds
        for kind in shares
        for share in shares[kind]
        for name in check_methods(methods)
    ]
    return finish(run, "contamination", tasks, contamination_markdown, draw_contamination)


def _task(run: Run, dataset: DataSet, seed: int, name: str, kind: str, share: float) -> Task:
    fingerprint = fingerprint_of(["bench/contamination.py"], method=run.bench.fingerprint(name))
    cell = run.cell("contamination", dataset, seed, name, {"kind": kind, "share": share}, fingerprint)
    return Task(cell, partial(_compute, run, dataset, seed, name, kind, share))


def _compute(run: Run, dataset: DataSet, seed: int, name: str, kind: str, share: float) -> Record:
    halves = split(dataset.documents, seed)
    if kind == "noise":
        scores = _with_noise(run, halves, seed, name, share)
    else:
        halves = with_anomalies(halves, share, seed)
        scores = run_method(name, {}, halves, seed, run.bench)
    rule = "learned" if name in DIFA else "max"
    judged = judge_documents(halves.word_labels, scores.documents[rule], run.options.draws, seed)
    return {"figures": [{"level": "document", "part": "", "pooling": rule} | judged.to_dict()]}


def _with_noise(run: Run, halves: Split, seed: int, name: str, share: float) -> Scores:
    noisy = add_noise(run.bench.encode(halves.training), share, seed)
    if name in DIFA:
        reader = NoisyEncoder(run.bench.encoder, {document.words: document for document in noisy})
        return run_difa(name, halves, seed, run.bench, encoder=reader)
    return score_baseline(name, {}, noisy, run.bench.encode(halves.test), seed)


def add_noise(documents: Sequence[Encoded], share: float, seed: int) -> list[Encoded]:
    """Gaussian noise, of each dimension's standard deviation over the corpus, on a share of the words."""
    rng = np.random.default_rng(seed)
    spread = np.concatenate([document.vectors for document in documents]).std(0)
    noisy = []
    for document in documents:
        hit = rng.random(len(document)) < share
        noise = rng.normal(size=document.vectors.shape) * spread * hit[:, None]
        noisy.append(replace(document, vectors=(document.vectors + noise).astype(np.float32)))
    return noisy


@dataclass(frozen=True)
class NoisyEncoder:
    """An encoder that gives the training documents the vectors it was told, and any other document its own."""

    inner: Encoder
    known: Mapping[tuple[str, ...], Encoded]

    @property
    def spec(self) -> EncoderSpec:
        return self.inner.spec

    def encode(self, documents: Sequence[Document], progress: Progress | None = None) -> list[Encoded]:
        """Vectors, noisy where they were made so."""
        keys = [tuple(word.text for word in document.words) for document in documents]
        fresh = iter(self.inner.encode([d for d, key in zip(documents, keys, strict=True) if key not in self.known], progress))
        return [self.known[key] if key in self.known else next(fresh) for key in keys]

    def vocabulary(self) -> list[str]:
        """The inner encoder's words."""
        return self.inner.vocabulary()


def with_anomalies(halves: Split, share: float, seed: int) -> Split:
    """Training documents of which a share are anomalous ones, held out of the test whatever the share."""
    rng = np.random.default_rng(seed)
    anomalous = [document for document in halves.test if is_anomalous(document)]
    reserve = [anomalous[index] for index in rng.permutation(len(anomalous))[: len(anomalous) // 2]]
    most = max(SHARES["anomalies"])
    size = min(len(halves.training), int(len(reserve) / most))
    normal = [halves.training[index] for index in rng.permutation(len(halves.training))]
    bad = round(share * size)
    held = {id(document) for document in reserve}
    return Split(normal[: size - bad] + reserve[:bad], [document for document in halves.test if id(document) not in held])
