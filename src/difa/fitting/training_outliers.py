"""Training documents that do not belong -> left out, when there are too many of them to be chance.

A training corpus may hold a few documents of the very kind that one wants to find. Learned as normal, they hide all that are
like them. They show as a second hump in the tail. How far out a document lies is counted in steps of the tail: how often the tail
would have to halve to get there, if it fell on as it does from the median to the quartile. Of a document's traits the second and
third strongest count, since one may have a heavy tail by nature, and their mean is measured in steps again. A tail that falls on
like this leaves a share of 2^−5 beyond five steps; where clearly more lie there, all beyond four are left out. Where those would
be many, the corpus is a mixture, and all is kept.

Views that have not learned from what was left out see it more clearly: what turns out to be merely rare comes back.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from difa.document import BoolArray, FloatArray

_TELLING = ("language", "form", "neighbour")  # a critic that was taught with such documents would take their side
_ALARM_STEPS = 5.0  # beyond them a natural tail leaves 1 document in 32
_CUT_STEPS = 4.0  # beyond them documents are left out once there is an alarm
_RETURN_STEPS = 6.0  # up to them, measured among the others, one that was left out comes back
_MAX_STEPS = 8.0  # a single trait counts no more than these
_MIN_DOCUMENTS = 200  # fewer have no tail to speak of
_MAX_SHARE = 0.15  # more than these are a part of the corpus in their own right


def describe_documents(raw: Sequence[FloatArray], views: Sequence[str]) -> FloatArray:
    """The highest raw evidence of telling views in each document, and the mean of the language view's: (documents, traits).

    Args:
        raw: evidence of each document's words by views that did not see it: (T, views) each.
        views: their names; where none is telling, all count.
    """
    peaks = [views.index(name) for name in _TELLING if name in views] or list(range(len(views)))
    means = [views.index("language")] if "language" in views else []
    return np.stack([np.concatenate([item[:, peaks].max(axis=0), item[:, means].mean(axis=0)]) for item in raw])


def find_misfits(traits: FloatArray) -> BoolArray:
    """Which documents to leave out: (documents, traits) -> (documents,)."""
    count, misfit = len(traits), np.zeros(len(traits), dtype=bool)
    if count < _MIN_DOCUMENTS:
        return misfit
    steps = _steps_out(traits, ~misfit)
    expected = count * 2**-_ALARM_STEPS
    alarm = np.sum(steps > _ALARM_STEPS) > expected + np.sqrt(expected)  # one standard error above chance
    beyond = steps > _CUT_STEPS
    return beyond if alarm and np.mean(beyond) <= _MAX_SHARE else misfit


def merely_rare(traits: FloatArray, misfit: BoolArray) -> BoolArray:
    """Which documents are no misfits after all, by the traits that views find which were fitted without these: (documents,)."""
    return _steps_out(traits, ~misfit) <= _RETURN_STEPS


def tail_steps(values: FloatArray, reference: FloatArray) -> FloatArray:
    """How often the upper tail of the reference halves up to each value: 1 at the median, 2 at the quartile."""
    low, median, high = np.quantile(reference, (0.25, 0.5, 0.75))
    step = max(high - median, median - low)
    return np.asarray(1 + (values - median) / step if step > 0 else np.ones(len(values)))


def _steps_out(traits: FloatArray, normal: BoolArray) -> FloatArray:
    """How far out each document lies, in steps of the normal ones: (documents,)."""
    steps = np.stack([tail_steps(column, column[normal]) for column in traits.T])  # (traits, documents)
    ordered = np.sort(np.clip(steps, 0.0, _MAX_STEPS), axis=0)
    together = (ordered[-3:-1] if len(ordered) >= 3 else ordered).mean(axis=0)
    return tail_steps(together, together[normal])
