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
from dataclasses import dataclass, field

from difa.allow import AllowList
from difa.document import Document, Explanation, Result
from difa.encoders import LONGEST_WORD
from difa.runtime.stopping import Abandoned, while_wanted

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
    return max(1, sum(_word_cost(word.text) for word in document.words), len(document.text) // _SPARSE)


def _word_cost(word: str) -> int:
    pieces = -(-len(word) // _LETTERS) if word.isascii() and word.isalnum() else len(word)
    return min(pieces, LONGEST_WORD)


@dataclass(frozen=True)
class Job:
    """A document, its cost, whether its reasons are wanted, and which words are normal in it."""

    document: Document
    cost: int
    reasons: bool = False
    allow: AllowList = field(default_factory=AllowList)


@dataclass(eq=False)
class Item:
    """A job in a queue: whose it is, and where the outcome goes."""

    payload: Job
    cost: int
    owner: object
    outcome: asyncio.Future[Result | Explanation] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class FairQueue:
    """Waiting items, taken one of each owner in turn; `cost` is their sum."""

    def __init__(self) -> None:
        self.cost = 0
        self._count = 0
        self._by_owner: OrderedDict[object, deque[Item]] = OrderedDict()

    def __len__(self) -> int:
        return self._count

    @property
    def owners(self) -> set[object]:
        """Who has something waiting."""
        return set(self._by_owner)

    def add(self, item: Item) -> None:
        """Put an item behind the others of its owner."""
        self._by_owner.setdefault(item.owner, deque()).append(item)
        self._count += 1
        self.cost += item.cost

    def discard(self, item: Item) -> None:
        """Take an item out, if it is still there."""
        items = self._by_owner.get(item.owner, deque())
        if item in items:
            items.remove(item)
            self._forget(item)

    def take(self, budget: int, most: int) -> list[Item]:
        """The next items in turn: at most `most`, and no more than `budget` together unless the first alone is."""
        taken: list[Item] = []
        spent = 0
        while self._by_owner and len(taken) < most:
            owner, items = next(iter(self._by_owner.items()))
            if taken and spent + items[0].cost > budget:
                break
            item = items.popleft()
            taken.append(item)
            spent += item.cost
            self._by_owner.move_to_end(owner)
            self._forget(item)
        return taken

    def _forget(self, item: Item) -> None:
        self._count -= 1
        self.cost -= item.cost
        if not self._by_owner[item.owner]:
            del self._by_owner[item.owner]


@dataclass(frozen=True)
class Batch:
    """What one batch was, for those who count."""

    lane: str
    items: int
    cost: int
    seconds: float


class Speed:
    """Seconds per cost, as recent batches had it. One odd batch moves the estimate by a fifth at most."""

    def __init__(self, seconds_per_cost: float) -> None:
        self.seconds_per_cost = seconds_per_cost

    def add(self, cost: int, seconds: float) -> None:
        """Learn from a batch."""
        known = self.seconds_per_cost
        latest = min(max(seconds / max(1, cost), known / _ODD), known * _ODD)
        self.seconds_per_cost = _MEMORY * known + (1 - _MEMORY) * latest

    def estimate(self, cost: int) -> float:
        """Seconds that work of this cost will take."""
        return cost * self.seconds_per_cost


class Lane:
    """A queue in front of one thread.

    Args:
        name: for the thread and the counters.
        work: takes the payloads of a batch, returns one outcome or exception per payload; runs in the lane's thread.
        budget: cost of a batch at most; an item above it runs alone.
        most: items of a batch at most.
        wait: seconds that an idle lane waits for more documents, unless the last wait brought none.
        speed: what is known of its speed; it learns from every batch.
        observe: called on the event loop after each batch.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[Sequence[Job]], Sequence[Result | Explanation | Exception]],
        *,
        budget: int,
        most: int,
        wait: float,
        speed: Speed,
        observe: Callable[[Batch], None],
    ) -> None:
        self.name = name
        self.waiting = FairQueue()
        self._running: list[Item] = []
        self._had_company = True
        self._work, self._budget, self._most, self._wait, self._observe = work, budget, most, wait, observe
        self._speed, self._is_stopping = speed, False
        self._arrived, self._enough = asyncio.Event(), asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"difa-{name}")
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to take work; call it on the event loop."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Give up what waits, let the batch under way end at its next step, and end the thread."""
        self._is_stopping = True
        for item in self.waiting.take(self.waiting.cost, len(self.waiting)):
            item.outcome.cancel()
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
        return len(self.waiting.owners | {item.owner for item in self._running})

    @property
    def seconds_left(self) -> float:
        """How long the work that is there will take, by the speed of recent batches."""
        return self._speed.estimate(self.waiting.cost + sum(item.cost for item in self._running))

    def submit(self, item: Item) -> None:
        """Queue an item; cancelling its outcome takes it out again, as long as it has not begun."""
        self.waiting.add(item)
        item.outcome.add_done_callback(lambda outcome: self.waiting.discard(item) if outcome.cancelled() else None)
        self._arrived.set()
        if self.waiting.cost >= self._budget or len(self.waiting) >= self._most:
            self._enough.set()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            if not self.waiting:
                await self._wait_for_company()
            self._running = items = self.waiting.take(self._budget, self._most)
            if not items:
                continue
            self._had_company = len(items) > 1
            started = time.perf_counter()
            outcomes = await loop.run_in_executor(self._thread, self._work_while_wanted, items)
            self._running = []
            if outcomes is None:
                continue
            self._account(Batch(self.name, len(items), sum(item.cost for item in items), time.perf_counter() - started))
            for item, outcome in zip(items, outcomes, strict=True):
                if item.outcome.done():
                    continue
                if isinstance(outcome, Exception):
                    item.outcome.set_exception(outcome)
                else:
                    item.outcome.set_result(outcome)

    def _work_while_wanted(self, items: Sequence[Item]) -> Sequence[Result | Explanation | Exception] | None:
        """The outcomes, or None where everybody who asked has gone."""

        def is_wanted() -> bool:
            return not self._is_stopping and not all(item.outcome.done() for item in items)

        try:
            with while_wanted(is_wanted):
                return self._work([item.payload for item in items])
        except Abandoned:
            return None

    async def _wait_for_company(self) -> None:
        self._arrived.clear()
        self._enough.clear()
        await self._arrived.wait()
        # Someone who asks alone need not wait for others who do not come.
        if self._wait and self._had_company and not self._enough.is_set():
            try:
                async with asyncio.timeout(self._wait):
                    await self._enough.wait()
            except TimeoutError:
                pass

    def _account(self, batch: Batch) -> None:
        self._speed.add(batch.cost, batch.seconds)
        self._observe(batch)
