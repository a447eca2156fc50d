"""Bounds on what requests hold and cost: long words, large lists, bodies that never end, odd settings."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from difa.errors import ConfigError
from difa.serve.body import Allowance, Refusal
from difa.serve.models import Queued, learn_pace
from difa.serve.settings import Settings
from tests import HANG
from tests.serve.conftest import running, wait_until

HEAD = b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


def test_a_word_without_end_is_a_long_document(slow):
    with running({"m": slow}) as client, ThreadPoolExecutor(1) as pool:
        hostile = pool.submit(client.score, text="STOP " + "." * 20_000)
        assert slow.begun.wait(HANG)
        assert client.score(text="short")[0] == 200  # while the other is at the gate
        assert len(client.service.models["m"].lanes["long"].running) == 1
        slow.gate.set()
        status, answer = hostile.result()
        assert (status, len(answer["results"][0]["words"])) == (200, 2)


def test_what_nobody_waits_for_ends(slow, corpus):
    text = "STOP " + " ".join(corpus)
    with running({"m": slow}, timeout=4, max_characters=10**6, max_words=10**6, queue_words=10**6) as client:
        assert client.score(text=text)[0] == 504
        assert slow.begun.is_set()
        slow.gate.set()
        wait_until(lambda: not client.service.models["m"].lanes["long"].running)
        assert client.metric('difa_batch_documents_count{lane="long",model="m"}') == 0, "it was not finished"
        assert client.service.models["m"].accepted == 0


def test_a_request_counts_until_it_is_answered(slow):
    with running({"m": slow}, queue_words=100, long_words=50) as client, ThreadPoolExecutor(2) as pool:
        held = pool.submit(client.score, text="STOP " + "word " * 60)
        assert slow.begun.wait(HANG)
        assert client.service.models["m"].accepted == 61
        status, answer = client.score(text="word " * 50)
        assert (status, answer["error"]) == (429, "the queue is full: try again in 1 s")
        assert client.score(text="word " * 20)[0] == 200
        slow.gate.set()
        assert held.result()[0] == 200
        wait_until(lambda: client.service.models["m"].accepted == 0)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"texts": ["word " * 30] * 4}, "expected at most 100 words (a long or odd one counts as several) in a request"),
        ({"text": "." * 81}, "expected at most 80 words (a long or odd one counts as several) in a document, got 81"),
    ],
)
def test_more_than_fits_is_refused_before_it_is_held(fast_model, body, message):
    with running({"m": fast_model}, queue_words=100, max_words=80) as client:
        status, answer = client.score(**body)
        assert status == 413
        assert message in answer["error"]


def test_a_single_odd_batch_cannot_make_the_service_refuse(fast_model):
    with running({"m": fast_model}) as client:
        lane = client.service.models["m"].lanes["short"]
        for _ in range(3):
            lane.pace = learn_pace(lane.pace, 1, 60.0)
        assert client.service.refusal() is None
        lane.pace = 1000.0
        lane.running = [Queued(None, 1000)]
        assert client.service.refusal().headers["Retry-After"] == "60", "by then all is answered or dropped"
        lane.running = []


def test_an_allowance_is_shared_and_given_back():
    allowance = Allowance(100)
    with allowance.one():
        allowance.take(99)
        with pytest.raises(Refusal, match="as much as it can hold"):
            allowance.take(1)
        assert allowance.held == 100
    assert allowance.held == 99


def test_bodies_that_stall_are_counted_refused_beyond_the_bound_and_cut_off(fast_model):
    with running({"m": fast_model}, reading=250_000, read_timeout=6) as client:
        stalled = [socket.create_connection(("127.0.0.1", client.port), timeout=HANG) for _ in range(3)]
        for connection in stalled[:2]:
            connection.sendall(HEAD % 200_000 + b" " * 100_000)
        large = client.service.large_bodies
        wait_until(lambda: large.held == 200_000)
        stalled[2].sendall(HEAD % 200_000 + b" " * 200_000)
        answer = stalled[2].recv(1000)
        assert answer.startswith(b"HTTP/1.1 429")
        assert b"retry-after: 1" in answer.lower()
        assert client.score(text="a short text")[0] == 200, "small bodies do not wait for large ones"
        assert all(connection.recv(1000).startswith(b"HTTP/1.1 408") for connection in stalled[:2])
        wait_until(lambda: large.held == 0)
        for connection in stalled:
            connection.close()
        assert client.raw("POST", "/v1/score", json.dumps({"text": "word " * 5_000}))[0] == 200


@pytest.mark.parametrize("name", ["timeout", "read_timeout", "batch_wait"])
@pytest.mark.parametrize("value", [float("inf"), float("nan"), -1.0, 1e9, "5", True])
def test_times_are_finite(name, value):
    with pytest.raises(ConfigError, match=f"{name}: expected"):
        Settings(**{name: value})


def test_counts_are_whole_numbers():
    with pytest.raises(ConfigError, match=r"queue: expected a whole number of at least 1, got 1.5"):
        Settings(queue=1.5)
