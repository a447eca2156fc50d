"""Settings of what makes scores of evidence: calibration, pseudo anomalies, fusion, documents and learning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from difa.config.checks import check, number, whole
from difa.config.views import VIEW_NAMES

ERROR_KINDS = (
    *("typo", "ocr", "gibberish", "leet", "double", "drop", "function", "inflection", "topic", "splice"),
    *("confused", "lookalike", "ending", "stranger", "misplaced", "swapped", "glued", "torn", "insult", "tongue"),
    *("mojibake", "case", "digit", "mark"),
)
PAPER_KINDS = ("form", "semantic", "mixed")

Reference = Literal["unseen", "in-sample"]
FusionRule = Literal["mean", "gates"]
DocumentRule = Literal["traits", "mixture"]


@dataclass(frozen=True)
class CalibrationConfig:
    """Raw evidence -> tail evidence, and the references of the p-values."""

    reference: Reference = "unseen"
    """Which normal scores the evidence is ranked among: of documents that the views did not see (cross-fitted), or, as
    in the paper, of the very documents they were fitted on. P-values and thresholds come from unseen documents always."""
    folds: int = 3
    """Parts of the cross-fitting: each is scored by views fitted on the others. 0 saves their fits where only rankings matter:
    p-values then come from documents that the views have seen, and promise nothing. Only in-sample references can do without."""
    epsilon: float = 1e-12
    """ε of e = −log(p + ε)."""
    leave_out_outliers: bool = True
    """Whether training documents that do not belong among the others are left out, if there are more than chance allows."""

    def __post_init__(self) -> None:
        check(self.reference in get_args(Reference), self, "reference", f"one of {', '.join(get_args(Reference))}")
        whole(self, "folds", 0)
        check(isinstance(self.leave_out_outliers, bool), self, "leave_out_outliers", "true or false")
        needs_folds = self.reference == "unseen" or self.leave_out_outliers
        check(self.folds >= (2 if needs_folds else 0) and self.folds != 1, self, "folds", "at least 2, or 0 in the preset paper")
        number(self, "epsilon", 0, 1e-3)


@dataclass(frozen=True)
class PerturbConfig:
    """Pseudo anomalies made from normal documents."""

    documents: int = 1500
    """Pseudo-anomalous documents at most: the critic learns from some sixty of each kind. 600 in the paper's preset."""
    per_document: int = 20
    """Of them, made from one normal document at most; 3 in the paper's preset."""
    excerpt: int = 64
    """Words of a longer document that are taken, around a random place; 0 takes whole documents, as in the paper's preset."""
    diffuse: float = 0.35
    """Share of them with several changed words."""
    max_share: float = 0.3
    """Share of words changed at most in a diffuse one."""
    kinds: tuple[str, ...] = ERROR_KINDS
    """In equal parts: the errors of real text, or the paper's string mutation, representation replacement, and both."""

    def __post_init__(self) -> None:
        whole(self, "documents", 1)
        whole(self, "per_document", 1)
        whole(self, "excerpt", 0)
        number(self, "diffuse", 0, 1)
        number(self, "max_share", 0, 1, above=True)
        object.__setattr__(self, "kinds", tuple(self.kinds))
        known = (*ERROR_KINDS, *PAPER_KINDS)
        check(bool(self.kinds) and set(self.kinds) <= set(known), self, "kinds", f"some of {', '.join(known)}")


PRIOR_WEIGHTS = {"critic": 1.0, "tone": 1.0, "language": 0.7, "phrase": 0.7, "form": 0.5, "faults": 0.25, "neighbour": 0.25}
"""Chosen on the average of eight labelled sets, so that no set loses more than .01 (docs/choices.md): what is merely new in its
form or meaning alarms form and neighbour view more often than the others."""


