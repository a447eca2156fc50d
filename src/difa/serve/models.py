"""What is served: fitted models, documents of many requests in shared batches before each, and counters for Prometheus.

A lane is a queue in front of one thread. While a batch runs, the next one collects; an idle lane waits a few milliseconds for
more documents, if the last wait brought some. Requests take turns: a batch takes one document of each in order, so a list of a
thousand does not hold up a single text. All of this state belongs to the event loop; only `work` runs in the thread.
Short documents share batches in one lane. Long ones, and those whose reasons are wanted, run one by one in lanes of their own.
Lanes, batches, queues and limits count words by what they cost.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from difa.corpus.allow import AllowList
from difa.document import Document, Explanation
from difa.encoders import LONGEST_WORD
from difa.errors import ConfigError
from difa.estimator import DiFA
from difa.report.sentences import visible
from difa.runtime.parallel import Cancelled, cancellable
from difa.serve.body import Refusal
from difa.serve.example import make_examples
from difa.serve.settings import Settings
from difa.words import from_text

Outcome = Explanation | Exception
"""What is said of a document, without reasons where nobody asked for them; or why nothing is."""

_LETTERS = 6
_SPARSE = 40  # characters of a text that count as a word even if they are white space: they are held in memory
_MEMORY = 0.8  # share of the old estimate of speed that a new measurement leaves in place
_ODD = 2.0  # times faster or slower than expected that a single batch is believed to be

_log = logging.getLogger("difa.serve")
_BINS = 32
_PROBE = from_text("One sentence of some length, to find out how fast this machine is before anybody asks for anything.")
_RATES = tuple(round(10 ** (-3 + step / 20), 5) for step in range(55))  # 0.001 to 0.5, evenly on a log scale

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_SIZES = (1, 2, 4, 8, 16, 32, 64)
_WORDS = (8, 16, 32, 64, 128, 256, 512, 1024, 4096, 16384, 65536)


class Counters:
    """The counters of one service, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        lane = ["model", "lane"]
        odd = "Words in a batch; a long or odd one counts as several."
        self.requests = Counter("difa_requests", "Requests answered.", ["route", "status"], registry=registry)
        self.seconds = Histogram("difa_request_seconds", "Time to answer.", ["route"], buckets=_SECONDS, registry=registry)
        self.queue = Gauge("difa_queue_length", "Documents that wait for a batch.", lane, registry=registry)
        self.documents = Histogram("difa_batch_documents", "Documents in a batch.", lane, buckets=_SIZES, registry=registry)
        self.batch_words = Histogram("difa_batch_words", odd, lane, buckets=_WORDS, registry=registry)
        self.batch_seconds = Histogram("difa_batch_seconds", "Time that a batch took.", lane, buckets=_SECONDS, registry=registry)
        self.words = Counter("difa_words_scored", "Words scored.", ["model"], registry=registry)

    def observe_batch(self, model: str, lane: str, documents: int, words: int, seconds: float) -> None:
        self.documents.labels(model, lane).observe(documents)
        self.batch_words.labels(model, lane).observe(words)
        self.batch_seconds.labels(model, lane).observe(seconds)


