"""Training documents that do not belong -> left out, when there are too many of them to be chance.

A training corpus may hold a few documents of the very kind that one wants to find. Learned as normal, they hide all that are
like them. They show as a second hump in the tail: in each view, a document's highest raw evidence is measured in halvings,
the number of times that the tail would have to halve to get there, if it fell on as it does from the median to
the quartile. The second and third strongest view count, since one view may have a heavy tail by nature, and their mean
is measured in halvings again. A tail that falls on like this leaves a share of 2^−5 beyond five halvings; where more lie
there, all beyond four are left out, and otherwise none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from difa.document import FloatArray

_ALARM = 5.0  # halvings beyond which a natural tail leaves 1 document in 32
_CUT = 4.0  # halvings beyond which documents are left out once there is an alarm
_MOST = 8.0  # halvings for which a single view counts at most
_LEAST_DOCUMENTS = 200  # fewer have no tail to speak of
_TO_85 = float(np.log2(0.5 / 0.15))  # halvings from the median to the quantile .85


def misfits(raw: Sequence[FloatArray]) -> NDArray[np.bool_]:
    """Which documents to leave out, from the raw evidence of their words by views that did not see them: (T, views) each."""
    if len(raw) < _LEAST_DOCUMENTS:
        return np.zeros(len(raw), dtype=bool)
    peaks = np.stack([item.max(axis=0) for item in raw])  # (documents, views)
    heights = np.sort(np.clip(np.stack([halvings(column) for column in peaks.T]), 0.0, _MOST), axis=0)
    beyond = halvings(heights[-3:-1].mean(axis=0) if len(heights) >= 3 else heights.mean(axis=0))
    return beyond > _CUT if np.mean(beyond > _ALARM) > 2**-_ALARM else np.zeros(len(raw), dtype=bool)


def halvings(values: FloatArray) -> FloatArray:
    """How often the upper tail halves up to each value: 1 at the median, 2 at the upper quartile, and on in the same steps."""
    low, median, high, higher = np.quantile(values, (0.25, 0.5, 0.75, 0.85))
    # Few distinct values make a quartile an accident: the widest of three estimates of the step counts.
    step = max(high - median, median - low, (higher - median) / _TO_85, 1e-9)
    return np.asarray(1 + (values - median) / step)
