"""What is no HTTP, or too much of it, gets an error like any other."""

import json
import logging
import socket

import pytest

from difa.serve.protocol import MOST_HEADERS
from tests import HANG
from tests.serve.conftest import running


@pytest.fixture(scope="module")
def plain(fast_model):
    with running({"m": fast_model}) as client:
        yield client


def exchange(client, content):
    """Everything that comes back for some bytes, until the service closes the connection."""
    with socket.create_connection(("127.0.0.1", client.port), timeout=HANG) as connection:
        connection.sendall(content)
        answer = b""
        while part := connection.recv(65536):
            answer += part
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
