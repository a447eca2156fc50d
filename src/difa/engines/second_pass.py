"""Scored documents -> what belongs into each file: a false-discovery rate, the most unusual and shards look at all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, groupby, pairwise
from operator import itemgetter

import numpy as np

from difa.calibrate import TailReference
from difa.decide import Cutoff, Rule
from difa.document import Scored
from difa.engines.job import Counts, Job

_ROOM = 4  # times as many results are held as are wanted, at most: to choose among them takes time


def second_pass(
    groups: Sequence[Iterable[str]], read: Callable[[str], Iterable[Scored]], rule: Rule, job: Job, counts: Counts
) -> Iterator[tuple[int, Iterable[Scored]]]:
    """The number of each file and what belongs into it, in order.

    Args:
        groups: names of parts; each group is a file, unless only the most unusual or shards are wanted.
        read: gives the columns of a part; more than once where a false-discovery rate sets flags.
        rule: how flags are set.
        job: what is wanted.
        counts: where documents are counted that are flagged only now.
    """

    def flagged(*groups: Iterable[str]) -> Iterator[Scored]:
        for scored in chain.from_iterable(map(read, chain(*groups))):
            if cutoff is not None:
                scored = cutoff.flag(scored)
                counts.flagged += int(scored.document_flags.sum())
            yield scored

    cutoff = Cutoff.of(chain.from_iterable(map(read, chain(*groups))), rule) if rule.name == "fdr" else None
    if job.top is not None:
        yield 0, most_unusual(flagged(*groups), job.top)
    elif job.shard_size is None:
        yield from enumerate(map(flagged, groups))
    else:
        shard = -1
        for shard, group in groupby(cut_shards(flagged(*groups), job.shard_size), itemgetter(0)):
            yield shard, (scored for _, scored in group)
        if shard < 0:
            yield 0, ()


def most_unusual(results: Iterable[Scored], most: int) -> Iterator[Scored]:
    """So many documents, the most unusual first; of two alike the earlier one. Few more are held at a time."""
    kept: list[Scored] = []
    for scored in results:
        kept.append(scored.take(sorted(at for _, at in _places([scored], most))))
        if sum(map(len, kept)) > _ROOM * most:
            chosen = groupby(sorted(_places(kept, most)), itemgetter(0))
            kept = [kept[part].take([at for _, at in places]) for part, places in chosen]
    for part, at in _places(kept, most):
        yield kept[part].take([at])


def _places(parts: Sequence[Scored], most: int) -> list[tuple[int, int]]:
    """Part and place of the most unusual documents, in order."""
    places = [(part, at) for part, scored in enumerate(parts) for at in range(len(scored))]
    p_values, scores = (
        np.concatenate([np.empty(0), *(getattr(part, name) for part in parts)]) for name in ("document_p", "document_scores")
    )
    return [places[at] for at in np.lexsort((-scores, p_values))[:most].tolist()]


def cut_shards(results: Iterable[Scored], size: int) -> Iterator[tuple[int, Scored]]:
    """Scored documents in parts that end where shards do, each with the number of its shard."""
    done = 0
    for scored in results:
        for start, end in pairwise([0, *range(-done % size or size, len(scored), size), len(scored)]):
            yield done // size, scored.take(range(start, end))
            done += end - start


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
