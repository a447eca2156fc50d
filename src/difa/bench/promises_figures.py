"""Results of a model on text of a known kind -> counts that say whether its promises hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy

import numpy as np
from numpy.typing import NDArray

from difa.bench.store import Record
from difa.calibrate import discovery_cutoff
from difa.confidence import future_interval
from difa.document import Document, FloatArray, Result
from difa.estimator import DiFA
from difa.monitor.evidence import Evidence, Pool, draw_places
from difa.monitor.watch import FALSE_ALARM

RATES = (0.01, 0.05, 0.1)
DISCOVERY = 0.1
"""False-discovery rate that mixtures are flagged at."""
_DRAWS = 10  # mixtures of one share
_MIXED = 300  # documents of a mixture
_BATCH = 50  # documents that the monitor sees at a time
_PATIENCE = 40  # batches after a change that it is given to find it
_CHANGED = 0.2  # share of anomalous documents after one of the changes

Pair = tuple[Document, Result]


def rates(model: DiFA, results: Sequence[Result]) -> list[Record]:
    """How many documents and words are flagged at each rate."""
    references = len(model.detector_.document_reference.values)
    document_p = np.array([result.p_value for result in results])
    word_p = [np.array([word.p_value for word in result.words]) for result in results]
    found: list[Record] = []
    for rate in RATES:
        flagged, rank = int((document_p <= rate).sum()), math.floor(rate * (references + 1) * (1 + 1e-12))
        within = not rank or rank > references or flagged <= future_interval(rank, references, len(results), 0.9)[1]
        found.append({"level": "document", "rate": rate, "flagged": flagged, "count": len(results), "within": within})
        found.append({"level": "word", "rate": rate} | _word_rate(word_p, rate))
    return found


def _word_rate(p_values: Sequence[FloatArray], rate: float) -> Record:
    """With the standard error of the share, documents being independent and words of one document not."""
    flagged = np.array([(item <= rate).sum() for item in p_values])
    count = np.array([len(item) for item in p_values])
    total = max(1, int(count.sum()))
    share = flagged.sum() / total
    error = float(np.sqrt(((flagged - share * count) ** 2).sum()) / total)
    return {"flagged": int(flagged.sum()), "count": int(count.sum()), "error": error}


def mixture(normal: Sequence[Pair], anomalous: Sequence[Pair], share: float, rng: np.random.Generator) -> Record:
    """False discoveries at a false-discovery rate, means over draws of documents of which a share are anomalous."""
    size = min(_MIXED, int(len(normal) / (1 - share)), int(len(anomalous) / share))
    bad = round(share * size)
    draws = []
    for _ in range(_DRAWS):
        chosen = [normal[index] for index in rng.permutation(len(normal))[: size - bad]]
        chosen += [anomalous[index] for index in rng.permutation(len(anomalous))[:bad]]
        documents = np.array([result.p_value for _, result in chosen])
        words = np.array([word.p_value for _, result in chosen for word in result.words])
        labels = np.array([label for document, _ in chosen for label in document.labels or ()])
        is_bad = np.arange(size) >= size - bad
        draws.append((_discoveries(documents, is_bad), _discoveries(words, labels > 0)))
    means = np.mean(draws, axis=0).tolist()
    names = ("false", "found")
    by_level = {level: dict(zip(names, mean, strict=True)) for level, mean in zip(("document", "word"), means, strict=True)}
    return {"share": share, "size": size, "rate": DISCOVERY, **by_level}


def _discoveries(p_values: FloatArray, is_bad: NDArray[np.bool_]) -> tuple[float, float]:
    """Share of the flagged that are normal, and share of the anomalous that are flagged."""
    flagged = p_values <= discovery_cutoff(p_values, DISCOVERY)
    return float((flagged & ~is_bad).sum() / max(1, flagged.sum())), float((flagged & is_bad).sum() / max(1, is_bad.sum()))


def detection(
    model: DiFA, usual: Sequence[Result], unusual: Sequence[Result], other: Sequence[Result], rng: np.random.Generator
) -> Record:
    """Whether the monitor alarms on normal text, and how many documents of changed text it needs."""
    feed = _Feed(model.detector_.document_reference.values)
    normal, anomalous, strange = (np.array([result.score for result in results]) for results in (usual, unusual, other))
    alarms = [feed.look(normal[start : start + _BATCH]) for start in range(0, len(normal) - _BATCH + 1, _BATCH)]
    found: Record = {"alarm": any(alarms), "batches": len(alarms)}
    few = round(_BATCH * _CHANGED)
    mixed = [np.append(rng.choice(normal, _BATCH - few), rng.choice(anomalous, few)) for _ in range(_PATIENCE)]
    found["until_anomalies"] = _documents_until(feed, [rng.permutation(batch) for batch in mixed])
    if len(strange):
        found["until_other"] = _documents_until(feed, [rng.choice(strange, _BATCH) for _ in range(_PATIENCE)])
    return found


class _Feed:
    """The monitor's running evidence, from scores alone."""

    def __init__(self, reference: FloatArray) -> None:
        self.reference, self.evidence, self.seen = reference, Evidence(), dict[int, int]()

    def look(self, scores: FloatArray) -> bool:
        """Whether there is an alarm after one more batch."""
        pool = Pool(self.reference, self.seen)
        self.evidence = self.evidence.after(pool.rank(scores, draw_places(len(scores), sum(self.seen.values()))))
        self.seen = pool.feed
        return self.evidence.is_alarm(FALSE_ALARM)


def _documents_until(feed: _Feed, batches: Sequence[FloatArray]) -> int | None:
    """Documents of changed text up to the alarm, in an unchanged feed; None if there was none."""
    changed = copy(feed)
    return next((number * _BATCH for number, batch in enumerate(batches, 1) if changed.look(batch)), None)
