"""Under load, at the gate: what waits, what is refused, what is dropped, what goes on."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests import HANG
from tests.serve.conftest import HEADERS, running, wait_until


@pytest.fixture
def pool():
    with ThreadPoolExecutor(16) as pool:
        yield pool


def waiting(client, lane="short"):
    return len(client.service.models["m"].lanes[lane].waiting)


def test_a_full_queue_refuses_at_once_and_says_when_to_come_back(slow, pool):
    with running({"m": slow}, queue=3) as client:
        stuck = pool.submit(client.score, text="STOP")
        assert slow.begun.wait(HANG)
        queued = [pool.submit(client.score, text=f"waits {i}") for i in range(2)]
        wait_until(lambda: waiting(client) == 2)
        status, headers, content = client.raw("POST", "/v1/score", b'{"text": "too many"}')
        assert status == 429
        assert int(headers["Retry-After"]) >= 1
        assert "queue is full" in json.loads(content)["error"]
        assert client.metric('difa_queue_length{lane="short",model="m"}') == 2
        assert client.get("/health/ready")[0] == 200
        slow.gate.set()
        assert [future.result()[0] for future in (stuck, *queued)] == [200, 200, 200]
        assert not any("too many" in text for batch in slow.seen for text in batch)


def test_a_long_document_and_a_list_do_not_hold_up_a_short_one(slow, pool):
    with running({"m": slow}, batch_documents=4, long_words=50) as client:
        long = pool.submit(client.score, text="STOP " + "long " * 60)
        assert slow.begun.wait(HANG)
        assert client.score(text="short")[0] == 200  # while the long one is at the gate
        slow.begun.clear()
        blocked = pool.submit(client.score, text="STOP")
        assert slow.begun.wait(HANG)
        many = pool.submit(client.score, texts=[f"item {i}" for i in range(20)])
        wait_until(lambda: waiting(client) == 20)
        single = pool.submit(client.score, text="single")
        wait_until(lambda: waiting(client) == 21)
        slow.gate.set()
        assert [future.result()[0] for future in (long, blocked, many, single)] == [200] * 4
        after = [batch for batch in slow.seen if any("item" in text for text in batch)]
        assert after[0] == ["item 0", "single", "item 1", "item 2"]


def test_work_that_took_too_long_is_answered_and_dropped_if_it_has_not_begun(slow, pool):
    with running({"m": slow}, timeout=4) as client:
        stuck = pool.submit(client.score, text="STOP")
        assert slow.begun.wait(HANG)
        late = pool.submit(client.score, texts=["late one", "late two"])
        assert [future.result()[0] for future in (stuck, late)] == [504, 504]
        assert waiting(client) == 0
        slow.gate.set()
        wait_until(lambda: client.score(text="next")[0] == 200)
        assert not any("late" in text for batch in slow.seen for text in batch)


def test_a_client_that_went_away_costs_nothing(slow, pool):
    with running({"m": slow}) as client:
        stuck = pool.submit(client.score, text="STOP")
        assert slow.begun.wait(HANG)
        body = b'{"text": "vanished"}'
        gone = socket.create_connection(("127.0.0.1", client.port))
        gone.sendall(b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n")
        gone.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        wait_until(lambda: waiting(client) == 1)
        gone.close()
        wait_until(lambda: waiting(client) == 0)
        slow.gate.set()
        assert stuck.result()[0] == 200
        assert not any("vanished" in text for batch in slow.seen for text in batch)


def test_a_document_that_breaks_the_engine_costs_only_itself_and_is_not_quoted(slow, pool, caplog):
    with running({"m": slow}) as client:
        status, answer = client.score(texts=["fine", "BROKEN", "fine too"])
        assert status == 200
        assert ["error" in result for result in answer["results"]] == [False, True, False]
        assert "secret" not in json.dumps(answer) + caplog.text
        assert "a batch of 3 documents failed (RuntimeError)" in caplog.text
        assert client.get("/health/ready")[0] == 200


def test_a_failure_is_answered_and_logged_without_the_text(slow, caplog):
    with running({"m": slow}) as client:

        def fail(name):
            raise LookupError("secret text")

        client.service.model = fail
        status, answer = client.score(text="secret text")
        assert (status, list(answer)) == (500, ["error"])
        assert "LookupError at" in caplog.text
        assert "secret" not in json.dumps(answer) + caplog.text


def test_draining_finishes_what_is_under_way_and_refuses_the_rest(slow, pool):
    with running({"m": slow}) as client:
        under_way = pool.submit(client.score, text="STOP")
        assert slow.begun.wait(HANG)
        queued = pool.submit(client.score, text="queued")
        wait_until(lambda: waiting(client) == 1)
        client.service.is_draining = True
        status, headers, _ = client.raw("POST", "/v1/score", b'{"text": "new"}')
        assert (status, headers["Retry-After"], headers["Connection"]) == (503, "1", "close")
        assert client.get("/health/ready")[0] == 503
        assert client.get("/health/live")[0] == 200
        slow.gate.set()
        assert [future.result()[0] for future in (under_way, queued)] == [200, 200]


def test_one_at_a_time_on_request(slow, pool):
    with running({"m": slow}, batch_documents=1) as client:
        status, _, _ = client.raw("POST", "/v1/score", json.dumps({"texts": ["a", "b", "c"]}), HEADERS)
        assert status == 200
        assert [batch for batch in slow.seen if batch[0] in "abc"] == [["a"], ["b"], ["c"]]
