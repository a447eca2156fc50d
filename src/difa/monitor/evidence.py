"""Document scores, batch after batch -> running evidence that the feed has changed, which may be looked at at any time.

A conformal test martingale (Vovk et al., 2005). Each document is ranked among the reference of the model and all documents of the
feed before it, equals in a random order. While the feed is as the normal text was, these p-values are independent and uniform,
however small the reference: it is a part of what is compared, not the measure. (The p-values of results are ranks among the
reference alone. In the long run a test of these finds out what is peculiar about that one sample.)

A unit of capital is then bet on small p-values, by bets ε·p^(ε−1), 1 + λ(1 − 2p) and 1 + κ([p ≤ a]/a − 1), which are fair where
p-values are uniform. The first kind wins by a few very small p-values, the second by many that are a little too small, the third
by some that are small where all others are as before: a tenth of the feed has changed. Fair bets multiply the capital
by 1/α with a chance of at most α, ever (Ville's inequality). With batch t a share of 1/(t(t+1)) of the capital is put into the
bets, the rest waits: so a change that comes late is found as well, at a cost that grows with the logarithm of t only.

One batch by itself is compared with the reference by the test of Kolmogorov and Smirnov for two samples: the reference is a
sample, too. In large samples the chance of as large a difference D is exp(−2mD²) for one side, with m = nN/(n + N).

The running evidence is kept in a small JSON file, so that a nightly run goes on where the last one ended.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from difa.detector import Detector
from difa.document import FloatArray, IntArray
from difa.errors import InputError
from difa.storage.atomic import fresh_text

FALSE_ALARM = 0.05
"""Chance that there is ever a false alarm, while the feed is as the normal documents were."""
POWERS = (0.3, 0.5, 0.7, 0.85, 0.95, 0.98)
"""Exponents ε: small ones bet on few documents that are very unusual, large ones on more."""
SLOPES = (0.3, 0.6, 0.9)
"""Factors λ: bets on a feed that is a little more unusual as a whole."""
TAILS = ((0.01, 0.01), (0.01, 0.03), (0.05, 0.03), (0.05, 0.1))
"""Shares a of normal documents, and stakes κ: bets on more documents than that among the most unusual ones."""
BETS = len(POWERS) + len(SLOPES) + len(TAILS)
_STEPS = 4096
_STEP = 0.01  # scores are kept in steps, so that a feed of any length takes little room
_SEED = 20050  # of places among equals
_FORMAT = 2
_REMEMBERED = 1000  # batches that are recognised if they come again


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

    @classmethod
    def fresh(cls, detector: Detector, false_alarm: float) -> MonitorState:
        """The start for a model, whose checksum is that of its references; it does not depend on the rate in force."""
        content = sha256()
        for reference in (detector.document_reference, detector.word_reference):
            content.update(reference.values.astype("<f8").tobytes())
        return cls(content.hexdigest()[:16], false_alarm)

    @property
    def documents(self) -> int:
        return sum(self.feed.values())

    @property
    def log_evidence(self) -> float:
        """Logarithm of all capital, 0 at the start: the log odds against "as before"."""
        return float(np.logaddexp.reduce([*self.log_capital, -math.log(self.batches + 1)]))  # the last one waits

    @property
    def is_alarm(self) -> bool:
        """Whether the alarm stands."""
        return self.alarm_since is not None

    def after(self, name: str, scores: FloatArray, reference: FloatArray) -> MonitorState:
        """The state after one more batch; `reference` holds the scores of normal documents."""
        places = 1.0 - np.random.default_rng([_SEED, self.documents]).random(len(scores))  # the same in one run or in several
        p_values = rank(scores, places, reference, self.feed)
        feed, batches = Counter(self.feed) + Counter(steps_of(scores).tolist()), self.batches + 1
        state = replace(self, feed=feed, batches=batches, log_capital=bet(self.log_capital, batches, p_values))
        # The evidence gets this high by chance with that probability at most, ever.
        stands = state.log_evidence >= -math.log(self.false_alarm)
        return replace(state, alarm_since=(self.alarm_since or name) if stands else None)


def bet(logs: Sequence[float], number: int, p_values: FloatArray) -> tuple[float, ...]:
    """Logarithm of the capital in each bet after a batch of that number, from what it was before."""
    entering = -math.log(number * (number + 1) * BETS)
    total, count = float(np.log(p_values).sum()), len(p_values)
    gains = [count * math.log(power) + (power - 1) * total for power in POWERS]
    gains += [float(np.log1p(slope * (1 - 2 * p_values)).sum()) for slope in SLOPES]
    gains += [float(np.log1p(stake * ((p_values <= share) / share - 1)).sum()) for share, stake in TAILS]
    return tuple(float(np.logaddexp(log, entering)) + gain for log, gain in zip(logs, gains, strict=True))


def rank(scores: FloatArray, places: FloatArray, reference: FloatArray, feed: Mapping[int, int]) -> FloatArray:
    """P-values of documents in their order, each ranked among the reference, the feed so far, and those before it.

    Places are random numbers in (0, 1], each document's among those of the same step: they make p-values uniform.
    """
    counts = np.bincount(steps_of(reference), minlength=_STEPS)
    for step, count in feed.items():
        counts[step] += count
    p_values, others = np.empty(len(scores)), counts.sum()
    for at, (step, place) in enumerate(zip(steps_of(scores).tolist(), places.tolist(), strict=True)):
        p_values[at] = (counts[step + 1 :].sum() + place * (counts[step] + 1)) / (1 + others + at)
        counts[step] += 1
    return p_values


def steps_of(scores: FloatArray) -> IntArray:
    """The steps that scores fall into."""
    return np.asarray(np.clip(np.floor(scores / _STEP), 0, _STEPS - 1), dtype=np.int64)


def more_unusual(p_values: FloatArray, references: int) -> float:
    """Chance that normal text has as clear an excess of small p-values: one-sided."""
    excess, _ = _distances(p_values, references)
    return math.exp(-2 * max(excess, 0.0) ** 2)


def different(p_values: FloatArray, references: int) -> float:
    """Chance that normal text differs as much either way: two-sided."""
    square = 2 * max(_distances(p_values, references)) ** 2
    if square < 0.1:  # the series needs many terms, and the chance is 1 to many digits
        return 1.0
    return min(1.0, 2 * sum(math.copysign(math.exp(-square * j * j), j % 2 - 0.5) for j in range(1, 100)))


def _distances(p_values: FloatArray, references: int) -> tuple[float, float]:
    """The most by which the batch has a larger share at or above some score than the reference, and a smaller one: D·√m each."""
    places = np.append(np.sort(p_values), 1.0)
    at_most, below = (np.searchsorted(places[:-1], places, side=side) / len(p_values) for side in ("right", "left"))
    above = (places * (references + 1) - 1) / references  # share of the reference at or above each score
    root = math.sqrt(len(p_values) * references / (len(p_values) + references))
    return root * float(np.max((at_most - above)[:-1])), root * float(np.max(above - below))


def read_state(path: Path, detector: Detector, false_alarm: float) -> MonitorState:
    """The state of an earlier run, or a new one where there is no file."""
    fresh = MonitorState.fresh(detector, false_alarm)
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
        json.dump({"difa_monitor": _FORMAT} | vars(state) | kept, file, indent=1)


def _parse(record: dict[str, Any]) -> MonitorState:
    version, documents = record.pop("difa_monitor"), record.pop("documents")
    record["feed"] = {int(step): count for step, count in record["feed"].items()}
    record["seen"] = tuple(map(str, record["seen"]))
    record["log_capital"] = tuple(-math.inf if log is None else log for log in record["log_capital"])
    state = MonitorState(**record)
    if not (
        version == _FORMAT
        and len(state.log_capital) == BETS
        and all(isinstance(log, float) and log < math.inf for log in state.log_capital)
        and all(isinstance(count, int) and count >= 0 for count in (state.batches, state.flagged, *state.feed.values()))
        and all(0 <= step < _STEPS for step in state.feed)
        and state.documents == documents
        and isinstance(state.model, str)
        and isinstance(state.alarm_since, str | None)
    ):
        raise ValueError("expected a state of this version, got something else")
    return state