def cost_of(document: Document) -> int:
    """What a document costs, in words, at least 1.

    An ordinary word counts once. Encoders read words in pieces of at least a character, so a word counts once for each of its
    characters, up to those that an encoder reads, unless it is made of ASCII letters and digits: then once for six. That is cheap
    to tell, near the truth for ordinary text, and never less than a sixth of the pieces.
    """
    cost = 0
    for word in document.words.texts:
        pieces = -(-len(word) // _LETTERS) if word.isascii() and word.isalnum() else len(word)
        cost += min(pieces, LONGEST_WORD)
    return max(1, cost, len(document.text) // _SPARSE)


@dataclass(eq=False)
class Queued:
    """A document in a queue: what it costs, whether its reasons are wanted, and which words are normal."""

    document: Document
    cost: int
    reasons: bool = False
    allow: AllowList = field(default_factory=AllowList)
    turn: int = field(init=False)
    """Its place in the lane: jobs of one request have turns one behind the other."""
    outcome: asyncio.Future[Outcome] = field(init=False)
    """Where the result goes, from the moment the job is queued; cancelled if nobody waits for it any more."""


def learn_pace(known: float, cost: int, seconds: float) -> float:
    """Seconds per word, after a batch took so long. One odd batch moves the estimate by a fifth at most."""
    latest = min(max(seconds / max(1, cost), known / _ODD), known * _ODD)
    return _MEMORY * known + (1 - _MEMORY) * latest


@dataclass(eq=False)
class Lane:
    """A queue in front of one thread; made on the event loop."""

    name: str
    work: Callable[[Sequence[Queued]], Sequence[Outcome]]
    """From the jobs of a batch to one outcome for each; runs in the lane's thread."""
    budget: int  # cost of a batch at most; a job above it runs alone
    most: int  # jobs of a batch at most
    wait: float  # seconds that an idle lane waits for more documents, unless the last wait brought none
    pace: float  # seconds per word; it learns from every batch
    observe: Callable[[str, int, int, float], None]
    """Called on the event loop after each batch, with the lane's name, and the batch's jobs, cost and seconds."""

    def __post_init__(self) -> None:
        self.waiting, self.running = list[Queued](), list[Queued]()
        self.waiting_cost = self.requests = 0  # requests that are not answered yet
        self._turn, self._had_company = 0, True
        self._arrived = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"difa-{self.name}")
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Give up what waits, let the batch under way end at its next step, and end the thread."""
        for job in (*self.waiting, *self.running):
            job.outcome.cancel()
        self.waiting.clear()
        self.waiting_cost = 0
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await asyncio.to_thread(self._thread.shutdown)

    @property
    def is_running(self) -> bool:
        return not self._task.done()

    @property
    def seconds_left(self) -> float:
        """How long the work that is there will take, by the pace of recent batches."""
        return self.pace * (self.waiting_cost + sum(job.cost for job in self.running))

    def enter(self, jobs: Sequence[Queued]) -> None:
        """Queue the jobs of a request: the first takes turns with those of others that are next, and so on."""
        for turn, job in enumerate(jobs, self._turn):
            job.turn, job.outcome = turn, asyncio.get_running_loop().create_future()
        self.waiting += jobs
        self.waiting.sort(key=lambda job: job.turn)
        self.waiting_cost += sum(job.cost for job in jobs)
        self.requests += 1
        self._arrived.set()

    def leave(self, jobs: Sequence[Queued]) -> None:
        """Withdraw the jobs of a request that is over, where they have not begun."""
        gone = set(jobs)
        self.waiting_cost -= sum(job.cost for job in self.waiting if job in gone)
        self.waiting[:] = [job for job in self.waiting if job not in gone]
        self.requests -= 1

    def take(self) -> list[Queued]:
        """The next jobs in turn: at most `most`, and within the budget together, unless the first alone exceeds it."""
        costs = accumulate(job.cost for job in self.waiting[: self.most])
        count = max(1, sum(cost <= self.budget for cost in costs))
        taken = self.waiting[:count]
        del self.waiting[:count]
        self.waiting_cost -= sum(job.cost for job in taken)
        self._turn = taken[-1].turn if taken else self._turn
        return taken

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            if not self.waiting:
                await self._wait_for_company()
            self.running = jobs = self.take()
            if not jobs:
                continue
            self._had_company = len(jobs) > 1
            started = time.perf_counter()
            outcomes = await loop.run_in_executor(self._thread, self._work_while_wanted, jobs)
            self.running = []
            if outcomes is None:
                continue
            cost, seconds = sum(job.cost for job in jobs), time.perf_counter() - started
            self.pace = learn_pace(self.pace, cost, seconds)
            self.observe(self.name, len(jobs), cost, seconds)
            for job, outcome in zip(jobs, outcomes, strict=True):
                if not job.outcome.done():
                    job.outcome.set_result(outcome)

    def _work_while_wanted(self, jobs: Sequence[Queued]) -> Sequence[Outcome] | None:
        """The outcomes, or None where everybody who asked has gone."""
        with suppress(Cancelled), cancellable(lambda: not all(job.outcome.done() for job in jobs)):
            return self.work(jobs)
        return None

    async def _wait_for_company(self) -> None:
        while not self.waiting:
            await self._wait_for_more()
        # A client that asks alone need not wait for others that do not come.
        if self.wait and self._had_company:
            with suppress(TimeoutError):
                async with asyncio.timeout(self.wait):
                    while self.waiting_cost < self.budget and len(self.waiting) < self.most:
                        await self._wait_for_more()

    async def _wait_for_more(self) -> None:
        self._arrived.clear()
        await self._arrived.wait()


class ServedModel:
    """A model under its name, and the lanes in front of it."""

    def __init__(self, name: str, model: DiFA, settings: Settings) -> None:
        self.name, self.model, self.settings = name, model, settings
        model.score_unflagged([_PROBE])  # the first one warms the engine up
        started = time.perf_counter()
        model.score_unflagged([_PROBE])
        self._pace = (time.perf_counter() - started) / cost_of(_PROBE)
        self.info = describe(name, model)
        self.lanes: dict[str, Lane] = {}
        self.accepted = 0
        """Cost of all requests that were accepted and are not answered yet."""

    def start(self, counters: Counters) -> None:
        """Begin to take work; call it on the event loop."""
        budget, observe = self.settings.batch_words, partial(counters.observe_batch, self.name)
        for name, count in (("short", self.settings.batch_documents), ("long", 1), ("reasons", 1)):
            wait = self.settings.batch_wait if count > 1 else 0.0
            lane = self.lanes[name] = Lane(name, self._work, budget, count, wait, self._pace, observe)
            counters.queue.labels(self.name, name).set_function(lane.waiting.__len__)  # whenever it is read

    async def stop(self) -> None:
        for lane in self.lanes.values():
            await lane.stop()

    @property
    def is_ready(self) -> bool:
        return bool(self.lanes) and all(lane.is_running for lane in self.lanes.values())

    @contextmanager
    def submitted(self, jobs: Sequence[Queued]) -> Iterator[None]:
        """Queue the jobs of one request, all of them or, where the queue is full, none; they count until the block ends."""
        by_lane: dict[str, list[Queued]] = defaultdict(list)
        for job in jobs:
            lane = "long" if job.cost > self.settings.long_words else "reasons" if job.reasons else "short"
            by_lane[lane].append(job)
        cost = sum(job.cost for job in jobs)
        if refusal := self.refusal(by_lane, cost):
            raise refusal
        self.accepted += cost
        for lane, members in by_lane.items():
            self.lanes[lane].enter(members)
        try:
            yield
        finally:
            self.accepted -= cost
            for lane, members in by_lane.items():
                self.lanes[lane].leave(members)

    def refusal(self, lanes: Iterable[str] = ("short",), cost: int = 1) -> Refusal | None:
        """What to answer where one of these lanes, or the memory, has no room for work of this cost."""
        has_no_room = self.accepted + cost > self.settings.queue_words
        for lane in map(self.lanes.__getitem__, lanes):
            if has_no_room or lane.requests >= self.settings.queue or lane.seconds_left > self.settings.timeout:
                # By the timeout, all that is there now is answered or dropped.
                after = math.ceil(min(max(1.0, lane.seconds_left), self.settings.timeout))
                return Refusal(429, f"the queue is full: try again in {after} s", after=after)
        return None

    def _work(self, jobs: Sequence[Queued]) -> Sequence[Outcome]:
        """Results without flags: batches mix requests of different rates, and each request flags its own."""
        try:
            return self._score(jobs)
        except Cancelled:
            raise
        except Exception as error:  # one document must not take its batch-mates down with it
            if len(jobs) == 1:
                return [error]
            # The type only: a message may quote the text.
            _log.warning("a batch of %d documents failed (%s): each is scored by itself", len(jobs), type(error).__name__)
            return [self._work([job])[0] for job in jobs]

    def _score(self, jobs: Sequence[Queued]) -> list[Explanation]:
        """All at once where they allow the same words, as most do; one whose reasons are wanted has a batch of its own."""
        if jobs[0].reasons:
            return [self.model.explain_unflagged(jobs[0].document, allow=jobs[0].allow.entries)]
        scored: dict[Queued, Explanation] = {}
        for allow in dict.fromkeys(job.allow for job in jobs):
            members = [job for job in jobs if job.allow == allow]
            results = self.model.score_unflagged([job.document for job in members], allow=allow.entries)
            scored |= {job: Explanation(result, ()) for job, result in zip(members, results, strict=True)}
        return [scored[job] for job in jobs]


def describe(name: str, model: DiFA) -> dict[str, Any]:
    """What `/v1/models` says: what was learned, where normal documents lie, and the score that each rate asks for."""
    detector, summary = model.detector_, model.detector_.feed_summary
    reference = detector.document_reference  # as p-values and thresholds have it: without what was left out
    counts, edges = np.histogram(reference.values, bins=_BINS)
    thresholds = {rate: reference.threshold(rate) for rate in _RATES if rate >= reference.least_p}
    return {
        "name": name,
        "fpr": model.fpr,
        "fdr": model.fdr,
        "views": list(detector.evidence_names),
        "examples": make_examples(model),
        "fitted_on": detector.extent,
        "normal_documents": len(reference.values),
        "learned_from": summary.extent if summary else None,
        "learned": [visible(sentence) for sentence in summary.sentences()] if summary else [],
        "least_p_value": reference.least_p,
        "histogram": {"edges": edges.tolist(), "counts": counts.tolist()},
        "thresholds": [{"rate": rate, "score": score} for rate, score in thresholds.items() if math.isfinite(score)],
    }


def load_models(folders: Sequence[Path], settings: Settings, threads: int | None) -> dict[str, ServedModel]:
    """Models by name, the first one being the default; a folder's name is its model's."""
    models: dict[str, ServedModel] = {}
    for folder in folders:
        name = folder.resolve().name
        if name in models:
            raise ConfigError(f"{folder}: expected model folders of different names, got {name!r} twice: rename one")
        models[name] = ServedModel(name, DiFA.load(folder, threads=threads), settings)
    return models
