"""Settings: one frozen dataclass per stage, checked when made; unknown keys and impossible values are errors.

Each default stands once, with its reason: `views` has the encoder and the views, `scoring` what makes scores of their
evidence. Three presets: `paper` follows the text of the paper, but for its encoder and layer and a few things that
docs/paper.md lists; `full`, the default, differs where the paper's way is known to be dishonest or weak; `fast` does without an
encoder (docs/method.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any, Literal, get_args

from difa.config.checks import check_seed, check_threads
from difa.config.scoring import (
    ERROR_KINDS,
    PAPER_KINDS,
    AggregationConfig,
    CalibrationConfig,
    DocumentConfig,
    FeedConfig,
    FusionConfig,
    LearnConfig,
    PerturbConfig,
    Reference,
)
from difa.config.views import (
    DEFAULT_ENCODER,
    FAST_VIEWS,
    FULL_VIEWS,
    NO_ENCODER,
    PAPER_VIEWS,
    VIEW_NAMES,
    CriticConfig,
    EncoderConfig,
    FormConfig,
    IgnoreConfig,
    LanguageConfig,
    NeighbourConfig,
    PrivacyConfig,
    SemanticConfig,
    ViewsConfig,
)
from difa.errors import ConfigError

__all__ = [
    "DEFAULT_ENCODER",
    "ERROR_KINDS",
    "FAST_VIEWS",
    "FULL_VIEWS",
    "NO_ENCODER",
    "PAPER_KINDS",
    "PAPER_VIEWS",
    "VIEW_NAMES",
    "AggregationConfig",
    "CalibrationConfig",
    "Config",
    "CriticConfig",
    "DocumentConfig",
    "EncoderConfig",
    "FeedConfig",
    "FormConfig",
    "FusionConfig",
    "IgnoreConfig",
    "LanguageConfig",
    "LearnConfig",
    "NeighbourConfig",
    "PerturbConfig",
    "Preset",
    "PrivacyConfig",
    "Reference",
    "SemanticConfig",
    "ViewsConfig",
    "check_seed",
    "check_threads",
    "stage_from_dict",
]

Preset = Literal["full", "fast", "paper"]
_OLD_KEYS = {("calibration", "trim"): "leave_out_outliers"}  # names that older model folders and scripts have


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
        for stage in fields(self):
            expected = stage.default_factory
            if not isinstance(getattr(self, stage.name), expected):  # type: ignore[arg-type]
                got = type(getattr(self, stage.name)).__name__
                raise ConfigError(f"{stage.name}: expected a {expected.__name__}, got {got}")  # type: ignore[union-attr]
        if self.document.rule == "mixture" and self.fusion.rule != "gates":
            raise ConfigError(
                f"document.rule: expected traits beside fusion.rule={self.fusion.rule}, got mixture: it learns with gates"
            )
        if self.fusion.rule == "gates" and len(self.views.names) > 2:
            raise ConfigError(f"fusion.rule: expected mean for more than two views, got gates for {len(self.views.names)}")

    @classmethod
    def preset(cls, name: str) -> Config:
        """The settings of a preset."""
        if name not in get_args(Preset):
            raise ConfigError(f"preset: expected one of {', '.join(get_args(Preset))}, got {name!r}")
        config = cls()
        if name == "fast":
            return replace(config, encoder=replace(config.encoder, name=NO_ENCODER), views=ViewsConfig(names=FAST_VIEWS))
        if name == "paper":
            return replace(
                config,
                views=ViewsConfig(names=PAPER_VIEWS),
                form=replace(config.form, letters="changes"),
                calibration=replace(config.calibration, reference="in-sample", leave_out_outliers=False),
                perturb=replace(config.perturb, kinds=PAPER_KINDS, documents=600, per_document=3, excerpt=0),
                fusion=replace(config.fusion, rule="gates"),
                document=replace(config.document, rule="mixture"),
            )
        return config

    def changed(self, stages: Mapping[str, Any]) -> Config:
        """The same with other settings for some stages: single keys as a mapping, or a whole stage."""
        known = {stage.name: stage.default_factory for stage in fields(self)}
        _refuse_unknown("stage", stages, known)
        config = self
        for name, values in stages.items():
            if isinstance(values, Mapping):
                current = getattr(config, name)
                values = {key.name: getattr(current, key.name) for key in fields(current)} | dict(values)
            config = replace(config, **{name: stage_from_dict(known[name], name, values)})
        return config

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Plain values for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Config:
        """Settings from plain values, as a model folder has them; unknown stages and keys are errors."""
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
    values = {_OLD_KEYS.get((name, key), key): value for key, value in values.items()}
    _refuse_unknown(f"key of {name}", values, {key.name for key in fields(stage)})
    return stage(**values)


def _refuse_unknown(what: str, values: Mapping[str, Any], known: Any) -> None:
    for key in values:
        if key not in known:
            raise ConfigError(f"unknown {what} {key!r}: expected one of {', '.join(known)}")
