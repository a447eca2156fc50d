"""What flows through the pipeline: words, documents, vectors and results.

Everything here is frozen. Offsets count Unicode code points, and `text[start:end] == word.text` holds for every word.
Higher scores are always more anomalous; p-values are small where scores are high.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]
_NAMED = 5  # words that a summary names at most


@dataclass(frozen=True, slots=True)
class Word:
    """A word and its place in the text."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Document:
    """A text and its words; `labels` (0/1 per word) only where someone marked them."""

    text: str
    words: tuple[Word, ...]
    id: str | None = None
    labels: tuple[int, ...] | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    """What else stands in its row, by column: kept in the results, never scored."""
    odd: bool | None = None
    """Whether someone called the whole document odd; None where nobody judged it as a whole."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """The words of a document as strings, with one vector each: (T, d), and the number of subwords each was read in: (T,)."""

    words: tuple[str, ...]
    vectors: FloatArray
    pieces: IntArray

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True, slots=True)
class WordScore:
    """One scored word: fused score, p-value among normal words, flag, and the tail evidence of each view."""

    text: str
    start: int
    end: int
    score: float
    p_value: float
    is_anomaly: bool
    evidence: Mapping[str, float] = field(default_factory=dict)
    suggestion: str | None = None
    """What an unusual word may have been meant to be, if it looks like a slip."""
    allowed: bool = False
    """Whether someone said that it is normal: its score is then 0, and it plays no part in that of its document."""


@dataclass(frozen=True, slots=True)
class Result:
    """One scored document and its words; `evidence` says how far each trait of the document lies in the normal tail."""

    text: str
    score: float
    p_value: float
    is_anomaly: bool
    words: tuple[WordScore, ...]
    id: str | None = None
    evidence: Mapping[str, float] = field(default_factory=dict)
    columns: Mapping[str, Any] = field(default_factory=dict)
    """What else stands in the document's row, by column."""
    judged_by: str | None = None
    """`screen` or `model`, where two models read in a row."""

    @property
    def summary(self) -> str:
        """What a flagged document is flagged for: its words, or the text as a whole; empty if it is not flagged."""
        if not self.is_anomaly:
            return ""
        flagged = sorted((word for word in self.words if word.is_anomaly), key=lambda word: word.p_value)
        if flagged:
            named = list(dict.fromkeys(word.text for word in flagged))[:_NAMED]
            return f"unusual word{'s' if len(named) > 1 else ''}: {', '.join(named)}"
        return "no single word stands out: the text as a whole is unlike the normal ones"

    def to_html(self) -> str:
        """The text with its unusual words shaded, and one sentence: HTML that stands by itself."""
        from difa.report.html import result_html

        return result_html(self)

    _repr_html_ = to_html  # what notebooks show

    def to_dict(self) -> dict[str, Any]:
        """The fields of the command line's JSON, in its order; `columns` and `allowed` only where there are some."""
        return {
            "id": self.id,
            "text": self.text,
            **({"columns": dict(self.columns)} if self.columns else {}),
            "score": self.score,
            "p_value": self.p_value,
            "is_anomaly": self.is_anomaly,
            "summary": self.summary,
            "evidence": dict(self.evidence),
            **({} if self.judged_by is None else {"judged_by": self.judged_by}),
            "words": [
                {
                    "text": word.text,
                    "start": word.start,
                    "end": word.end,
                    "score": word.score,
                    "p_value": word.p_value,
                    "is_anomaly": word.is_anomaly,
                    "suggestion": word.suggestion,
                    "evidence": dict(word.evidence),
                    **({"allowed": True} if word.allowed else {}),
                }
                for word in self.words
            ],
        }


@dataclass(frozen=True, slots=True)
class ReasonKind:
    """A kind of reason that a view gives, and how it is put into words: templates that the values of a reason fill."""

    name: str
    text: str
    """What was found, with numbers."""
    plain: str = ""
    """What a sentence says of the word; empty where this kind is not worth a sentence."""
    rank: int = 80
    """Sentences begin with the lowest rank. From 90 on (`IMPLIED`) a kind is said only where there is nothing else to say."""


IMPLIED = 90
"""Rank of what other reasons imply."""


@dataclass(frozen=True, slots=True, repr=False)
class Reason:
    """One reason for a word's evidence under a view: its kind, what was found, and its share of the evidence (0 to 1)."""

    kind: ReasonKind
    values: Mapping[str, Any]
    weight: float

    @property
    def text(self) -> str:
        """What was found, in words and numbers."""
        return self.kind.text.format(**self.values)

    @property
    def plain(self) -> str:
        """What a sentence says of the word; empty for what is not worth saying."""
        return self.kind.plain.format(**self.values)

    def to_dict(self) -> dict[str, Any]:
        """The fields of the command line's JSON."""
        return {"kind": self.kind.name, "text": self.text, "values": dict(self.values), "weight": self.weight}

    def __repr__(self) -> str:
        return f"Reason(text={self.text!r}, weight={self.weight!r})"


@dataclass(frozen=True, slots=True)
class Explanation:
    """A scored document and, for each word and view, the reasons for its evidence, strongest first."""

    result: Result
    reasons: tuple[Mapping[str, tuple[Reason, ...]], ...]
    rate: float | None = None
    """The rate by which flags were set."""
    rule: str = "fpr"
    """Which rate that is: `fpr` or `fdr`."""
    learned: tuple[str, ...] = ()
    """What a feed taught the model, one sentence each."""

    def to_html(self) -> str:
        """The text with its unusual words shaded, a sentence for each of them, and the numbers folded away."""
        from difa.report.html import explanation_html

        return explanation_html(self)

    _repr_html_ = to_html


def split_by(lengths: Iterable[int], values: FloatArray) -> list[FloatArray]:
    """Cut one array over all words back into one array per document."""
    ends = accumulate(lengths, initial=0)
    return [values[start:end] for start, end in pairwise(ends)]
