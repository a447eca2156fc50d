"""Normal documents, a feed and verdicts -> a fitted detector: the order of learning.

References come first: views, and what their scores are ranked among. Then fusion learns: from the feed and verdicts (`fuse`), or,
in the paper's preset, from pseudo anomalies. P-values come last, from documents that the views did not see (`cross_fit`).
Training documents that do not belong are left out before all that, and the views fitted once more. One of several copies
(`copies`) stands for all from the start, unless the corpus is made of templates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from difa.calibrate import TailReference, tail_evidence
from difa.config import Config
from difa.corpus.copies import group_copies, made_of_templates
from difa.corpus.ignore import Noise, noise_of
from difa.detector import Detector, fuse_words, linter_scores, pool_words, raw_evidence
from difa.document import Document, Encoded, FloatArray, IntArray, split_by
from difa.document_score import DocumentScore, describe
from difa.encoders import Encoder
from difa.errors import ConfigError, InputError
from difa.feed import Lessons, NewText, Side, find_lessons
from difa.fitting.cross_fit import CrossFit, Report, pick, references_of
from difa.fitting.training_outliers import merely_rare, misfits
from difa.fuse import Taught, Words, fold_of, view_fold_of
from difa.fuse import learn as learn_fusion
from difa.knowledge.wordlist import find_language
from difa.learn import Example, Heads, learn
from difa.perturb import Pseudo, make_pseudo_anomalies
from difa.views import TrainingData, view_kind

LEAST_DOCUMENTS = 10
_TELLING = ("language", "form", "neighbour")  # views that misfits among the training documents are found by
_ERRORS = 2  # beside the seed: the errors that are made must not depend on other draws


def fit(
    documents: Sequence[Document], config: Config, seed: int, encoder: Encoder, report: Report, new: NewText | None = None
) -> Detector:
    """Learn a detector from normal documents, and from new text where there is some."""
    usable = _find_usable(documents)
    check_teachable(config, new)
    rng = np.random.default_rng(seed)
    given = pick(documents, usable)
    groups = group_copies([[word.text for word in document.words] for document in given])
    templates = made_of_templates(groups)
    first, content = np.unique(np.arange(len(given)) if templates else groups, return_inverse=True)
    encoded = _encode([given[index] for index in first.tolist()], encoder, noise_of(config.ignore), report)
    data = _training_data(encoded, config, seed, encoder, rng, report)

    normal = _learn_references(data, rng, report, is_known=templates)
    heads = _learn_heads(normal, data, rng, report) if config.fusion.rule == "gates" else None
    taught = _learn_from(new, normal, data, report) if new is not None and new.documents else None
    unseen = _score_unseen(normal, config, heads, taught)

    left_out = normal.misfit[content]
    words = sum(len(document.words) for document in pick(given, ~left_out))
    detector = Detector(
        config=config,
        seed=seed,
        encoder=encoder,
        language=data.language,
        views=normal.cross.views,
        references=normal.references,
        heads=heads,
        document_score=unseen.document_score,
        word_reference=TailReference.of(unseen.word_scores),
        linter_reference=TailReference.of(linter_scores(unseen.word_scores, normal.unseen, config.views.names)),
        document_reference=TailReference.of(unseen.document_scores),
        training_scores=unseen.document_scores,
        training_words=words,
        left_out=int(left_out.sum()),
        copies=int((~left_out).sum()) - len(normal.documents),
        seen_documents=len(documents),
        seen_words=words,
        threads=config.encoder.threads,
        taught=taught.fusion if taught else None,
        lessons=taught.lessons if taught else None,
    )
    of_contents, of_documents = np.zeros(len(encoded)), np.zeros(len(documents))  # 0 for documents without words
    of_contents[~normal.misfit] = unseen.document_scores
    of_contents[normal.misfit] = [item.document_score for item in detector.score_encoded(pick(encoded, normal.misfit))]
    of_documents[usable] = of_contents[content]
    return replace(detector, training_scores=of_documents)


def check_teachable(config: Config, new: NewText | None) -> None:
    """Refuse a feed or verdicts for settings whose fusion learns otherwise, or is ranked among what views were fitted on."""
    if new is not None and (config.fusion.rule == "gates" or config.calibration.reference == "in-sample"):
        raise ConfigError(
            "expected the preset full or fast beside a feed or verdicts, got settings of the preset paper, whose gates learn "
            "from pseudo anomalies: leave out the feed, or choose another preset"
        )


def _find_usable(documents: Sequence[Document]) -> NDArray[np.bool_]:
    """Which documents have words; too few are refused: (documents,)."""
    usable = np.array([bool(document.words) for document in documents], dtype=bool)
    if usable.sum() < LEAST_DOCUMENTS:
        raise InputError(
            f"expected at least {LEAST_DOCUMENTS} normal documents with words, got {usable.sum()}: add more normal text"
        )
    return usable


def _encode(documents: Sequence[Document], encoder: Encoder, noise: Noise, report: Report) -> list[Encoded]:
    done = 0

    def progress(count: int) -> None:
        nonlocal done
        done += count
        report("encode", done / len(documents))

    report("encode", 0.0)
    return noise.mark_gaps(documents, encoder.encode(documents, progress))


def _training_data(
    documents: list[Encoded], config: Config, seed: int, encoder: Encoder, rng: np.random.Generator, report: Report
) -> TrainingData:
    """What views are fitted on, with errors in the documents where a view learns from them."""
    language = find_language(word for document in documents for word in document.words)
    errors: list[Pseudo] = []
    if any(view_kind(name).needs_errors for name in config.views.names):
        report("make errors", 0.0)
        errors = make_pseudo_anomalies(documents, encoder, config.perturb, np.random.default_rng([seed, _ERRORS]), language)
        report("make errors", 1.0)
    return TrainingData(documents, errors, language, config, seed=_draw_seed(rng), encoder=encoder)


@dataclass(frozen=True)
class _Normal:
    """The first part: views, the references of their scores, and what they say of the documents they did not see."""

    documents: list[Encoded]
    misfit: NDArray[np.bool_]  # (all documents,): which were left out
    cross: CrossFit
    references: tuple[TailReference, ...]
    statistics: FloatArray  # (T, statistics), plain, as critics that did not see the documents describe words
    evidence: FloatArray  # (T, views), as the heads see it
    unseen: FloatArray  # (T, views), as the references of the p-values need it

    @property
    def lengths(self) -> list[int]:
        return [len(document) for document in self.documents]


def _learn_references(data: TrainingData, rng: np.random.Generator, report: Report, *, is_known: bool) -> _Normal:
    """Views, and references of their scores.

    Args:
        data: what to learn from.
        rng: for folds and seeds.
        report: told of progress.
        is_known: whether new documents will be copies of these. The views of all documents then judge what they have seen, as
            they will when scoring: where folds leave no spread, the least difference between the two would make a copy unusual.
    """
    cross, misfit = _fit_views(data, rng, report)
    chosen = pick(data.documents, ~misfit)
    epsilon = data.config.calibration.epsilon
    looked = cross.look(chosen, cross.folds, data.config.encoder.threads)
    if is_known:
        looked = replace(looked, raw=np.maximum(looked.raw, np.concatenate(raw_evidence(cross.views, chosen))))
    if data.config.calibration.reference == "unseen":
        references = references_of(looked.raw)
        evidence = unseen = tail_evidence(looked.raw, references, epsilon)
    else:
        seen_raw = np.concatenate(raw_evidence(cross.views, chosen))
        references = references_of(seen_raw)
        evidence = tail_evidence(seen_raw, references, epsilon)
        unseen = cross.in_sample_evidence(chosen, epsilon)
    return _Normal(chosen, misfit, cross, references, looked.statistics, evidence=evidence, unseen=unseen)


def _fit_views(data: TrainingData, rng: np.random.Generator, report: Report) -> tuple[CrossFit, NDArray[np.bool_]]:
    """Views without the documents that do not belong, and which those are: (documents,)."""
    documents, config = data.documents, data.config
    cross = CrossFit.fit(data, rng, report)
    misfit = np.zeros(len(documents), dtype=bool)
    if config.calibration.leave_out_outliers:
        misfit = misfits(_telling(cross.raw(documents, cross.folds), config), _means(config))
    if not misfit.any():
        return cross, misfit
    cross = CrossFit.fit(data.without(misfit.tolist()), rng, report)
    folds = rng.integers(config.calibration.folds, size=len(documents))  # those that no view has seen go into any fold
    folds[~misfit] = cross.folds
    raw = _telling(cross.raw(documents, folds), config)
    left_out = misfit.copy()
    left_out[misfit] = ~merely_rare(pick(raw, ~misfit), pick(raw, misfit), _means(config))
    return replace(cross, folds=folds[~left_out]), left_out


def _learn_heads(normal: _Normal, data: TrainingData, rng: np.random.Generator, report: Report) -> Heads:
    """The paper's gates and mixture, on pseudo anomalies, by views that did not see their source or, as in the paper, did."""
    config = data.config
    report("make pseudo anomalies", 0.0)
    pseudos = make_pseudo_anomalies(normal.documents, data.encoder, config.perturb, rng)
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
class _Taught:
    """What new text teaches: about words at once, about documents when their traits have references."""

    fusion: Taught
    lessons: Lessons
    normal: Words
    new: Words
    counts: FloatArray  # (new documents,), for how many documents of the feed each counts


