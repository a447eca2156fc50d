"""Semantic view: does the word's vector follow from normal text?

Encoder f and teacher decoder g_T reconstruct normal vectors, student decoder g_S imitates g_T:
s_sem = dist(ĥ_T, h) + dist(ĥ_S, ĥ_T). `train` has the formulas and the two training steps; scoring runs the
trained network on ONNX Runtime.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np

from difa.config import SemanticConfig
from difa.document import Encoded, FloatArray, Reason, ReasonKind
from difa.errors import MissingExtraError
from difa.runtime.graphs import GraphRunner
from difa.runtime.windows import batch_by_length, padded_length, plan_windows
from difa.views import TrainingData, View, ViewKind, Wording

_BATCH_WORDS = 1024
_KINDS = (
    ReasonKind("hard to rebuild", "its vector is hard to rebuild from normal text"),
    ReasonKind("disagreement", "teacher and student disagree on it"),
)


@dataclass(frozen=True)
class SemanticView(View):
    """A trained network, given as an ONNX graph."""

    network: bytes
    config: SemanticConfig
    threads: int | None = None

    name = "semantic"

    @cached_property
    def _runner(self) -> GraphRunner:
        return GraphRunner(self.network, self.threads)

    def raw(self, documents: Sequence[Encoded]) -> FloatArray:
        """s_sem per word."""
        reconstruction, discrepancy = self._terms(documents)
        return np.asarray(reconstruction + self.config.student_weight * discrepancy)

    def explain(self, document: Encoded) -> list[list[Reason]]:
        """How much each of the two terms contributes."""
        terms = self._terms([document]) * np.array([[1.0], [self.config.student_weight]])
        shares = (terms / np.maximum(terms.sum(axis=0), 1e-12)).T.tolist()
        both = ([Reason(kind, {}, share) for kind, share in zip(_KINDS, pair, strict=True)] for pair in shares)
        return [sorted(reasons, key=lambda reason: -reason.weight) for reasons in both]

    def graph(self) -> bytes:
        return self.network

    def _terms(self, documents: Sequence[Encoded]) -> FloatArray:
        """dist(ĥ_T, h), the reconstruction error, and dist(ĥ_S, ĥ_T), the discrepancy of teacher and student: (2, T)."""
        longest, starts = self.config.window, list(accumulate(map(len, documents), initial=0))
        terms = np.zeros((2, starts.pop()))
        pieces = [(at, window) for at, document in enumerate(documents) for window in plan_windows(len(document), longest)]
        batches = batch_by_length([padded_length(window.end - window.start, longest) for _, window in pieces], _BATCH_WORDS)

        def run(batch: tuple[int, list[int]]) -> list[FloatArray]:
            length, members = batch
            vectors = np.zeros((len(members), length, documents[0].vectors.shape[1]), np.float32)  # (B, T, d)
            mask = np.zeros((len(members), length), np.int64)  # (B, T)
            for row, (at, window) in enumerate(pieces[member] for member in members):
                count = window.end - window.start
                vectors[row, :count] = documents[at].vectors[window.start : window.end]
                mask[row, :count] = 1
            return self._runner.run(vectors=vectors, mask=mask)

        for (_, members), outputs in zip(batches, self._runner.each(run, batches), strict=True):
            for row, (at, window) in enumerate(pieces[member] for member in members):
                read = slice(window.keep_start - window.start, window.keep_end - window.start)
                terms[:, starts[at] + window.keep_start : starts[at] + window.keep_end] = [term[row, read] for term in outputs]
        return terms


def _prepare(data: TrainingData) -> None:
    try:
        from difa.views.semantic.train import architecture
    except ImportError as error:
        raise MissingExtraError(error.name or "torch", "fit", "fitting") from None
    architecture(data.encoder.spec.dimension, data.config.semantic)


def _fit(data: TrainingData) -> View:
    from difa.views.semantic.train import to_graph, train_network

    config = data.config
    network = train_network(data.documents, config.semantic, data.seed, data.progress)
    return SemanticView(to_graph(network, config.semantic), config.semantic, config.encoder.threads)


VIEW = ViewKind(
    _fit,
    lambda saved: SemanticView(saved.graph or b"", saved.config.semantic, saved.threads),
    needs_vectors=True,
    prepare=_prepare,
    wording=Wording("words that do not fit their surroundings", "does not fit its surroundings", rank=70),
)
