"""The fitted detector, and the order in which it scores: the words of many documents at once, stage by stage."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from difa.calibrate import TailReference, tail_evidence
from difa.config import Config
from difa.corpus.allow import AllowList
from difa.corpus.ignore import Noise, noise_of
from difa.document import BoolArray, Document, Encoded, FloatArray, IntArray, Reason, Scored, Word, split_by
from difa.document_score import DocumentScore, describe, trait_names
from difa.encoders import Encoder
from difa.feed import FeedSummary
from difa.fuse import HEAD_REASON, FeedFusion, folds_of, prior_score
from difa.head import WordTable
from difa.knowledge.word_cache import Batch
from difa.paper import PaperWeights, aggregate, fuse
from difa.runtime.parallel import WITHOUT_VECTORS, HasDocuments, check_cancelled, chunk_documents, core_count, prefetch
from difa.views import View
from difa.views.critic import CriticView
from difa.views.critic.statistics import NEIGHBOURS
from difa.views.faults import FaultsView

C = TypeVar("C", bound=HasDocuments)

_ENOUGH_WORDS = 512  # words for which threads are worth their start
LINTER_GAIN = 0.25  # chosen on faults planted in held-out normal text (docs/choices.md)


@dataclass(frozen=True)
class Updates:
    """What was added after fitting: how often, how much, when the last time, and by what the documents are known again."""

    times: int = 0
    documents: int = 0
    words: int = 0
    last: str = ""
    fingerprints: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without the fingerprints."""
        return {name: value for name, value in vars(self).items() if name != "fingerprints"}

    def __str__(self) -> str:
        times = "once" if self.times == 1 else f"{self.times} times"
        return f"{times}, the last {self.last}, with {self.documents:,} documents, {self.words:,} words"


