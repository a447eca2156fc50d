"""One method on one set in a process of its own: a job as JSON on standard input, what it cost as JSON on standard output.

A fresh process, because the peak of a process's memory never falls: measured here it is that of this method alone. Nothing is
cached: fitting and scoring both include the encoding of their documents, where the method needs vectors. Loading libraries
and the encoder is not counted.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from difa.baselines import method
from difa.bench.methods import DIFA, FED, RATE, has_encoder, preset_of, quiet_rates, words_only
from difa.config import EncoderConfig
from difa.document import Document, Encoded
from difa.encoders import load_encoder
from difa.estimator import DiFA
from difa.words import from_tokens


def main() -> None:
    """Run the job."""
    json.dump(measure(json.load(sys.stdin)), sys.stdout)


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """Fit and score, and say how long it took, how much memory, and what the scores were."""
    training, test = ([from_tokens(words, id=str(at)) for at, words in enumerate(job[half])] for half in ("training", "test"))
    if job["method"] in DIFA:
        return _measure_difa(job, training, test)
    return _measure_baseline(job, training, test)


def _measure_difa(job: dict[str, Any], training: Sequence[Document], test: Sequence[Document]) -> dict[str, Any]:
    preset = preset_of(job["method"])
    feed = test if job["method"] in FED else None
    vectors = {"encoder": job["encoder"], "layer": job["layer"]} if has_encoder(preset) else {}
    model = DiFA(preset, seed=job["seed"], fpr=RATE, threads=job["threads"], stages=job["stages"], **vectors)
    encode_seconds = _encode_seconds(job, [*training, *(feed or ())]) if vectors else 0.0
    with quiet_rates():
        started = time.perf_counter()
        model.fit(training, feed=feed)
        fitted = time.perf_counter()
        results = model.score(test, fpr=RATE)
        done = time.perf_counter()
    return {
        "encode_seconds": encode_seconds,
        "fit_seconds": fitted - started,
        "score_seconds": done - fitted,
        "peak_mib": peak_mib(),
        "words": [[word.score for word in result.words] for result in results],
        "documents": [result.score for result in results],
    }


def _encode_seconds(job: dict[str, Any], documents: Sequence[Document]) -> float:
    import torch  # noqa: F401  # loading it is not fitting

    encoder = _warm(job, documents)
    begun = time.perf_counter()
    encoder.encode(documents)
    return time.perf_counter() - begun


def _measure_baseline(job: dict[str, Any], training: Sequence[Document], test: Sequence[Document]) -> dict[str, Any]:
    known = method(job["method"])
    baseline = known.make({}, job["seed"])
    encoder = _warm(job, training) if known.needs_vectors else None

    def encode(documents: Sequence[Document]) -> list[Encoded]:
        return words_only(documents) if encoder is None else encoder.encode(documents)

    started = time.perf_counter()
    encoded = encode(training)
    read = time.perf_counter()
    baseline.fit(encoded)
    fitted = time.perf_counter()
    words = baseline.word_scores(encode(test))
    done = time.perf_counter()
    return {
        "encode_seconds": read - started,
        "fit_seconds": fitted - started,
        "score_seconds": done - fitted,
        "peak_mib": peak_mib(),
        "words": [scores.tolist() for scores in words],
        "documents": None,
    }


def _warm(job: dict[str, Any], documents: Sequence[Document]) -> Any:
    """The encoder, loaded and run once."""
    encoder = load_encoder(EncoderConfig(name=job["encoder"], layer=job["layer"], threads=job["threads"]))
    encoder.encode(documents[:2])
    return encoder


def peak_mib() -> float:
    """The most memory this process has held, in MiB."""
    status = Path("/proc/self/status")
    if status.is_file():  # of this program alone: the figure of `getrusage` is inherited from the process that started it
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    import resource

    unit = 1024 * 1024 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


if __name__ == "__main__":
    main()
