"""Normal documents -> a fitted detector.

Normal references come first (views, then the references of their scores) and are frozen; the paper's gates and mixture then learn
on pseudo anomalies. The references of p-values come from documents that the views did not see: the documents are cut into
folds, and each fold is scored by views fitted on the others. Training documents that do not belong are left out, and the
views fitted once more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from difa.calibrate import TailReference, tail_evidence
from difa.config import Config
from difa.detector import Detector, fuse_words, pool_words, raw_evidence
from difa.document import Document, Encoded, FloatArray, IntArray
from difa.document_score import DocumentScore, describe
from difa.encoders import Encoder
from difa.errors import InputError
from difa.knowledge.wordlist import find_language
from difa.learn import Example, Heads, learn
from difa.perturb import Pseudo, make_pseudo_anomalies
from difa.runtime.threads import core_count
from difa.training_outliers import merely_rare, misfits
from difa.views import Lesson, View, fit_view, prepare_views

T = TypeVar("T")
Report = Callable[[str, float], None]
"""Called with the name of the stage under way and the share of it that is done."""

LEAST_DOCUMENTS = 10
_TELLING = ("language", "form", "neighbour")  # views that misfits among the training documents are found by
_ERRORS = 2  # beside the seed: the errors that are made must not depend on other draws


def fit(documents: Sequence[Document], config: Config, seed: int, encoder: Encoder, report: Report) -> Detector:
    """Learn a detector from normal documents."""
    usable = [index for index, document in enumerate(documents) if document.words]
    if len(usable) < LEAST_DOCUMENTS:
        raise InputError(
            f"expected at least {LEAST_DOCUMENTS} normal documents with words, got {len(usable)}: add more normal text"
        )
    rng = np.random.default_rng(seed)
    encoded = _encode([documents[index] for index in usable], encoder, report)
    language = find_language(word for document in encoded for word in document.words)
    lesson = Lesson(encoded, _make_errors(encoded, config, seed, encoder, language, report), language)

    found = _learn_normal(lesson, config, encoder, rng, report)
    heads = _learn_heads(found, config, encoder, rng, report) if config.fusion.rule == "gates" else None
    judged = _judge(found, config, heads)

    scores = np.zeros(len(documents))
    positions = np.array(usable)
    scores[positions[~found.misfit]] = judged.document_scores
    detector = Detector(
        config=config,
        seed=seed,
        encoder=encoder,
        language=language,
        views=found.views,
        references=found.references,
        heads=heads,
        document_score=judged.document_score,
        word_reference=TailReference.of(judged.word_scores),
        document_reference=TailReference.of(judged.document_scores),
        training_scores=scores,
        training_words=sum(map(len, found.documents)),
        left_out=int(found.misfit.sum()),
        seen_documents=len(documents),
        seen_words=sum(len(document) for document in found.documents),
        threads=config.encoder.threads,
    )
    left_out = _pick(encoded, found.misfit)
    scores[positions[found.misfit]] = [item.document_score for item in detector.score_encoded(left_out)]
    return detector


@dataclass(frozen=True)
class _Normal:
    """The first stage: views, the references of their scores, and what they say of the documents they did not see."""

    documents: list[Encoded]
    misfit: NDArray[np.bool_]  # (all documents,): which were left out
    cross: _CrossFit
    views: tuple[View, ...]
    references: tuple[TailReference, ...]
    evidence: FloatArray  # (T, views), as the heads see it
    unseen: FloatArray  # (T, views), as the references of the p-values need it

    @property
    def lengths(self) -> list[int]:
        return [len(document) for document in self.documents]


def _learn_normal(lesson: Lesson, config: Config, encoder: Encoder, rng: np.random.Generator, report: Report) -> _Normal:
    # One seed for all folds: their views start alike, and their scores stay comparable.
    view_seed = _draw_seed(rng)
    documents = lesson.documents
    cross, views = _CrossFit.fit(lesson, config, view_seed, encoder, rng, report)
    misfit = np.zeros(len(documents), dtype=bool)
    if config.calibration.leave_out_outliers:
        misfit = misfits(_telling(cross.raw(documents, cross.folds), config), _means(config))
    if misfit.any():
        kept, doubtful = lesson.without(misfit.tolist()), np.flatnonzero(misfit)
        cross, views = _CrossFit.fit(kept, config, view_seed, encoder, rng, report)
        folds = rng.integers(config.calibration.folds, size=len(documents))  # those that no view has seen go into any fold
        folds[~misfit] = cross.folds
        raw = _telling(cross.raw(documents, folds), config)
        misfit[doubtful[merely_rare(_pick(raw, ~misfit), _pick(raw, misfit), _means(config))]] = False
        cross = replace(cross, folds=folds[~misfit])
    chosen = _pick(documents, ~misfit)
    epsilon = config.calibration.epsilon
    unseen_raw = np.concatenate(cross.raw(chosen, cross.folds))
    if config.calibration.reference == "unseen":
        references = _references(unseen_raw)
        evidence = unseen = tail_evidence(unseen_raw, references, epsilon)
    else:
        seen_raw = np.concatenate(raw_evidence(views, chosen))
        references = _references(seen_raw)
        evidence = tail_evidence(seen_raw, references, epsilon)
        unseen = cross.in_sample_evidence(chosen, epsilon)
    return _Normal(chosen, misfit, cross, views, references, evidence, unseen)


def _learn_heads(found: _Normal, config: Config, encoder: Encoder, rng: np.random.Generator, report: Report) -> Heads:
    """The paper's gates and mixture, on pseudo anomalies, by views that did not see their source or, as in the paper, did."""
    report("make pseudo anomalies", 0.0)
    pseudos = make_pseudo_anomalies(found.documents, encoder, config.perturb, rng)
    changed, sources = [pseudo.document for pseudo in pseudos], [pseudo.source for pseudo in pseudos]
    if config.calibration.reference == "unseen":
        raw = found.cross.raw(changed, found.cross.folds[sources])
    else:
        raw = raw_evidence(found.views, changed)
    report("make pseudo anomalies", 1.0)
    report("learn fusion", 0.0)
    by_document = np.split(found.evidence, np.cumsum(found.lengths)[:-1])
    normal = [Example(item, np.zeros(len(item))) for item in by_document]
    pseudo = [
        Example(tail_evidence(item, found.references, config.calibration.epsilon), p.labels)
        for item, p in zip(raw, pseudos, strict=True)
    ]
    heads = learn(normal, pseudo, config, _draw_seed(rng))
    report("learn fusion", 1.0)
    return heads


