"""What is made of all documents together once they are scored: flags at a false-discovery rate, the most unusual, shards."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from difa.calibrate import TailReference
from difa.document import Scored

_ROOM = 4  # times as many are held as are wanted, at most: to choose among them takes time


def cut_shards(results: Iterable[Scored], shard_size: int | None, done: int = 0) -> Iterator[tuple[int, Scored]]:
    """Scored documents in parts that end where shards do, each with the number of its shard.

    Args:
        results: the documents.
        shard_size: documents of a shard, if there are shards.
        done: documents before these.
    """
    for scored in results:
        ends = range(-done % shard_size or shard_size, len(scored), shard_size) if shard_size else ()
        for start, end in pairwise([0, *ends, len(scored)]):
            yield done // shard_size if shard_size else 0, scored.take(range(start, end))
            done += end - start


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
