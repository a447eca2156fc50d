"""A model, and batches of a feed one after the other -> a report on each, and whether there is an alarm.

The share flagged is compared with the promise, the batch with normal text, and the running evidence grows; only the latter
raises an alarm, since it alone may be looked at every day. Reports are shown as lines to read and as Prometheus' text format.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from difa.calibrate import check_rate
from difa.decide import Rule, flag_columns
from difa.decide.confidence import rate_bound, share_interval
from difa.document import Result
from difa.errors import InputError
from difa.estimator import DiFA
from difa.monitor.batch import BatchCounts, Difference, find_differences, percent
from difa.monitor.evidence import FALSE_ALARM, MonitorState, different, more_unusual
from difa.report.sentences import visible
from difa.runtime.parallel import chunk_documents
from difa.words import as_documents

_UNLIKELY = 0.01  # chance below which a batch is said to be unlike normal text


@dataclass(frozen=True)
class BatchReport:
    """The figures of a batch, and what differs in it from normal text."""

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
        state: where an earlier run ended, with its own such chance; a new start by default.
    """

    def __init__(
        self, model: DiFA, *, fpr: float | None = None, false_alarm: float = FALSE_ALARM, state: MonitorState | None = None
    ) -> None:
        check_rate("false_alarm", false_alarm)
        self.model = model
        self.rule = Rule.in_force(fpr, None, own=(model.fpr, None))
        self.state = state or MonitorState.fresh(model.detector_, false_alarm)

    @property
    def threshold(self) -> float:
        """log10 of the evidence at which there is an alarm."""
        return -math.log10(self.state.false_alarm)

    def score(self, documents: Iterable[Any]) -> Iterator[Result]:
        """Flagged results of documents, in their order and in bounded memory."""
        chunks = chunk_documents(as_documents(documents))
        for _, ranked in self.model.score_chunks(chunks):
            for part in flag_columns([ranked], self.rule):
                yield from part.results()

    def look(self, name: str, documents: Iterable[Any]) -> BatchReport:
        """Score a batch and judge it."""
        batch = BatchCounts()
        for result in self.score(documents):
            batch.add(result)
        return self.judge(name, batch)

    def judge(self, name: str, batch: BatchCounts) -> BatchReport:
        """Judge a batch that was scored, and count it into the running evidence."""
        if not batch.documents:
            raise InputError(f"{name}: expected documents, got none")
        reference, state = self.model.detector_.document_reference, self.state
        scores, references = np.array(batch.scores), len(reference.values)
        p_values, repeated = reference.p_values(scores), batch.digest in state.seen
        if not repeated:
            counted = state.after(name, scores, reference.values)
            self.state = replace(counted, flagged=state.flagged + batch.flagged, seen=(*state.seen, batch.digest))
        return BatchReport(
            name=name,
            documents=batch.documents,
            flagged=batch.flagged,
            interval=share_interval(batch.flagged, batch.documents),
            promise=self.rule.rate,
            bound=rate_bound(references, self.rule.rate),
            more_unusual=more_unusual(p_values, references),
            different=different(p_values, references),
            log10_evidence=self.state.log_evidence / math.log(10),
            alarm=self.state.is_alarm,
            repeated=repeated,
            differences=tuple(find_differences(batch, self.model.detector_)),
        )


def batch_lines(report: BatchReport, threshold: float) -> list[str]:
    """A report in lines to read, the figures first; `threshold` is log10 of the evidence at which there is an alarm."""
    low, high = map(percent, report.interval)
    more = " – more than promised" if report.interval[0] > report.bound else ""
    lines = [
        f"{visible(report.name)}: {report.flagged} of {report.documents} documents flagged, {percent(report.share)} "
        f"(95 % interval {low} to {high}); promised {percent(report.promise)}, at most {percent(report.bound)}{more}"
    ]
    if report.more_unusual < _UNLIKELY:
        lines.append(f"  more unusual than normal text (chance {report.more_unusual:.1g})")
    elif report.different < _UNLIKELY:
        lines.append(f"  unlike normal text, but not more unusual (chance {report.different:.1g})")
    lines += [f"  {difference.sentence}" for difference in report.differences]
    again = "; counted before, not again" if report.repeated else ""
    lines.append(f"  evidence of a change so far: {odds(report.log10_evidence)}; alarm at {odds(threshold)}{again}")
    return lines


def verdict(monitor: Monitor) -> str:
    """The last line: whether there is an alarm, and how often that is wrong."""
    risk = f"chance of a false alarm, ever: {percent(monitor.state.false_alarm)}"
    since = monitor.state.alarm_since
    return f"no alarm ({risk})" if since is None else f"ALARM since {visible(since)}: the feed is no longer as before ({risk})"


def odds(log10: float) -> str:
    """Evidence as odds."""
    return f"{10**log10:{'.2g' if log10 < 1 else ',.0f'}} to 1" if log10 < 4 else f"10^{log10:.0f} to 1"


def prometheus(last: BatchReport, monitor: Monitor, model: str, empty: int) -> str:
    """Figures of the last batch and of the running evidence, for a collector of text files.

    `model` is the model's name, and `empty` how many batches of this run had no document.
    """
    state = monitor.state
    figures: list[tuple[str, str, str, float]] = [
        ("documents_total", "counter", "Documents looked at.", state.documents),
        ("flagged_total", "counter", "Documents flagged.", state.flagged),
        ("batches_total", "counter", "Batches looked at.", state.batches),
        ("empty_batches", "gauge", "Batches of the last run that had no documents.", empty),
        ("batch_documents", "gauge", "Documents of the last batch that had any.", last.documents),
        ("batch_flagged_share", "gauge", "Share of the last batch that is flagged.", last.share),
        ("batch_flagged_share_low", "gauge", "Lower end of its 95 % interval.", last.interval[0]),
        ("batch_flagged_share_high", "gauge", "Upper end of its 95 % interval.", last.interval[1]),
        ("promised_share", "gauge", "Share of normal documents that may be flagged.", last.promise),
        ("batch_chance", "gauge", "Chance that normal text looks as unusual as the last batch.", last.more_unusual),
        ("evidence_log10", "gauge", "Running evidence of a change, log10 of the odds.", last.log10_evidence),
        ("alarm_evidence_log10", "gauge", "Evidence at which there is an alarm.", monitor.threshold),
        ("alarm", "gauge", "1 if there is an alarm, 0 otherwise.", state.is_alarm),
    ]
    label = model.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    lines = []
    for name, kind, text, value in figures:
        full = f"difa_monitor_{name}"
        lines += [f"# HELP {full} {text}", f"# TYPE {full} {kind}", f'{full}{{model="{label}"}} {float(value)!r}']
    return "\n".join(lines) + "\n"
