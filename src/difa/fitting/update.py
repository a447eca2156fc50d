"""A fitted detector and further normal documents -> a detector that knows them, without training anew.

The documents are scored first, by views that have not seen them, and these scores enter the references of p-values, which go on
ranking among documents that were new to what scored them. Only then the views count the documents' words. The references
of single views and traits stay: they are the scale on which all these scores are measured. So do networks. References and the
neighbour bank keep within their bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b

import numpy as np

from difa.calibrate import TailReference
from difa.corpus.allow import AllowList
from difa.detector import Detector, Updates, linter_scores
from difa.document import Document, FloatArray
from difa.errors import ConfigError
from difa.views import TrainingData, extend_view, view_kind


def update(detector: Detector, documents: Sequence[Document], most: int, when: str, rng: np.random.Generator) -> Detector:
    """The detector with further normal documents.

    Args:
        detector: a fitted detector.
        documents: new ones that have words, as `new_documents` gives them.
        most: values that a reference may hold; of more, a uniform sample stays.
        when: the time to be noted.
        rng: for that sample.
    """
    check_updatable(detector)
    encoded = detector.encode(documents)
    scored = replace(detector, allow=AllowList()).score_chunk(documents, encoded)
    for_linter = linter_scores(scored.word_scores, scored.evidence, scored.views)
    seen = detector.training_words + detector.updates.words
    data = TrainingData(encoded, [], detector.language, detector.config, detector.seed, detector.encoder)
    return replace(
        detector,
        word_reference=_grown(detector.word_reference, scored.word_scores, most, rng),
        document_reference=_grown(detector.document_reference, scored.document_scores, most, rng),
        linter_reference=_grown(detector.linter_reference, for_linter, most, rng),
        views=tuple(extend_view(view, data, seen) for view in detector.views),
        updates=Updates(
            detector.updates.times + 1,
            detector.updates.documents + len(documents),
            detector.updates.words + sum(map(len, encoded)),
            when,
            np.array(sorted([*detector.updates.fingerprints.tolist(), *map(fingerprint, documents)]), dtype=np.int64),
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
    known = set(detector.updates.fingerprints.tolist())
    new = []
    for document in documents:
        mark = fingerprint(document)
        if document.words and mark not in known:
            known.add(mark)
            new.append(document)
    return new


def fingerprint(document: Document) -> int:
    """Eight bytes of a hash by which a document is known again."""
    digest = blake2b("\x00".join(document.words.texts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def _grown(reference: TailReference, scores: FloatArray, most: int, rng: np.random.Generator) -> TailReference:
    together = np.concatenate([reference.values, scores])
    if len(together) > most:
        together = together[rng.choice(len(together), most, replace=False)]
    return TailReference.of(together)
