"""Settings: one frozen dataclass per stage, checked when made; unknown keys and impossible values are errors.

Each default stands here once, with its reason. Two presets: `paper` follows the text of the paper in every respect that
the text settles; `full`, the default, differs where the paper's way is known to be dishonest or weak (docs/method.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any, Literal, get_args

from difa.errors import ConfigError

DEFAULT_ENCODER = "minilm"

VIEW_NAMES = ("semantic", "form", "lexical", "neighbour", "collocation")

ERROR_KINDS = ("typo", "ocr", "gibberish", "leet", "double", "drop", "function", "inflection", "topic", "splice")
PAPER_KINDS = ("form", "semantic", "mixed")

Preset = Literal["full", "paper"]
Reference = Literal["unseen", "in-sample"]


def _check(condition: bool, stage: object, name: str, expected: str) -> None:
    if not condition:
        got = getattr(stage, name)
        raise ConfigError(f"{type(stage).__name__}.{name}: expected {expected}, got {got!r}")


def _whole(stage: object, name: str, least: int) -> None:
    value = getattr(stage, name)
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    _check(is_whole and value >= least, stage, name, f"a whole number of at least {least}")


def _number(stage: object, name: str, low: float, high: float = math.inf, *, above: bool = False) -> None:
    value = getattr(stage, name)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    bound = f"{'above' if above else 'of at least'} {low:g}" + ("" if high == math.inf else f" and at most {high:g}")
    _check(is_number and (value > low if above else value >= low) and value <= high, stage, name, f"a number {bound}")


def check_threads(threads: object) -> None:
    """Refuse anything but a positive whole number or None."""
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise ConfigError(f"threads: expected a whole number of at least 1, got {threads!r}")


@dataclass(frozen=True)
class EncoderConfig:
    """Words -> vectors."""

    name: str = DEFAULT_ENCODER
    """`minilm` (embedded), a Hugging Face hub name or a local folder."""
    layer: int | None = None
    """Hidden layer to read: 0 is the embedding, negative counts from the end; None is 4 for `minilm`, where the last
    layer is bad for words, and the last layer, as in the paper, for any other encoder."""
    batch_tokens: int = 1024
    """Subwords per batch, a thread each: enough to keep a core busy, small enough for its cache."""
    threads: int | None = None
    """Threads of the engine; None takes all cores."""

    def __post_init__(self) -> None:
        _check(isinstance(self.name, str) and bool(self.name.strip()), self, "name", "an encoder's name or folder")
        if self.layer is not None:
            _check(isinstance(self.layer, int) and not isinstance(self.layer, bool), self, "layer", "a whole number or None")
        _whole(self, "batch_tokens", 1)
        check_threads(self.threads)


@dataclass(frozen=True)
class ViewsConfig:
    """Which views look at the words."""

    names: tuple[str, ...] = VIEW_NAMES
    """In this order in results. The paper has the first two."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        known = bool(self.names) and set(self.names) <= set(VIEW_NAMES) and len(set(self.names)) == len(self.names)
        _check(known, self, "names", f"some of {', '.join(VIEW_NAMES)}, each once")


@dataclass(frozen=True)
class FormConfig:
    """Form-structural view: 10 surface and 6 context statistics, Gaussian reference."""

    window: int = 2
    """Neighbours on each side, as in the paper."""
    shrinkage: float = 1e-3
    """Share of the identity mixed into the correlation matrix, so that collinear entries stay invertible."""
    min_scale: float = 1e-2
    """Least standard deviation of an entry, so that one that is constant in normal text counts, but not without bound."""

    def __post_init__(self) -> None:
        _whole(self, "window", 1)
        _number(self, "shrinkage", 0, 1, above=True)
        _number(self, "min_scale", 0, above=True)


@dataclass(frozen=True)
class SemanticConfig:
    """Semantic view: Transformer encoder f, teacher decoder g_T, student decoder g_S."""

    layers: int = 1
    """Transformer blocks in f and in g_T each; one reconstructs well and costs a quarter of the text encoder."""
    heads: int = 6
    """Attention heads; lowered to a divisor of the width where needed."""
    distance_weight: float = 1.0
    """λ of the distance ‖a−b‖² + λ(1−cos(a,b)), in vectors of mean square norm 1."""
    student_weight: float = 1.0
    """Weight of the teacher–student term; 1 in the paper, 0 leaves the reconstruction error alone."""
    epochs: int = 6
    """Passes of the teacher over the normal words, within the bounds below; the student makes twice as many, shorter, steps."""
    min_steps: int = 30
    max_steps: int = 60
    """Reconstruction of normal words has settled by then on every corpus we tried."""
    batch_words: int = 512
    learning_rate: float = 2e-3
    window: int = 256
    """Words that attend to each other; longer documents are read in overlapping windows."""

    def __post_init__(self) -> None:
        for name in ("layers", "heads", "epochs", "max_steps", "min_steps", "batch_words"):
            _whole(self, name, 1)
        _whole(self, "window", 8)
        _number(self, "distance_weight", 0)
        _number(self, "student_weight", 0)
        _number(self, "learning_rate", 0, above=True)
        _check(self.min_steps <= self.max_steps, self, "min_steps", f"at most max_steps ({self.max_steps})")


