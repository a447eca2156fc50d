"""What the pipeline says of documents -> results: p-values among normal text, and flags at a rate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from difa.calibrate import benjamini_hochberg
from difa.detector import Detector, Scored
from difa.document import Document, Result, WordScore

UNUSUAL = 0.05
"""P-value up to which a word is looked at for what it may have been meant to be, flagged or not."""


def decide(
    detector: Detector, documents: Sequence[Document], scored: Sequence[Scored], rate: float, *, over_batch: bool
) -> list[Result]:
    """Results of documents in their order.

    Args:
        detector: what scored them.
        documents: the documents.
        scored: what it says of each.
        rate: false-alarm rate, or with `over_batch` the false-discovery rate over these documents, and over their words.
        over_batch: which of the two.
    """
    document_p = detector.document_reference.p_values(np.array([item.document_score for item in scored]))
    word_p = detector.word_reference.p_values(np.concatenate([np.empty(0), *(item.word_scores for item in scored)]))
    flag = benjamini_hochberg if over_batch else np.less_equal
    document_flags, word_flags = flag(document_p, rate).tolist(), flag(word_p, rate).tolist()
    names, traits_of = [view.name for view in detector.views], detector.traits
    p_values = word_p.tolist()
    results, at = [], 0
    for document, item, p_value, flagged in zip(documents, scored, document_p.tolist(), document_flags, strict=True):
        end = at + len(document.words)
        columns = (item.word_scores.tolist(), p_values[at:end], word_flags[at:end], item.evidence.tolist())
        words = tuple(
            WordScore(
                word.text,
                word.start,
                word.end,
                score,
                word_p_value,
                is_anomaly,
                dict(zip(names, evidence, strict=True)),
                detector.suggest(document, place) if word_p_value <= UNUSUAL or is_anomaly else None,
            )
            for place, (word, score, word_p_value, is_anomaly, evidence) in enumerate(zip(document.words, *columns, strict=True))
        )
        at = end
        traits = dict(zip(traits_of, item.document_evidence.tolist(), strict=True))
        kept = document.columns
        results.append(Result(document.text, item.document_score, p_value, flagged, words, document.id, traits, kept))
    return results
