"""Documents of many requests -> shared batches, and their outcomes back to who asked.

A lane is a queue in front of one thread. While a batch runs, the next one collects; an idle lane waits a few milliseconds
for company, if there was some the last time. Requests take turns: a batch takes one document of each in order, so a list of
a thousand does not hold up a single text. Work that nobody waits for any more ends at its next step. All of this state belongs
to the event loop; only `work` runs in the thread. Lanes, batches, queues and limits count words by what they cost.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

from difa.corpus.allow import AllowList
from difa.document import Document, Explanation, Result
from difa.encoders import LONGEST_WORD
from difa.runtime.parallel import Cancelled, cancellable

Outcomes = Sequence[Result | Explanation | Exception]

_LETTERS = 6
_SPARSE = 40  # characters of a text that count as a word even if they are white space: they are held in memory
_MEMORY = 0.8  # share of the old estimate of speed that a new measurement leaves in place
_ODD = 2.0  # times faster or slower than expected that a single batch is believed to be


def cost_of(document: Document) -> int:
    """What a document costs, in words, at least 1.

    An ordinary word counts once. Encoders read words in pieces of at least a character, so a word counts once for each of its
    characters, up to those that an encoder reads, unless it is made of ASCII letters and digits: then once for six. That is cheap
    to tell, near the truth for ordinary text, and never less than a sixth of the pieces.
    """
    words = (word.text for word in document.words)
    pieces = (-(-len(word) // _LETTERS) if word.isascii() and word.isalnum() else len(word) for word in words)
    return max(1, sum(min(count, LONGEST_WORD) for count in pieces), len(document.text) // _SPARSE)


@dataclass(eq=False)
class Job:
    """A document to score: what it costs, whether its reasons are wanted, which words are normal, and whose it is."""

    document: Document
    cost: int
    reasons: bool = False
    allow: AllowList = field(default_factory=AllowList)
    owner: object = None
    outcome: asyncio.Future[Result | Explanation] = field(init=False)
    """Where the result goes, from the moment the job is queued."""

    @property
    def is_wanted(self) -> bool:
        """Whether somebody waits for the outcome."""
        return not self.outcome.done()


class FairQueue:
    """Waiting jobs, taken one of each owner in turn; `cost` is their sum."""

    def __init__(self) -> None:
        self.cost = 0
        self.by_owner: OrderedDict[object, deque[Job]] = OrderedDict()

    def __len__(self) -> int:
        return sum(map(len, self.by_owner.values()))

    def add(self, job: Job) -> None:
        """Put a job behind the others of its owner."""
        self.by_owner.setdefault(job.owner, deque()).append(job)
        self.cost += job.cost

    def discard(self, job: Job) -> None:
        """Take a job out, if it is still there."""
        jobs = self.by_owner.get(job.owner, deque())
        if job in jobs:
            jobs.remove(job)
            self._forget(job)

    def take(self, budget: int, most: int) -> list[Job]:
        """The next jobs in turn: at most `most`, and no more than `budget` together unless the first alone is."""
        taken: list[Job] = []
        spent = 0
        while self.by_owner and len(taken) < most:
            owner, jobs = next(iter(self.by_owner.items()))
            if taken and spent + jobs[0].cost > budget:
                break
            taken.append(jobs.popleft())
            spent += taken[-1].cost
            self.by_owner.move_to_end(owner)
            self._forget(taken[-1])
        return taken

    def _forget(self, job: Job) -> None:
        self.cost -= job.cost
        if not self.by_owner[job.owner]:
            del self.by_owner[job.owner]


def learn_pace(known: float, cost: int, seconds: float) -> float:
    """Seconds per word, after a batch took so long. One odd batch moves the estimate by a fifth at most."""
    latest = min(max(seconds / max(1, cost), known / _ODD), known * _ODD)
    return _MEMORY * known + (1 - _MEMORY) * latest


class Lane:
    """A queue in front of one thread.

    Args:
        name: for the thread and the counters.
        work: takes the jobs of a batch, returns one outcome or exception per job; runs in the lane's thread.
        budget: cost of a batch at most; a job above it runs alone.
        most: jobs of a batch at most.
        wait: seconds that an idle lane waits for more documents, unless the last wait brought none.
        pace: seconds per word at first; it learns from every batch.
        observe: called on the event loop after each batch, with its jobs, cost and seconds.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[Sequence[Job]], Outcomes],
        *,
        budget: int,
        most: int,
        wait: float,
        pace: float,
        observe: Callable[[str, int, int, float], None],
    ) -> None:
        self.name, self.pace, self.waiting = name, pace, FairQueue()
        self.running: list[Job] = []
        self._work, self._budget, self._most, self._wait, self._observe = work, budget, most, wait, observe
        self._had_company, self._is_stopping = True, False
        self._arrived, self._enough = asyncio.Event(), asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"difa-{name}")
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to take work; call it on the event loop."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Give up what waits, let the batch under way end at its next step, and end the thread."""
        self._is_stopping = True
        for job in self.waiting.take(self.waiting.cost, len(self.waiting)):
            job.outcome.cancel()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await asyncio.to_thread(self._thread.shutdown)

    @property
    def is_running(self) -> bool:
        """Whether the lane takes work."""
        return self._task is not None and not self._task.done()

    @property
    def owners(self) -> int:
        """How many have something here, waiting or under way."""
        return len({*self.waiting.by_owner, *(job.owner for job in self.running)})

    @property
    def seconds_left(self) -> float:
        """How long the work that is there will take, by the pace of recent batches."""
        return self.pace * (self.waiting.cost + sum(job.cost for job in self.running))

    def submit(self, job: Job) -> None:
        """Queue a job; cancelling its outcome takes it out again, as long as it has not begun."""
        job.outcome = asyncio.get_running_loop().create_future()
        job.outcome.add_done_callback(lambda outcome: self.waiting.discard(job) if outcome.cancelled() else None)
        self.waiting.add(job)
        self._arrived.set()
        if self.waiting.cost >= self._budget or len(self.waiting) >= self._most:
            self._enough.set()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            if not self.waiting:
                await self._wait_for_company()
            self.running = jobs = self.waiting.take(self._budget, self._most)
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
            self._observe(self.name, len(jobs), cost, seconds)
            for job, outcome in zip(jobs, outcomes, strict=True):
                if not job.is_wanted:
                    continue
                if isinstance(outcome, Exception):
                    job.outcome.set_exception(outcome)
                else:
                    job.outcome.set_result(outcome)

    def _work_while_wanted(self, jobs: Sequence[Job]) -> Outcomes | None:
        """The outcomes, or None where everybody who asked has gone."""
        try:
            with cancellable(lambda: not self._is_stopping and any(job.is_wanted for job in jobs)):
                return self._work(jobs)
        except Cancelled:
            return None

    async def _wait_for_company(self) -> None:
        self._arrived.clear()
        self._enough.clear()
        await self._arrived.wait()
        # Someone who asks alone need not wait for others who do not come.
        if self._wait and self._had_company and not self._enough.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(self._wait):
                    await self._enough.wait()
