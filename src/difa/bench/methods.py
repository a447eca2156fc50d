"""A method's name, documents to fit on, documents to score -> scores.

All methods see the same word vectors: each document is encoded once in a run and remembered. DiFA goes through its public
door and reads the same vectors from the run's cache; its rows are therefore what `difa fit`, `difa score` and `difa evaluate`
give. `difa-full`, `difa-fast` and `difa-paper` are its presets; `difa-full-feed` and `difa-fast-feed` have the test text, without
its labels, as a feed.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np

from difa import fitting
from difa.aggregate import DESCRIPTOR, pool
from difa.baselines import METHODS, MethodSettings, method
from difa.bench.metrics import RATE, Scores, pool_max, pool_mean
from difa.bench.split import Split, without_labels
from difa.bench.store import CORE, fingerprint_of
from difa.config import NO_ENCODER, Config, EncoderConfig, Preset
from difa.document import Document, Encoded, FloatArray, Result
from difa.encoders import Encoder, NoEncoder, load_encoder
from difa.errors import ConfigError
from difa.estimator import DiFA
from difa.feed import choose

LEARNERS = ("difa-full", "difa-fast")
"""Presets that learn from a feed."""
FED = tuple(f"{name}-feed" for name in LEARNERS)
"""The same presets with the unlabelled test text as feed."""
DIFA = (*(f"difa-{preset}" for preset in get_args(Preset)), *FED)
ALL_METHODS = (*METHODS, *DIFA)

_JUDGING = ("bench/metrics.py", "bench/split.py", "bench/methods.py")


@dataclass
class Workbench:
    """The encoder of a run, and the vectors it has made."""

    encoder_name: str
    layer: int | None
    threads: int | None
    cache: Path | None
    stages: dict[str, Any] | None = None
    """Changes to DiFA's settings, as its constructor takes them."""
    flags: bool = True
    """Whether flags are wanted: what they need is left out where a preset allows it."""
    _vectors: dict[tuple[str, ...], Encoded] = field(default_factory=dict, repr=False)

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder, exported on first use."""
        return load_encoder(EncoderConfig(name=self.encoder_name, layer=self.layer, threads=self.threads), self.cache)

    @cached_property
    def encoder_key(self) -> str:
        """What identifies the vectors."""
        spec = self.encoder.spec
        return f"{spec.fingerprint} {spec.layer}"

    def encode(self, documents: Sequence[Document]) -> list[Encoded]:
        """Word vectors, each document computed once."""
        keys = [tuple(word.text for word in document.words) for document in documents]
        missing = {key: document for key, document in zip(keys, documents, strict=True) if key not in self._vectors}
        self._vectors.update(zip(missing, self.encoder.encode(list(missing.values())), strict=True))
        return [self._vectors[key] for key in keys]

    def forget(self) -> None:
        """Free the vectors of a set that is done with."""
        self._vectors.clear()

    def difa(self, preset: str, seed: int, stages: dict[str, Any] | None = None) -> DiFA:
        """An unfitted DiFA on this run's encoder, if the preset has one."""
        changes = merge_stages(self.stages, stages)
        if not self.promises(f"difa-{preset}") and changes.get("calibration", {}).get("reference") != "unseen":
            changes = merge_stages(changes, {"calibration": {"folds": 0}})
        return DiFA(
            preset,
            encoder=self.encoder_name if has_encoder(preset) else None,
            layer=self.layer if has_encoder(preset) else None,
            fpr=RATE,
            seed=seed,
            cache=self.cache,
            threads=self.threads,
            stages=changes or None,
        )

    def promises(self, name: str) -> bool:
        """Whether the p-values of a method mean what they say; those of others than DiFA do not exist."""
        return self.flags or name not in DIFA or Config.preset(preset_of(name)).calibration.reference == "unseen"

    def fingerprint(self, name: str) -> str:
        """What decides the scores of a method beside its settings, the documents and the seed."""
        if name in DIFA:
            packages = ["torch", "onnxruntime"]
            key = self.encoder_key if has_encoder(preset_of(name)) else NO_ENCODER
            return fingerprint_of((CORE, *_JUDGING), packages, encoder=key, stages=repr(self.stages))
        known = method(name)
        return fingerprint_of(
            ("baselines", "encoders", *_JUDGING), known.packages, encoder=self.encoder_key if known.needs_vectors else "none"
        )


def has_encoder(preset: str) -> bool:
    """Whether a preset reads vectors."""
    return Config.preset(preset).encoder.name != NO_ENCODER


def merge_stages(*changes: Mapping[str, Any] | None) -> dict[str, Any]:
    """Several changes to DiFA's settings; the later ones win, key by key."""
    merged: dict[str, Any] = {}
    for change in changes:
        for stage, values in (change or {}).items():
            both = isinstance(values, Mapping) and isinstance(merged.get(stage), Mapping)
            merged[stage] = {**merged[stage], **values} if both else values
    return merged


def preset_of(name: str) -> str:
    """The preset of a method that is DiFA."""
    return name.removeprefix("difa-").removesuffix("-feed")


def label_of(name: str) -> str:
    """How the tables call a method."""
    if name in FED:
        return f"DiFA ({preset_of(name)}, has seen the unlabelled test text)"
    return f"DiFA ({preset_of(name)})" if name in DIFA else method(name).label


