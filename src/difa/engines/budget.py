"""What a reader has time for: the most unusual documents of a run, and why a rate over all documents may flag none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from difa.calibrate import TailReference
from difa.document import Scored
from difa.engines.output_files import State
from difa.formats import Position

_ROOM = 4  # times as many are held as are wanted, at most: to choose among them takes time


class Inner(Protocol):
    """What takes the results in the end."""

    def write(self, scored: Scored) -> None: ...


class Top:
    """Takes all results, counts them, and passes on the most unusual ones, the most unusual first, at the end."""

    shard_size = None
    position = Position()

    def __init__(self, inner: Inner, most: int) -> None:
        self._inner, self._most, self.state = inner, most, State({})
        self._kept: list[Scored] = []

    def write(self, scored: Scored) -> None:
        self.state.documents += len(scored)
        self.state.flagged += int(scored.document_flags.sum())
        self._kept.append(scored.take(sorted(at for _, at in self._best([scored]))))
        if sum(map(len, self._kept)) > _ROOM * self._most:
            chosen = sorted(self._best(self._kept))
            parts = {part: [at for other, at in chosen if other == part] for part, _ in chosen}
            self._kept = [self._kept[part].take(places) for part, places in parts.items()]

    def note(self, position: Position, skipped: int = 0, empty: int = 0) -> None:
        self.state.skipped += skipped
        self.state.empty += empty

    def finish(self) -> None:
        """All results are there."""
        for part, at in self._best(self._kept):
            self._inner.write(self._kept[part].take([at]))

    def _best(self, parts: Sequence[Scored]) -> list[tuple[int, int]]:
        """The most unusual documents, the most unusual first and of two alike the earlier: parts and places there."""
        places = [(part, at) for part, scored in enumerate(parts) for at in range(len(scored))]
        p_values, scores = (
            np.concatenate([np.empty(0), *(getattr(part, name) for part in parts)]) for name in ("document_p", "document_scores")
        )
        return [places[at] for at in np.lexsort((-scores, p_values))[: self._most].tolist()]


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