@dataclass(frozen=True)
class LexicalConfig:
    """Lexical view: how rare a word is, and how strangely it is spelled."""

    order: int = 4
    """Longest run of characters in the model, the predicted one included; 3 and 5 do as well."""
    spelling_weight: float = 0.5
    """Raw evidence for each nat of surprise at a word's letters, per square root of its length."""
    piece_weight: float = 1.0
    """Raw evidence for each subword beyond the first: the encoder's own vocabulary knows what is a word."""
    vocabulary: int = 50_000
    """Distinct words at most."""

    def __post_init__(self) -> None:
        _whole(self, "order", 1)
        _number(self, "spelling_weight", 0)
        _number(self, "piece_weight", 0)
        _whole(self, "vocabulary", 1)


@dataclass(frozen=True)
class NeighbourConfig:
    """Neighbour view: distance to the nearest normal word vector."""

    bank: int = 4096
    """Normal word vectors kept at most: bounds size and cost, whatever the corpus. Twice as many find a little more and cost
    another twelfth of the encoder's time."""

    def __post_init__(self) -> None:
        _whole(self, "bank", 1)


@dataclass(frozen=True)
class CollocationConfig:
    """Collocation view: pairs of neighbouring words."""

    vocabulary: int = 50_000
    """Distinct words at most."""
    pairs: int = 500_000
    """Distinct pairs at most."""

    def __post_init__(self) -> None:
        _whole(self, "vocabulary", 1)
        _whole(self, "pairs", 1)


@dataclass(frozen=True)
class CalibrationConfig:
    """Raw evidence -> tail evidence, and the references of the p-values."""

    reference: Reference = "unseen"
    """Which normal scores the evidence is ranked among: of documents that the views did not see (cross-fitted), or, as
    in the paper, of the very documents they were fitted on. P-values and thresholds come from unseen documents always."""
    folds: int = 3
    """Parts of the cross-fitting: each is scored by views fitted on the others."""
    epsilon: float = 1e-12
    """ε of e = −log(p + ε)."""
    trim: bool = True
    """Whether training documents that do not belong among the others are left out, where there are too many to be chance."""

    def __post_init__(self) -> None:
        _check(self.reference in get_args(Reference), self, "reference", f"one of {', '.join(get_args(Reference))}")
        _whole(self, "folds", 2)
        _number(self, "epsilon", 0, 1e-3)
        _check(isinstance(self.trim, bool), self, "trim", "true or false")


@dataclass(frozen=True)
class PerturbConfig:
    """Pseudo anomalies made from normal documents."""

    documents: int = 600
    """Pseudo-anomalous documents at most; there are never more than three per normal document."""
    diffuse: float = 0.35
    """Share of them with several changed words."""
    max_share: float = 0.3
    """Share of words changed at most in a diffuse one."""
    kinds: tuple[str, ...] = ERROR_KINDS
    """In equal parts: the errors of real text, or the paper's string mutation, representation replacement, and both."""

    def __post_init__(self) -> None:
        _whole(self, "documents", 1)
        _number(self, "diffuse", 0, 1)
        _number(self, "max_share", 0, 1, above=True)
        object.__setattr__(self, "kinds", tuple(self.kinds))
        known = (*ERROR_KINDS, *PAPER_KINDS)
        _check(bool(self.kinds) and set(self.kinds) <= set(known), self, "kinds", f"some of {', '.join(known)}")


@dataclass(frozen=True)
class FusionConfig:
    """Evidences -> word score, by the gates of the paper."""

    hidden: int = 0
    """Width of q, 8 for the paper; 0 makes the gates constants. Pseudo anomalies are not real ones: the fewer parameters, the
    less of their accidents is learned."""
    agreement: bool = False
    """Whether the term β·√(e_sem·e_form) is there, as in the paper; beside a high power it only makes noise."""
    power: float = 4.0
    """Power of the mean of both sides: 1 in the paper; the higher, the more the stronger side decides alone."""

    def __post_init__(self) -> None:
        _whole(self, "hidden", 0)
        _number(self, "power", 1, 16)


