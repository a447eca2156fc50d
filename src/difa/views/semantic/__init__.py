"""Semantic view: does the word's vector follow from normal text?

Encoder f and teacher decoder g_T reconstruct normal vectors, student decoder g_S imitates g_T:
s_sem = dist(ĥ_T, h) + dist(ĥ_S, ĥ_T). `train` has the formulas and the two training steps; scoring runs the
trained network on ONNX Runtime.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from difa.config import SemanticConfig
from difa.document import Encoded, FloatArray, IntArray, Reason, ReasonKind
from difa.errors import MissingExtraError
from difa.runtime.graphs import GraphRunner
from difa.runtime.windows import batch_by_length, padded_length, plan_windows
from difa.views import TrainingData, View, ViewKind, Wording

_BATCH_WORDS = 1024
_KINDS = (
    ReasonKind("hard to rebuild", "its vector is hard to rebuild from normal text"),
    ReasonKind("disagreement", "teacher and student disagree on it"),
)


class SemanticView:
    """A trained network, given as an ONNX graph."""

    name = "semantic"

    def __init__(self, graph: bytes, config: SemanticConfig, threads: int | None = None) -> None:
        self.config = config
        self._graph = graph
        self._runner = GraphRunner(graph, threads)

    def raw(self, documents: Sequence[Encoded]) -> list[FloatArray]:
        """s_sem per word."""
        return [terms[0] + self.config.student_weight * terms[1] for terms in self._terms(documents)]

    def explain(self, document: Encoded) -> list[list[Reason]]:
        """How much each of the two terms contributes."""
        reconstruction, discrepancy = self._terms([document])[0]
        discrepancy = self.config.student_weight * discrepancy
        total = np.maximum(reconstruction + discrepancy, 1e-12)
        return [
            sorted(
                (Reason(kind, {}, float(part / total[t])) for kind, part in zip(_KINDS, parts, strict=True)),
                key=lambda reason: -reason.weight,
            )
            for t, parts in enumerate(zip(reconstruction, discrepancy, strict=True))
        ]

    def tensors(self) -> Mapping[str, FloatArray | IntArray]:
        return {}

    def graph(self) -> bytes | None:
        return self._graph

    def _terms(self, documents: Sequence[Encoded]) -> list[FloatArray]:
        """Reconstruction error and discrepancy per document: (2, T)."""
        terms: list[FloatArray] = [np.zeros((2, len(document))) for document in documents]
        longest = self.config.window
        pieces = [(index, window) for index, item in enumerate(documents) for window in plan_windows(len(item), longest)]
        batches = batch_by_length([padded_length(window.end - window.start, longest) for _, window in pieces], _BATCH_WORDS)

        def run(batch: tuple[int, list[int]]) -> list[FloatArray]:
            length, members = batch
            vectors = np.zeros((len(members), length, documents[0].vectors.shape[1]), np.float32)
            mask = np.zeros((len(members), length), np.int64)
            for row, (index, window) in enumerate(pieces[at] for at in members):
                count = window.end - window.start
                vectors[row, :count] = documents[index].vectors[window.start : window.end]
                mask[row, :count] = 1
            return self._runner.run(vectors=vectors, mask=mask)

        for (_, members), outputs in zip(batches, self._runner.each(run, batches), strict=True):
            for row, (index, window) in enumerate(pieces[at] for at in members):
                kept = slice(window.keep_start, window.keep_end)
                read = slice(window.keep_start - window.start, window.keep_end - window.start)
                terms[index][0, kept], terms[index][1, kept] = outputs[0][row, read], outputs[1][row, read]
        return terms


def _prepare(data: TrainingData) -> None:
    try:
        from difa.views.semantic.train import architecture
    except ImportError as error:
        raise MissingExtraError(error.name or "torch", "fit", "fitting") from None
    architecture(data.encoder.spec.dimension, data.config.semantic)


def _fit(data: TrainingData) -> View:
    from difa.views.semantic.train import train

    config = data.config
    graph = train(data.documents, config.semantic, data.seed, data.progress)
    return SemanticView(graph, config.semantic, config.encoder.threads)


VIEW = ViewKind(
    fit=_fit,
    restore=lambda saved: SemanticView(saved.graph or b"", saved.config.semantic, saved.threads),
    needs_vectors=True,
    prepare=_prepare,
    wording=Wording("words that do not fit their surroundings", "does not fit its surroundings", rank=70),
)
