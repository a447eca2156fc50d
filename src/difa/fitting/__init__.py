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
from difa.document import Document, Encoded, FloatArray, split_by
from difa.document_score import DocumentScore, describe
from difa.encoders import Encoder
from difa.errors import ConfigError, InputError
from difa.feed import FeedSummary, NewText, find_differences
from difa.fitting.cross_fit import CrossFit, Report, pick, references_of
from difa.fitting.training_outliers import find_misfits, merely_rare
from difa.fuse import FeedFusion, folds_of, view_fold_of
from difa.fuse import learn as learn_fusion
from difa.head import WordTable
from difa.knowledge.wordlist import find_language
from difa.paper import Example, PaperWeights, learn_paper
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
    contents = [given[index] for index in first.tolist()]
    encoded = _encode(contents, encoder, noise_of(config.ignore), report)
    data = _training_data(encoded, config, seed, encoder, rng, report)

    normal = _learn_references(data, rng, report, is_known=templates)
    paper = _learn_paper(normal, data, rng, report) if config.fusion.rule == "gates" else None
    feed = _learn_from(new, normal, data, report) if new is not None and new.documents else None
    unseen = _score_unseen(normal, config, paper, feed)

    left_out = normal.misfit[content]
    words = sum(len(document.words) for document in pick(given, ~left_out))
    detector = Detector(
        config=config,
        seed=seed,
        encoder=encoder,
        language=data.language,
        views=normal.cross.views,
        references=normal.references,
        paper=paper,
        document_score=unseen.document_score,
        word_reference=TailReference.of(unseen.word_scores),
        linter_reference=TailReference.of(linter_scores(unseen.word_scores, normal.words.evidence, config.views.names)),
        document_reference=TailReference.of(unseen.document_scores),
        training_scores=unseen.document_scores,
        training_words=words,
        left_out=int(left_out.sum()),
        copies=int((~left_out).sum()) - len(normal.words.documents),
        seen_documents=len(documents),
        seen_words=words,
        threads=config.encoder.threads,
        feed_fusion=feed.fusion if feed else None,
        feed_summary=feed.summary if feed else None,
    )
    of_contents, of_documents = np.zeros(len(encoded)), np.zeros(len(documents))  # 0 for documents without words
    of_contents[~normal.misfit] = unseen.document_scores
    misfits = detector.score_chunk(pick(contents, normal.misfit), pick(encoded, normal.misfit))
    of_contents[normal.misfit] = misfits.document_scores
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

    misfit: NDArray[np.bool_]  # (all documents,): which were left out
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
    chosen = pick(data.documents, ~misfit)
    epsilon = config.calibration.epsilon
    raw, statistics = cross.judge(chosen, cross.folds, config.encoder.threads)
    if is_known:
        raw = np.maximum(raw, raw_evidence(cross.views, chosen))
    if config.calibration.reference == "unseen":
        references = references_of(raw)
        evidence = unseen = tail_evidence(raw, references, epsilon)
    else:
        seen_raw = raw_evidence(cross.views, chosen)
        references = references_of(seen_raw)
        evidence = tail_evidence(seen_raw, references, epsilon)
        unseen = cross.in_sample_evidence(chosen, epsilon)
    words = WordTable(chosen, unseen, statistics, folds_of(chosen, config.feed.folds))
    return _Normal(misfit, cross, references, words, evidence)


def _fit_views(data: TrainingData, rng: np.random.Generator, report: Report) -> tuple[CrossFit, NDArray[np.bool_]]:
    """Views without the documents that do not belong, and which those are: (documents,)."""
    documents, config = data.documents, data.config
    cross = CrossFit.fit(data, rng, report)
    misfit = np.zeros(len(documents), dtype=bool)
    if config.calibration.leave_out_outliers:
        misfit = find_misfits(_telling(cross.raw(documents, cross.folds), config), _means(config))
    if not misfit.any():
        return cross, misfit
    cross = CrossFit.fit(data.without(misfit.tolist()), rng, report)
    folds = rng.integers(config.calibration.folds, size=len(documents))  # those that no view has seen go into any fold
    folds[~misfit] = cross.folds
    raw = _telling(cross.raw(documents, folds), config)
    left_out = misfit.copy()
    left_out[misfit] = ~merely_rare(pick(raw, ~misfit), pick(raw, misfit), _means(config))
    return replace(cross, folds=folds[~left_out]), left_out


