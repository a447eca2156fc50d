"""Settings of what makes scores of evidence: calibration, pseudo anomalies, fusion, documents and learning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from difa.config.checks import check, number, whole

ERROR_KINDS = ("typo", "ocr", "gibberish", "leet", "double", "drop", "function", "inflection", "topic", "splice")
PAPER_KINDS = ("form", "semantic", "mixed")

Reference = Literal["unseen", "in-sample"]


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
        check(self.reference in get_args(Reference), self, "reference", f"one of {', '.join(get_args(Reference))}")
        whole(self, "folds", 2)
        number(self, "epsilon", 0, 1e-3)
        check(isinstance(self.trim, bool), self, "trim", "true or false")


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
        whole(self, "documents", 1)
        number(self, "diffuse", 0, 1)
        number(self, "max_share", 0, 1, above=True)
        object.__setattr__(self, "kinds", tuple(self.kinds))
        known = (*ERROR_KINDS, *PAPER_KINDS)
        check(bool(self.kinds) and set(self.kinds) <= set(known), self, "kinds", f"some of {', '.join(known)}")


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
        whole(self, "hidden", 0)
        number(self, "power", 1, 16)


@dataclass(frozen=True)
class AggregationConfig:
    """Word scores -> document score, by the learned mixture of four pooling rules."""

    hidden: int = 8
    top_k: int = 3
    """Words in the top-k mean."""
    support_p: float = 0.01
    """A word counts as support when its score is above −log of this."""

    def __post_init__(self) -> None:
        whole(self, "hidden", 1)
        whole(self, "top_k", 1)
        number(self, "support_p", 0, 1, above=True)


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
        check(isinstance(self.view, bool), self, "view", "true or false")
        number(self, "length_weight", 0)
        number(self, "feedback", 0)


@dataclass(frozen=True)
class LearnConfig:
    """Joint training of q and r on pseudo anomalies."""

    steps: int = 200
    learning_rate: float = 0.01
    shrinkage: float = 0.01
    """Penalty on the squared output weights of q and r: without a reason, gates stay at one half and the four rules alike. The
    networks of the paper preset have more freedom and a stronger one."""
    document_weight: float = 1.0
    """Weight of the document loss beside the word loss."""
    worst: float = 10.0
    """How much the kinds of pseudo anomalies that are found worst count more than the others: 0, as in the paper, not at all."""

    def __post_init__(self) -> None:
        whole(self, "steps", 1)
        number(self, "learning_rate", 0, above=True)
        number(self, "shrinkage", 0)
        number(self, "document_weight", 0)
        number(self, "worst", 0)