def check_methods(names: Sequence[str], known: Sequence[str] = ALL_METHODS) -> list[str]:
    """The named methods in the order of the tables; all that are known for none."""
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ConfigError(f"method: expected one of {', '.join(known)}, got {', '.join(unknown)}")
    return [name for name in known if not names or name in names]


def run_method(name: str, settings: MethodSettings, halves: Split, seed: int, bench: Workbench) -> Scores:
    """Fit a method on the training half and score the test half."""
    return run_difa(name, halves, seed, bench) if name in DIFA else run_baseline(name, settings, halves, seed, bench)


def run_baseline(name: str, settings: MethodSettings, halves: Split, seed: int, bench: Workbench) -> Scores:
    """Scores of a baseline, pooled by maximum and mean."""
    known = method(name)
    encode = bench.encode if known.needs_vectors else words_only
    started = time.perf_counter()
    training = encode(halves.training)
    read = time.perf_counter()
    test = encode(halves.test)
    done = time.perf_counter()
    return replace(score_baseline(name, settings, training, test, seed), encode_seconds=(read - started, done - read))


def score_baseline(
    name: str, settings: MethodSettings, training: Sequence[Encoded], test: Sequence[Encoded], seed: int
) -> Scores:
    """Scores of a baseline fitted on given vectors."""
    baseline = method(name).make(settings, seed)
    started = time.perf_counter()
    baseline.fit(training)
    fitted = time.perf_counter()
    words = baseline.word_scores(test)
    done = time.perf_counter()
    pooled = {"max": pool_max(words), "mean": pool_mean(words)}
    return Scores(words, pooled, fit_seconds=fitted - started, score_seconds=done - fitted)


def run_difa(
    name: str,
    halves: Split,
    seed: int,
    bench: Workbench,
    *,
    encoder: Encoder | None = None,
    feed: Sequence[Document] | None = None,
    verdicts: Sequence[Document] | None = None,
) -> Scores:
    """Scores of DiFA.

    Args:
        name: one of `DIFA`.
        halves: documents to fit on and to score.
        seed: of the model.
        bench: encoder and changes to the settings.
        encoder: what to read the training documents with, if not the run's own encoder.
        feed: documents to learn from, whose labels it does not see; those to score for methods that have seen them.
        verdicts: reviewed documents to learn from.
    """
    model = bench.difa(preset_of(name), seed)
    feed = halves.test if name in FED else feed
    with quiet_rates():
        started = time.perf_counter()
        if encoder is None:
            model.fit(halves.training, feed=None if feed is None else without_labels(feed), verdicts=verdicts)
        else:
            _fit_on_vectors(model, halves.training, encoder, bench, feed)
        fitted = time.perf_counter()
        results = model.score(halves.test, fpr=RATE)
        done = time.perf_counter()
    lessons = model.detector_.lessons
    taught = lessons.documents if lessons else 0
    scores = read_results(results)
    if not bench.promises(name):
        scores = replace(scores, flagged=None, word_p=None)
    documents = {**scores.documents, "topk": pool_words(model, scores.words or [], ("topk",))["topk"]}
    return replace(scores, documents=documents, taught=taught, fit_seconds=fitted - started, score_seconds=done - fitted)


def _fit_on_vectors(
    model: DiFA, training: Sequence[Document], encoder: Encoder, bench: Workbench, feed: Sequence[Document] | None
) -> None:
    """Fit through the internal interface, on training vectors that are not the run's own."""
    config = model.config()
    new = None if feed is None else choose(training, feed, [], config.feed)[0]
    fitted = fitting.fit(training, config, model.seed, encoder, lambda stage, share: None, new)
    model.detector_ = replace(fitted, encoder=bench.encoder)


def read_results(results: Sequence[Result]) -> Scores:
    """Results as arrays."""
    words = [np.array([word.score for word in result.words]) for result in results]
    names = next((list(result.words[0].evidence) for result in results if result.words), [])
    views = {name: [np.array([word.evidence[name] for word in result.words]) for result in results] for name in names}
    learned = np.array([result.score for result in results])
    pooled = {"learned": learned, "max": pool_max(words), "mean": pool_mean(words)}
    word_p = [np.array([word.p_value for word in result.words]) for result in results]
    return Scores(words, pooled, views, [result.is_anomaly for result in results], word_p)


def pool_words(
    model: DiFA, words: Sequence[FloatArray], rules: Sequence[str] = ("max", "topk", "lse", "adp", "mean")
) -> dict[str, FloatArray]:
    """Document scores of fused words under each rule that the paper's aggregation mixes, and the mean."""
    fitted = model.detector_
    sharpness = fitted.heads.aggregation["log_sharpness"] if fitted.heads else np.array(np.log(0.5))
    columns = [DESCRIPTOR.index(rule) for rule in rules]
    rows = [
        pool(scores[None], np.ones((1, len(scores))), sharpness, fitted.config.aggregation)[0, columns]
        if len(scores)
        else np.zeros(len(columns))
        for scores in words
    ]
    return dict(zip(rules, np.array(rows).T, strict=True))


def words_only(documents: Sequence[Document]) -> list[Encoded]:
    """Documents for methods that look at the strings alone."""
    return NoEncoder().encode(documents)


def quiet_rates() -> warnings.catch_warnings[None]:
    """Silence about false-alarm rates that a small set cannot support: the benchmark compares rankings."""
    return warnings.catch_warnings(action="ignore", category=UserWarning)
