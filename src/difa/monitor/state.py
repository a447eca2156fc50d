"""Running evidence <-> a small JSON file, so that a nightly run goes on where the last one ended."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from difa.detector import Detector
from difa.errors import InputError
from difa.monitor.evidence import BETS, Evidence, is_step
from difa.storage.atomic import fresh_text

FORMAT = 1
_REMEMBERED = 1000  # batches that are known again


@dataclass(frozen=True)
class MonitorState:
    """What is kept between runs: counts, evidence and checksums, never a text."""

    model: str
    """Checksum of what gives the p-values."""
    false_alarm: float
    """The promise that the evidence was gathered under."""
    evidence: Evidence = field(default_factory=Evidence)
    feed: Mapping[int, int] = field(default_factory=dict)
    """How many documents of the feed have a score of each step."""
    documents: int = 0
    flagged: int = 0
    alarm_since: str | None = None
    """The batch with which the alarm began that still stands."""
    seen: tuple[str, ...] = ()
    """Checksums of the last batches: one that comes again is not counted twice."""

    @property
    def is_alarm(self) -> bool:
        """Whether the alarm stands."""
        return self.alarm_since is not None


def model_key(detector: Detector) -> str:
    """What identifies the p-values of a model; the rate in force does not change them."""
    content = sha256()
    for reference in (detector.document_reference, detector.word_reference):
        content.update(reference.values.astype("<f8").tobytes())
    return content.hexdigest()[:16]


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
    record = {
        "difa_monitor": FORMAT,
        "model": state.model,
        "false_alarm": state.false_alarm,
        "batches": state.evidence.batches,
        "log_capital": [None if math.isinf(log) else log for log in state.evidence.logs],
        "feed": {str(step): count for step, count in state.feed.items()},
        "documents": state.documents,
        "flagged": state.flagged,
        "alarm_since": state.alarm_since,
        "seen": list(state.seen[-_REMEMBERED:]),
    }
    with fresh_text(path) as file:
        json.dump(record, file, indent=1)


def _parse(record: dict[str, Any]) -> MonitorState:
    logs = tuple(-math.inf if log is None else float(log) for log in record["log_capital"])
    if record["difa_monitor"] != FORMAT or len(logs) != BETS or any(math.isnan(log) or log == math.inf for log in logs):
        raise ValueError("not a state of this version")
    feed = {int(step): count for step, count in record["feed"].items()}
    counts = {name: record[name] for name in ("batches", "documents", "flagged")}
    if any(not isinstance(count, int) or count < 0 for count in (*counts.values(), *feed.values())):
        raise ValueError("not counts")
    if not all(map(is_step, feed)) or sum(feed.values()) != counts["documents"]:
        raise ValueError("not the scores of these documents")
    since, seen = record["alarm_since"], tuple(map(str, record["seen"]))
    evidence = Evidence(logs, counts["batches"])
    alarm = None if since is None else str(since)
    return MonitorState(
        str(record["model"]), float(record["false_alarm"]), evidence, feed, counts["documents"], counts["flagged"], alarm, seen
    )
