"""What is no HTTP, or too much of it, gets an error like any other."""

import http.client
import json
import logging
import select
import socket
import time
from collections import deque

import pytest

from difa.serve.server import MOST_HEADERS
from tests import HANG
from tests.serve.conftest import running, wait_until


@pytest.fixture(scope="module")
def plain(fast_model):
    with running({"m": fast_model}) as client:
        yield client


def rest_of(connection):
    """Everything that comes until the service closes the connection."""
    return b"".join(iter(lambda: connection.recv(65536), b""))


def exchange(client, content):
    """What comes back for some bytes, all of which are sent first."""
    with socket.create_connection(("127.0.0.1", client.port), timeout=HANG) as connection:
        connection.sendall(content)
        answer = rest_of(connection)
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head[9:12]), head.lower(), body


@pytest.mark.parametrize(
    "content",
    [
        b"hello\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
        b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/9.9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
    ],
)
def test_what_is_no_http_gets_the_error_schema(plain, content):
    status, head, body = exchange(plain, content)
    assert status == 400
    assert b"content-type: application/json" in head
    assert json.loads(body) == {"error": "expected an HTTP request, got something else: check what is sent"}


@pytest.mark.parametrize(
    "content",
    [
        b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
        b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n" + b"X: yyyyyyyy\r\n" * 9000 + b"\r\n",
        b"GET /health/live?" + b"x" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 100_000,  # and no end
    ],
)
def test_headers_are_bounded(plain, content):
    status, _, body = exchange(plain, content)
    assert status == 431
    assert f"at most {MOST_HEADERS} bytes" in json.loads(body)["error"]


@pytest.mark.parametrize("size", [100_000, 300_000, 3_000_000])
def test_a_refusal_of_headers_arrives(plain, size):
    """Also if the client sends everything before it listens, and more than the service has read when it answers."""
    line = b"GET /health/live?" + b"x" * size + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
    header = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * size + b"\r\n\r\n"
    assert [exchange(plain, content)[0] for content in (line, header) * 10] == [431] * 20


def test_a_refusal_of_headers_arrives_when_they_come_in_parts(plain):
    for _ in range(10):
        with socket.create_connection(("127.0.0.1", plain.port), timeout=HANG) as connection:
            connection.sendall(b"GET /health/live?" + b"x" * 70_000)
            assert select.select([connection], [], [], HANG)[0], "the answer is there"
            for _ in range(3):
                connection.sendall(b"x" * 10_000)
                time.sleep(0.02)
            assert rest_of(connection).startswith(b"HTTP/1.1 431")


EARLY = [
    ("/v1/score", {"Content-Type": "text/plain"}, 415),
    ("/v1/score", {"Content-Type": "application/json", "Content-Encoding": "gzip"}, 415),
    ("/v1/score", {"Content-Type": "application/json"}, 413),
    ("/v1/score", {"Host": "evil.example"}, 421),
    ("/v1/tables", {"Content-Type": "application/octet-stream"}, 422),
    ("/v1/tables?name=a.csv", {"Content-Type": "application/octet-stream"}, 413),
    ("/v1/verdicts", {"Content-Type": "application/json"}, 404),
    ("/v1/models", {}, 405),
    ("/static/app.js", {}, 405),
    ("/nothing", {}, 404),
]


@pytest.mark.parametrize(("path", "headers", "status"), EARLY)
def test_an_answer_that_comes_before_the_body_is_read_arrives(plain, path, headers, status):
    body = b" " * 30_000_000
    for _ in range(3):
        given, _, content = plain.raw("POST", path, body, headers)
        assert given == status
        assert list(json.loads(content)) == ["error"]


def test_a_missing_key_is_told_to_who_sends_much(fast_model):
    with running({"m": fast_model}, api_key="k") as client:
        assert client.raw("POST", "/v1/score", b" " * 30_000_000)[0] == 401


def test_a_connection_is_used_again_once_the_rest_is_read(plain):
    connection = http.client.HTTPConnection("127.0.0.1", plain.port, timeout=HANG)
    for _ in range(3):
        connection.request("POST", "/nothing", b" " * 3_000_000)
        connection.sock.settimeout(HANG)
        answer = connection.getresponse()
        assert (answer.status, answer.headers["Connection"]) == (404, None)
        answer.read()
        first = connection.sock
    connection.request("GET", "/health/live")
    assert connection.sock is first
    assert connection.getresponse().status == 200
    connection.close()


ENDLESS = [
    b"GET /health/live?",
    b"POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999999\r\n\r\n",
    b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999999\r\n\r\n",
]


@pytest.mark.parametrize("head", ENDLESS)
def test_what_comes_after_an_answer_is_bounded_in_size(plain, head):
    with socket.create_connection(("127.0.0.1", plain.port), timeout=HANG) as connection:
        connection.sendall(head + b"x" * 100_000)
        assert connection.recv(9) == b"HTTP/1.1 "
        block = b"x" * 1_000_000
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            deque((connection.sendall(block) for _ in range(200)), maxlen=0)


@pytest.mark.parametrize("head", ENDLESS)
def test_what_comes_after_an_answer_is_bounded_in_time(fast_model, head):
    with running({"m": fast_model}, read_timeout=1) as client:
        connection = socket.create_connection(("127.0.0.1", client.port), timeout=HANG)
        connection.sendall(head + b"x" * 100_000)
        assert connection.recv(9) == b"HTTP/1.1 "
        wait_until(lambda: not takes_more(connection))
        connection.close()


def takes_more(connection):
    try:
        connection.sendall(b"x")
    except (BrokenPipeError, ConnectionResetError):
        return False
    return True


def test_the_service_ends_while_a_client_still_sends(fast_model):
    with running({"m": fast_model}, read_timeout=1) as client:
        connections = [socket.create_connection(("127.0.0.1", client.port), timeout=HANG) for _ in range(3)]
        for head, connection in zip(ENDLESS, connections, strict=True):
            connection.sendall(head + b"x" * 100_000)
            assert connection.recv(9) == b"HTTP/1.1 "
    for connection in connections:
        connection.close()


def test_headers_within_the_bound_pass(plain):
    content = (
        b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: " + b"x" * (MOST_HEADERS - 200) + b"\r\n\r\n"
    )
    assert exchange(plain, content)[0] == 200


def test_the_bound_is_on_each_request_of_a_connection(plain):
    one = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 40_000 + b"\r\n\r\n"
    last = one.replace(b"Host: localhost", b"Host: localhost\r\nConnection: close")
    status, _, rest = exchange(plain, one + one + last)
    assert status == 200
    assert rest.count(b"HTTP/1.1 200") == 2


def test_strangers_cannot_fill_the_log(plain):
    written = []
    handler = logging.Handler()
    handler.emit = written.append
    logging.getLogger("uvicorn.error").addHandler(handler)
    try:
        assert exchange(plain, b"hello\r\n\r\n")[0] == 400
        upgrade = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade, close\r\nUpgrade: websocket\r\n\r\n"
        assert exchange(plain, upgrade)[0] == 200
    finally:
        logging.getLogger("uvicorn.error").removeHandler(handler)
    assert written == []