@dataclass(frozen=True)
class FusionConfig:
    """Evidences -> word score."""

    rule: FusionRule = "mean"
    """`mean`: the power mean of any number of views. `gates`: the learned gates of the paper, for two views."""
    power: float = 2.0
    """Power of the mean. At 1, views that see nothing hide one that is certain; above 3, chance in any view shows."""
    weights: Mapping[str, float] = field(default_factory=lambda: dict(PRIOR_WEIGHTS))
    """How much each view counts in the mean, before a feed says more; views that are not named count 1."""
    hidden: int = 8
    """Width of the gates' network q."""
    agreement: bool = True
    """Whether the gates have the term β·√(e_sem·e_form)."""

    def __post_init__(self) -> None:
        check(self.rule in get_args(FusionRule), self, "rule", f"one of {', '.join(get_args(FusionRule))}")
        number(self, "power", 1, 16)
        check(isinstance(self.weights, Mapping), self, "weights", "a number for each view")
        object.__setattr__(self, "weights", dict(self.weights))
        check(set(self.weights) <= set(VIEW_NAMES), self, "weights", f"some of {', '.join(VIEW_NAMES)}")
        is_positive = all(type(weight) in (int, float) and 0 < weight < 1e6 for weight in self.weights.values())
        check(is_positive, self, "weights", "a number above 0 for each view")
        whole(self, "hidden", 1)
        check(isinstance(self.agreement, bool), self, "agreement", "true or false")


@dataclass(frozen=True)
class FeedConfig:
    """What new text that nobody has labelled teaches, and what verdicts teach; docs/choices.md has figures for other numbers."""

    least_documents: int = 50
    """Different documents of a feed that are needed; with fewer, nothing is learned from it."""
    folds: int = 8
    """Parts of the documents, by their words: each part is scored by what the others taught."""
    smoothing: float = 5.0
    """Words that are added to both sides of a ratio, so that few extreme words by chance teach nothing."""
    document_smoothing: float = 2.0
    """The same for documents."""
    shrinkage: float = 1.0
    """How much a sphere counts in the variation of normal words, from which the head takes its direction."""
    half: int = 100
    """Documents of a feed, a verdict counted as several, at which what it teaches has half its weight: few teach little."""
    weight: float = 10.0
    """How much what was learned counts beside the prior score of a word."""
    document_weight: float = 5.0
    """The same for documents."""
    verdict_weight: float = 5.0
    """Words, or documents, of the feed for which one counts that a reviewer called odd."""

    def __post_init__(self) -> None:
        whole(self, "least_documents", 1)
        whole(self, "folds", 2, 64)
        whole(self, "half", 0)
        for name in ("smoothing", "document_smoothing", "shrinkage", "verdict_weight"):
            number(self, name, 0, above=True)
        number(self, "weight", 0)
        number(self, "document_weight", 0)

    def strength(self, documents: float) -> float:
        """The share of its weight that a lesson from so many documents has."""
        return documents / (documents + self.half) if documents else 0.0


@dataclass(frozen=True)
class AggregationConfig:
    """Word scores -> document score, by the learned mixture of four pooling rules.

    What the paper calls log-sum-exp pooling is log-mean-exp here: the sum would grow with the length of the document. The nine
    numbers that r sees are multiplied by fixed units: 0.2 for the four candidates, the mean and the log length, 0.5 for
    peakness, 1 for support and geometry.
    """

    hidden: int = 8
    """Width of the network r."""
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
    """Documents as a whole."""

    rule: DocumentRule = "traits"
    """`traits`: peaks and means of evidence, each ranked among normal documents. `mixture`: the paper's learned aggregation."""

    def __post_init__(self) -> None:
        check(self.rule in get_args(DocumentRule), self, "rule", f"one of {', '.join(get_args(DocumentRule))}")


@dataclass(frozen=True)
class LearnConfig:
    """Joint training of q and r, in the preset `paper` alone: on pseudo anomalies, with normal documents as negatives.

    The paper names pseudo anomalies alone; without documents of the other class the document loss would have nothing to tell
    them from.
    """

    steps: int = 200
    """Each takes up to 64 pseudo-anomalous and 64 normal documents at random: of 600 pseudo anomalies, some 21 passes."""
    learning_rate: float = 0.01
    shrinkage: float = 0.01
    """Penalty on the squared output weights of q and r; the paper has none. Chosen among 0, .001, .01 and .1 on pseudo anomalies
    in held-out normal documents of three sets (docs/paper.md): .1 nearly fixes the gates. The presets `full` and `fast` learn
    neither q nor r, so it shrinks nothing there."""
    document_weight: float = 1.0
    """Weight of the document loss beside the word loss."""

    def __post_init__(self) -> None:
        whole(self, "steps", 1)
        number(self, "learning_rate", 0, above=True)
        number(self, "shrinkage", 0)
        number(self, "document_weight", 0)
