"""Training documents that do not belong -> left out, when there are too many of them to be chance.

A training corpus may hold a few documents of the very kind that one wants to find. Learned as normal, they hide all that are
like them. They show as a second hump in the tail: in each view, a document's highest raw evidence is measured in steps
of the tail: how often the tail would have to halve to get there, if it fell on as it does from the median to the quartile. Of
some views the mean over the document counts as well. The second and third strongest count, since one may have a heavy tail by
nature, and their mean is measured in steps again. A tail that falls on like this leaves a share of 2^−5 beyond five steps;
where clearly more lie there, all beyond four are left out. Where those would be many, the corpus is a mixture, and all is kept.

Views that have not learned from what was left out see it more clearly: what turns out to be merely rare comes back.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from difa.document import FloatArray

_ALARM = 5.0  # steps beyond which a natural tail leaves 1 document in 32
_CUT = 4.0  # steps beyond which documents are left out once there is an alarm
_BACK = 6.0  # steps among the others up to which one that was left out comes back
_MOST = 8.0  # steps for which a single view counts at most
_LEAST_DOCUMENTS = 200  # fewer have no tail to speak of
_LARGEST_SHARE = 0.15  # more than these are a part of the corpus in their own right


def find_misfits(raw: Sequence[FloatArray], means: Sequence[int] = ()) -> NDArray[np.bool_]:
    """Which documents to leave out.

    Args:
        raw: evidence of their words by views that did not see them: (T, views) each.
        means: views whose mean over the document counts beside their highest evidence.
    """
    none = np.zeros(len(raw), dtype=bool)
    if len(raw) < _LEAST_DOCUMENTS:
        return none
    beyond = _beyond(raw, len(raw), means)
    expected = len(raw) * 2**-_ALARM
    alarm = np.sum(beyond > _ALARM) > expected + np.sqrt(expected)
    chosen = beyond > _CUT
    return chosen if alarm and np.mean(chosen) <= _LARGEST_SHARE else none


def merely_rare(kept: Sequence[FloatArray], left_out: Sequence[FloatArray], means: Sequence[int] = ()) -> NDArray[np.bool_]:
    """Which of the documents left out may come back, from raw evidence by views fitted on those that were kept."""
    return _beyond([*kept, *left_out], len(kept), means)[len(kept) :] <= _BACK


def tail_steps(values: FloatArray, among: int | None = None) -> FloatArray:
    """How often the upper tail of the first `among` values halves up to each value: 1 at the median, 2 at the quartile."""
    low, median, high = np.quantile(values[:among], (0.25, 0.5, 0.75))
    step = max(high - median, median - low)
    return np.asarray(1 + (values - median) / step if step > 0 else np.ones(len(values)))


def _beyond(raw: Sequence[FloatArray], among: int, means: Sequence[int]) -> FloatArray:
    """How far out each document lies, in steps of the first `among` documents: (documents,)."""
    traits = np.stack([np.concatenate([item.max(axis=0), item[:, list(means)].mean(axis=0)]) for item in raw])
    heights = np.sort(np.clip(np.stack([tail_steps(column, among) for column in traits.T]), 0.0, _MOST), axis=0)
    return tail_steps(heights[-3:-1].mean(axis=0) if len(heights) >= 3 else heights.mean(axis=0), among)
