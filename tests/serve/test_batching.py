"""Turns by hand, and a lane with a thread that does next to nothing."""

import asyncio
import time

from difa.runtime.parallel import check_cancelled
from difa.serve.models import Lane, Queued


def items(owner, *costs):
    return [Queued(f"{owner}{i}", cost) for i, cost in enumerate(costs)]


def lane(work=None, **options):
    batches = []
    settings = {"budget": 10, "most": 4, "wait": 0.2, "pace": 0.001, "observe": lambda *batch: batches.append(batch)} | options
    return Lane("test", work, **settings), batches


def names(lane, budget, most):
    lane.budget, lane.most = budget, most
    return [job.document for job in lane.take()]


def test_requests_take_turns_within_the_budget():
    async def run():
        turns, _ = lane()
        for request in (items("a", 4, 4, 4), items("b", 2), items("c", 3, 3)):
            turns.enter(request)
        assert (len(turns.waiting), turns.waiting_cost, turns.requests) == (6, 20, 3)
        assert names(turns, 9, 10) == ["a0", "b0", "c0"]
        assert (len(turns.waiting), turns.waiting_cost) == (3, 11)
        assert names(turns, 100, 2) == ["a1", "c1"]
        turns.enter(items("d", 1, 1))
        assert names(turns, 1, 10) == ["d0"]
        assert names(turns, 1, 10) == ["a2"]  # dearer than the budget: alone
        assert names(turns, 100, 10) == ["d1"]
        assert names(turns, 100, 10) == []
        assert (len(turns.waiting), turns.waiting_cost) == (0, 0)

    asyncio.run(run())


def test_what_has_not_begun_is_gone_with_its_request():
    async def run():
        turns, _ = lane()
        first, second = items("a", 1, 5), items("b", 7)
        turns.enter(first)
        turns.enter(second)
        assert names(turns, 1, 1) == ["a0"]
        turns.leave(first)
        assert (turns.waiting, turns.waiting_cost, turns.requests) == (second, 7, 1)

    asyncio.run(run())


def test_items_that_arrive_together_share_a_batch():
    async def run():
        doubling, batches = lane(lambda jobs: [job.document * 2 for job in jobs])
        together = [Queued(i, 1) for i in range(3)]
        for item in together:
            doubling.enter([item])
        outcomes = await asyncio.gather(*(item.outcome for item in together))
        await doubling.stop()
        return outcomes, [batch[:3] for batch in batches]

    assert asyncio.run(run()) == ([0, 2, 4], [("test", 3, 3)])


def test_who_asked_alone_does_not_wait_the_next_time():
    async def run():
        patient, batches = lane(lambda jobs: [job.document for job in jobs], wait=0.05)
        for wait in (0.05, 1000.0):
            patient.wait = wait
            alone = Queued(1, 1)
            patient.enter([alone])
            await alone.outcome
        await patient.stop()
        return len(batches)

    assert asyncio.run(run()) == 2


def test_a_full_batch_does_not_wait():
    async def run():
        doubling, batches = lane(lambda jobs: [job.document for job in jobs], wait=1000.0)
        full = [Queued(i, 5) for i in range(2)]
        for item in full:
            doubling.enter([item])
        await asyncio.gather(*(item.outcome for item in full))
        await doubling.stop()
        return [cost for _, _, cost, _ in batches]

    assert asyncio.run(run()) == [10]


def test_an_error_reaches_only_its_item_and_the_lane_goes_on():
    async def run():
        careful, _ = lane(lambda jobs: [ValueError("odd") if job.document % 2 else job.document for job in jobs])
        mixed = [Queued(i, 1) for i in range(3)]
        for item in mixed:
            careful.enter([item])
        outcomes = await asyncio.gather(*(item.outcome for item in mixed), return_exceptions=True)
        later = Queued(8, 1)
        careful.enter([later])
        outcomes.append(await later.outcome)
        running = careful.is_running
        await careful.stop()
        return [str(outcome) for outcome in outcomes], running, careful.is_running

    assert asyncio.run(run()) == (["0", "odd", "2", "8"], True, False)


def test_stopping_gives_up_what_waits():
    async def run():
        never, _ = lane(lambda jobs: [job.document for job in jobs], wait=1000.0)
        item = Queued(1, 1)
        never.enter([item])
        await never.stop()
        return item.outcome.cancelled(), len(never.waiting)

    assert asyncio.run(run()) == (True, 0)


def test_work_ends_at_its_next_step_when_everybody_has_gone():
    async def run():
        begun, ended = [], []

        def work(jobs):
            begun.append([job.document for job in jobs])
            try:
                while True:
                    check_cancelled()
                    time.sleep(0.001)
            finally:
                ended.append([job.document for job in jobs])

        endless, batches = lane(work, wait=0.0)
        first, second = Queued(1, 1), Queued(2, 1)
        for item in (first, second):
            endless.enter([item])
        while not begun:
            await asyncio.sleep(0.001)
        first.outcome.cancel()
        await asyncio.sleep(0.01)
        assert not ended, "somebody still waits"
        second.outcome.cancel()
        last = Queued(3, 1)
        endless.enter([last])
        while len(ended) < 1:
            await asyncio.sleep(0.001)
        while len(begun) < 2:
            await asyncio.sleep(0.001)
        await endless.stop()  # gives up the last one, too
        return ended, batches, endless.is_running

    assert asyncio.run(run()) == ([[1, 2], [3]], [], False)
