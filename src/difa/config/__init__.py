"""Settings: one frozen dataclass per stage, checked when made; unknown keys and impossible values are errors.

Each default stands here once, with its reason. Three presets: `paper` follows the text of the paper, but for its encoder and
layer and a few things that docs/paper.md lists; `full`, the default, differs where the paper's way is known to be dishonest or
weak; `fast` does without an encoder (docs/method.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Annotated, Any, Literal, get_args

from difa.config.checks import Bounds, Count, Names, Positive, Share, Stage, Weight, check, compile_pattern, kinds_of
from difa.errors import ConfigError

DEFAULT_ENCODER = "minilm"
NO_ENCODER = "none"
"""In the place of an encoder's name: words are read as strings alone."""

VIEW_NAMES = ("language", "phrase", "tone", "critic", "form", "faults", "neighbour", "semantic")
"""All views there are: each is the module of that name in `difa.views`."""
FULL_VIEWS = ("language", "phrase", "tone", "critic", "form", "faults", "neighbour")
FAST_VIEWS = ("language", "phrase", "tone", "critic", "form", "faults")
PRIOR_WEIGHTS = {"critic": 1.0, "tone": 1.0, "language": 0.7, "phrase": 0.7, "form": 0.5, "faults": 0.25, "neighbour": 0.25}
"""Chosen on the average of eight labelled sets, so that no set loses more than .01 (docs/choices.md): what is merely new in its
form or meaning alarms form and neighbour view more often than the others."""

NOISE_KINDS = ("url", "email", "number", "path", "hash", "handle", "code")
"""What can be ignored by name: each has its pattern in `difa.corpus.ignore`."""

ERROR_KINDS = (
    *("typo", "ocr", "gibberish", "leet", "double", "drop", "function", "inflection", "topic", "splice"),
    *("confused", "lookalike", "ending", "stranger", "misplaced", "swapped", "glued", "torn", "insult", "tongue"),
    *("mojibake", "case", "digit", "mark"),
)
PAPER_KINDS = ("form", "semantic", "mixed")

Preset = Literal["full", "fast", "paper"]


@dataclass(frozen=True)
class IgnoreConfig(Stage):
    """Noise that is left out of all texts, when fitting and when scoring: its words have the score 0."""

    kinds: Annotated[tuple[str, ...], Names(NOISE_KINDS, may_be_empty=True)] = ()
    """Some of url, email, number, path, hash, handle and code."""
    patterns: tuple[str, ...] = ()
    """Regular expressions in the syntax of RE2, looked for in each run of characters between blanks. A word within a match is
    ignored."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("kinds", "patterns"):
            object.__setattr__(self, name, tuple(dict.fromkeys(getattr(self, name))))
        for pattern in self.patterns:
            compile_pattern(pattern)

    def __str__(self) -> str:
        return ", ".join((*self.kinds, *(f"`{pattern}`" for pattern in self.patterns)))


@dataclass(frozen=True)
class EncoderConfig(Stage):
    """Words -> vectors.

    The same in the presets `full` and `paper`: neither has the paper's encoder, which is bert-base-uncased at its last layer.
    """

    name: str = DEFAULT_ENCODER
    """`minilm` (embedded), a Hugging Face hub name, a local folder, or `none` for words without vectors, as in the preset
    `fast`. The paper's own is `bert-base-uncased`."""
    layer: Annotated[int | None, Bounds(-1000, 1000)] = None
    """Hidden layer to read: 0 is the embedding, negative counts from the end; None is 4 for `minilm`, where the last
    layer is bad for words, and the last layer, as in the paper, for any other encoder."""
    batch_tokens: Annotated[int, Bounds(1, 1 << 20)] = 1024
    """Subwords per batch, a thread each: enough to keep a core busy, small enough for its cache."""
    threads: Annotated[int | None, Bounds(1)] = None
    """Threads of the engine; None takes all cores."""