@dataclass(frozen=True)
class Detector:
    """Everything that was learned, and how to score with it."""

    config: Config
    seed: int
    encoder: Encoder
    language: str | None
    """The corpus' language, if a word list covers it."""
    views: tuple[View, ...]
    references: tuple[TailReference, ...]
    paper: PaperWeights | None
    """The paper's learned gates and mixture."""
    document_score: DocumentScore | None
    word_reference: TailReference
    linter_reference: TailReference
    """What `linter_scores` are ranked among."""
    document_reference: TailReference
    training_scores: FloatArray
    """Scores of the training documents by views that did not see them, in their order."""
    training_words: int
    left_out: int
    """Training documents that do not belong among the others, and played no part."""
    copies: int = 0
    """Training documents that are copies or near-copies of others: one of each group counts in all references."""
    seen_documents: int = 0
    """Documents and words that the training documents were drawn from."""
    seen_words: int = 0
    threads: int | None = None
    """Threads for scoring; None takes all cores."""
    allow: AllowList = field(default_factory=AllowList)
    """Words that are normal whatever the views say."""
    updates: Updates = field(default_factory=Updates)
    """Normal documents that were added after fitting."""
    feed_fusion: FeedFusion | None = None
    """What a feed and verdicts taught the fusion."""
    feed_summary: FeedSummary | None = None
    """The same in words."""

    @property
    def noise(self) -> Noise:
        """Finds the words that are ignored."""
        return noise_of(self.config.ignore)

    @property
    def has_threads(self) -> bool:
        """Whether it may use more than one core; without vectors there is nothing that threads could do side by side."""
        return self.encoder.spec.dimension > 0 and (self.threads or core_count()) > 1

    @property
    def chunk_times(self) -> int:
        """How many times larger its chunks may be than usual."""
        return 1 if self.encoder.spec.dimension else WITHOUT_VECTORS

    @property
    def extent(self) -> str:
        """How much it was fitted on, in words."""
        copies = f" ({self.copies:,} of them copies)" if self.copies else ""
        return f"{len(self.training_scores):,} documents{copies}, {self.training_words:,} words"

    @property
    def evidence_names(self) -> tuple[str, ...]:
        """Names of the views, in the order of a word's evidence."""
        return (*self.config.views.names, *(self.feed_fusion.names if self.feed_fusion else ()))

    @property
    def traits(self) -> list[str]:
        """Names of the document's traits, in the order of their evidence."""
        return trait_names(self.evidence_names) if self.document_score is not None else []

    def suggest(self, document: Document, position: int) -> str | None:
        """What the word at a position may have been meant to be, if it looks like a slip; only a critic can say."""
        if self._critic is None:
            return None
        first = max(0, position - NEIGHBOURS)  # not the whole document: it may be long, and full of such words
        around = document.words.texts[first : position + NEIGHBOURS + 1]
        meant = self._critic.statistics.suggest(around, position - first)
        is_term = meant is not None and self._faults is not None and self._faults.is_term(around[position - first])
        return None if is_term else meant

    @cached_property
    def _critic(self) -> CriticView | None:
        return next((view for view in self.views if isinstance(view, CriticView)), None)

    def in_faults(self, evidence: FloatArray) -> BoolArray:
        """Whether words with this evidence, (T, views), belong to faults: (T,)."""
        names = self.evidence_names
        return evidence[:, names.index("faults")] > 0 if "faults" in names else np.zeros(len(evidence), bool)

    def name_faults(self, documents: Sequence[Document]) -> list[dict[int, tuple[str, int]]]:
        """The faults of documents that have a name, and the position of their first word, by the positions of their words."""
        if self._faults is None:
            return [{} for _ in documents]
        stripped = list(self.noise.strip(documents))
        texts = self.noise.mark_gaps(stripped, [Encoded.of_words(document.words.texts) for document in stripped])
        kept = map(self.noise.kept, documents)
        return [
            {places[at]: (kind, places[first]) for at, (kind, first) in found.items()}
            for places, found in zip(kept, self._faults.name_faults(texts), strict=True)
        ]

    def reasons(self, document: Document, encoded: Encoded | None = None) -> tuple[dict[str, tuple[Reason, ...]], ...]:
        """Why each word has the evidence that it has, view by view; nothing for words that are ignored.

        Args:
            document: with all its words.
            encoded: the same as `encode` gives it, where it is at hand.
        """
        read = encoded or self.encode([document])[0]
        by_view = {view.name: view.explain(read) for view in self.views}
        for name in self.evidence_names[len(self.views) :]:
            by_view[name] = [[Reason(HEAD_REASON, {}, 1.0)] for _ in read.words]
        reasons: list[dict[str, tuple[Reason, ...]]] = [dict.fromkeys(by_view, ()) for _ in document.words]
        kept = self.noise.kept(document)
        words = [document.words[position] for position in kept]
        for t, position in enumerate(kept):
            reasons[position] = {name: tuple(_quote_spans(lists[t], document.text, words)) for name, lists in by_view.items()}
        return tuple(reasons)

    @cached_property
    def _faults(self) -> FaultsView | None:
        return next((view for view in self.views if isinstance(view, FaultsView)), None)

    def encode(self, documents: Sequence[Document]) -> list[Encoded]:
        """The words that are not ignored, with their vectors."""
        stripped = list(self.noise.strip(documents))
        return self.noise.mark_gaps(stripped, self.encoder.encode(stripped))

    def score(self, documents: Sequence[Document]) -> list[Scored]:
        """Words -> vectors -> raw evidence -> tail evidence -> word scores -> document scores, chunk by chunk."""
        chunks = list(chunk_documents(documents, self.chunk_times))
        return [scored for _, scored in self.score_chunks(chunks, side_by_side=len(chunks) > 1)]

    def score_chunks(self, chunks: Iterable[C], *, side_by_side: bool = True) -> Generator[tuple[C, Scored]]:
        """Each chunk of a stream and what is said of its documents, in order and in bounded memory.

        Args:
            chunks: what is to be scored.
            side_by_side: whether a chunk may be encoded while the one before is scored.
        """

        def encode(chunk: C) -> tuple[C, list[Encoded]]:
            return chunk, self.encode(chunk.documents)

        with prefetch(encode, chunks, 1 if side_by_side and self.has_threads else 0) as encoded:
            for chunk, vectors in encoded:
                scored = self.score_chunk(chunk.documents, vectors)
                del vectors  # a long document's are large, and not needed for its results
                yield chunk, scored

    def score_chunk(self, documents: Sequence[Document], encoded: Sequence[Encoded]) -> Scored:
        """Vectors -> raw evidence -> tail evidence -> word scores -> document scores.

        Args:
            documents: with all their words.
            encoded: the same without the words that are ignored, as `encode` gives them.
        """
        encoded = Batch.of(encoded)
        raw = raw_evidence(self.views, encoded, self.threads if self.has_threads else 1)
        evidence = tail_evidence(raw, self.references, self.config.calibration.epsilon)
        if self.feed_fusion is None:  # folds make no difference where nothing was taught
            words = WordTable(encoded, evidence, evidence[:, :0], np.zeros(len(encoded), dtype=np.int64))
        else:
            statistics, folds = describe_words(self.views, encoded), folds_of(encoded, self.config.feed.folds)
            words = self.feed_fusion.with_head(WordTable(encoded, evidence, statistics, folds))
        fused = fuse_words(words, self.config, self.paper, self.feed_fusion)
        marks = [self.allow.marks(document.words) for document in encoded] if self.allow else ()
        allowed = np.concatenate(marks) if marks else np.zeros(len(fused), bool)
        # A document is scored as one that does not have the words that are allowed; what they do to their neighbours stays.
        lengths = np.diff(np.append(0, np.cumsum(~allowed))[encoded.starts]).tolist()
        scores, traits = self._score_documents(fused[~allowed], words.evidence[~allowed], lengths, words.folds)
        word_scores = np.where(allowed, 0.0, fused)
        scored = Scored(documents, self.evidence_names, tuple(self.traits), words.evidence, word_scores, allowed, traits, scores)
        return self._with_ignored(scored) if self.noise else scored

    def _score_documents(
        self, fused: FloatArray, evidence: FloatArray, lengths: Sequence[int], folds: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Scores of documents, (documents,), and the evidence of their traits: (documents, traits)."""
        if self.document_score is None:
            return pool_words(fused, lengths, self.config, self.paper), np.zeros((len(lengths), 0))
        traits = self.document_score.evidence(describe(fused, evidence, lengths, self.evidence_names), lengths)
        return self.document_score.score(traits, folds), traits

    def _with_ignored(self, scored: Scored) -> Scored:
        """The columns of the words that are not ignored -> those of all words: ignored ones have no evidence."""
        starts = scored.starts
        kept = [start + at for start, document in zip(starts, scored.documents, strict=False) for at in self.noise.kept(document)]
        evidence, word_scores = np.zeros((starts[-1], scored.evidence.shape[1])), np.zeros(starts[-1])
        allowed = np.ones(starts[-1], bool)
        evidence[kept], word_scores[kept], allowed[kept] = scored.evidence, scored.word_scores, scored.allowed
        return replace(scored, evidence=evidence, word_scores=word_scores, allowed=allowed)


def _quote_spans(reasons: Iterable[Reason], text: str, words: Sequence[Word]) -> Iterator[Reason]:
    """Reasons whose `span`, where they have one, is no longer the positions of its words, but what stands there in the text."""
    for reason in reasons:
        first, end = reason.values.get("span", (0, 0))
        quoted = {"span": text[words[first].start : words[end - 1].end]} if end else {}
        yield replace(reason, values={**reason.values, **quoted}) if quoted else reason


def fuse_words(words: WordTable, config: Config, paper: PaperWeights | None, feed: FeedFusion | None) -> FloatArray:
    """Scores of the words of all documents: (T,)."""
    if paper is not None:
        return fuse(words.evidence, words.lengths, paper.fusion, config.fusion)
    names = config.views.names
    prior = prior_score(words.evidence[:, : len(names)], names, config.fusion)
    return prior if feed is None else prior + config.feed.weight * feed.gain(words)


def linter_scores(word_scores: FloatArray, evidence: FloatArray, names: Sequence[str]) -> FloatArray:
    """Word scores in which faults that have a name count more: a linter says what is wrong with a word. (T, views) -> (T,)."""
    if "faults" not in names:
        return word_scores
    return np.asarray(word_scores + LINTER_GAIN * evidence[:, [*names].index("faults")])


def pool_words(fused: FloatArray, lengths: Sequence[int], config: Config, paper: PaperWeights | None) -> FloatArray:
    """Document scores by the paper's learned mixture."""
    return aggregate(split_by(lengths, fused), paper.aggregation if paper else {}, config.aggregation)


def describe_words(views: Sequence[View], documents: Sequence[Encoded]) -> FloatArray:
    """Plain statistics of all words, as the critic describes them: (T, statistics); no columns without a critic."""
    critic = next((view for view in views if isinstance(view, CriticView)), None)
    return critic.statistics.describe(documents) if critic else np.zeros((sum(map(len, documents)), 0))


def raw_evidence(views: Sequence[View], documents: Sequence[Encoded], threads: int | None = 1) -> FloatArray:
    """What all views see in all words: (T, views); with several threads they look at the same time.

    Args:
        views: the views.
        documents: what they look at.
        threads: None takes all cores.
    """

    def seen_by(view: View) -> FloatArray:
        check_cancelled()
        return view.raw(documents)

    documents = Batch.of(documents)
    if not documents:
        return np.empty((0, len(views)))
    if (threads or core_count()) > 1 and sum(map(len, documents)) >= _ENOUGH_WORDS:
        with ThreadPoolExecutor(len(views)) as pool:
            # Each in a copy of our context: who gives up the work gives up all of it.
            contexts = [copy_context() for _ in views]
            by_view = list(pool.map(lambda context, view: context.run(seen_by, view), contexts, views))
    else:
        by_view = [seen_by(view) for view in views]
    return np.stack(by_view, axis=-1)
