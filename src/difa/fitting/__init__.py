"""Normal documents, a feed and verdicts -> a fitted detector: the order of learning.

1. One of several copies (`copies`) stands for all, unless the corpus is made of templates.
2. Views are fitted, with what their scores are ranked among; training documents that do not belong are left out.
3. Fusion learns: from the feed and verdicts (`fuse`), or in the paper's preset from pseudo anomalies (`paper`).
4. P-values come last, from documents that the views did not see (`cross_fit`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np

from difa.calibrate import TailReference, tail_evidence
from difa.config import Config
from difa.corpus.copies import group_copies, made_of_templates
from difa.corpus.ignore import noise_of
from difa.detector import Detector, fuse_words, linter_scores, pool_words, raw_evidence
from difa.document import BoolArray, Document, Encoded, FloatArray, split_by
from difa.document_score import DocumentScore, describe
from difa.encoders import Encoder
from difa.errors import InputError
from difa.feed import FeedSummary, NewText
from difa.fitting.cross_fit import CrossFit, Report
from difa.fitting.training_outliers import describe_documents, find_misfits, merely_rare
from difa.fuse import FeedFusion, folds_of, view_fold_of
from difa.fuse import learn as learn_fusion
from difa.head import WordTable
from difa.knowledge.wordlist import find_language
from difa.paper import Example, PaperWeights, learn_paper
from difa.perturb import make_pseudo_anomalies
from difa.views import TrainingData, view_kind

MIN_DOCUMENTS = 10
_ERRORS = 2  # beside the seed: the errors that are made must not depend on other draws


def fit(
    documents: Sequence[Document], config: Config, seed: int, encoder: Encoder, report: Report, new: NewText | None = None
) -> Detector:
    """Learn a detector from normal documents, and from new text where there is some."""
    usable = np.array([bool(document.words) for document in documents], dtype=bool)
    if (count := usable.sum()) < MIN_DOCUMENTS:
        raise InputError(f"expected at least {MIN_DOCUMENTS} normal documents with words, got {count}: add more normal text")
    rng = np.random.default_rng(seed)
    given = list(compress(documents, usable))
    groups = group_copies([document.words.texts for document in given])
    templates = made_of_templates(groups)
    first, content = np.unique(np.arange(len(given)) if templates else groups, return_inverse=True)
    contents = [given[index] for index in first.tolist()]
    encoded = _encode(contents, config, encoder, report, "encode")
    data = _training_data(encoded, config, seed, encoder, rng, report)

    normal = _learn_references(data, rng, report, is_known=templates)
    paper = _learn_paper(normal, data, rng, report) if config.fusion.rule == "gates" else None
    taught = _learn_from(new, normal, data, report) if new is not None and new.documents else None
    words = taught.normal if taught else normal.words
    word_scores = fuse_words(words, config, paper, taught.fusion if taught else None)
    document_score, document_scores = _learn_documents(words, word_scores, config, paper, taught)

    left_out = normal.misfit[content]  # (documents with words,): with a document all its copies are left out
    detector = Detector(
        config=config,
        seed=seed,
        encoder=encoder,
        language=data.language,
        views=normal.cross.views,
        references=normal.references,
        paper=paper,
        document_score=document_score,
        word_reference=TailReference.of(word_scores),
        linter_reference=TailReference.of(linter_scores(word_scores, normal.words.evidence, config.views.names)),
        document_reference=TailReference.of(document_scores),
        training_scores=document_scores,
        training_words=sum(len(document.words) for document in compress(given, ~left_out)),
        left_out=int(left_out.sum()),
        copies=int((~left_out).sum()) - len(normal.words.documents),
        threads=config.encoder.threads,
        feed_fusion=taught.fusion if taught else None,
        feed_summary=taught.summary if taught else None,
    )
    training_scores = np.zeros(len(documents))  # documents without words keep 0
    training_scores[usable] = _score_all(detector, normal, contents, encoded)[content]
    return replace(detector, training_scores=training_scores)


def _score_all(detector: Detector, normal: _Normal, documents: Sequence[Document], encoded: Sequence[Encoded]) -> FloatArray:
    """Scores of all documents by views that did not see them, those that were left out among them: (documents,)."""
    scores = np.zeros(len(documents))
    scores[~normal.misfit] = detector.training_scores
    misfits = detector.score_chunk(list(compress(documents, normal.misfit)), list(compress(encoded, normal.misfit)))
    scores[normal.misfit] = misfits.document_scores
    return scores


def _encode(documents: Sequence[Document], config: Config, encoder: Encoder, report: Report, stage: str) -> list[Encoded]:
    done = 0

    def progress(count: int) -> None:
        nonlocal done
        done += count
        report(stage, done / len(documents))

    report(stage, 0.0)
    return noise_of(config.ignore).mark_gaps(documents, encoder.encode(documents, progress))


def _training_data(
    documents: list[Encoded], config: Config, seed: int, encoder: Encoder, rng: np.random.Generator, report: Report
) -> TrainingData:
    """What views are fitted on, with errors in the documents where a view learns from them."""
    data = TrainingData(
        documents=documents,
        pseudos=[],
        language=find_language(word for document in documents for word in document.words),
        config=config,
        seed=int(rng.integers(2**31)),
        encoder=encoder,
    )
    if not any(view_kind(name).needs_errors for name in config.views.names):
        return data
    report("make errors", 0.0)
    errors = make_pseudo_anomalies(documents, encoder, config.perturb, np.random.default_rng([seed, _ERRORS]), data.language)
    report("make errors", 1.0)
    return replace(data, pseudos=errors)


@dataclass(frozen=True)
class _Normal:
    """Views, the references of their scores, and what they say of the documents that they did not see."""

    misfit: BoolArray  # (all documents,): which were left out
    cross: CrossFit
    references: tuple[TailReference, ...]
    words: WordTable
    """Of the others, with evidence as the references of the p-values need it: by views that did not see them."""
    evidence: FloatArray  # (T, views), as the paper's gates see it


def _learn_references(data: TrainingData, rng: np.random.Generator, report: Report, *, is_known: bool) -> _Normal:
    """Views, and references of their scores.

    Args:
        data: what to learn from.
        rng: for folds and seeds.
        report: told of progress.
        is_known: whether new documents will be copies of these. The views of all documents then judge what they have seen, as
            they will when scoring: where folds leave no spread, the least difference between the two would make a copy unusual.
    """
    config, (cross, misfit) = data.config, _fit_views(data, rng, report)
    chosen = list(compress(data.documents, ~misfit))
    epsilon = config.calibration.epsilon
    raw, statistics = cross.judge(chosen, cross.folds, config.encoder.threads)  # (T, views), (T, statistics)
    if is_known:
        raw = np.maximum(raw, raw_evidence(cross.views, chosen))
    is_unseen = config.calibration.reference == "unseen"
    ranked = raw if is_unseen else raw_evidence(cross.views, chosen)
    references = tuple(map(TailReference.of, ranked.T))
    evidence = tail_evidence(ranked, references, epsilon)
    unseen = evidence if is_unseen else cross.in_sample_evidence(chosen, epsilon)
    words = WordTable(chosen, unseen, statistics, folds_of(chosen, config.feed.folds))
    return _Normal(misfit, cross, references, words, evidence)


def _fit_views(data: TrainingData, rng: np.random.Generator, report: Report) -> tuple[CrossFit, BoolArray]:
    """Views without the documents that do not belong, and which those are: (documents,)."""
    documents, config = data.documents, data.config
    cross = CrossFit.fit(data, rng, report)
    misfit = np.zeros(len(documents), dtype=bool)
    if config.calibration.leave_out_outliers:
        misfit = find_misfits(describe_documents(cross.raw(documents, cross.folds), config.views.names))
    if not misfit.any():
        return cross, misfit
    cross = CrossFit.fit(data.without(misfit.tolist()), rng, report)
    folds = rng.integers(config.calibration.folds, size=len(documents))  # those that no view has seen go into any fold
    folds[~misfit] = cross.folds
    misfit &= ~merely_rare(describe_documents(cross.raw(documents, folds), config.views.names), misfit)
    return replace(cross, folds=folds[~misfit]), misfit


def _learn_paper(normal: _Normal, data: TrainingData, rng: np.random.Generator, report: Report) -> PaperWeights:
    """The paper's gates and mixture, on pseudo anomalies, by views that did not see their source or, as in the paper, did."""
    config = data.config
    report("make pseudo anomalies", 0.0)
    pseudos = make_pseudo_anomalies(normal.words.documents, data.encoder, config.perturb, rng)
    changed = [pseudo.document for pseudo in pseudos]
    if config.calibration.reference == "unseen":
        raw = normal.cross.raw(changed, normal.cross.folds[[pseudo.source for pseudo in pseudos]])
    else:
        raw = split_by(map(len, changed), raw_evidence(normal.cross.views, changed))
    report("make pseudo anomalies", 1.0)
    report("learn fusion", 0.0)
    evidence = [tail_evidence(item, normal.references, config.calibration.epsilon) for item in raw]
    negatives = [Example(item, np.zeros(len(item))) for item in split_by(normal.words.lengths, normal.evidence)]
    positives = [Example(item, pseudo.labels) for item, pseudo in zip(evidence, pseudos, strict=True)]
    weights = learn_paper(negatives, positives, config, int(rng.integers(2**31)))
    report("learn fusion", 1.0)
    return weights


