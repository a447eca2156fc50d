"""Documents -> their columns, by a model or by two in a row: a fast one reads every document, another the most suspicious ones.

A document goes on to the second model if the first gives it a p-value of at most `rate`. Otherwise the first model's result
stands. A normal document is flagged only if the second model flags it, so at rates up to `rate` there are no more false alarms
than the second model would raise alone. Above, p-values of two models would be mixed: that is refused.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from difa.calibrate import check_rate
from difa.decide import Rule, flag_columns
from difa.document import Result, Scored, columns_of
from difa.errors import ConfigError
from difa.estimator import DiFA
from difa.runtime.parallel import HasDocuments
from difa.words import as_document

C = TypeVar("C", bound=HasDocuments)

SCREEN, MODEL = "screen", "model"
"""What a result says it was judged by."""


@dataclass(frozen=True)
class Cascade:
    """A model behind a screen.

    Args:
        model: reads what is suspicious.
        screen: reads everything.
        rate: share of normal documents that the screen passes on to the model.
    """

    model: DiFA
    screen: DiFA
    rate: float

    def __post_init__(self) -> None:
        check_rate("screen", self.rate)

    def score(self, texts: Iterable[Any], *, fpr: float | None = None) -> list[Result]:
        """Results in order; `judged_by` says which model each is from."""
        rate = self.rate_in_force(fpr)
        documents = [as_document(text, position) for position, text in enumerate(texts)]
        screened = self.screen.score_columns(documents, allow=self.model.allowed_)  # both allow what the model allows
        results = _judged(screened, rate, SCREEN)
        suspicious = [at for at, result in enumerate(results) if result.p_value <= self.rate]
        again = self.model.score_columns([documents[at] for at in suspicious])
        for at, result in zip(suspicious, _judged(again, rate, MODEL), strict=True):
            results[at] = result
        return results

    def rate_in_force(self, fpr: float | None) -> float:
        """The false-alarm rate that is given, or else the model's own; one that the screen does not allow is refused."""
        if fpr is None and self.model.fdr is not None:
            raise ConfigError("screen: expected a model that flags at a false-alarm rate, got one with fdr: give fpr")
        rate = check_rate("fpr", self.model.fpr if fpr is None else fpr)
        if rate > self.rate:
            raise ConfigError(f"fpr: expected at most the rate of the screen, {self.rate:g}, got {rate:g}: raise that one")
        return rate


def _judged(parts: Sequence[Scored], rate: float, by: str) -> list[Result]:
    flagged = flag_columns(parts, Rule("fpr", rate))
    return [result for part in flagged for result in replace(part, judged_by=by).results()]


@dataclass(frozen=True)
class Judge:
    """What scores chunks in every engine; a false-discovery rate needs all documents and sets flags in a second pass."""

    model: DiFA
    rule: Rule
    cascade: Cascade | None = None

    def score(self, chunks: Iterator[C]) -> Generator[tuple[C, list[Scored]]]:
        """Each chunk with the columns of its documents."""
        if self.cascade is not None:
            for chunk in chunks:
                yield chunk, columns_of(self.cascade.score(chunk.documents, fpr=self.rule.rate))
            return
        with closing(self.model.score_chunks(chunks)) as scored:
            for chunk, ranked in scored:
                yield chunk, [ranked] if self.rule.name == "fdr" else flag_columns([ranked], self.rule)