@dataclass(frozen=True)
class ViewsConfig(Stage):
    """Which views look at the words."""

    names: Annotated[tuple[str, ...], Names(VIEW_NAMES, each_once=True)] = FULL_VIEWS
    """In this order in results."""


@dataclass(frozen=True)
class LanguageConfig(Stage):
    """Language view: how rare a word is, here and in its language, and how oddly it is spelt."""

    order: Annotated[int, Bounds(1, 16)] = 4
    """Longest run of characters in the model, the predicted one included; 3 and 5 do as well."""
    spelling_weight: Weight = 0.5
    """Raw evidence for each nat of surprise at a word's letters, per square root of its length."""
    piece_weight: Weight = 0.5
    """Raw evidence for each subword beyond the first: the encoder's own vocabulary knows what is a word."""
    vocabulary: Count = 50_000
    """Distinct words at most."""


@dataclass(frozen=True)
class CriticConfig(Stage):
    """Critic view: two small networks that were taught errors."""

    plain_hidden: Count = 32
    """Hidden units of the network that sees plain statistics."""
    vector_hidden: Count = 128
    """Hidden units of the network that sees the word's vector as well."""
    plain_epochs: Count = 8
    vector_epochs: Count = 4
    rate: Positive = 3e-3
    """Highest learning rate."""
    words: Count = 40_000
    """Normal words that it is taught with at most, beside those of the pseudo anomalies."""
    vocabulary: Count = 50_000
    """Distinct words counted at most."""
    pairs: Count = 500_000
    """Distinct pairs of neighbours counted at most."""


@dataclass(frozen=True)
class FormConfig(Stage):
    """Form-structural view: 10 surface and 6 context statistics, Gaussian reference."""

    window: Annotated[int, Bounds(1, 64)] = 2
    """Neighbours on each side, as in the paper."""
    shrinkage: Annotated[float, Bounds(0, 0.99, above=True)] = 1e-3
    """Share of the identity mixed into the correlation matrix, so that collinear entries stay invertible. The same in all
    presets; the paper has none."""
    letters: Literal["share", "changes"] = "share"
    """The third entry: the `share` of letters among the word's characters or, as in the preset `paper`, the number of `changes`
    between small letters, capitals, digits and marks. Shares of letters, digits and punctuation sum to one in normal words: Σ is
    singular, and the shrinkage decides what a space in a word is worth. The others imply the share of letters, so changes lose
    nothing. The presets `full` and `fast` were settled with the share and keep it."""
    min_scale: Positive = 1e-2
    """Lowest standard deviation of an entry, so that one that is constant in normal text counts, but not without bound."""


@dataclass(frozen=True)
class NeighbourConfig(Stage):
    """Neighbour view: distance to the nearest normal word vector."""

    bank: Count = 4096
    """Normal word vectors kept at most: bounds size and cost, whatever the corpus. Twice as many find a little more and cost
    another twelfth of the encoder's time."""


