"""`difa bench contamination` and `difa bench sparsity`: training documents that are not as normal as one thinks, and how few
anomalous words a document may have and still be found.

Contamination comes in two ways. `noise`, as in the paper: a share of the training word vectors gets Gaussian noise of the
vectors' own spread. `anomalies`, closer to life: a share of the training documents are real anomalies that nobody noticed.
These are taken from the test, always the same ones, so that all shares are judged on the same documents and fitted on the same
number.

For sparsity the number of anomalous words is controlled: half of the normal test documents get exactly k anomalous words, drawn
from those that annotators marked in this set and put at random places; the other half stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from difa.bench.data import DataSet
from difa.bench.methods import DIFA, check_methods, run_difa, run_method, score_baseline
from difa.bench.metrics import Scores, judge_documents
from difa.bench.plots import draw_contamination, draw_sparsity
from difa.bench.run import Run, Task, finish
from difa.bench.split import Split, is_anomalous, split
from difa.bench.store import Record, fingerprint_of
from difa.bench.tables import own_rule
from difa.bench.tables_studies import contamination_markdown, sparsity_markdown
from difa.document import Document, Encoded
from difa.encoders import Encoder, EncoderSpec, Progress
from difa.errors import ConfigError
from difa.words import from_tokens

SPOILT_METHODS = ("difa-full", "difa-paper", "tokencore", "iforest")
SHARES: dict[str, tuple[float, ...]] = {
    "noise": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5),
    "anomalies": (0.0, 0.05, 0.1, 0.15, 0.2),
}


def run_contamination(
    run: Run, methods: Sequence[str] = SPOILT_METHODS, shares: Mapping[str, Sequence[float]] = SHARES
) -> list[Record]:
    """Measure, and write `contamination.json`, `contamination.md` and the picture."""
    tasks = [
        _spoilt_task(run, dataset, seed, name, kind, share)
        for dataset in run.sets
        for seed in run.options.seeds
        for kind in shares
        for share in shares[kind]
        for name in check_methods(methods)
    ]
    return finish(run, "contamination", tasks, contamination_markdown, draw_contamination)


def shares_of(kinds: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """The shares of some ways of contamination; of all for none."""
    unknown = [kind for kind in kinds if kind not in SHARES]
    if unknown:
        raise ConfigError(f"kinds: expected some of {', '.join(SHARES)}, got {', '.join(unknown)}")
    return {kind: shares for kind, shares in SHARES.items() if not kinds or kind in kinds}


def _spoilt_task(run: Run, dataset: DataSet, seed: int, name: str, kind: str, share: float) -> Task:
    fingerprint = fingerprint_of(["bench/robustness.py"], method=run.bench.fingerprint(name))
    cell = run.cell("contamination", dataset, seed, name, {"kind": kind, "share": share}, fingerprint)
    return Task(cell, partial(_compute_spoilt, run, dataset, seed, name, kind, share))


def _compute_spoilt(run: Run, dataset: DataSet, seed: int, name: str, kind: str, share: float) -> Record:
    halves = split(dataset.documents, seed)
    if kind == "noise":
        scores = _with_noise(run, halves, seed, name, share)
    else:
        halves = with_anomalies(halves, share, seed)
        scores = run_method(name, {}, halves, seed, run.bench)
    rule = own_rule(name)
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


SPARSE_METHODS = ("difa-full", "difa-paper", "tokencore", "iforest", "trigram")
COUNTS = (1, 2, 3, 5, 8)


def run_sparsity(run: Run, methods: Sequence[str] = SPARSE_METHODS, counts: Sequence[int] = COUNTS) -> list[Record]:
    """Measure, and write `sparsity.json`, `sparsity.md` and the picture."""
    tasks = [
        _sparse_task(run, dataset, seed, name, counts)
        for dataset in run.sets
        for seed in run.options.seeds
        for name in check_methods(methods)
    ]  # fmt: skip
    return finish(run, "sparsity", tasks, sparsity_markdown, draw_sparsity)


def _sparse_task(run: Run, dataset: DataSet, seed: int, name: str, counts: Sequence[int]) -> Task:
    fingerprint = fingerprint_of(["bench/robustness.py"], method=run.bench.fingerprint(name))
    cell = run.cell("sparsity", dataset, seed, name, {"counts": list(counts)}, fingerprint)
    return Task(cell, partial(_compute_sparse, run, dataset, seed, name, counts))


def _compute_sparse(run: Run, dataset: DataSet, seed: int, name: str, counts: Sequence[int]) -> Record:
    halves = split(dataset.documents, seed)
    groups = make_groups(halves, counts, seed)
    flat = [document for group in groups.values() for document in group]
    scores = run_method(name, {}, Split(halves.training, flat), seed, run.bench)
    rule = own_rule(name)
    starts = dict(zip(groups, np.cumsum([0, *map(len, groups.values())]).tolist(), strict=False))
    normal = range(len(groups[0]))
    figures = []
    for count in counts:
        members = [*normal, *range(starts[count], starts[count] + len(groups[count]))]
        labels = [np.array(flat[index].labels, dtype=np.int64) for index in members]
        judged = judge_documents(labels, scores.documents[rule][members], run.options.draws, seed)
        figures.append({"level": "document", "part": str(count), "pooling": rule} | judged.to_dict())
    return {"figures": figures}


def make_groups(halves: Split, counts: Sequence[int], seed: int) -> dict[int, list[Document]]:
    """Documents by their number of anomalous words: the normal ones under 0, and the others with each number in turn."""
    rng = np.random.default_rng(seed)
    stock = [
        word.text
        for document in halves.test
        for word, label in zip(document.words, document.labels or (), strict=True)
        if label
    ]  # fmt: skip
    normal = [document for document in halves.test if not is_anomalous(document) and document.words]
    order = rng.permutation(len(normal)).tolist()
    groups = {0: [normal[index] for index in order[: len(order) // 2]]}
    for count in counts:
        groups[count] = [insert_words(normal[index], count, stock, rng) for index in order[len(order) // 2 :]]
    return groups


def insert_words(document: Document, count: int, stock: Sequence[str], rng: np.random.Generator) -> Document:
    """The document with words of the stock put in at random positions, labelled 1."""
    tokens, labels = [word.text for word in document.words], [0] * len(document.words)
    for _ in range(count):
        at = int(rng.integers(len(tokens) + 1))
        tokens.insert(at, stock[int(rng.integers(len(stock)))])
        labels.insert(at, 1)
    return from_tokens(tokens, id=document.id, labels=labels)