@dataclass(frozen=True)
class _Judged:
    """The last stage: scores of documents that the views did not see, from which p-values come."""

    document_score: DocumentScore | None
    document_scores: FloatArray  # (documents,)
    word_scores: FloatArray  # (T,)


def _judge(found: _Normal, config: Config, heads: Heads | None) -> _Judged:
    fused = fuse_words(found.unseen, found.lengths, config, heads)
    document_score = None
    if config.document.rule == "traits":
        traits = describe(fused, found.unseen, found.lengths, config.views.names)
        document_score = DocumentScore.fit(traits)
        document_scores = document_score.score(document_score.evidence(traits, members=True))
    else:
        document_scores = pool_words(fused, found.lengths, config, heads)
    return _Judged(document_score, document_scores, fused)


@dataclass(frozen=True)
class _CrossFit:
    """The documents in folds, and for each fold views fitted on the other folds."""

    folds: IntArray  # (documents,)
    views: tuple[tuple[View, ...], ...]

    @classmethod
    def fit(
        cls, lesson: Lesson, config: Config, seed: int, encoder: Encoder, rng: np.random.Generator, report: Report
    ) -> tuple[_CrossFit, tuple[View, ...]]:
        """Views for each fold, and views fitted on all documents."""
        count = config.calibration.folds
        folds = rng.permutation(np.arange(len(lesson.documents)) % count)
        others = [lesson.without((folds == fold).tolist()) for fold in range(count)]
        *fold_views, views = _fit_side_by_side([*others, lesson], config, seed, encoder, report)
        return cls(folds, tuple(fold_views)), views

    def raw(self, documents: Sequence[Encoded], folds: IntArray) -> list[FloatArray]:
        """Raw evidence of each document by the views of its fold, which did not see it."""
        raw: list[FloatArray] = [np.empty(0)] * len(documents)
        for fold, views in enumerate(self.views):
            members = np.flatnonzero(folds == fold).tolist()
            for index, item in zip(members, raw_evidence(views, [documents[i] for i in members]), strict=True):
                raw[index] = item
        return raw

    def in_sample_evidence(self, documents: Sequence[Encoded], epsilon: float) -> FloatArray:
        """Tail evidence of all words in the paper's way: ranked among what their fold's views were fitted on."""
        references = [
            _references(np.concatenate(raw_evidence(views, _pick(documents, self.folds != fold))))
            for fold, views in enumerate(self.views)
        ]
        raw = self.raw(documents, self.folds)
        return np.concatenate(
            [tail_evidence(item, references[fold], epsilon) for item, fold in zip(raw, self.folds, strict=True)]
        )


def _encode(documents: Sequence[Document], encoder: Encoder, report: Report) -> list[Encoded]:
    done = 0

    def progress(count: int) -> None:
        nonlocal done
        done += count
        report("encode", done / len(documents))

    report("encode", 0.0)
    return encoder.encode(documents, progress)


def _make_errors(
    documents: Sequence[Encoded], config: Config, seed: int, encoder: Encoder, language: str | None, report: Report
) -> list[Pseudo]:
    """Errors for the critic to learn from; none where there is no critic."""
    if "critic" not in config.views.names:
        return []
    report("make errors", 0.0)
    errors = make_pseudo_anomalies(documents, encoder, config.perturb, np.random.default_rng([seed, _ERRORS]), language)
    report("make errors", 1.0)
    return errors


def _fit_side_by_side(
    lessons: Sequence[Lesson], config: Config, seed: int, encoder: Encoder, report: Report
) -> list[tuple[View, ...]]:
    """Views for each lesson, fitted in parallel; the outcome does not depend on which is done first."""

    def fit_views(lesson: Lesson) -> tuple[View, ...]:
        return tuple(fit_view(name, lesson, config, seed, encoder) for name in config.views.names)

    report("learn normal text", 0.0)
    prepare_views(encoder, lessons[0].language, config)
    with ThreadPoolExecutor(min(len(lessons), config.encoder.threads or core_count())) as pool:
        futures = [pool.submit(fit_views, lesson) for lesson in lessons]
        for done, _ in enumerate(as_completed(futures), 1):
            report("learn normal text", done / len(futures))
    return [future.result() for future in futures]


def _telling(raw: Sequence[FloatArray], config: Config) -> list[FloatArray]:
    """Evidence of the views that misfits are found by: a critic that was taught with them would take their side."""
    names = config.views.names
    columns = [names.index(name) for name in _TELLING if name in names] or list(range(len(names)))
    return [item[:, columns] for item in raw]


def _means(config: Config) -> tuple[int, ...]:
    return (0,) if "language" in config.views.names else ()


def _references(raw: FloatArray) -> tuple[TailReference, ...]:
    return tuple(TailReference.of(column) for column in raw.T)


def _pick(items: Sequence[T], chosen: NDArray[np.bool_]) -> list[T]:
    return [item for item, is_chosen in zip(items, chosen, strict=True) if is_chosen]


def _draw_seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))
