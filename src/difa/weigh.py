"""Word evidence of a whole document -> document score, ranked among normal documents feature by feature.

Anomalies show in a document in different ways: one word may stand out (the peak of a view's evidence), or all words may be a
little off (its mean), or the learned aggregation may see a shape it knows. Each of these is ranked among normal documents, so
that all speak the same language, and the root mean square of their evidences is the score: a strong one is not drowned, several
that agree add up, and nothing can turn evidence into its opposite. Longer documents have more places where something can be
wrong: the logarithm of the length enters with a small weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from difa.calibrate import TailReference
from difa.config import DocumentConfig
from difa.document import FloatArray

_EPSILON = 1e-12


@dataclass(frozen=True)
class DocumentView:
    """Features of normal documents: a reference for each, and the length of a typical document."""

    config: DocumentConfig
    references: tuple[TailReference, ...]
    length: FloatArray  # (2,): mean and spread of the logarithm of the length

    @classmethod
    def fit(cls, features: FloatArray, config: DocumentConfig) -> DocumentView:
        """References from the features of normal documents that the views did not see: (documents, features)."""
        spread = max(float(features[:, -1].std()), 0.1)
        length = np.array([features[:, -1].mean(), spread])
        return cls(config, tuple(TailReference.of(column) for column in features[:, :-1].T), length)

    def evidence(self, features: FloatArray, *, members: bool = False) -> FloatArray:
        """Tail evidence of every feature but the length: (documents, features − 1)."""
        columns = [reference.evidence(features[:, f], _EPSILON, members=members) for f, reference in enumerate(self.references)]
        return np.stack(columns, axis=-1)

    def score(self, features: FloatArray, *, members: bool = False) -> FloatArray:
        """Document scores; `members` are the very documents of the references, each of which is then left out of its rank."""
        evidence = self.evidence(features, members=members)
        scores = np.sqrt((evidence**2).mean(axis=1)) + self.config.length_weight * self._longer(features)
        return np.where(np.isneginf(features[:, -1]), 0.0, np.maximum(scores, 0.0))

    def tensors(self) -> Mapping[str, FloatArray]:
        return {"references": np.stack([reference.values for reference in self.references]), "length": self.length}

    @classmethod
    def restore(cls, config: DocumentConfig, tensors: Mapping[str, FloatArray]) -> DocumentView:
        return cls(config, tuple(TailReference(row) for row in tensors["references"]), tensors["length"])

    def _longer(self, features: FloatArray) -> FloatArray:
        return np.asarray((np.maximum(features[:, -1], 0.0) - self.length[0]) / self.length[1])


def feature_names(views: Sequence[str]) -> list[str]:
    """What each feature but the length is."""
    return [*(f"{view} peak" for view in views), *(f"{view} mean" for view in views), "aggregate"]


def describe(evidence: Sequence[FloatArray], aggregated: FloatArray) -> FloatArray:
    """Features of documents from their words' evidences (T, views) and aggregated scores: peaks, means, aggregate, log length.

    A document without words has no evidence, and a length of −∞.
    """
    views = evidence[0].shape[1] if evidence else 0
    features = np.zeros((len(evidence), 2 * views + 2))
    features[:, -1] = -np.inf
    for row, (item, score) in enumerate(zip(evidence, aggregated.tolist(), strict=True)):
        if len(item):
            features[row] = [*item.max(axis=0), *item.mean(axis=0), score, np.log(len(item))]
    return features
