"""Normal documents -> a fitted detector, in three parts.

References come first: views, and what their scores are ranked among. The paper's heads (gates and mixture) then learn on pseudo
anomalies. P-values come last, from documents that the views did not see (`cross_fit`). Training documents that do not belong are
left out before all that, and the views fitted once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from difa.calibrate import TailReference, tail_evidence
from difa.config import Config
from difa.cross_fit import CrossFit, Report, pick, references_of
from difa.detector import Detector, fuse_words, pool_words, raw_evidence
from difa.document import Document, Encoded, FloatArray, split_by
from difa.document_score import DocumentScore, describe
from difa.encoders import Encoder
from difa.errors import InputError
from difa.knowledge.wordlist import find_language
from difa.learn import Example, Heads, learn
from difa.perturb import Pseudo, make_pseudo_anomalies
from difa.training_outliers import merely_rare, misfits
from difa.views import Lesson, view_kind

LEAST_DOCUMENTS = 10
_TELLING = ("language", "form", "neighbour")  # views that misfits among the training documents are found by
_ERRORS = 2  # beside the seed: the errors that are made must not depend on other draws


def fit(documents: Sequence[Document], config: Config, seed: int, encoder: Encoder, report: Report) -> Detector:
    """Learn a detector from normal documents."""
    usable = np.array([bool(document.words) for document in documents], dtype=bool)
    if usable.sum() < LEAST_DOCUMENTS:
        raise InputError(
            f"expected at least {LEAST_DOCUMENTS} normal documents with words, got {usable.sum()}: add more normal text"
        )
    rng = np.random.default_rng(seed)
    encoded = _encode(pick(documents, usable), encoder, report)
    lesson = _prepare_lesson(encoded, config, seed, encoder, rng, report)

    normal = _learn_references(lesson, rng, report)
    heads = _learn_heads(normal, lesson, rng, report) if config.fusion.rule == "gates" else None
    unseen = _score_unseen(normal, config, heads)

    words = sum(map(len, normal.documents))
    detector = Detector(
        config=config,
        seed=seed,
        encoder=encoder,
        language=lesson.language,
        views=normal.cross.views,
        references=normal.references,
        heads=heads,
        document_score=unseen.document_score,
        word_reference=TailReference.of(unseen.word_scores),
        document_reference=TailReference.of(unseen.document_scores),
        training_scores=unseen.document_scores,
        training_words=words,
        left_out=int(normal.misfit.sum()),
        seen_documents=len(documents),
        seen_words=words,
        threads=config.encoder.threads,
    )
    left_out = [item.document_score for item in detector.score_encoded(pick(encoded, normal.misfit))]
    return replace(detector, training_scores=_in_order(usable, normal.misfit, unseen.document_scores, left_out))


def _encode(documents: Sequence[Document], encoder: Encoder, report: Report) -> list[Encoded]:
    done = 0

    def progress(count: int) -> None:
        nonlocal done
        done += count
        report("encode", done / len(documents))

    report("encode", 0.0)
    return encoder.encode(documents, progress)


def _prepare_lesson(
    documents: list[Encoded], config: Config, seed: int, encoder: Encoder, rng: np.random.Generator, report: Report
) -> Lesson:
    """What views are fitted on; errors are made in the documents where a view learns from them."""
    language = find_language(word for document in documents for word in document.words)
    errors: list[Pseudo] = []
    if any(view_kind(name).needs_errors for name in config.views.names):
        report("make errors", 0.0)
        errors = make_pseudo_anomalies(documents, encoder, config.perturb, np.random.default_rng([seed, _ERRORS]), language)
        report("make errors", 1.0)
    return Lesson(documents, errors, language, config, seed=_draw_seed(rng), encoder=encoder)


@dataclass(frozen=True)
class _Normal:
    """The first part: views, the references of their scores, and what they say of the documents they did not see."""

    documents: list[Encoded]
    misfit: NDArray[np.bool_]  # (all documents,): which were left out
    cross: CrossFit
    references: tuple[TailReference, ...]
    evidence: FloatArray  # (T, views), as the heads see it
    unseen: FloatArray  # (T, views), as the references of the p-values need it

    @property
    def lengths(self) -> list[int]:
        return [len(document) for document in self.documents]


def _learn_references(lesson: Lesson, rng: np.random.Generator, report: Report) -> _Normal:
    cross, misfit = _fit_views(lesson, rng, report)
    chosen = pick(lesson.documents, ~misfit)
    epsilon = lesson.config.calibration.epsilon
    unseen_raw = np.concatenate(cross.raw(chosen, cross.folds))
    if lesson.config.calibration.reference == "unseen":
        references = references_of(unseen_raw)
        evidence = unseen = tail_evidence(unseen_raw, references, epsilon)
    else:
        seen_raw = np.concatenate(raw_evidence(cross.views, chosen))
        references = references_of(seen_raw)
        evidence = tail_evidence(seen_raw, references, epsilon)
        unseen = cross.in_sample_evidence(chosen, epsilon)
    return _Normal(chosen, misfit, cross, references=references, evidence=evidence, unseen=unseen)


def _fit_views(lesson: Lesson, rng: np.random.Generator, report: Report) -> tuple[CrossFit, NDArray[np.bool_]]:
    """Views without the documents that do not belong, and which those are: (documents,)."""
    documents, config = lesson.documents, lesson.config
    cross = CrossFit.fit(lesson, rng, report)
    misfit = np.zeros(len(documents), dtype=bool)
    if config.calibration.leave_out_outliers:
        misfit = misfits(_telling(cross.raw(documents, cross.folds), config), _means(config))
    if not misfit.any():
        return cross, misfit
    cross = CrossFit.fit(lesson.without(misfit.tolist()), rng, report)
    folds = rng.integers(config.calibration.folds, size=len(documents))  # those that no view has seen go into any fold
    folds[~misfit] = cross.folds
    raw = _telling(cross.raw(documents, folds), config)
    left_out = misfit.copy()
    left_out[misfit] = ~merely_rare(pick(raw, ~misfit), pick(raw, misfit), _means(config))
    return replace(cross, folds=folds[~left_out]), left_out


def _learn_heads(normal: _Normal, lesson: Lesson, rng: np.random.Generator, report: Report) -> Heads:
    """The paper's gates and mixture, on pseudo anomalies, by views that did not see their source or, as in the paper, did."""
    config = lesson.config
    report("make pseudo anomalies", 0.0)
    pseudos = make_pseudo_anomalies(normal.documents, lesson.encoder, config.perturb, rng)
    changed, sources = [pseudo.document for pseudo in pseudos], [pseudo.source for pseudo in pseudos]
    if config.calibration.reference == "unseen":
        raw = normal.cross.raw(changed, normal.cross.folds[sources])
    else:
        raw = raw_evidence(normal.cross.views, changed)
    report("make pseudo anomalies", 1.0)
    report("learn fusion", 0.0)
    examples = [Example(item, np.zeros(len(item))) for item in split_by(normal.lengths, normal.evidence)]
    pseudo = [
        Example(tail_evidence(item, normal.references, config.calibration.epsilon), p.labels)
        for item, p in zip(raw, pseudos, strict=True)
    ]
    heads = learn(examples, pseudo, config, _draw_seed(rng))
    report("learn fusion", 1.0)
    return heads