def _learn_paper(normal: _Normal, data: TrainingData, rng: np.random.Generator, report: Report) -> PaperWeights:
    """The paper's gates and mixture, on pseudo anomalies, by views that did not see their source or, as in the paper, did."""
    config, words = data.config, normal.words
    report("make pseudo anomalies", 0.0)
    pseudos = make_pseudo_anomalies(words.documents, data.encoder, config.perturb, rng)
    changed, sources = [pseudo.document for pseudo in pseudos], [pseudo.source for pseudo in pseudos]
    if config.calibration.reference == "unseen":
        raw = normal.cross.raw(changed, normal.cross.folds[sources])
    else:
        raw = split_by(map(len, changed), raw_evidence(normal.cross.views, changed))
    report("make pseudo anomalies", 1.0)
    report("learn fusion", 0.0)
    examples = [Example(item, np.zeros(len(item))) for item in split_by(words.lengths, normal.evidence)]
    pseudo = [
        Example(tail_evidence(item, normal.references, config.calibration.epsilon), p.labels)
        for item, p in zip(raw, pseudos, strict=True)
    ]
    weights = learn_paper(examples, pseudo, config, _draw_seed(rng))
    report("learn fusion", 1.0)
    return weights


@dataclass(frozen=True)
class _Feed:
    """What new text teaches: about words at once, about documents when their traits have references."""

    fusion: FeedFusion
    summary: FeedSummary
    normal: WordTable
    """With the evidence of the head that was learned, and so are the new ones."""
    new: WordTable
    counts: FloatArray  # (new documents,), for how many documents of the feed each counts


def _learn_from(text: NewText, normal: _Normal, data: TrainingData, report: Report) -> _Feed:
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
    raw, statistics = normal.cross.judge(encoded, by_views, config.encoder.threads)
    evidence = tail_evidence(raw, normal.references, config.calibration.epsilon)
    new = WordTable(encoded, evidence, statistics, folds_of(encoded, folds))
    counts = text.document_counts(config.feed)
    fusion = learn_fusion(normal.words, new, text.trust(config.feed), config.feed)
    fusion = replace(fusion, strength=config.feed.strength(float(counts.sum())))
    report("learn from the feed", 1.0)
    known, new = fusion.with_head(normal.words), fusion.with_head(new)
    words = sum(new.lengths[: text.feed])
    feed = replace(new, documents=new.documents[: text.feed], evidence=new.evidence[:words])
    names, least = (*config.views.names, *fusion.names), config.privacy.least_documents
    findings = find_differences(known, feed, names, least, data.language)
    odd = sum(verdict.odd for verdict in text.verdicts)
    summary = FeedSummary(text.feed, words, text.given, text.copies, text.known, len(text.verdicts), odd, findings)
    return _Feed(fusion, summary, known, new, counts)


@dataclass(frozen=True)
class _Unseen:
    """The last part: scores of documents that the views did not see, from which p-values come."""

    document_score: DocumentScore | None
    document_scores: FloatArray  # (documents,)
    word_scores: FloatArray  # (T,)


def _score_unseen(normal: _Normal, config: Config, paper: PaperWeights | None, feed: _Feed | None) -> _Unseen:
    words, fusion = (feed.normal, feed.fusion) if feed else (normal.words, None)
    word_scores = fuse_words(words, config, paper, fusion)
    if config.document.rule != "traits":
        return _Unseen(None, pool_words(word_scores, words.lengths, config, paper), word_scores)
    names = (*config.views.names, *(fusion.names if fusion else ()))
    traits = describe(word_scores, words.evidence, words.lengths, names)
    document_score = DocumentScore.fit(traits, words.lengths, names)
    if feed:
        new = feed.new
        new_traits = describe(fuse_words(new, config, paper, fusion), new.evidence, new.lengths, names)
        document_score = document_score.learn(new_traits, new.lengths, feed.counts, new.folds, config.feed)
    ranked = document_score.evidence(traits, words.lengths, members=True)
    return _Unseen(document_score, document_score.score(ranked, words.folds), word_scores)


def _telling(raw: Sequence[FloatArray], config: Config) -> list[FloatArray]:
    """Evidence of the views that misfits are found by: a critic that was taught with them would take their side."""
    names = config.views.names
    columns = [names.index(name) for name in _TELLING if name in names] or list(range(len(names)))
    return [item[:, columns] for item in raw]


def _means(config: Config) -> tuple[int, ...]:
    return (0,) if "language" in config.views.names else ()


def _draw_seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))
