"""What a reader has time for: the most unusual documents of a run, and why a rate over all documents may flag none."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import Protocol

from difa.calibrate import TailReference
from difa.document import Result
from difa.engines.output_files import State
from difa.formats import Position


class Inner(Protocol):
    """What takes the results in the end."""

    def write(self, results: Sequence[Result]) -> None: ...


class Top:
    """Takes all results, counts them, and passes on the most unusual ones, the most unusual first, at the end."""

    shard_size = None
    position = Position()

    def __init__(self, inner: Inner, most: int) -> None:
        self._inner, self._most, self.state = inner, most, State({})
        self._kept: list[tuple[float, float, int, Result]] = []  # a heap, the least unusual on top

    def write(self, results: Sequence[Result]) -> None:
        for result in results:
            # The earlier of two alike stays: no two entries compare by their result.
            entry = (-result.p_value, result.score, -self.state.documents, result)
            if len(self._kept) < self._most:
                heapq.heappush(self._kept, entry)
            else:
                heapq.heappushpop(self._kept, entry)
            self.state.documents += 1
            self.state.flagged += result.is_anomaly

    def note(self, position: Position, skipped: int = 0, empty: int = 0) -> None:
        self.state.skipped += skipped
        self.state.empty += empty

    def finish(self) -> None:
        """All results are there."""
        self._inner.write([entry[-1] for entry in sorted(self._kept, reverse=True)])


def why_nothing(documents: int, reference: TailReference, rate: float) -> str:
    """Why a false-discovery rate flags no document, and what can be done."""
    least, normal = reference.least_p, len(reference.values)
    needed = max(1, math.ceil(documents * least / rate - 1e-9))
    lowest = f"with {normal} normal documents no p-value is below {least:.2g}"
    reason = f"{needed} of the {documents} documents would have to be that unusual" if needed <= documents else "it is too high"
    return (
        f"nothing is flagged at a false-discovery rate of {rate:g}: {lowest}, and {reason}; fit on more normal documents, "
        "score fewer at a time, raise the rate, or flag at a false-alarm rate"
    )
