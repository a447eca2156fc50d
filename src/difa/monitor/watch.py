"""A model, and batches of a feed one after the other -> a report on each, and whether there is an alarm.

The share flagged is compared with the promise, the batch with normal text, and the running evidence grows; only the latter
raises an alarm, since it alone may be looked at every day. The evidence is kept in a small JSON file, so that a nightly run goes
on where the last one ended. Reports are shown as lines to read and as Prometheus' text format.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from difa.calibrate import check_rate
from difa.decide import Rule, flag_columns
from difa.decide.confidence import rate_bound, share_interval
from difa.detector import Detector
from difa.document import FloatArray, Result
from difa.errors import InputError
from difa.estimator import DiFA
from difa.monitor.batch import BatchCounts, Difference, find_differences, percent
from difa.monitor.evidence import BETS, STEPS, bet, different, draw_places, log_evidence, more_unusual, rank, steps_of
from difa.report.sentences import visible
from difa.runtime.parallel import chunk_documents
from difa.storage.atomic import fresh_text
from difa.words import as_documents

FALSE_ALARM = 0.05
"""Chance that there is ever a false alarm, while the feed is as the normal documents were."""
FORMAT = 1
_REMEMBERED = 1000  # batches that are recognised if they come again
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


@dataclass(frozen=True)
class MonitorState:
    """What is kept between runs: counts, evidence and checksums, never a text."""

    model: str
    """Checksum of what gives the p-values."""
    false_alarm: float
    """The promise that the evidence was gathered under."""
    feed: Mapping[int, int] = field(default_factory=dict)
    """How many documents of the feed have a score of each step."""
    flagged: int = 0
    alarm_since: str | None = None
    """The batch with which the alarm began that still stands."""
    seen: tuple[str, ...] = ()
    """Checksums of the last batches: one that comes again is not counted twice."""
    batches: int = 0
    log_capital: tuple[float, ...] = (-math.inf,) * BETS
    """Logarithm of the capital in each bet."""

    @property
    def documents(self) -> int:
        return sum(self.feed.values())

    @property
    def log_evidence(self) -> float:
        """The log odds against "as before"."""
        return log_evidence(self.log_capital, self.batches)

    @property
    def is_alarm(self) -> bool:
        """Whether the alarm stands."""
        return self.alarm_since is not None

    def after(self, name: str, scores: FloatArray, reference: FloatArray) -> MonitorState:
        """The state after one more batch; `reference` holds the scores of normal documents."""
        p_values = rank(scores, draw_places(len(scores), self.documents), reference, self.feed)
        feed, batches = Counter(self.feed) + Counter(steps_of(scores).tolist()), self.batches + 1
        state = replace(self, feed=feed, batches=batches, log_capital=bet(self.log_capital, batches, p_values))
        # The evidence gets this high by chance with that probability at most, ever.
        stands = state.log_evidence >= -math.log(self.false_alarm)
        return replace(state, alarm_since=(self.alarm_since or name) if stands else None)


def model_key(detector: Detector) -> str:
    """Checksum of the references that p-values are ranked among; it does not depend on the rate in force."""
    content = sha256()
    for reference in (detector.document_reference, detector.word_reference):
        content.update(reference.values.astype("<f8").tobytes())
    return content.hexdigest()[:16]


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

    @property
    def threshold(self) -> float:
        """log10 of the evidence at which there is an alarm."""
        return -math.log10(self.false_alarm)

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
        detector, state = self.model.detector_, self.state
        repeated = batch.digest in state.seen
        if not repeated:
            counted = state.after(name, np.array(batch.scores), detector.document_reference.values)
            self.state = replace(counted, flagged=state.flagged + batch.flagged, seen=(*state.seen, batch.digest))
        p_values, references = np.array(batch.p_values), len(detector.document_reference.values)
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
            differences=tuple(find_differences(batch, detector)),
        )


def read_state(path: Path, detector: Detector, false_alarm: float) -> MonitorState:
    """The state of an earlier run, or a new one where there is no file."""
    fresh = MonitorState(model_key(detector), false_alarm)
    try:
        found = _parse(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return fresh
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{path}: expected the state of a monitor, got something else: remove it or name another file") from None
    if found.model != fresh.model:
        raise InputError(
            f"{path}: expected the state of this model, got that of another one: remove it or name another file for this model"
        )
    if found.false_alarm != false_alarm:
        raise InputError(
            f"{path}: expected a state kept for a false-alarm chance of {false_alarm:g}, got one for {found.false_alarm:g}: "
            "give that chance, or another file"
        )
    return found


def write_state(path: Path, state: MonitorState) -> None:
    """Replace the file, whole or not at all."""
    logs = [None if math.isinf(log) else log for log in state.log_capital]
    kept = {"documents": state.documents, "seen": state.seen[-_REMEMBERED:], "log_capital": logs}
    with fresh_text(path) as file:
        json.dump({"difa_monitor": FORMAT} | vars(state) | kept, file, indent=1)


def _parse(record: dict[str, Any]) -> MonitorState:
    version, documents = record.pop("difa_monitor"), record.pop("documents")
    record["feed"] = {int(step): count for step, count in record["feed"].items()}
    record["seen"] = tuple(map(str, record["seen"]))
    record["log_capital"] = tuple(-math.inf if log is None else log for log in record["log_capital"])
    state = MonitorState(**record)
    if not (
        version == FORMAT
        and len(state.log_capital) == BETS
        and all(isinstance(log, float) and log < math.inf for log in state.log_capital)
        and all(isinstance(count, int) and count >= 0 for count in (state.batches, state.flagged, *state.feed.values()))
        and all(0 <= step < STEPS for step in state.feed)
        and state.documents == documents
        and isinstance(state.model, str)
        and isinstance(state.alarm_since, str | None)
    ):
        raise ValueError("expected a state of this version, got something else")
    return state


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
    risk = f"chance of a false alarm, ever: {percent(monitor.false_alarm)}"
    since = monitor.state.alarm_since
    return f"no alarm ({risk})" if since is None else f"ALARM since {visible(since)}: the feed is no longer as before ({risk})"


def odds(log10: float) -> str:
    """Evidence as odds."""
    return f"{10**log10:.2g} to 1" if log10 < 4 else f"10^{log10:.0f} to 1"


def prometheus(reports: Sequence[BatchReport], monitor: Monitor, model: str, empty: int = 0) -> str:
    """Figures of the last batch and of the running evidence, for a collector of text files.

    `reports` are those of this run, `model` its model's name, and `empty` how many of its batches had no document.
    """
    last, state = reports[-1], monitor.state
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
