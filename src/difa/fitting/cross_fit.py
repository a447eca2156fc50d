"""Views fitted on parts of the training documents, so that each document can be scored by views that did not see it.

The documents are cut into folds, and for each fold views are fitted on the other folds; one more set is fitted on all documents,
or made of those of the folds where a view can be. All sets start from one seed: their views start alike, and their scores
stay comparable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress

import numpy as np

from difa.calibrate import TailReference, tail_evidence
from difa.detector import describe_words, raw_evidence
from difa.document import Encoded, FloatArray, IntArray, split_by
from difa.knowledge.word_cache import Batch
from difa.runtime.parallel import core_count
from difa.views import TrainingData, View, view_kind

Report = Callable[[str, float], None]  # called with the name of the stage under way and the share of it that is done


@dataclass(frozen=True)
class CrossFit:
    """The documents in folds, for each fold views fitted on the other folds, and views fitted on all documents."""

    folds: IntArray  # (documents,)
    fold_views: tuple[tuple[View, ...], ...]
    """By fold; a single fold without views of its own is judged by those of all documents."""
    views: tuple[View, ...]

    @classmethod
    def fit(cls, data: TrainingData, rng: np.random.Generator, report: Report) -> CrossFit:
        """Draw the folds and fit all views."""
        count = data.config.calibration.folds
        folds = rng.permutation(np.arange(len(data.documents)) % max(count, 1))
        others = [data.without((folds == fold).tolist()) for fold in range(count)]
        *fold_views, views = _fit_in_parallel(others, data, report)
        return cls(folds, tuple(fold_views) or (views,), views)

    def judge(self, documents: Sequence[Encoded], folds: IntArray, threads: int | None = 1) -> tuple[FloatArray, FloatArray]:
        """Raw evidence and plain statistics of all words by the views of each document's fold: (T, views), (T, statistics)."""
        raw, statistics = [], []
        for fold in np.unique(folds).tolist():
            views, members = self.fold_views[fold], Batch.of(list(compress(documents, folds == fold)))
            statistics.append(describe_words(views, members))
            raw.append(raw_evidence(views, members, threads))
        # Rows stand fold by fold: where each word of the documents, in their order, is among them.
        row = np.argsort(np.argsort(np.repeat(folds, [len(document) for document in documents]), kind="stable"))
        return np.concatenate(raw)[row], np.concatenate(statistics)[row]

    def raw(self, documents: Sequence[Encoded], folds: IntArray) -> list[FloatArray]:
        """Raw evidence of each document by the views of its fold, which did not see it: (T, views) each."""
        return split_by(map(len, documents), self.judge(documents, folds)[0]) if documents else []

    def in_sample_evidence(self, documents: Sequence[Encoded], epsilon: float) -> FloatArray:
        """Tail evidence of all words in the paper's way: ranked among what their fold's views were fitted on: (T, views)."""
        references = []
        for fold, views in enumerate(self.fold_views):
            others = self.folds != fold
            seen = others if others.any() else ~others  # without folds, views judge what they were fitted on
            evidence = raw_evidence(views, list(compress(documents, seen)))
            references.append(tuple(map(TailReference.of, evidence.T)))
        parts = zip(self.raw(documents, self.folds), self.folds, strict=True)
        return np.concatenate([tail_evidence(raw, references[fold], epsilon) for raw, fold in parts])


def _fit_in_parallel(parts: Sequence[TrainingData], whole: TrainingData, report: Report) -> list[tuple[View, ...]]:
    """Views for each part, and behind them for the whole; the outcome does not depend on which is done first."""
    names = whole.config.views.names
    joins = {name: join for name in names if parts and (join := view_kind(name).join)}

    def fit_views(data: TrainingData, progress: Callable[[float], None]) -> dict[str, View]:
        heard = replace(data, progress=progress)
        views = {name: view_kind(name).fit(heard) for name in names if data is not whole or name not in joins}
        progress(1.0)
        return views

    report("learn normal text", 0.0)
    for name in names:
        if prepare := view_kind(name).prepare:
            prepare(whole)
    sets = [*parts, whole]
    shares = [0.0] * len(sets)
    with ThreadPoolExecutor(min(len(sets), whole.config.encoder.threads or core_count())) as pool:
        futures = [pool.submit(fit_views, data, partial(shares.__setitem__, at)) for at, data in enumerate(sets)]
        while wait(futures, timeout=0.3).not_done:  # only this thread reports
            report("learn normal text", sum(shares) / len(shares))
    report("learn normal text", 1.0)
    *of_parts, of_whole = fitted = [future.result() for future in futures]
    of_whole |= {name: join(whole, [views[name] for views in of_parts]) for name, join in joins.items()}
    return [tuple(views[name] for name in names) for views in fitted]