@dataclass(frozen=True)
class SemanticConfig(Stage):
    """Semantic view, of the preset `paper` alone: Transformer encoder f, teacher decoder g_T, student decoder g_S.

    The paper gives neither sizes nor lengths of training; all of these are ours.
    """

    layers: Count = 1
    """Transformer blocks in f and in g_T each; one reconstructs well and costs a quarter of the text encoder."""
    heads: Count = 6
    """Attention heads; lowered to a divisor of the width where needed."""
    distance_weight: Weight = 1000.0
    """λ of the distance ‖a−b‖² + λ(1−cos(a,b)), where the square is a mean over the dimensions of vectors with one global scale.
    Chosen among 1/384, 1, 10, 100 and 1000 on pseudo anomalies in held-out documents (docs/paper.md): the more the angle counts,
    the better they are found. At 1000 the square hardly counts."""
    student_weight: Weight = 1.0
    """Weight of the teacher–student term; 1 in the paper, 0 leaves the reconstruction error alone."""
    held_out: Annotated[float, Bounds(0, 0.5, above=True)] = 0.1
    """Share of the normal documents by which training sees that it may end: nothing is learned from them."""
    plateau: Share = 0.05
    """A round of 100 steps has brought nothing if it lowers the loss on held-out documents by less than this share. The rate is
    then divided by four; at the third such round training ends, with the best weights so far. Encoder and teacher first, then
    the student: the same rule for both."""
    teacher_rounds: Count = 16
    """Rounds of encoder and teacher at most: a bound of time, so that Spam's 37,000 words take minutes, not hours."""
    student_rounds: Count = 12
    """Rounds of the student at most."""
    batch_words: Count = 128
    """Words per step of encoder and teacher, about. 512 cost three times as much and lower the error less for the time."""
    student_batch_words: Count = 512
    """Words per step of the student, whose steps cost little."""
    learning_rate: Positive = 1e-3
    """Twice as much learns faster at first, but single batches throw it back, and it ends higher on held-out documents."""
    window: Annotated[int, Bounds(8, 1 << 16)] = 256
    """Words that attend to each other; longer documents are read in overlapping windows."""


@dataclass(frozen=True)
class CalibrationConfig(Stage):
    """Raw evidence -> tail evidence, and the references of the p-values."""

    reference: Literal["unseen", "in-sample"] = "unseen"
    """Which normal scores the evidence is ranked among: of documents that the views did not see (cross-fitted), or, as
    in the paper, of the very documents they were fitted on. P-values and thresholds come from unseen documents always."""
    folds: Annotated[int, Bounds(0)] = 3
    """Parts of the cross-fitting: each is scored by views fitted on the others. 0 saves their fits where only rankings matter:
    p-values then come from documents that the views have seen, and promise nothing. Only in-sample references can do without."""
    epsilon: Annotated[float, Bounds(0, 1e-3)] = 1e-12
    """ε of e = −log(p + ε)."""
    leave_out_outliers: bool = True
    """Whether training documents that do not belong among the others are left out, if there are more than chance allows."""

    def __post_init__(self) -> None:
        super().__post_init__()
        needs_folds = self.reference == "unseen" or self.leave_out_outliers
        check(self.folds >= (2 if needs_folds else 0) and self.folds != 1, self, "folds", "at least 2, or 0 in the preset paper")


@dataclass(frozen=True)
class PerturbConfig(Stage):
    """Pseudo anomalies made from normal documents."""

    documents: Count = 1500
    """Pseudo-anomalous documents at most: the critic learns from some sixty of each kind. 600 in the paper's preset."""
    per_document: Count = 20
    """Of them, made from one normal document at most; 3 in the paper's preset."""
    excerpt: Annotated[int, Bounds(0)] = 64
    """Words of a longer document that are taken, around a random place; 0 takes whole documents, as in the paper's preset."""
    diffuse: Share = 0.35
    """Share of them with several changed words."""
    max_share: Annotated[float, Bounds(0, 1, above=True)] = 0.3
    """Share of words changed at most in a diffuse one."""
    kinds: Annotated[tuple[str, ...], Names((*ERROR_KINDS, *PAPER_KINDS))] = ERROR_KINDS
    """In equal parts: the errors of real text, or the paper's string mutation, representation replacement, and both."""


