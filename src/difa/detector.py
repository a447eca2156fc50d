"""The pipeline, fitted and frozen: the only file that knows the order of the stages.

`fit` learns normal references first (views, then the references of their scores), freezes them, and then learns fusion
and aggregation on pseudo anomalies. The references of p-values come from documents that the views did not see: the
documents are cut into folds, and each fold is scored by views fitted on the others. Training documents that do not belong are
left out, and the views fitted once more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from difa.aggregate import aggregate
from difa.ahead import cut_chunks, work_ahead
from difa.calibrate import TailReference
from difa.config import Config
from difa.document import Document, Encoded, FloatArray, IntArray, split_by
from difa.encoders import Encoder
from difa.encoders.threads import core_count
from difa.errors import InputError
from difa.fuse import fuse
from difa.learn import Example, Heads, learn
from difa.perturb import make_pseudo_anomalies
from difa.sides import Sides
from difa.trim import merely_rare, misfits
from difa.views import View, fit_view, prepare_views
from difa.weigh import DocumentView, describe

T = TypeVar("T")
Report = Callable[[str, float], None]
"""Called with the name of the stage under way and the share of it that is done."""

LEAST_DOCUMENTS = 10
_ENOUGH_WORDS = 512  # words for which threads are worth their start


@dataclass(frozen=True, slots=True)
class Scored:
    """What the pipeline says of one document, before any decision."""

    evidence: FloatArray  # (T, views)
    word_scores: FloatArray  # (T,)
    document_score: float
    document_evidence: FloatArray  # (traits,), none without a document view


@dataclass(frozen=True)
class Detector:
    """Everything that was learned, and how to score with it."""

    config: Config
    seed: int
    encoder: Encoder
    views: tuple[View, ...]
    references: tuple[TailReference, ...]
    sides: Sides
    heads: Heads
    document_view: DocumentView | None
    word_reference: TailReference
    document_reference: TailReference
    training_scores: FloatArray
    """Scores of the training documents by views that did not see them, in their order."""
    training_words: int
    left_out: int
    """Training documents that do not belong among the others, and played no part."""
    seen_documents: int = 0
    """Documents and words that the training documents were drawn from."""
    seen_words: int = 0
    threads: int | None = None
    """Threads for scoring; None takes all cores."""

    @property
    def has_threads(self) -> bool:
        """Whether it may use more than one core."""
        return (self.threads or core_count()) > 1

    def score(self, documents: Sequence[Document]) -> list[Scored]:
        """Words -> vectors -> raw evidence -> tail evidence -> word scores -> document scores, some documents at a time."""
        chunks = list(cut_chunks(documents))
        rest = iter(chunks)
        side_by_side = self.has_threads and len(chunks) > 1
        encoded = work_ahead(self.encoder.encode, rest, lambda: next(rest, None), side_by_side=side_by_side)
        return [scored for _, vectors in encoded for scored in self.score_encoded(vectors)]

    def score_encoded(self, documents: Sequence[Encoded]) -> list[Scored]:
        """The same from the vectors on."""
        if not documents:
            return []
        lengths = [len(document) for document in documents]
        # The words of all documents at once, up to what looks at documents.
        evidence = calibrate(_stack_evidence(self.views, documents, self.threads), self.references, self.config)
        side_evidence = self.sides.evidence(evidence)
        sides = split_by(lengths, side_evidence)
        if self.config.fusion.hidden:  # how a matrix product rounds depends on its rows: each document by itself
            fused = [fuse(item, self.heads.fusion, self.config.fusion) for item in sides]
        else:
            fused = split_by(lengths, fuse(side_evidence, self.heads.fusion, self.config.fusion))
        traits: FloatArray = np.zeros((len(documents), 0))
        if self.document_view is None:
            document_scores = aggregate(fused, self.heads.aggregation, self.config.aggregation)
        else:
            traits = self.document_view.evidence(describe(sides))
            document_scores = self.document_view.score(traits)
        word_scores = feed_back(fused, self.document_reference.evidence(document_scores, 0.0), self.config)
        parts = zip(split_by(lengths, evidence), word_scores, document_scores.tolist(), traits, strict=True)
        return [Scored(*part) for part in parts]


def feed_back(fused: Sequence[FloatArray], document_evidence: FloatArray, config: Config) -> list[FloatArray]:
    """Word scores: anomalous words live in anomalous documents, so a document's evidence raises all its words alike."""
    return [scores + config.document.feedback * extra for scores, extra in zip(fused, document_evidence.tolist(), strict=True)]


