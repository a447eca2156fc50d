"""A method's name, documents to fit on, documents to score -> scores; and a fingerprint of all that decides them.

All methods see the same word vectors: each document is encoded once and read from the run's cache. DiFA goes through its public
door; its rows are therefore what `difa fit`, `difa score` and `difa evaluate` give. Peers are detectors of PyTextAD through its
own interface: TokenCore and SIK score words, with PyTextAD's own embedder on the same encoder and layer; CVDD, DATE and FATE are
document-level systems, of which the first two give word scores as an extension.
"""

from __future__ import annotations

import ast
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar, get_args

import numpy as np

import difa
from difa import fitting
from difa.baselines import METHODS, MethodSettings
from difa.bench.data import Split, check_names, checksum, without_labels, words_of
from difa.bench.metrics import RATE, Scores, pool_max, pool_mean
from difa.config import NO_ENCODER, Config, EncoderConfig, Preset
from difa.document import Document, Encoded, FloatArray, split_by
from difa.encoders import Encoder, EncoderSpec, NoEncoder, Progress, load_encoder
from difa.encoders.convert import EncoderFiles, find
from difa.errors import import_extra
from difa.estimator import DiFA
from difa.feed import choose
from difa.paper import DESCRIPTOR, pool

T = TypeVar("T")

LEARNERS = ("difa-full", "difa-fast")  # presets that learn from a feed
FED = tuple(f"{name}-feed" for name in LEARNERS)  # the same with the unlabelled test text as feed
DIFA = (*(f"difa-{preset}" for preset in get_args(Preset)), *FED)
ALL_METHODS = (*METHODS, *DIFA)
PEERS = {f"pytextad-{name.lower()}": f"{name} (PyTextAD)" for name in ("TokenCore", "SIK", "CVDD", "DATE", "FATE")}
"""Peers and how the tables call them."""
NOT_RUN = {
    "pytextad-fate": "needs labelled anomalies to train on (few-shot); its variant without them is not the published method"
}
"""Peers without scores, and why."""

_SOURCE = Path(difa.__file__).parent
_NOT_CORE = {"baselines", "bench", "cli", "engines", "formats", "integrations", "monitor", "report", "serve", "__main__.py"}
CORE = tuple(sorted({path.relative_to(_SOURCE).parts[0] for path in _SOURCE.rglob("*.py")} - _NOT_CORE))
"""Files and folders of the package that DiFA's own scores depend on."""
_JUDGING = ("bench/metrics.py", "bench/data.py", "bench/methods.py")


@dataclass(frozen=True)
class Options:
    """What a user says about a run, and the encoder and the models that follow from it."""

    out: Path = Path("bench")
    data: Path | None = None
    sets: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    seeds: tuple[int, ...] = (42,)
    encoder: str = "minilm"
    layer: int | None = None
    draws: int = 200
    """Draws of the bootstrap; 0 leaves the intervals out."""
    threads: int | None = None
    cache: Path | None = None
    revision: str | None = None
    flags: bool = True
    """Whether flags are wanted: without, the preset paper leaves out the networks that only p-values need."""
    stages: dict[str, Any] | None = None
    """Changes to DiFA's settings, as its constructor takes them."""
    asked_by: str = ""
    """The command line, without folders of this machine: every new cell keeps it."""

    @cached_property
    def reader(self) -> Encoder:
        """The encoder, exported on first use."""
        return load_encoder(EncoderConfig(name=self.encoder, layer=self.layer, threads=self.threads), self.cache)

    def encoder_of(self, name: str) -> Encoder:
        """The encoder of a method: none, where it looks at the strings alone."""
        return self.reader if needs_vectors(name) else NoEncoder()

    @property
    def source(self) -> EncoderFiles:
        return find(EncoderConfig(name=self.encoder, layer=self.layer))

    def difa(self, preset: str, seed: int, *stages: Mapping[str, Any]) -> DiFA:
        """An unfitted DiFA on this run's encoder, if the preset has one; later changes to its settings win over earlier ones."""
        config = Config.preset(preset)
        for changes in (self.stages or {}, *stages):
            config = config.changed(changes)
        if not self.promises(f"difa-{preset}") and config.calibration.reference != "unseen":
            config = config.changed({"calibration": {"folds": 0}})
        encoder, layer = (self.encoder, self.layer) if needs_vectors(f"difa-{preset}") else (None, None)
        shared: dict[str, Any] = {"fpr": RATE, "seed": seed, "cache": self.cache, "threads": self.threads}
        return DiFA(preset, encoder=encoder, layer=layer, stages=vars(config), **shared)

    def promises(self, name: str) -> bool:
        """Whether the p-values of a method mean what they say; those of others than DiFA do not exist."""
        return self.flags or name not in DIFA or Config.preset(preset_of(name)).calibration.reference == "unseen"

    def fingerprint(self, name: str) -> str:
        """What decides the scores of a method beside its settings, the documents and the seed."""
        spec = self.encoder_of(name).spec
        key = f"{spec.fingerprint} {spec.layer}"
        if name in DIFA:
            return fingerprint_of((*CORE, *_JUDGING), ["torch", "onnxruntime"], encoder=key, stages=repr(self.stages))
        if name in PEERS:
            return fingerprint_of(_JUDGING, ["pytextad", "torch", "transformers"], encoder=key)
        return fingerprint_of(("baselines", "encoders", *_JUDGING), METHODS[name].packages, encoder=key)


