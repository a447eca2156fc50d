"""A fitted detector and further normal documents -> a detector that knows them, without training anew.

The documents are scored first, by views that have not seen them, and these scores enter the references of p-values, which go on
ranking among documents that were new to what scored them. Only then the views count the documents' words. The references
of single views and traits stay: they are the scale on which all these scores are measured. So do networks. References and the
neighbour bank keep within their bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import blake2b

import numpy as np

from difa.calibrate import TailReference
from difa.corpus.allow import AllowList
from difa.detector import Detector, Updates, linter_scores
from difa.document import Document, FloatArray
from difa.errors import ConfigError
from difa.views import TrainingData, view_kind


def update(detector: Detector, documents: Sequence[Document], max_values: int, rng: np.random.Generator) -> Detector:
    """The detector with further normal documents.

    Args:
        detector: a fitted detector that `check_updatable` lets pass.
        documents: new ones that have words, as `new_documents` gives them.
        max_values: values that a reference may hold; of more, a uniform sample stays.
        rng: for that sample.
    """
    encoded, before = detector.encode(documents), detector.updates
    scored = replace(detector, allow=AllowList()).score_chunk(documents, encoded)  # what is allowed scores 0 whatever it is like
    for_linter = linter_scores(scored.word_scores, scored.evidence, scored.views)
    seen = detector.training_words + before.words
    data = TrainingData(encoded, [], detector.language, detector.config, detector.seed, detector.encoder)
    return replace(
        detector,
        # In this order, which the random draws follow.
        word_reference=_extend(detector.word_reference, scored.word_scores, max_values, rng),
        document_reference=_extend(detector.document_reference, scored.document_scores, max_values, rng),
        linter_reference=_extend(detector.linter_reference, for_linter, max_values, rng),
        views=tuple(extend(view, data, seen) for view in detector.views if (extend := view_kind(view.name).extend)),
        updates=Updates(
            before.times + 1,
            before.documents + len(documents),
            before.words + sum(map(len, encoded)),
            datetime.now(UTC).isoformat(timespec="seconds"),
            np.sort(np.append(before.fingerprints, [fingerprint(document) for document in documents])),
        ),
    )


def check_updatable(detector: Detector) -> None:
    """Refuse a detector whose views are trained as a whole, or ranked among what they were fitted on."""
    is_trained = any(view_kind(name).extend is None for name in detector.config.views.names)
    if is_trained or detector.config.calibration.reference == "in-sample":
        raise ConfigError(
            "expected a model whose views count words, got one that is trained as a whole, as by the preset paper: fit anew"
        )


def new_documents(detector: Detector, documents: Sequence[Document]) -> list[Document]:
    """Those that have words and did not come with an earlier update, each once."""
    different: dict[int, Document] = {}
    for document in documents:
        if document.words:
            different.setdefault(fingerprint(document), document)
    known = set(detector.updates.fingerprints.tolist())
    return [document for mark, document in different.items() if mark not in known]


def fingerprint(document: Document) -> int:
    """Eight bytes of a hash by which a document is known again."""
    digest = blake2b("\x00".join(document.words.texts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def _extend(reference: TailReference, scores: FloatArray, max_values: int, rng: np.random.Generator) -> TailReference:
    values = np.concatenate([reference.values, scores])
    if len(values) > max_values:
        values = values[rng.choice(len(values), max_values, replace=False)]
    return TailReference.of(values)