def raw_evidence(views: Sequence[View], documents: Sequence[Encoded], threads: int | None = 1) -> list[FloatArray]:
    """Raw evidence of every view, (T, views) per document; with several threads the views look at the same time."""
    return split_by(map(len, documents), _stack_evidence(views, documents, threads)) if documents else []


def _stack_evidence(views: Sequence[View], documents: Sequence[Encoded], threads: int | None) -> FloatArray:
    """Raw evidence of every view for the words of all documents: (all words, views)."""
    if (threads or core_count()) > 1 and sum(map(len, documents)) >= _ENOUGH_WORDS:
        with ThreadPoolExecutor(len(views)) as pool:
            by_view = list(pool.map(lambda view: view.raw(documents), views))
    else:
        by_view = [view.raw(documents) for view in views]
    return np.stack([np.concatenate(parts) for parts in by_view], axis=-1)


def calibrate(raw: FloatArray, references: Sequence[TailReference], config: Config) -> FloatArray:
    """Tail evidence of every view, (T, views)."""
    columns = [reference.evidence(raw[:, v], config.calibration.epsilon) for v, reference in enumerate(references)]
    return np.stack(columns, axis=-1)


def fit(documents: Sequence[Document], config: Config, seed: int, encoder: Encoder, report: Report) -> Detector:
    """Learn a detector from normal documents."""
    usable = [index for index, document in enumerate(documents) if document.words]
    if len(usable) < LEAST_DOCUMENTS:
        raise InputError(
            f"expected at least {LEAST_DOCUMENTS} normal documents with words, got {len(usable)}: add more normal text"
        )
    rng = np.random.default_rng(seed)
    encoded = _encode([documents[index] for index in usable], encoder, report)

    # First stage: normal references, then frozen.
    # One seed for all folds: their views start alike, and their scores stay comparable.
    view_seed = _draw_seed(rng)
    cross, views = _CrossFit.fit(encoded, config, view_seed, rng, report)
    misfit = misfits(cross.raw(encoded, cross.folds)) if config.calibration.trim else np.zeros(len(encoded), dtype=bool)
    if misfit.any():
        kept, doubtful = _pick(encoded, ~misfit), np.flatnonzero(misfit)
        cross, views = _CrossFit.fit(kept, config, view_seed, rng, report)
        folds = rng.integers(config.calibration.folds, size=len(encoded))  # those that no view has seen go into any fold
        folds[~misfit] = cross.folds
        raw = cross.raw(encoded, folds)
        misfit[doubtful[merely_rare(_pick(raw, ~misfit), _pick(raw, misfit))]] = False
        cross = replace(cross, folds=folds[~misfit])
    left_out, encoded = _pick(encoded, misfit), _pick(encoded, ~misfit)
    unseen = config.calibration.reference == "unseen"
    raw = cross.raw(encoded, cross.folds) if unseen else raw_evidence(views, encoded)
    references = _references(raw)
    evidence = [calibrate(item, references, config) for item in raw]
    sides = Sides.fit(evidence, [view.side for view in views], config.calibration.epsilon)

    # Second stage: fusion and aggregation on pseudo anomalies, by views that did not see their source (the paper's did).
    report("make pseudo anomalies", 0.0)
    pseudos = make_pseudo_anomalies(encoded, encoder, config.perturb, rng)
    changed, sources = [pseudo.document for pseudo in pseudos], [pseudo.source for pseudo in pseudos]
    pseudo_raw = cross.raw(changed, cross.folds[sources]) if unseen else raw_evidence(views, changed)
    report("make pseudo anomalies", 1.0)
    report("learn fusion", 0.0)
    normal = [Example(sides.evidence(item), np.zeros(len(item))) for item in evidence]
    pseudo = [
        Example(sides.evidence(calibrate(item, references, config)), p.labels, p.kind)
        for item, p in zip(pseudo_raw, pseudos, strict=True)
    ]
    heads = learn(normal, pseudo, config, _draw_seed(rng))
    report("learn fusion", 1.0)

    # References of the p-values: always from documents that the views did not see.
    unseen_evidence = evidence if unseen else cross.in_sample_evidence(encoded, config)
    unseen_sides = [sides.evidence(item) for item in unseen_evidence]
    fused = [fuse(item, heads.fusion, config.fusion) for item in unseen_sides]
    document_view = None
    if config.document.view:
        document_view = DocumentView.fit(describe(unseen_sides), config.document)
        document_scores = document_view.score(document_view.evidence(describe(unseen_sides), members=True))
    else:
        document_scores = aggregate(fused, heads.aggregation, config.aggregation)
    document_reference = TailReference.of(document_scores)
    word_scores = feed_back(fused, document_reference.evidence(document_scores, 0.0, members=True), config)
    detector = Detector(
        config=config,
        seed=seed,
        encoder=encoder,
        views=views,
        references=references,
        sides=sides,
        heads=heads,
        document_view=document_view,
        word_reference=TailReference.of(np.concatenate(word_scores)),
        document_reference=document_reference,
        training_scores=np.zeros(len(documents)),
        training_words=sum(map(len, encoded)),
        left_out=len(left_out),
        seen_documents=len(documents),
        seen_words=sum(map(len, encoded)),
        threads=config.encoder.threads,
    )
    places = np.array(usable)
    detector.training_scores[places[~misfit]] = document_scores
    detector.training_scores[places[misfit]] = [item.document_score for item in detector.score_encoded(left_out)]
    return detector