def _learn_from(text: NewText, normal: _Normal, data: TrainingData, report: Report) -> _Taught:
    """Learn from the feed and from verdicts, judged as calibration documents are: by views that did not see them.

    Views of all documents would say a little else of new text than those of the folds say of normal text, and all of that
    would be taken for something new.
    """
    config = data.config
    noise = noise_of(config.ignore)
    encoded = _encode(text.documents, data.encoder, noise, lambda stage, share: report("encode the feed", share))
    report("learn from the feed", 0.0)
    folds, view_folds = config.feed.folds, config.calibration.folds
    by_views = np.array([view_fold_of(item.words, folds, view_folds) for item in encoded])
    looked = normal.cross.look(encoded, by_views, config.encoder.threads)
    evidence = tail_evidence(looked.raw, normal.references, config.calibration.epsilon)
    known = Words(normal.documents, normal.statistics, normal.unseen, _folds(normal.documents, folds))
    new = Words(encoded, looked.statistics, evidence, _folds(encoded, folds))
    counts = text.document_counts(config.feed)
    fusion = learn_fusion(known, new, text.trust(config.feed), config.feed)
    fusion = replace(fusion, strength=config.feed.strength(float(counts.sum())))
    report("learn from the feed", 1.0)
    of_feed = Side(encoded[: text.feed], fusion.columns(evidence, new.inputs)[: sum(map(len, encoded[: text.feed]))])
    of_normal = Side(normal.documents, fusion.columns(normal.unseen, known.inputs))
    names, least = (*config.views.names, *fusion.names), config.privacy.least_documents
    findings = find_lessons(of_normal, of_feed, names, least, data.language)
    lessons = Lessons(
        documents=text.feed,
        words=len(of_feed.evidence),
        given=text.given,
        copies=text.copies,
        known=text.known,
        reviewed=len(text.verdicts),
        odd=sum(verdict.odd for verdict in text.verdicts),
        findings=findings,
    )
    return _Taught(fusion, lessons, known, new, counts)


