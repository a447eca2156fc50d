"""What is served: fitted models, each with its lanes, and what the page needs to know of them.

Short documents share batches in one lane. Long ones run one by one in another, and so do those whose reasons are wanted in
a third: they share the cores with the short ones instead of standing before them.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from difa.corpus.allow import AllowList
from difa.document import Explanation, Result
from difa.errors import ConfigError, InputError
from difa.estimator import DiFA
from difa.report.sentences import visible
from difa.runtime.parallel import Cancelled
from difa.serve.batching import Job, Lane, Outcomes, cost_of
from difa.serve.body import Refusal
from difa.serve.counters import Counters
from difa.serve.settings import Settings
from difa.words import from_text

_log = logging.getLogger("difa.serve")
_BINS = 32
_PROBE = from_text("One sentence of some length, to find out how fast this machine is before anybody asks for anything.")
_RATES = tuple(round(10 ** (-3 + step / 20), 5) for step in range(55))  # 0.001 to 0.5, evenly on a log scale


class ServedModel:
    """A model under its name, and the lanes in front of it."""

    def __init__(self, name: str, model: DiFA, settings: Settings, counters: Counters) -> None:
        self.name, self.model, self.settings = name, model, settings
        # The first one warms the engine up, and shows which views there are.
        probe = model.score_unflagged([_PROBE])[0]
        started = time.perf_counter()
        model.score_unflagged([_PROBE])
        self._pace = (time.perf_counter() - started) / cost_of(_PROBE)
        self.views = list(probe.words[0].evidence)
        self.info = self._describe()
        self._counters = counters
        self.lanes: dict[str, Lane] = {}
        self.accepted = 0
        """Cost of all requests that were accepted and are not answered yet."""

    def start(self) -> None:
        """Begin to take work; call it on the event loop."""
        for name, count in (("short", self.settings.batch_documents), ("long", 1), ("reasons", 1)):
            lane = Lane(
                name,
                self._work,
                budget=self.settings.batch_words,
                most=count,
                wait=self.settings.batch_wait if count > 1 else 0.0,
                pace=self._pace,
                observe=partial(self._counters.observe_batch, self.name),
            )
            self._counters.watch_queue(self.name, name, lane.waiting.__len__)
            self.lanes[name] = lane
            lane.start()

    async def stop(self) -> None:
        """End the lanes."""
        for lane in self.lanes.values():
            await lane.stop()

    @property
    def is_ready(self) -> bool:
        """Whether work is taken."""
        return bool(self.lanes) and all(lane.is_running for lane in self.lanes.values())

    @contextmanager
    def submitted(self, jobs: Sequence[Job]) -> Iterator[None]:
        """Queue the jobs of one request, all of them or, where the queue is full, none; they count until the block ends."""
        owner, cost = object(), sum(job.cost for job in jobs)
        lanes = ["long" if job.cost > self.settings.long_words else "reasons" if job.reasons else "short" for job in jobs]
        if refusal := self.refusal(set(lanes), cost):
            raise refusal
        for lane, job in zip(lanes, jobs, strict=True):
            job.owner = owner
            self.lanes[lane].submit(job)
        self.accepted += cost
        try:
            yield
        finally:
            self.accepted -= cost

    def refusal(self, lanes: Iterable[str] = ("short",), cost: int = 1) -> Refusal | None:
        """What to answer where one of these lanes, or the memory, has no room for work of this cost."""
        has_no_room = self.accepted + cost > self.settings.queue_words
        for lane in map(self.lanes.__getitem__, lanes):
            if has_no_room or lane.owners >= self.settings.queue or lane.seconds_left > self.settings.timeout:
                # By the timeout, all that is there now is answered or dropped.
                after = math.ceil(min(max(1.0, lane.seconds_left), self.settings.timeout))
                return Refusal(429, f"the queue is full: try again in {after} s", {"Retry-After": str(after)})
        return None

    def _work(self, jobs: Sequence[Job]) -> Outcomes:
        """Results without flags: batches mix requests of different rates, and each request flags its own."""
        if not any(job.reasons for job in jobs):
            try:
                return self._score(jobs)
            except Cancelled:
                raise
            except Exception as error:  # one document must not take its batch-mates down with it
                # The type only: a message may quote the text.
                _log.warning("a batch of %d documents failed (%s): each is scored by itself", len(jobs), type(error).__name__)
        return [self._alone(job) for job in jobs]

    def _score(self, jobs: Sequence[Job]) -> list[Result]:
        """All at once where they allow the same words, as most do."""
        places: dict[AllowList, list[int]] = {}
        for at, job in enumerate(jobs):
            places.setdefault(job.allow, []).append(at)
        scored: dict[int, Result] = {}
        for allow, members in places.items():
            documents = [jobs[at].document for at in members]
            scored.update(zip(members, self.model.score_unflagged(documents, allow=allow.entries), strict=True))
        return [scored[at] for at in range(len(jobs))]

    def _alone(self, job: Job) -> Result | Explanation | Exception:
        try:
            if job.reasons:
                return self.model.explain_unflagged(job.document, allow=job.allow.entries)
            return self._score([job])[0]
        except Cancelled:
            raise
        except Exception as error:
            return error

    def _describe(self) -> dict[str, Any]:
        """What `/v1/models` says: what was learned, where normal documents lie, and the score that each rate asks for."""
        reference = self.model.detector_.document_reference  # as p-values and thresholds have it: without what was left out
        counts, edges = np.histogram(reference.values, bins=_BINS)
        thresholds = [(rate, reference.threshold(rate)) for rate in _RATES if rate >= reference.least_p]
        lessons = self.model.detector_.lessons
        return {
            "name": self.name,
            "fpr": self.model.fpr,
            "fdr": self.model.fdr,
            "views": self.views,
            "normal_documents": len(reference.values),
            "learned_from": lessons.extent if lessons else None,
            "learned": [visible(sentence) for sentence in lessons.sentences()] if lessons else [],
            "least_p_value": reference.least_p,
            "histogram": {"edges": edges.tolist(), "counts": counts.tolist()},
            "thresholds": [{"rate": rate, "score": score} for rate, score in thresholds if math.isfinite(score)],
        }


def load_models(folders: Sequence[Path], settings: Settings, counters: Counters, threads: int | None) -> dict[str, ServedModel]:
    """Models by name, the first one being the default; a folder's name is its model's."""
    models: dict[str, ServedModel] = {}
    for folder in folders:
        name = folder.resolve().name
        if name in models:
            raise ConfigError(f"{folder}: expected model folders of different names, got {name!r} twice: rename one")
        models[name] = ServedModel(name, DiFA.load(folder, threads=threads), settings, counters)
    if not models:
        raise InputError("expected at least one model folder, got none")
    return models