@dataclass(frozen=True)
class _Taught:
    """What new text teaches: about words at once, about documents when their traits have references."""

    fusion: FeedFusion
    summary: FeedSummary
    normal: WordTable
    """With the evidence of the head that was learned, and so are the new ones."""
    new: WordTable
    counts: FloatArray  # (new documents,), for how many documents of the feed each counts


def _learn_from(text: NewText, normal: _Normal, data: TrainingData, report: Report) -> _Taught:
    """Learn from the feed and from verdicts, judged as calibration documents are: by views that did not see them.

    Views of all documents would say a little else of new text than those of the folds say of normal text, and all of that
    would be taken for something new.
    """
    config = data.config
    encoded = _encode(text.documents, config, data.encoder, report, "encode the feed")
    report("learn from the feed", 0.0)
    folds = config.feed.folds
    judges = np.array([view_fold_of(document.words, folds, config.calibration.folds) for document in encoded])
    raw, statistics = normal.cross.judge(encoded, judges, config.encoder.threads)
    evidence = tail_evidence(raw, normal.references, config.calibration.epsilon)
    new = WordTable(encoded, evidence, statistics, folds_of(encoded, folds))
    counts = text.document_counts(config.feed)
    fusion = learn_fusion(normal.words, new, text.trust(config.feed), config.feed)
    fusion = replace(fusion, strength=config.feed.strength(float(counts.sum())))
    report("learn from the feed", 1.0)
    known, new = fusion.with_head(normal.words), fusion.with_head(new)
    summary = text.summary(known, new, (*config.views.names, *fusion.names), config.privacy.least_documents, data.language)
    return _Taught(fusion, summary, known, new, counts)


def _learn_documents(
    words: WordTable, word_scores: FloatArray, config: Config, paper: PaperWeights | None, taught: _Taught | None
) -> tuple[DocumentScore | None, FloatArray]:
    """How documents are scored, and the scores of documents that the views did not see: (documents,)."""
    if config.document.rule != "traits":
        return None, pool_words(word_scores, words.lengths, config, paper)
    names = (*config.views.names, *(taught.fusion.names if taught else ()))
    traits = describe(word_scores, words.evidence, words.lengths, names)
    document_score = DocumentScore.fit(traits, words.lengths, names)
    if taught:
        new = taught.new
        new_traits = describe(fuse_words(new, config, paper, taught.fusion), new.evidence, new.lengths, names)
        document_score = document_score.learn(new_traits, new.lengths, taught.counts, new.folds, config.feed)
    ranked = document_score.evidence(traits, words.lengths, members=True)
    return document_score, document_score.score(ranked, words.folds)