@dataclass(frozen=True)
class _CrossFit:
    """The documents in folds, and for each fold views fitted on the other folds."""

    folds: IntArray  # (documents,)
    views: tuple[tuple[View, ...], ...]

    @classmethod
    def fit(
        cls, documents: Sequence[Encoded], config: Config, seed: int, rng: np.random.Generator, report: Report
    ) -> tuple[_CrossFit, tuple[View, ...]]:
        """Views for each fold, and views fitted on all documents."""
        count = config.calibration.folds
        folds = rng.permutation(np.arange(len(documents)) % count)
        others = [_pick(documents, folds != fold) for fold in range(count)]
        *fold_views, views = _fit_side_by_side([*others, documents], config, seed, report)
        return cls(folds, tuple(fold_views)), views

    def raw(self, documents: Sequence[Encoded], folds: IntArray) -> list[FloatArray]:
        """Raw evidence of each document by the views of its fold, which did not see it."""
        raw: list[FloatArray] = [np.empty(0)] * len(documents)
        for fold, views in enumerate(self.views):
            members = np.flatnonzero(folds == fold).tolist()
            for index, item in zip(members, raw_evidence(views, [documents[i] for i in members]), strict=True):
                raw[index] = item
        return raw

    def in_sample_evidence(self, documents: Sequence[Encoded], config: Config) -> list[FloatArray]:
        """Tail evidence of each document in the paper's way: ranked among what its fold's views were fitted on."""
        references = [
            _references(raw_evidence(views, _pick(documents, self.folds != fold))) for fold, views in enumerate(self.views)
        ]
        raw = self.raw(documents, self.folds)
        return [calibrate(item, references[fold], config) for item, fold in zip(raw, self.folds, strict=True)]


def _encode(documents: Sequence[Document], encoder: Encoder, report: Report) -> list[Encoded]:
    done = 0

    def progress(count: int) -> None:
        nonlocal done
        done += count
        report("encode", done / len(documents))

    report("encode", 0.0)
    return encoder.encode(documents, progress)


def _fit_side_by_side(corpora: Sequence[Sequence[Encoded]], config: Config, seed: int, report: Report) -> list[tuple[View, ...]]:
    """Views for each corpus, fitted in parallel; the outcome does not depend on which is done first."""

    def fit_views(documents: Sequence[Encoded]) -> tuple[View, ...]:
        return tuple(fit_view(name, documents, config, seed) for name in config.views.names)

    report("learn normal text", 0.0)
    prepare_views(corpora[0][0].vectors.shape[1], config)
    with ThreadPoolExecutor(min(len(corpora), config.encoder.threads or core_count())) as pool:
        futures = [pool.submit(fit_views, documents) for documents in corpora]
        for done, _ in enumerate(as_completed(futures), 1):
            report("learn normal text", done / len(futures))
    return [future.result() for future in futures]


def _references(raw: Sequence[FloatArray]) -> tuple[TailReference, ...]:
    stacked = np.concatenate(raw)
    return tuple(TailReference.of(stacked[:, view]) for view in range(stacked.shape[1]))


def _pick(items: Sequence[T], chosen: NDArray[np.bool_]) -> list[T]:
    return [item for item, is_chosen in zip(items, chosen, strict=True) if is_chosen]


def _draw_seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))