@dataclass(frozen=True)
class FusionConfig(Stage):
    """Evidences -> word score."""

    rule: Literal["mean", "gates"] = "mean"
    """`mean`: the power mean of any number of views. `gates`: the learned gates of the paper, for two views."""
    power: Annotated[float, Bounds(1, 16)] = 2.0
    """Power of the mean. At 1, views that see nothing hide one that is certain; above 3, chance in any view shows."""
    weights: Mapping[str, float] = field(default_factory=lambda: dict(PRIOR_WEIGHTS))
    """How much each view counts in the mean, before a feed says more; views that are not named count 1."""
    hidden: Count = 8
    """Width of the gates' network q."""
    agreement: bool = True
    """Whether the gates have the term β·√(e_sem·e_form)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        is_known = isinstance(self.weights, Mapping) and set(self.weights) <= set(VIEW_NAMES)
        is_positive = is_known and all(type(weight) in (int, float) and 0 < weight < 1e6 for weight in self.weights.values())
        check(is_positive, self, "weights", f"a number above 0 for some of {', '.join(VIEW_NAMES)}")
        object.__setattr__(self, "weights", dict(self.weights))


@dataclass(frozen=True)
class FeedConfig(Stage):
    """What new text that nobody has labelled teaches, and what verdicts teach; docs/choices.md has figures for other numbers."""

    least_documents: Count = 50
    """Different documents that a feed must have; from fewer nothing is learned."""
    folds: Annotated[int, Bounds(2, 64)] = 8
    """Parts of the documents, by their words: each part is scored by what the others taught."""
    smoothing: Positive = 5.0
    """Words that are added to both sides of a ratio, so that few extreme words by chance teach nothing."""
    document_smoothing: Positive = 2.0
    """Documents that are added likewise."""
    shrinkage: Positive = 1.0
    """How much a sphere counts in the variation of normal words, from which the head takes its direction."""
    half: Annotated[int, Bounds(0)] = 100
    """What so many documents teach has half its weight, what fewer teach less; a verdict counts as `verdict_weight` of them."""
    weight: Weight = 10.0
    """How much what was learned counts beside the prior score of a word."""
    document_weight: Weight = 5.0
    """How much it counts beside the prior score of a document."""
    verdict_weight: Positive = 5.0
    """A word or document that a reviewer called odd counts as so many of the feed."""

    def strength(self, documents: float) -> float:
        """The share of its weight that what so many documents teach has."""
        return documents / (documents + self.half) if documents else 0.0


@dataclass(frozen=True)
class AggregationConfig(Stage):
    """Word scores -> document score, by the learned mixture of four pooling rules.

    What the paper calls log-sum-exp pooling is log-mean-exp here: the sum would grow with the length of the document. The nine
    numbers that r sees are multiplied by fixed units: 0.2 for the four candidates, the mean and the log length, 0.5 for
    peakness, 1 for support and geometry.
    """

    hidden: Count = 8
    """Width of the network r."""
    top_k: Count = 3
    """Words in the top-k mean."""
    support_p: Annotated[float, Bounds(0, 1, above=True)] = 0.01
    """A word counts as support when its score is above −log of this."""


@dataclass(frozen=True)
class DocumentConfig(Stage):
    """Documents as a whole."""

    rule: Literal["traits", "mixture"] = "traits"
    """`traits`: peaks and means of evidence, each ranked among normal documents. `mixture`: the paper's learned aggregation."""


@dataclass(frozen=True)
class LearnConfig(Stage):
    """Joint training of q and r, in the preset `paper` alone: on pseudo anomalies, with normal documents as negatives.

    The paper names pseudo anomalies alone; without documents of the other class the document loss would have nothing to tell
    them from.
    """

    steps: Count = 200
    """Each takes up to 64 pseudo-anomalous and 64 normal documents at random: of 600 pseudo anomalies, some 21 passes."""
    learning_rate: Positive = 0.01
    shrinkage: Weight = 0.01
    """Penalty on the squared output weights of q and r; the paper has none. Chosen among 0, .001, .01 and .1 on pseudo anomalies
    in held-out normal documents of three sets (docs/paper.md): .1 nearly fixes the gates. The presets `full` and `fast` learn
    neither q nor r, so it shrinks nothing there."""
    document_weight: Weight = 1.0
    """Weight of the document loss beside the word loss."""


@dataclass(frozen=True)
class PrivacyConfig(Stage):
    """What a saved model tells of the training text."""

    least_documents: Count = 2
    """Training documents that must have a word, or a pair of neighbours, for it to be readable in the saved model. Words that the
    language's list knows are always readable; other words are kept as checksums, other pairs not at all. 1 keeps everything
    readable. 2 changes scores little (docs/models.md)."""