@dataclass(frozen=True)
class GivenVectors:
    """An encoder that hands out vectors that it was given, and reads any other document with the inner encoder."""

    inner: Encoder
    known: Mapping[Any, Encoded]
    key: Callable[[Document], Any] = lambda document: tuple(words_of(document))
    """What documents are known by."""

    @property
    def spec(self) -> EncoderSpec:
        return self.inner.spec

    def encode(self, documents: Sequence[Document], progress: Progress | None = None) -> list[Encoded]:
        others = [document for document in documents if self.key(document) not in self.known]
        fresh = iter(self.inner.encode(others, progress) if others else ())
        return [self.known[key] if (key := self.key(document)) in self.known else next(fresh) for document in documents]

    def vocabulary(self) -> list[str]:
        return self.inner.vocabulary()


def needs_vectors(name: str) -> bool:
    """Whether a method reads vectors."""
    if name in DIFA:
        return Config.preset(preset_of(name)).encoder.name != NO_ENCODER
    return name in PEERS or METHODS[name].needs_vectors


def preset_of(name: str) -> str:
    """The preset of a method that is DiFA."""
    return name.removeprefix("difa-").removesuffix("-feed")


def label_of(name: str) -> str:
    """How tables and pictures call a method or a peer."""
    if name in FED:
        return f"DiFA ({preset_of(name)}, has seen the unlabelled test text)"
    return f"DiFA ({preset_of(name)})" if name in DIFA else PEERS.get(name) or METHODS[name].label


def own_rule(name: str) -> str:
    """The rule by which a method scores documents."""
    return "learned" if name in DIFA else "own" if name in ("pytextad-cvdd", "pytextad-date") else "max"


def check_methods(names: Sequence[str], known: Sequence[str] = ALL_METHODS) -> list[str]:
    """The named methods in the order of the tables; all that are known for none."""
    return check_names("method", names, known)


def run_method(
    name: str, settings: MethodSettings, halves: Split, seed: int, options: Options, vectors: Sequence[Encoded] | None = None
) -> Scores:
    """Fit a method on the training half and score the test half; training vectors that are given replace the run's own."""
    if name in DIFA:
        return run_difa(name, halves, seed, options, vectors=vectors)
    if name in PEERS:
        return run_peer(name, halves, seed, options)
    encode = options.encoder_of(name).encode
    training, fit_seconds = clock(lambda: vectors or encode(halves.training))
    test, score_seconds = clock(lambda: encode(halves.test))
    return replace(score_baseline(name, settings, training, test, seed), encode_seconds=(fit_seconds, score_seconds))


def score_baseline(
    name: str, settings: MethodSettings, training: Sequence[Encoded], test: Sequence[Encoded], seed: int
) -> Scores:
    """Scores of a baseline fitted on given vectors."""
    baseline = METHODS[name].make(settings, seed)
    return _fit_and_score(lambda: baseline.fit(training), lambda: (baseline.word_scores(test), None))