def _folds(documents: Sequence[Encoded], folds: int) -> IntArray:
    return np.array([fold_of(document.words, folds) for document in documents], dtype=np.int64)


@dataclass(frozen=True)
class _Unseen:
    """The last part: scores of documents that the views did not see, from which p-values come."""

    document_score: DocumentScore | None
    document_scores: FloatArray  # (documents,)
    word_scores: FloatArray  # (T,)


def _score_unseen(normal: _Normal, config: Config, heads: Heads | None, taught: _Taught | None) -> _Unseen:
    folds = taught.normal.folds if taught else np.zeros(len(normal.documents), dtype=np.int64)
    evidence = taught.fusion.columns(normal.unseen, taught.normal.inputs) if taught else normal.unseen
    fusion = taught.fusion if taught else None
    word_scores = fuse_words(evidence, normal.lengths, folds, config, heads, fusion)
    if config.document.rule != "traits":
        return _Unseen(None, pool_words(word_scores, normal.lengths, config, heads), word_scores)
    names = (*config.views.names, *(fusion.names if fusion else ()))
    traits = describe(word_scores, evidence, normal.lengths, names)
    document_score = DocumentScore.fit(traits, normal.lengths, names)
    if taught:
        columns = taught.fusion.columns(taught.new.evidence, taught.new.inputs)
        lengths = [len(document) for document in taught.new.documents]
        new_scores = fuse_words(columns, lengths, taught.new.folds, config, heads, fusion)
        new_traits = describe(new_scores, columns, lengths, names)
        document_score = document_score.learn(new_traits, lengths, taught.counts, taught.new.folds, config.feed)
    ranked = document_score.evidence(traits, normal.lengths, members=True)
    return _Unseen(document_score, document_score.score(ranked, folds), word_scores)


def _telling(raw: Sequence[FloatArray], config: Config) -> list[FloatArray]:
    """Evidence of the views that misfits are found by: a critic that was taught with them would take their side."""
    names = config.views.names
    columns = [names.index(name) for name in _TELLING if name in names] or list(range(len(names)))
    return [item[:, columns] for item in raw]


def _means(config: Config) -> tuple[int, ...]:
    return (0,) if "language" in config.views.names else ()


def _draw_seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))
