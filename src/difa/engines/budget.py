"""What a reader has time for: the most unusual documents of a run, and why a rate over all documents may flag none."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
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
        self._inner, self._best, self.state = inner, Best(most), State({})

    def write(self, scored: Scored) -> None:
        self.state.documents += len(scored)
        self.state.flagged += int(scored.document_flags.sum())
        self._best.add(scored)

    def note(self, position: Position, skipped: int = 0, empty: int = 0) -> None:
        self.state.skipped += skipped
        self.state.empty += empty

    def finish(self) -> None:
        """All results are there."""
        for scored in self._best.documents():
            self._inner.write(scored)


class Best:
    """The most unusual of many documents, in bounded memory."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: list[Scored] = []

    def add(self, scored: Scored) -> None:
        """Look at some more."""
        self._kept.append(scored.take(sorted(at for _, at in self._places([scored]))))
        if sum(map(len, self._kept)) > _ROOM * self._most:
            chosen = sorted(self._places(self._kept))
            parts = {part: [at for other, at in chosen if other == part] for part, _ in chosen}
            self._kept = [self._kept[part].take(places) for part, places in parts.items()]

    def documents(self) -> Iterator[Scored]:
        """One by one, the most unusual first and of two alike the earlier."""
        for part, at in self._places(self._kept):
            yield self._kept[part].take([at])

    def _places(self, parts: Sequence[Scored]) -> list[tuple[int, int]]:
        places = [(part, at) for part, scored in enumerate(parts) for at in range(len(scored))]
        p_values, scores = (
            np.concatenate([np.empty(0), *(getattr(part, name) for part in parts)]) for name in ("document_p", "document_scores")
        )
        return [places[at] for at in np.lexsort((-scores, p_values))[: self._most].tolist()]


def most_unusual(results: Iterable[Scored], most: int) -> Iterator[Scored]:
    """The most unusual of all documents, one by one."""
    best = Best(most)
    for scored in results:
        best.add(scored)
    return best.documents()


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