@dataclass(frozen=True)
class Config:
    """All stages, in the order in which data passes through them."""

    ignore: IgnoreConfig = field(default_factory=IgnoreConfig)
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    views: ViewsConfig = field(default_factory=ViewsConfig)
    language: LanguageConfig = field(default_factory=LanguageConfig)
    critic: CriticConfig = field(default_factory=CriticConfig)
    form: FormConfig = field(default_factory=FormConfig)
    neighbour: NeighbourConfig = field(default_factory=NeighbourConfig)
    semantic: SemanticConfig = field(default_factory=SemanticConfig)
    calibration: CalibrationConfig = field(default_factory=CalibrationConfig)
    perturb: PerturbConfig = field(default_factory=PerturbConfig)
    fusion: FusionConfig = field(default_factory=FusionConfig)
    feed: FeedConfig = field(default_factory=FeedConfig)
    aggregation: AggregationConfig = field(default_factory=AggregationConfig)
    document: DocumentConfig = field(default_factory=DocumentConfig)
    learn: LearnConfig = field(default_factory=LearnConfig)
    privacy: PrivacyConfig = field(default_factory=PrivacyConfig)

    def __post_init__(self) -> None:
        for name, kind in kinds_of(Config).items():
            if not isinstance(stage := getattr(self, name), kind):
                raise ConfigError(f"{name}: expected a {kind.__name__}, got {type(stage).__name__}")
        if self.document.rule == "mixture" and self.fusion.rule != "gates":
            raise ConfigError(
                f"document.rule: expected traits beside fusion.rule={self.fusion.rule}, got mixture: it learns with gates"
            )
        if self.fusion.rule == "gates" and len(self.views.names) > 2:
            raise ConfigError(f"fusion.rule: expected mean for more than two views, got gates for {len(self.views.names)}")

    @classmethod
    def preset(cls, name: str) -> Config:
        """The settings of a preset."""
        presets: dict[str, dict[str, dict[str, Any]]] = {
            "full": {},
            "fast": {"encoder": {"name": NO_ENCODER}, "views": {"names": FAST_VIEWS}},
            "paper": {
                "views": {"names": ("semantic", "form")},
                "form": {"letters": "changes"},
                "calibration": {"reference": "in-sample", "leave_out_outliers": False},
                "perturb": {"kinds": PAPER_KINDS, "documents": 600, "per_document": 3, "excerpt": 0},
                "fusion": {"rule": "gates"},
                "document": {"rule": "mixture"},
            },
        }
        if name not in get_args(Preset):
            raise ConfigError(f"preset: expected one of {', '.join(get_args(Preset))}, got {name!r}")
        return cls().changed(presets[name])

    def changed(self, stages: Mapping[str, Any]) -> Config:
        """The same with other settings for some stages: single keys as a mapping, or a whole stage; unknown ones are errors."""
        _refuse_unknown("stage", stages, kinds_of(Config))
        return replace(self, **{name: _changed(getattr(self, name), name, values) for name, values in stages.items()})

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Plain values for JSON."""
        return asdict(self)


def _changed(stage: Any, name: str, values: Any) -> Any:
    """A stage with other values for some keys, or the settings themselves if they are already of that kind."""
    if isinstance(values, type(stage)):
        return values
    if not isinstance(values, Mapping):
        raise ConfigError(f"{name}: expected a {type(stage).__name__} or a mapping, got {type(values).__name__}")
    _refuse_unknown(f"key of {name}", values, [key.name for key in fields(stage)])
    return replace(stage, **values)


def _refuse_unknown(what: str, values: Mapping[str, Any], known: Any) -> None:
    for key in values:
        if key not in known:
            raise ConfigError(f"unknown {what} {key!r}: expected one of {', '.join(known)}")
