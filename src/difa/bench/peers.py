"""Another library's detectors as rows of their own: PyTextAD, through its own interface.

TokenCore and SIK score words, with PyTextAD's own embedder on the same encoder and layer (`word_pooling="max"`). CVDD, DATE
and FATE are document-level systems; CVDD and DATE give word scores as an extension. What cannot run is listed with the reason.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from difa.bench.methods import Workbench
from difa.bench.metrics import Scores, pool_max, pool_mean
from difa.bench.split import Split
from difa.bench.store import fingerprint_of
from difa.config import EncoderConfig
from difa.document import Document, FloatArray
from difa.encoders.convert import find
from difa.errors import MissingExtraError


@dataclass(frozen=True)
class Peer:
    """A detector of the peer library."""

    name: str
    label: str
    run: Callable[[Any, Split, int, Workbench], Scores | str]
    """From the library, the split, the seed and the workbench: scores, or the reason why there are none."""


def library() -> Any:
    """The peer library."""
    try:
        import pytextad
    except ImportError:
        raise MissingExtraError("pytextad", "peers", "the detectors of PyTextAD") from None
    return pytextad


def run_peer(peer: Peer, halves: Split, seed: int, bench: Workbench) -> Scores | str:
    """Scores of a peer, or the reason why there are none."""
    with quiet():
        return peer.run(library(), halves, seed, bench)


def fingerprint(bench: Workbench) -> str:
    """What decides a peer's scores."""
    parts = ("bench/peers.py", "bench/metrics.py", "bench/split.py")
    return fingerprint_of(parts, ["pytextad", "torch", "transformers"], encoder=bench.encoder_key)


def quiet() -> warnings.catch_warnings[None]:
    """Silence about words that are cut off, which get the lowest score, about the peer's machinery, and from bars."""
    from transformers.utils import logging

    logging.disable_progress_bar()
    return warnings.catch_warnings(action="ignore")


def _embedder(pytextad: Any, bench: Workbench) -> Any:
    source = find(EncoderConfig(name=bench.encoder_name, layer=bench.layer))
    most = min(512, bench.encoder.spec.max_length)
    return pytextad.TokenEmbedder(str(source.folder), layer=source.layer, max_length=most, word_pooling="max", device="cpu")


def tokens_of(documents: Sequence[Document]) -> list[list[str]]:
    """Documents as lists of words."""
    return [[word.text for word in document.words] for document in documents]


def _filled(scores: Sequence[FloatArray]) -> list[FloatArray]:
    """Words past the 512th subword, and documents without any, have no score: they get the lowest, and are judged too."""
    known = np.concatenate([array[np.isfinite(array)] for array in scores])
    lowest = float(known.min()) if len(known) else 0.0
    return [np.where(np.isfinite(array), array, lowest) for array in scores]


def _timed(words_and_documents: Callable[[], Any], fit: Callable[[], Any]) -> Scores:
    """Scores with the time to fit and to score; the highest and mean word where a peer has no document score of its own."""
    started = time.perf_counter()
    fit()
    fitted = time.perf_counter()
    words, documents = words_and_documents()
    done = time.perf_counter()
    words = _filled(words)
    pooled = {"max": pool_max(words), "mean": pool_mean(words)} if documents is None else {"own": _filled([documents])[0]}
    return Scores(words, pooled, fit_seconds=fitted - started, score_seconds=done - fitted)


def token_detector(detector: str, bench: Workbench, seed: int) -> Any:
    """A peer that scores words, on the run's encoder and layer."""
    pytextad = library()
    return pytextad.TokenDetector(getattr(pytextad, detector)(), embedder=_embedder(pytextad, bench), random_state=seed)


def _on_words(detector: str) -> Callable[[Any, Split, int, Workbench], Scores | str]:
    def run(pytextad: Any, halves: Split, seed: int, bench: Workbench) -> Scores | str:
        model = token_detector(detector, bench, seed)
        return _timed(lambda: (model.token_scores(tokens_of(halves.test)), None), lambda: model.fit(tokens_of(halves.training)))

    return run


def _cvdd(pytextad: Any, halves: Split, seed: int, bench: Workbench) -> Scores | str:
    embedder, model = _embedder(pytextad, bench), pytextad.CVDD(random_state=seed, device="cpu")

    def fit() -> None:
        model.fit([vectors for vectors in embedder.transform(tokens_of(halves.training))[0] if len(vectors)])

    def score() -> tuple[list[FloatArray], FloatArray]:
        test, owners = embedder.transform(tokens_of(halves.test))
        full = [index for index, vectors in enumerate(test) if len(vectors)]
        documents, words = np.full(len(test), np.nan), [np.full(len(document.words), np.nan) for document in halves.test]
        documents[full] = model.decision_function([test[index] for index in full])
        for index, scores in zip(full, model.token_scores([test[index] for index in full]), strict=True):
            words[index][owners[index]] = scores
        return words, documents

    return _timed(score, fit)


def _date(pytextad: Any, halves: Split, seed: int, bench: Workbench) -> Scores | str:
    source = find(EncoderConfig(name=bench.encoder_name, layer=bench.layer))
    model, test = pytextad.DATE(tokenizer=str(source.folder), random_state=seed, device="cpu"), tokens_of(halves.test)

    def score() -> tuple[list[FloatArray], FloatArray]:
        return model.token_scores(test), np.asarray(model.decision_function(test), dtype=np.float64)

    return _timed(score, lambda: model.fit(tokens_of(halves.training)))


def _fate(pytextad: Any, halves: Split, seed: int, bench: Workbench) -> Scores | str:
    return "needs labelled anomalies to train on (few-shot); its variant without them is not the published method"


PEERS = (
    Peer("pytextad-tokencore", "TokenCore (PyTextAD)", _on_words("TokenCore")),
    Peer("pytextad-sik", "SIK (PyTextAD)", _on_words("SIK")),
    Peer("pytextad-cvdd", "CVDD (PyTextAD)", _cvdd),
    Peer("pytextad-date", "DATE (PyTextAD)", _date),
    Peer("pytextad-fate", "FATE (PyTextAD)", _fate),
)
LABELS = {peer.name: peer.label for peer in PEERS}