def clock(work: Callable[[], T]) -> tuple[T, float]:
    """What some work gives, and the seconds that it takes."""
    started = time.perf_counter()
    return work(), time.perf_counter() - started


def _fit_and_score(fit: Callable[[], object], score: Callable[[], tuple[list[FloatArray], FloatArray | None]]) -> Scores:
    """Scores with the time to fit and to score; the highest and mean word where there are no document scores."""
    _, fit_seconds = clock(fit)
    (words, documents), score_seconds = clock(score)
    words = _fill(words)
    highest = {"max": pool_max(words), "mean": pool_mean(words)}
    pooled = highest if documents is None else {"own": _fill([np.asarray(documents, np.float64)])[0]}
    return Scores(words, pooled, fit_seconds=fit_seconds, score_seconds=score_seconds)


def _fill(arrays: Sequence[FloatArray]) -> list[FloatArray]:
    """Words past a peer's 512th subword, and documents without any, have no score: they get the lowest, and are judged, too."""
    known = np.concatenate([array[np.isfinite(array)] for array in arrays])
    return [np.where(np.isfinite(array), array, known.min() if len(known) else 0.0) for array in arrays]


def run_difa(
    name: str,
    halves: Split,
    seed: int,
    options: Options,
    *,
    vectors: Sequence[Encoded] | None = None,
    feed: Sequence[Document] | None = None,
    verdicts: Sequence[Document] | None = None,
) -> Scores:
    """Scores of one of `DIFA`, which fits on training vectors of its own or on given ones, and with or without a feed.

    The labels of a feed are not seen. Methods that have seen the documents to score have these as feed.
    """
    model, given = options.difa(preset_of(name), seed), halves.test if name in FED else feed
    new = None if given is None else without_labels(given)
    with quiet_rates():
        if vectors is None:
            _, fit_seconds = clock(lambda: model.fit(halves.training, feed=new, verdicts=verdicts))
        else:
            fit_seconds = clock(lambda: _fit_on_vectors(model, halves.training, vectors, new, options.encoder_of(name)))[1]
        scores, score_seconds = clock(lambda: score_documents(model, halves.test))
    if not options.promises(name):
        scores = replace(scores, document_p=np.empty(0), word_p=[])
    documents = {**scores.documents, "topk": pool_words(model, scores.words, ("topk",))["topk"]}
    return replace(scores, documents=documents, taught=taught_by(model), fit_seconds=fit_seconds, score_seconds=score_seconds)


def _fit_on_vectors(
    model: DiFA, training: Sequence[Document], vectors: Sequence[Encoded], feed: Sequence[Document] | None, reader: Encoder
) -> None:
    """Fit through the internal interface, on training vectors that are not the encoder's own."""
    config, encoder = model.config(), GivenVectors(reader, {document.words: document for document in vectors})
    new = None if feed is None else choose(training, feed, [], config.feed)[0]
    fitted = fitting.fit(training, config, model.seed, encoder, lambda stage, share: None, new)
    model.detector_ = replace(fitted, encoder=reader)


def taught_by(model: DiFA) -> int:
    """Documents of a feed that a model learned from."""
    summary = model.detector_.feed_summary
    return summary.documents if summary else 0


def score_documents(model: DiFA, documents: Sequence[Document]) -> Scores:
    """What a fitted model says of documents."""
    parts, lengths = model.score_columns(documents), [len(document.words) for document in documents]

    def column(name: str) -> FloatArray:
        return np.concatenate([getattr(part, name) for part in parts]) if parts else np.empty(0)

    words, word_p = (split_by(lengths, column(name)) for name in ("word_scores", "word_p"))
    views = {name: split_by(lengths, column("evidence")[:, at]) for at, name in enumerate(parts[0].views if parts else ())}
    pooled = {"learned": column("document_scores"), "max": pool_max(words), "mean": pool_mean(words)}
    return Scores(words, pooled, views, column("document_p"), word_p)