@dataclass(frozen=True)
class _Unseen:
    """The last part: scores of documents that the views did not see, from which p-values come."""

    document_score: DocumentScore | None
    document_scores: FloatArray  # (documents,)
    word_scores: FloatArray  # (T,)


def _score_unseen(normal: _Normal, config: Config, heads: Heads | None) -> _Unseen:
    word_scores = fuse_words(normal.unseen, normal.lengths, config, heads)
    if config.document.rule != "traits":
        return _Unseen(None, pool_words(word_scores, normal.lengths, config, heads), word_scores)
    traits = describe(word_scores, normal.unseen, normal.lengths, config.views.names)
    document_score = DocumentScore.fit(traits)
    return _Unseen(document_score, document_score.score(document_score.evidence(traits, members=True)), word_scores)


def _in_order(usable: NDArray[np.bool_], misfit: NDArray[np.bool_], kept: FloatArray, left_out: Sequence[float]) -> FloatArray:
    """Scores of all training documents in their order; 0 for those without words."""
    of_usable = np.zeros(len(misfit))
    of_usable[~misfit], of_usable[misfit] = kept, left_out
    scores = np.zeros(len(usable))
    scores[usable] = of_usable
    return scores


def _telling(raw: Sequence[FloatArray], config: Config) -> list[FloatArray]:
    """Evidence of the views that misfits are found by: a critic that was taught with them would take their side."""
    names = config.views.names
    columns = [names.index(name) for name in _TELLING if name in names] or list(range(len(names)))
    return [item[:, columns] for item in raw]


def _means(config: Config) -> tuple[int, ...]:
    return (0,) if "language" in config.views.names else ()


def _draw_seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))
