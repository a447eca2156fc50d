"""`difa bench promises`: do false-alarm rates hold, on which text, and when do they not?

Each resample fits on one half of the normal documents of a set and looks at the other half. From one fit come the rates of
documents and words, the false discoveries in mixtures with anomalous documents, the alarms of the monitor, and what becomes of
the rate on text that is not like the normal one. Fits on few documents, on copies, on templates, on spoilt documents, and with
the other half as a feed are cells of their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from functools import partial

import numpy as np
from numpy.typing import NDArray

from difa.bench.data import DataSet
from difa.bench.methods import LEARNERS, check_methods, preset_of, quiet_rates
from difa.bench.robustness import with_anomalies
from difa.bench.run import Run, Task, finish
from difa.bench.split import Split, is_anomalous, split, without_labels
from difa.bench.store import Record, fingerprint_of
from difa.bench.tables_feed import promises_markdown
from difa.calibrate import discovery_cutoff
from difa.decide.confidence import future_interval
from difa.document import Document, FloatArray, Result
from difa.errors import ConfigError
from difa.estimator import DiFA
from difa.monitor.evidence import Evidence, Pool, draw_places
from difa.monitor.watch import FALSE_ALARM
from difa.words import from_tokens

PARTS = ("whole", "small", "copies", "templates", "spoilt", "feed")
"""What may be measured alone: half of a set and all that comes of it, few documents, copies, templates, spoilt ones, a feed."""
SMALL = (30, 50, 100)
"""Documents of the fits on few."""
COPIES = 3
"""How often each document stands in the fit on copies: as it is, with one more mark, and without full stops."""
FILLINGS = 4
"""How often each document stands in the fit on templates, each time with other names, numbers and dates in it."""
_SLOTS = 8  # words of a template for each place that is filled in
_NAMES = ("Anna", "Peter", "Maria", "Tom", "Yusuf", "Chen", "Olga", "Ravi", "Berlin", "Paris", "Lagos", "Lima", "Oslo", "Quito")
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October")
SPOILT = 0.1
"""Share of anomalous documents in the fit on spoilt ones."""
FEEDS = (0.0, 0.05, 0.2)
"""Shares of anomalous documents in feeds."""
LONGER = 5
"""Documents that are joined to longer ones."""
_MOST = 1000  # documents that are looked at, of each kind
RATES = (0.01, 0.05, 0.1)
DISCOVERY = 0.1
"""False-discovery rate that mixtures are flagged at."""
_DRAWS = 10  # mixtures of one share
_MIXED = 300  # documents of a mixture
_BATCH = 50  # documents that the monitor sees at a time
_PATIENCE = 40  # batches after a change that it is given to find it
_CHANGED = 0.2  # share of anomalous documents after one of the changes

Pair = tuple[Document, Result]


def run_promises(run: Run, preset: str = "fast", only: Sequence[str] = ()) -> list[Record]:
    """Measure, and write `promises.json` and `promises.md`.

    Args:
        run: where to, and on what.
        preset: of DiFA.
        only: parts to measure; all that the preset has for none.
    """
    (name,) = check_methods([f"difa-{preset}"])
    parts = _check_parts(name, only)
    tasks = []
    for at, dataset in enumerate(run.sets):
        other = run.sets[(at + 1) % len(run.sets)] if len(run.sets) > 1 else None
        training = sum(not is_anomalous(document) for document in dataset.documents) // 2
        for seed in run.options.seeds:
            mine = [_task(run, dataset, seed, name, "whole", other=other)]
            mine += [_task(run, dataset, seed, name, "small", documents=count) for count in SMALL if count < training]
            mine += [_task(run, dataset, seed, name, part) for part in ("copies", "templates", "spoilt")]
            mine += [_task(run, dataset, seed, name, "feed", share=share) for share in FEEDS]
            tasks += [task for task in mine if task.cell.settings["part"] in parts]
    return finish(run, "promises", tasks, promises_markdown)


def _check_parts(name: str, only: Sequence[str]) -> tuple[str, ...]:
    """The parts that are meant; a preset that does not learn from a feed has no such part."""
    known = PARTS if name in LEARNERS else PARTS[:-1]
    unknown = [part for part in only if part not in known]
    if unknown:
        raise ConfigError(f"only: expected some of {', '.join(known)} for {name}, got {', '.join(unknown)}")
    return tuple(only) or known


def _task(
    run: Run,
    dataset: DataSet,
    seed: int,
    name: str,
    part: str,
    *,
    documents: int | None = None,
    other: DataSet | None = None,
    share: float | None = None,
) -> Task:
    code = ["bench/promises.py", "bench/robustness.py", "decide/confidence.py", "monitor/evidence.py"]
    fingerprint = fingerprint_of(code, method=run.bench.fingerprint(name))
    settings: Record = {"part": part, "documents": documents, "other": other and other.digest}
    settings |= {} if share is None else {"share": share}
    cell = run.cell("promises", dataset, seed, name, settings, fingerprint)
    if share is not None:
        return Task(cell, partial(_compute_feed, run, dataset, seed, name, share))
    return Task(cell, partial(_compute, run, dataset, seed, name, part, documents, other))


def _compute(run: Run, dataset: DataSet, seed: int, name: str, part: str, documents: int | None, other: DataSet | None) -> Record:
    halves = split(dataset.documents, seed)
    if part == "small":
        chosen = np.random.default_rng(seed).permutation(len(halves.training))[:documents].tolist()
        halves = Split([halves.training[index] for index in chosen], halves.test)
    elif part == "copies":
        halves = Split([near_copy(document, number) for document in halves.training for number in range(COPIES)], halves.test)
    elif part == "templates":
        rng = np.random.default_rng(seed)
        held_out = [fill_in(document, rng) for document in halves.test if not is_anomalous(document)]
        fillings = [fill_in(document, rng) for document in halves.training for _ in range(FILLINGS)]
        halves = Split(fillings, held_out)
    elif part == "spoilt":
        halves = with_anomalies(halves, SPOILT, seed)
    with quiet_rates():
        model = run.bench.difa(preset_of(name), seed).fit(halves.training)
        return _look(model, halves, seed, other) if part == "whole" else _look_briefly(model, halves, seed)


def _compute_feed(run: Run, dataset: DataSet, seed: int, name: str, share: float) -> Record:
    """Fit with all normal documents of the test half as feed, and look at these."""
    halves = split(dataset.documents, seed)
    normal = [document for document in halves.test if not is_anomalous(document) and document.words]
    anomalous = [document for document in halves.test if is_anomalous(document)]
    wanted = min(len(anomalous), round(share / (1 - share) * len(normal)))
    drawn = np.random.default_rng(seed).permutation(len(anomalous))[:wanted].tolist()
    feed = without_labels([*normal, *(anomalous[index] for index in drawn)])
    with quiet_rates():
        model = run.bench.difa(preset_of(name), seed).fit(halves.training, feed=feed)
        lessons = model.detector_.lessons
        taught = lessons.documents if lessons else 0
        return {"rates": rates(model, model.score_unflagged(normal)), "drawn": wanted / len(feed), "taught": taught}


def _look_briefly(model: DiFA, halves: Split, seed: int) -> Record:
    normal, anomalous = _kinds(halves, seed)
    results, found = model.score_unflagged(normal), rates(model, model.score_unflagged(anomalous))
    return {"rates": rates(model, results), "quarters": by_length(results), "found": found}


def _look(model: DiFA, halves: Split, seed: int, other: DataSet | None) -> Record:
    rng = np.random.default_rng(seed)
    normal, anomalous = _kinds(halves, seed)
    normal_results, anomalous_results = model.score_unflagged(normal), model.score_unflagged(anomalous)
    unlike = {"longer": join(normal, LONGER), "seen": _some(halves.training, rng)}
    if other is not None:
        unlike["other"] = _some([document for document in other.documents if not is_anomalous(document)], rng)
    unlike_results = {kind: model.score_unflagged(documents) for kind, documents in unlike.items() if documents}
    return {
        "rates": rates(model, normal_results),
        "quarters": by_length(normal_results),
        "found": rates(model, anomalous_results),
        "mixtures": [
            mixture(_pairs(normal, normal_results), _pairs(anomalous, anomalous_results), share, rng) for share in (0.05, 0.2)
        ],
        "unlike": {kind: rates(model, results) for kind, results in unlike_results.items()},
        "monitor": detection(model, normal_results, anomalous_results, unlike_results.get("other", ()), rng),
    }


def _pairs(documents: Sequence[Document], results: Sequence[Result]) -> list[Pair]:
    return list(zip(documents, results, strict=True))


def _kinds(halves: Split, seed: int) -> tuple[list[Document], list[Document]]:
    """Normal and anomalous test documents."""
    rng = np.random.default_rng(seed)
    normal = [document for document in halves.test if not is_anomalous(document) and document.words]
    return _some(normal, rng), _some([document for document in halves.test if is_anomalous(document)], rng)


def _some(documents: Sequence[Document], rng: np.random.Generator) -> list[Document]:
    return [documents[index] for index in rng.permutation(len(documents))[:_MOST].tolist()]


def join(documents: Sequence[Document], count: int) -> list[Document]:
    """Documents, each made of several in a row."""
    groups = [documents[at : at + count] for at in range(0, len(documents) - count + 1, count)]
    return [from_tokens([word.text for document in group for word in document.words]) for group in groups]


def near_copy(document: Document, number: int) -> Document:
    """A copy: the first as the document is, the second with one more mark, the third without full stops."""
    words = [word.text for word in document.words]
    return from_tokens([words, [*words, "!"], [word for word in words if word != "."] or words][number % COPIES])


def fill_in(document: Document, rng: np.random.Generator) -> Document:
    """The document as a template with other names, numbers and dates in its places, which its words decide."""
    words = [word.text for word in document.words]
    places = np.random.default_rng(len("".join(words))).permutation(len(words))[: -(-len(words) // _SLOTS)].tolist()
    for kind, at in enumerate(places):
        words[at] = (str(rng.choice(_NAMES)), str(rng.integers(1, 10_000)), str(rng.choice(_MONTHS)))[kind % 3]
    return from_tokens(words)


def by_length(results: Sequence[Result]) -> list[Record]:
    """How many documents are flagged at 5 %, by quarter of length, the shortest first."""
    lengths = np.array([len(result.words) for result in results])
    quarter = np.searchsorted(np.quantile(lengths, (0.25, 0.5, 0.75)), lengths) if len(results) else lengths
    flagged = np.array([result.p_value <= 0.05 for result in results], dtype=bool)
    return [{"flagged": int(flagged[quarter == at].sum()), "count": int((quarter == at).sum())} for at in range(4)]


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