def pool_words(
    model: DiFA, words: Sequence[FloatArray], rules: Sequence[str] = ("max", "topk", "lse", "adp", "mean")
) -> dict[str, FloatArray]:
    """Document scores of fused words under each rule that the paper's aggregation mixes, and the mean."""
    fitted, columns = model.detector_, [DESCRIPTOR.index(rule) for rule in rules]
    sharpness = fitted.paper.aggregation["log_sharpness"] if fitted.paper else np.array(np.log(0.5))
    rows = np.zeros((len(words), len(columns)))
    for row, scores in zip(rows, words, strict=True):
        if len(scores):
            row[:] = pool(scores[None], np.ones((1, len(scores))), sharpness, fitted.config.aggregation)[0, columns]
    return dict(zip(rules, rows.T, strict=True))


def quiet_rates() -> warnings.catch_warnings[None]:
    """Silence about false-alarm rates that a small set cannot support: the benchmark compares rankings."""
    return warnings.catch_warnings(action="ignore", category=UserWarning)


def run_peer(name: str, halves: Split, seed: int, options: Options) -> Scores:
    """Scores of a peer."""
    pytextad = peer_library()
    training, test = ([words_of(document) for document in half] for half in (halves.training, halves.test))
    with quiet_peers():
        if name == "pytextad-cvdd":
            cvdd, transform = pytextad.CVDD(random_state=seed, device="cpu"), _embedder(pytextad, options).transform
            return _fit_and_score(
                lambda: cvdd.fit([each for each in transform(training)[0] if len(each)]),
                lambda: _score_cvdd(cvdd, test, *transform(test)),
            )
        if name == "pytextad-date":
            date = pytextad.DATE(tokenizer=str(options.source.folder), random_state=seed, device="cpu")
            return _fit_and_score(lambda: date.fit(training), lambda: (date.token_scores(test), date.decision_function(test)))
        model = peer_detector(PEERS[name].split()[0], options, seed)
        return _fit_and_score(lambda: model.fit(training), lambda: (model.token_scores(test), None))


def _score_cvdd(cvdd: Any, test: list[list[str]], vectors: Any, owners: Any) -> tuple[list[FloatArray], FloatArray]:
    """Scores of words and documents: not a number where a word or a whole document was cut off."""
    full = [index for index, each in enumerate(vectors) if len(each)]
    documents, words = np.full(len(test), np.nan), [np.full(len(tokens), np.nan) for tokens in test]
    documents[full] = cvdd.decision_function([vectors[index] for index in full])
    for index, scores in zip(full, cvdd.token_scores([vectors[index] for index in full]), strict=True):
        words[index][owners[index]] = scores
    return words, documents


def peer_library() -> Any:
    """PyTextAD."""
    return import_extra("pytextad", "peers", "the detectors of PyTextAD")


def peer_detector(name: str, options: Options, seed: int) -> Any:
    """A peer that scores words, on the run's encoder and layer."""
    pytextad = peer_library()
    return pytextad.TokenDetector(getattr(pytextad, name)(), embedder=_embedder(pytextad, options), random_state=seed)


def _embedder(pytextad: Any, options: Options) -> Any:
    source, longest = options.source, min(512, options.reader.spec.max_length)
    return pytextad.TokenEmbedder(str(source.folder), layer=source.layer, max_length=longest, word_pooling="max", device="cpu")


def quiet_peers() -> warnings.catch_warnings[None]:
    """Silence about words that are cut off, which get the lowest score, about the peer's machinery, and from bars."""
    from transformers.utils import logging

    logging.disable_progress_bar()
    return warnings.catch_warnings(action="ignore")


def fingerprint_of(parts: Sequence[str], packages: Sequence[str] = (), **more: Any) -> str:
    """Checksum of what decides a score: files and folders of the package, versions of packages, and anything else."""
    sources = [_code_sum(path) for part in parts for path in sorted((_SOURCE / part).rglob("*.py")) or [_SOURCE / part]]
    return checksum([sources, [f"{name} {_version(name)}" for name in packages], sorted(more.items())])


def code_of(source: str) -> str:
    """What a file does: its syntax tree without comments and docstrings."""
    return ast.dump(_WithoutTexts().visit(ast.parse(source)))


class _WithoutTexts(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        return None if isinstance(node.value, ast.Constant) else node


@cache
def _code_sum(path: Path) -> str:
    return checksum(code_of(path.read_text(encoding="utf-8")))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