@dataclass(frozen=True)
class AggregationConfig:
    """Word scores -> document score, by the learned mixture of four pooling rules."""

    hidden: int = 8
    top_k: int = 3
    """Words in the top-k mean."""
    support_p: float = 0.01
    """A word counts as support when its score is above −log of this."""

    def __post_init__(self) -> None:
        _whole(self, "hidden", 1)
        _whole(self, "top_k", 1)
        _number(self, "support_p", 0, 1, above=True)


@dataclass(frozen=True)
class DocumentConfig:
    """Documents as a whole, and what they say of their words."""

    view: bool = True
    """Whether peaks and means of both sides are weighed together; otherwise the paper's learned aggregation is the score."""
    length_weight: float = 0.35
    """Score for each standard deviation by which a document is longer than usual: it has more places for an anomaly."""
    feedback: float = 0.4
    """Share of the document's evidence that is added to the score of each of its words; 0 in the paper."""

    def __post_init__(self) -> None:
        _check(isinstance(self.view, bool), self, "view", "true or false")
        _number(self, "length_weight", 0)
        _number(self, "feedback", 0)


@dataclass(frozen=True)
class LearnConfig:
    """Joint training of q and r on pseudo anomalies."""

    steps: int = 200
    learning_rate: float = 0.01
    shrinkage: float = 0.1
    """Penalty on the squared output weights of q and r: without a reason, gates stay at one half and the four rules alike."""
    document_weight: float = 1.0
    """Weight of the document loss beside the word loss."""
    worst: float = 10.0
    """How much the kinds of pseudo anomalies that are found worst count more than the others: 0, as in the paper, not at all."""

    def __post_init__(self) -> None:
        _whole(self, "steps", 1)
        _number(self, "learning_rate", 0, above=True)
        _number(self, "shrinkage", 0)
        _number(self, "document_weight", 0)
        _number(self, "worst", 0)


@dataclass(frozen=True)
class Config:
    """All stages, in the order in which the data walks through them."""

    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    views: ViewsConfig = field(default_factory=ViewsConfig)
    semantic: SemanticConfig = field(default_factory=SemanticConfig)
    form: FormConfig = field(default_factory=FormConfig)
    lexical: LexicalConfig = field(default_factory=LexicalConfig)
    neighbour: NeighbourConfig = field(default_factory=NeighbourConfig)
    collocation: CollocationConfig = field(default_factory=CollocationConfig)
    calibration: CalibrationConfig = field(default_factory=CalibrationConfig)
    perturb: PerturbConfig = field(default_factory=PerturbConfig)
    fusion: FusionConfig = field(default_factory=FusionConfig)
    aggregation: AggregationConfig = field(default_factory=AggregationConfig)
    document: DocumentConfig = field(default_factory=DocumentConfig)
    learn: LearnConfig = field(default_factory=LearnConfig)

    def __post_init__(self) -> None:
        for stage in fields(self):
            expected = stage.default_factory
            if not isinstance(getattr(self, stage.name), expected):  # type: ignore[arg-type]
                got = type(getattr(self, stage.name)).__name__
                raise ConfigError(f"{stage.name}: expected a {expected.__name__}, got {got}")  # type: ignore[union-attr]

    @classmethod
    def preset(cls, name: str) -> Config:
        """The settings of a preset."""
        if name not in get_args(Preset):
            raise ConfigError(f"preset: expected one of {', '.join(get_args(Preset))}, got {name!r}")
        config = cls()
        if name == "paper":
            return replace(
                config,
                views=ViewsConfig(names=("semantic", "form")),
                calibration=replace(config.calibration, reference="in-sample", trim=False),
                perturb=replace(config.perturb, kinds=PAPER_KINDS),
                fusion=FusionConfig(hidden=8, agreement=True, power=1.0),
                document=replace(config.document, view=False, feedback=0.0),
                learn=replace(config.learn, worst=0.0),
            )
        return config

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Plain values for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Config:
        """Settings from plain values; unknown stages and keys are errors."""
        known = {stage.name: stage.default_factory for stage in fields(cls)}
        _refuse_unknown("stage", values, known)
        stages = {name: stage_from_dict(known[name], name, value) for name, value in values.items()}
        return cls(**stages)


def stage_from_dict(stage: Any, name: str, values: Any) -> Any:
    """A stage's settings from a mapping, or the settings themselves if they are already of that kind."""
    if is_dataclass(values) and isinstance(values, stage):
        return values
    if not isinstance(values, Mapping):
        raise ConfigError(f"{name}: expected a {stage.__name__} or a mapping, got {type(values).__name__}")
    _refuse_unknown(f"key of {name}", values, {key.name for key in fields(stage)})
    return stage(**values)


def _refuse_unknown(what: str, values: Mapping[str, Any], known: Any) -> None:
    for key in values:
        if key not in known:
            raise ConfigError(f"unknown {what} {key!r}: expected one of {', '.join(known)}")
