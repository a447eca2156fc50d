"""A model, and batches of a feed one after the other -> a report on each, and whether there is an alarm.

The share flagged is compared with the promise, the batch with normal text, and the running evidence grows; only the latter
raises an alarm, since it alone may be looked at every day.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from difa.calibrate import check_rate
from difa.decide import Rule, flag_columns
from difa.decide.confidence import rate_bound, share_interval
from difa.document import Result
from difa.errors import InputError
from difa.estimator import DiFA
from difa.monitor.batch import BatchCounts, count_batch
from difa.monitor.differences import Difference, find_differences
from difa.monitor.evidence import Pool, different, draw_places, more_unusual
from difa.monitor.state import MonitorState, model_key
from difa.runtime.prefetch import chunk_documents
from difa.words import as_documents

FALSE_ALARM = 0.05
"""Chance that there is ever a false alarm, while the feed is as the normal documents were."""


@dataclass(frozen=True)
class BatchReport:
    """What there is to say of a batch."""

    name: str
    documents: int
    flagged: int
    interval: tuple[float, float]
    """95 % interval of the share flagged."""
    promise: float
    bound: float
    """The rate in force, and what it flags of normal documents at most with 95 % confidence."""
    more_unusual: float
    """Chance that normal text looks as unusual."""
    different: float
    """Chance that it differs as much, in either direction."""
    log10_evidence: float
    """Running evidence that the feed has changed: 2 for odds of 100 to 1."""
    alarm: bool
    repeated: bool
    """Whether the same batch was counted before, and so not again."""
    differences: tuple[Difference, ...]

    @property
    def share(self) -> float:
        return self.flagged / self.documents

    def to_dict(self) -> dict[str, Any]:
        """All fields, as JSON has them."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "differences"}
        differences = [{**vars(difference), "sentence": difference.sentence} for difference in self.differences]
        return fields | {"share": self.share, "interval": list(self.interval), "differences": differences}


class Monitor:
    """Looks at the batches of one feed in their order.

    Args:
        model: a fitted model.
        fpr: rate at which documents are flagged; the model's own by default.
        false_alarm: chance that there is ever an alarm while the feed is as the normal documents were.
        state: where an earlier run ended; a new start by default.
    """

    def __init__(
        self, model: DiFA, *, fpr: float | None = None, false_alarm: float = FALSE_ALARM, state: MonitorState | None = None
    ) -> None:
        check_rate("false_alarm", false_alarm)
        self.model, self.false_alarm = model, false_alarm
        self.rule = Rule.in_force(fpr, None, own=(model.fpr, None))
        self.state = state or MonitorState(model_key(model.detector_), false_alarm)
        self._references = len(model.detector_.document_reference.values)

    @property
    def threshold(self) -> float:
        """log10 of the evidence at which there is an alarm."""
        return -math.log10(self.false_alarm)

    def score(self, documents: Iterable[Any]) -> Iterator[Result]:
        """Flagged results of documents, in their order and in bounded memory."""
        chunks = chunk_documents(as_documents(documents))
        for _, ranked in self.model.score_chunks(chunks, lambda: next(chunks, None)):
            for part in flag_columns([ranked], self.rule):
                yield from part.results()

    def look(self, name: str, documents: Iterable[Any]) -> BatchReport:
        """Score a batch and judge it."""
        return self.judge(name, count_batch(self.score(documents)))

    def judge(self, name: str, batch: BatchCounts) -> BatchReport:
        """Judge a batch that was scored, and count it into the running evidence."""
        if not batch.documents:
            raise InputError(f"{name}: expected documents, got none")
        repeated = batch.digest in self.state.seen
        if not repeated:
            self._count(name, batch)
        p_values, references = batch.p_values, self._references
        return BatchReport(
            name=name,
            documents=batch.documents,
            flagged=batch.flagged,
            interval=share_interval(batch.flagged, batch.documents),
            promise=self.rule.rate,
            bound=rate_bound(references, self.rule.rate),
            more_unusual=more_unusual(p_values, references),
            different=different(p_values, references),
            log10_evidence=self.state.evidence.log_capital / math.log(10),
            alarm=self.state.is_alarm,
            repeated=repeated,
            differences=tuple(find_differences(batch, self.model.detector_)),
        )

    def _count(self, name: str, batch: BatchCounts) -> None:
        state = self.state
        pool = Pool(self.model.detector_.document_reference.values, state.feed)
        evidence = state.evidence.after(pool.rank(batch.scores, draw_places(batch.documents, state.documents)))
        self.state = replace(
            state,
            evidence=evidence,
            feed=pool.feed,
            documents=state.documents + batch.documents,
            flagged=state.flagged + batch.flagged,
            alarm_since=(state.alarm_since or name) if evidence.is_alarm(self.false_alarm) else None,
            seen=(*state.seen, batch.digest),
        )
