"""Results of a model on text of a known kind -> counts that say whether its promises hold."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from difa.bench.cells import Record
from difa.calibrate import discovery_cutoff
from difa.confidence import future_interval
from difa.document import Document, FloatArray, Result
from difa.estimator import DiFA
from difa.monitor.evidence import Evidence, capital_for_alarm, raise_p_values
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


def detection(model: DiFA, usual: FloatArray, unusual: FloatArray, other: FloatArray | None, rng: np.random.Generator) -> Record:
    """Whether the monitor alarms on normal text, and how many documents of changed text it needs."""
    references = len(model.detector_.document_reference.values)
    raised = {
        name: raise_p_values(p, references, FALSE_ALARM)
        for name, p in (("usual", usual), ("unusual", unusual), ("other", other))
        if p is not None and len(p)
    }
    evidence, alarm = Evidence(), False
    for start in range(0, len(usual) - _BATCH + 1, _BATCH):
        evidence = evidence.after(raised["usual"][start : start + _BATCH])
        alarm |= _is_alarm(evidence)
    normal = raised["usual"]
    found: Record = {"alarm": alarm, "batches": evidence.batches}
    if "unusual" in raised:
        few = round(_BATCH * _CHANGED)
        mixed = [np.append(rng.choice(normal, _BATCH - few), rng.choice(raised["unusual"], few)) for _ in range(_PATIENCE)]
        found["until_anomalies"] = _documents_until(evidence, mixed)
    if "other" in raised:
        found["until_other"] = _documents_until(evidence, [rng.choice(raised["other"], _BATCH) for _ in range(_PATIENCE)])
    return found


def _documents_until(evidence: Evidence, batches: Sequence[FloatArray]) -> int | None:
    """Documents after the change up to the alarm; None if there was none."""
    for number, batch in enumerate(batches, 1):
        evidence = evidence.after(batch)
        if _is_alarm(evidence):
            return number * _BATCH
    return None


def _is_alarm(evidence: Evidence) -> bool:
    return evidence.log_capital >= math.log(capital_for_alarm(FALSE_ALARM))
