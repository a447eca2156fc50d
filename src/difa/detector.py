"""The pipeline, fitted and frozen: the only file that knows the order of the stages.

`fit` learns normal references first (views, then the references of their scores), freezes them, and then learns fusion
and aggregation on pseudo anomalies. The references of p-values come from documents that the views did not see: the
documents are cut into folds, and each fold is scored by views fitted on the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from difa.aggregate import aggregate
from difa.calibrate import TailReference
from difa.config import Config
from difa.document import Document, Encoded, FloatArray
from difa.encoders import Encoder
from difa.errors import InputError
from difa.fuse import fuse
from difa.learn import Example, Heads, learn
from difa.perturb import make_pseudo_anomalies
from difa.views import VIEW_NAMES, View, fit_view

Report = Callable[[str, float], None]
"""Called with the name of the stage under way and the share of it that is done."""

LEAST_DOCUMENTS = 10


@dataclass(frozen=True, slots=True)
class Scored:
    """What the pipeline says of one document, before any decision."""

    evidence: FloatArray  # (T, views)
    word_scores: FloatArray  # (T,)
    document_score: float


@dataclass(frozen=True)
class Detector:
    """Everything that was learned, and how to score with it."""

    config: Config
    seed: int
    encoder: Encoder
    views: tuple[View, ...]
    references: tuple[TailReference, ...]
    heads: Heads
    word_reference: TailReference
    document_reference: TailReference
    training_scores: FloatArray
    """Scores of the training documents by views that did not see them, in their order."""
    training_words: int

    def score(self, documents: Sequence[Document]) -> list[Scored]:
        """Words -> vectors -> raw evidence -> tail evidence -> word scores -> document scores."""
        encoded = self.encoder.encode(documents)
        raw = raw_evidence(self.views, encoded)
        evidence = [calibrate(item, self.references, self.config) for item in raw]
        word_scores = [fuse(item[:, 0], item[:, 1], self.heads.fusion, self.config.fusion) for item in evidence]
        document_scores = aggregate(word_scores, self.heads.aggregation, self.config.aggregation)
        return [Scored(*parts) for parts in zip(evidence, word_scores, document_scores.tolist(), strict=True)]


def raw_evidence(views: Sequence[View], documents: Sequence[Encoded]) -> list[FloatArray]:
    """Raw evidence of every view, (T, views) per document."""
    by_view = [view.raw(documents) for view in views]
    return [np.stack(parts, axis=-1) for parts in zip(*by_view, strict=True)]


def calibrate(raw: FloatArray, references: Sequence[TailReference], config: Config) -> FloatArray:
    """Tail evidence of every view, (T, views)."""
    columns = [reference.evidence(raw[:, v], config.calibration.epsilon) for v, reference in enumerate(references)]
    return np.stack(columns, axis=-1)


def fit(documents: Sequence[Document], config: Config, seed: int, encoder: Encoder, report: Report) -> Detector:
    """Learn a detector from normal documents."""
    usable = [document for document in documents if document.words]
    if len(usable) < LEAST_DOCUMENTS:
        raise InputError(f"expected at least {LEAST_DOCUMENTS} normal documents with words, got {len(usable)}: add more normal text")
    rng = np.random.default_rng(seed)
    done = 0

    def encoded_so_far(count: int) -> None:
        nonlocal done
        done += count
        report("encode", done / len(usable))

    report("encode", 0.0)
    encoded = encoder.encode(usable, encoded_so_far)
    folds = rng.permutation(np.arange(len(encoded)) % min(config.calibration.folds, len(encoded)))

    # Learn normal references.
    seeds = rng.integers(2**31, size=config.calibration.folds + 2).tolist()
    fold_views = []
    for fold in range(folds.max() + 1):
        report("learn normal text", fold / (folds.max() + 2))
        fold_views.append(_fit_views([encoded[i] for i in np.flatnonzero(folds != fold)], config, seeds[fold]))
    report("learn normal text", (folds.max() + 1) / (folds.max() + 2))
    views = _fit_views(encoded, config, seeds[-2])
    report("learn normal text", 1.0)
    unseen_raw = _by_fold(fold_views, folds, encoded)
    honest = config.calibration.reference == "unseen"
    seen_raw = unseen_raw if honest else raw_evidence(views, encoded)
    references = _references(seen_raw)

    # Learn fusion and aggregation on pseudo anomalies, by views that did not see their source (or, in the paper's way, did).
    report("make pseudo anomalies", 0.0)
    pseudos = make_pseudo_anomalies(encoded, encoder, config.perturb, rng)
    changed = [pseudo.document for pseudo in pseudos]
    sources = np.array([pseudo.source for pseudo in pseudos])
    pseudo_raw = _by_fold(fold_views, folds[sources], changed) if honest else raw_evidence(views, changed)
    report("make pseudo anomalies", 1.0)
    report("learn fusion", 0.0)
    evidence = [calibrate(raw, references, config) for raw in seen_raw]
    heads = learn(
        [Example(item, np.zeros(len(item))) for item in evidence],
        [Example(calibrate(raw, references, config), pseudo.labels) for raw, pseudo in zip(pseudo_raw, pseudos, strict=True)],
        config,
        seeds[-1],
    )
    report("learn fusion", 1.0)

    # References of the p-values: always from documents that the views did not see.
    if not honest:
        fold_references = [
            _references(raw_evidence(fold_views[fold], [encoded[i] for i in np.flatnonzero(folds != fold)]))
            for fold in range(folds.max() + 1)
        ]
        evidence = [calibrate(raw, fold_references[fold], config) for raw, fold in zip(unseen_raw, folds, strict=True)]
    word_scores = [fuse(item[:, 0], item[:, 1], heads.fusion, config.fusion) for item in evidence]
    document_scores = aggregate(word_scores, heads.aggregation, config.aggregation)
    training_scores = np.zeros(len(documents))
    training_scores[[index for index, document in enumerate(documents) if document.words]] = document_scores
    return Detector(
        config=config,
        seed=seed,
        encoder=encoder,
        views=views,
        references=references,
        heads=heads,
        word_reference=TailReference.of(np.concatenate(word_scores)),
        document_reference=TailReference.of(document_scores),
        training_scores=training_scores,
        training_words=sum(map(len, encoded)),
    )


def _fit_views(documents: Sequence[Encoded], config: Config, seed: int) -> tuple[View, ...]:
    return tuple(fit_view(name, documents, config, seed) for name in VIEW_NAMES)


def _by_fold(fold_views: Sequence[tuple[View, ...]], folds: FloatArray, documents: Sequence[Encoded]) -> list[FloatArray]:
    """Raw evidence of each document by the views of its fold, which did not see it."""
    raw: list[FloatArray] = [np.empty(0)] * len(documents)
    for fold, views in enumerate(fold_views):
        members = np.flatnonzero(folds == fold)
        for index, item in zip(members, raw_evidence(views, [documents[i] for i in members]), strict=True):
            raw[index] = item
    return raw


def _references(raw: Sequence[FloatArray]) -> tuple[TailReference, ...]:
    stacked = np.concatenate(raw)
    return tuple(TailReference.of(stacked[:, view]) for view in range(stacked.shape[1]))
