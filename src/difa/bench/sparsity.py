"""`difa bench sparsity`: how few anomalous words a document may have and still be found.

The anomalous documents of the sets have as many anomalous words as they happen to have. Here the number is controlled: half of
the normal test documents get exactly k anomalous words, drawn from those that annotators marked in this set and put at random
places; the other half stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from difa.bench.data import DataSet
from difa.bench.methods import DIFA, check_methods, run_method
from difa.bench.metrics import judge_documents
from difa.bench.plots import draw_sparsity
from difa.bench.render_studies import sparsity_markdown
from difa.bench.run import Run, Task, finish
from difa.bench.split import Split, is_anomalous, split
from difa.bench.store import Record, fingerprint_of
from difa.document import Document
from difa.words import from_tokens

METHODS = ("difa-full", "difa-paper", "tokencore", "iforest", "trigram")
COUNTS = (1, 2, 3, 5, 8)


def run_sparsity(run: Run, methods: Sequence[str] = METHODS, counts: Sequence[int] = COUNTS) -> list[Record]:
    """Measure, and write `sparsity.json`, `sparsity.md` and the picture."""
    tasks = [
        _task(run, dataset, seed, name, counts)
        for dataset in run.sets
        for seed in run.options.seeds
        for name in check_methods(methods)
    ]  # fmt: skip
    return finish(run, "sparsity", tasks, sparsity_markdown, draw_sparsity)


def _task(run: Run, dataset: DataSet, seed: int, name: str, counts: Sequence[int]) -> Task:
    fingerprint = fingerprint_of(["bench/sparsity.py"], method=run.bench.fingerprint(name))
    cell = run.cell("sparsity", dataset, seed, name, {"counts": list(counts)}, fingerprint)
    return Task(cell, partial(_compute, run, dataset, seed, name, counts))


def _compute(run: Run, dataset: DataSet, seed: int, name: str, counts: Sequence[int]) -> Record:
    halves = split(dataset.documents, seed)
    groups = make_groups(halves, counts, seed)
    flat = [document for group in groups.values() for document in group]
    scores = run_method(name, {}, Split(halves.training, flat), seed, run.bench)
    rule = "learned" if name in DIFA else "max"
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
