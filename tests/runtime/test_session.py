import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from difa.detector import raw_evidence
from difa.runtime.graphs import GraphRunner, session
from difa.runtime.parallel import Cancelled, cancellable
from difa.words import from_text
from tests import HANG


def test_the_engine_is_told_not_to_phone_home(monkeypatch):
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
    with pytest.raises(Exception, match=r"(?i)model"):
        session(b"no graph")
    assert os.environ["ORT_DISABLE_TELEMETRY"] == "1"


class Runner(GraphRunner):
    """Without a graph: work is whatever the test says."""

    def __init__(self, threads):
        self.threads, self._pool = threads, ThreadPoolExecutor(threads) if threads > 1 else None


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_outcomes_come_in_order_and_few_batches_are_begun_before_they_are_asked_for(threads):
    begun = []
    outcomes = Runner(threads).each(lambda batch: begun.append(batch) or batch * 2, range(20))
    assert next(outcomes) == 0
    assert len(begun) <= threads + 1
    assert [0, *outcomes] == [2 * batch for batch in range(20)]
    assert sorted(begun) == list(range(20))


def test_another_caller_need_not_wait_for_all_batches_of_the_first():
    runner, gate, order = Runner(2), threading.Event(), []

    def slow(batch):
        assert gate.wait(HANG)
        order.append(batch)

    with ThreadPoolExecutor(2) as callers:
        long = callers.submit(lambda: list(runner.each(slow, ["long"] * 50)))
        while runner._pool._work_queue.qsize() < 1:  # two run, one waits
            time.sleep(0.001)
        short = callers.submit(lambda: list(runner.each(slow, ["short"] * 2)))
        while runner._pool._work_queue.qsize() < 3:
            time.sleep(0.001)
        gate.set()
        assert len(long.result()) + len(short.result()) == 52
    assert max(at for at, name in enumerate(order) if name == "short") < 10


@pytest.mark.parametrize("threads", [1, 2])
def test_work_that_is_no_longer_wanted_ends_between_two_batches(threads):
    done = []
    with pytest.raises(Cancelled), cancellable(lambda: len(done) < 5):
        list(Runner(threads).each(done.append, range(1000)))
    assert 5 <= len(done) <= 5 + threads + 1
    assert len(list(Runner(threads).each(done.append, range(10)))) == 10, "only in that block"


def test_views_are_given_up_like_the_rest(quick_model, corpus):
    document = from_text(" ".join(corpus[:60]))
    assert len(document.words) > 512, "enough for threads"
    encoded = quick_model.detector_.encoder.encode([document])
    asked = []
    with pytest.raises(Cancelled), cancellable(lambda: asked.append(1)):
        raw_evidence(quick_model.detector_.views, encoded, 2)
    assert asked
