"""The edge: strict bodies, limits, key, headers, and clients that misbehave."""

import contextlib
import copy
import http.client
import json
import logging
import socket
from collections import deque
from dataclasses import replace

import pytest

from difa.feed import FeedSummary, Finding
from difa.serve.models import ServedModel
from difa.serve.settings import Settings
from tests import HANG
from tests.serve.conftest import HEADERS, running, wait_until


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"", 400, "expected JSON"),
        (b'{"text": "a"', 400, "expected JSON"),
        (b'{"text": "a", "fpr": NaN}', 400, "NaN"),
        (b'{"text": "a", "fpr": -Infinity}', 400, "-Infinity"),
        (b'{"text": "a", "fpr": 1e999}', 400, "ordinary size"),
        (b'{"text": "a", "fpr": ' + b"1" * 5000 + b"}", 400, "at most 40 digits"),
        (b'{"text": "a", "fpr": 0.' + b"1" * 5000 + b"}", 400, "ordinary size"),
        (b"[" * 100_000, 400, "deep nesting"),
        (b'{"text": ' * 100_000, 400, "deep nesting"),
        (b'{"text": "\xff"}', 400, "expected UTF-8, got byte 0xff at position 10"),
        (b'{"text": "a", "text": "b"}', 400, "got the key 'text' twice"),
        ('{"text": "a"}'.encode("utf-16"), 400, "expected UTF-8"),
        (b'"a"', 422, "expected a JSON object, got a string"),
    ],
)
def test_only_strict_json(client, body, status, message):
    got, _, content = client.raw("POST", "/v1/score", body)
    assert got == status
    assert message in json.loads(content)["error"]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/json; charset=latin-1"},
        {**HEADERS, "Content-Encoding": "gzip"},
    ],
)
def test_only_plain_json_bodies(client, headers):
    assert client.raw("POST", "/v1/score", b'{"text": "a"}', headers)[0] == 415


@pytest.mark.parametrize("chunked", [False, True])
def test_bodies_are_bounded_while_they_arrive(fast_model, chunked):
    with running({"m": fast_model}, max_body=1000) as client:
        body = b'{"text": "' + b"a" * 2000 + b'"}'
        status, _, content = client.raw("POST", "/v1/score", iter([body[:700], body[700:]]) if chunked else body)
        assert status == 413
        assert "at most 1000 bytes" in json.loads(content)["error"]
        # One that never ends is cut off, and the service is as good as before.
        endless = socket.create_connection(("127.0.0.1", client.port))
        endless.sendall(
            b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        chunks = (b"400\r\n" + b" " * 1024 + b"\r\n" for _ in range(100_000))
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            deque(map(endless.sendall, chunks), maxlen=0)
        endless.close()
        assert client.score(text="a")[0] == 200


def test_a_body_announced_as_too_large_is_not_asked_for(client):
    with socket.create_connection(("127.0.0.1", client.port)) as asking:
        asking.sendall(
            b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 99999999\r\nExpect: 100-continue\r\n\r\n"
        )
        assert asking.recv(1000).startswith(b"HTTP/1.1 413")


def test_slow_clients_are_cut_off(fast_model):
    with running({"m": fast_model}, read_timeout=4) as client:
        head = b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n"
        silent, half_a_head, half_a_body, huge_head = (
            socket.create_connection(("127.0.0.1", client.port), timeout=HANG) for _ in range(4)
        )
        half_a_head.sendall(head)
        half_a_body.sendall(head + b"\r\n{")
        huge_head.sendall(head + b"X: " + b"x" * 100_000)
        assert half_a_body.recv(1000).startswith(b"HTTP/1.1 408")
        assert huge_head.recv(1000).startswith(b"HTTP/1.1 431")
        for cut_off in (silent, half_a_head):
            with contextlib.suppress(ConnectionResetError):
                assert cut_off.recv(1000) == b""
        for connection in (silent, half_a_head, half_a_body, huge_head):
            connection.close()
        assert client.score(text="a")[0] == 200


@pytest.mark.slow
def test_a_client_that_does_not_take_its_answer_is_cut_off(fast_model, corpus):
    with running({"m": fast_model}, read_timeout=4) as client:
        body = json.dumps({"texts": corpus[:400]}).encode()
        asking = socket.socket()
        asking.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        asking.connect(("127.0.0.1", client.port))
        head = b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        asking.sendall(head % len(body) + body)
        answered = 'difa_requests_total{route="/v1/score",status="200"}'
        wait_until(lambda: client.metric(answered) == 1)  # the layer that counts was let go
        asking.close()


def test_every_v1_route_asks_for_the_key(fast_model):
    with running({"m": fast_model}, api_key="s3cret") as client:
        for method, path in (("GET", "/v1/models"), ("POST", "/v1/score"), ("GET", "/v1/nothing"), ("GET", "/v1")):
            for headers in ({}, {"X-API-Key": "other"}, {"X-API-Key": ""}, {"Authorization": "Bearer s3cre"}):
                status, _, content = client.raw(method, path, b'{"text": "a"}', {**HEADERS, **headers})
                assert (method, path, status) == (method, path, 401)
                assert "X-API-Key" in json.loads(content)["error"]
        assert client.get("/v1/models", **{"X-API-Key": "s3cret"})[0] == 200
        assert client.get("/v1/models", Authorization="Bearer s3cret")[0] == 200
        assert client.get("/v1/nothing", **{"X-API-Key": "s3cret"})[0] == 404
        assert client.get("/health/live")[0] == 200
        assert client.raw("GET", "/")[0] == 200


def test_models_says_what_the_page_needs(client, model):
    status, answer = client.get("/v1/models")
    assert status == 200
    assert [entry["name"] for entry in answer["models"]] == ["support", "tiny"]
    entry = answer["models"][0]
    assert entry["normal_documents"] == sum(entry["histogram"]["counts"]) == 300
    assert entry["fitted_on"] == model.detector_.extent
    assert len(entry["histogram"]["edges"]) == len(entry["histogram"]["counts"]) + 1
    assert entry["least_p_value"] == pytest.approx(1 / 301)
    at_fpr = next(threshold for threshold in entry["thresholds"] if threshold["rate"] == 0.01)
    assert at_fpr["score"] == model.threshold_
    assert answer["limits"]["texts"] == 1000


def test_models_says_what_a_feed_taught(taught, fast_model):
    with running({"taught": taught, "plain": fast_model}) as client:
        of_taught, of_plain = client.get("/v1/models")[1]["models"]
        described = client.get("/openapi.json")[1]["components"]["schemas"]["Model"]
    summary = taught.detector_.feed_summary
    assert of_taught["learned_from"] == f"150 documents of a feed, {summary.words:,} words"
    assert of_taught["learned"] == summary.sentences()
    assert "river" in of_taught["learned"][0]
    assert of_taught["views"][-1] == "feed"
    assert (of_plain["learned_from"], of_plain["learned"]) == (None, [])
    assert {"learned_from", "learned"} <= set(described["required"])


@pytest.mark.parametrize(
    ("summary", "source", "sentences"),
    [
        (
            FeedSummary(60, 600, 60, 0, 0),
            "60 documents of a feed, 600 words",
            ["In the new text nothing stands out that normal text does not have."],
        ),
        (FeedSummary(0, 0, 0, 0, 0, reviewed=25, odd=15), "25 reviewed documents, 15 of them odd", []),
        (
            FeedSummary(60, 600, 60, 0, 0, findings=(Finding("tone", 9.0, ("id\u202eiot",)),)),
            "60 documents of a feed, 600 words",
            ["In the new text, hostile or emotional words stand out: 9 times as many as in normal text (id\ufffdiot)."],
        ),
    ],
)
def test_what_was_learned_is_told_in_words(fast_model, summary, source, sentences):
    model = copy.copy(fast_model)
    model.detector_ = replace(fast_model.detector_, feed_summary=summary)
    info = ServedModel("m", model, Settings()).info
    assert (info["learned_from"], info["learned"]) == (source, sentences)


@pytest.mark.slow
def test_documents_that_were_left_out_shift_no_threshold(quick, corpus, rng):
    odd = [" ".join("".join(rng.choice(list("bcdfghjklmnpqrstvwxz"), 9)) for _ in range(8)) for _ in range(18)]
    with pytest.warns(UserWarning, match="left out"):
        model = quick().fit([*corpus[:222], *odd, ""])
    reference = model.detector_.document_reference
    assert model.detector_.left_out
    assert len(reference.values) == len(model.decision_scores_) - model.detector_.left_out - 1
    info = ServedModel("spoilt", model, Settings()).info
    assert info["normal_documents"] == sum(info["histogram"]["counts"]) == len(reference.values)
    assert info["least_p_value"] == reference.least_p
    thresholds = {entry["rate"]: entry["score"] for entry in info["thresholds"]}
    assert thresholds
    assert thresholds == {rate: reference.threshold(rate) for rate in thresholds}


def test_health_openapi_and_page(client):
    assert client.get("/health/live") == (200, {"status": "live"})
    assert client.get("/health/ready") == (200, {"status": "ready"})
    document = client.get("/openapi.json")[1]
    score = document["paths"]["/v1/score"]["post"]
    body = score["requestBody"]["content"]["application/json"]
    schema = document["components"]["schemas"][body["schema"]["$ref"].rpartition("/")[2]]
    assert {"text", "texts", "fpr", "fdr", "return_words", "return_evidence", "allow"} <= set(schema["properties"])
    assert not schema["additionalProperties"]
    for example in body["examples"].values():
        assert client.score(**example["value"])[0] == 200
    assert {"200", "413", "429", "503"} <= set(score["responses"])
    assert client.raw("GET", "/docs")[0] == 404
    status, headers, content = client.raw("GET", "/")
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert b"http://" not in content.replace(b"http://www.w3.org", b"")
    assert b"https://" not in content


@pytest.mark.parametrize("path", ["/", "/static/style.css", "/v1/models", "/nothing"])
def test_headers_keep_browsers_in_bounds(client, path):
    headers = client.raw("GET", path)[1]
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize("path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd"])
def test_only_the_page_s_own_files(client, path):
    assert client.raw("GET", path)[0] == 404


@pytest.mark.parametrize("path", ["/", "/static/app.js"])
@pytest.mark.parametrize(("given", "status"), [("bytes=9999999-", 416), ("lines=0-1", 400), ("bytes=x-y", 400), ("bytes=", 400)])
def test_an_error_about_a_range_is_one_like_all_others(client, path, given, status):
    got, headers, content = client.raw("GET", path, headers={"Range": given})
    assert (got, headers["Content-Type"]) == (status, "application/json")
    assert "expected a range" in json.loads(content)["error"]
    assert client.raw("GET", path, headers={"Range": "bytes=0-9"})[0] == 206


@pytest.mark.parametrize("path", ["/", "/static/app.js", "/static/formula.js"])
def test_the_page_s_files_answer_head(client, path):
    status, headers, content = client.raw("HEAD", path)
    assert (status, content) == (200, b"")
    assert headers["Content-Length"] == client.raw("GET", path)[1]["Content-Length"]


def test_metrics_count_requests_and_words(client):
    before = client.metric('difa_words_scored_total{model="support"}')
    refused = client.metric('difa_requests_total{route="/v1/score",status="422"}')
    client.score(text="four words are here")
    client.score(text=5)
    client.raw("GET", "/made-up/path")
    assert client.metric('difa_words_scored_total{model="support"}') == before + 4
    assert client.metric('difa_requests_total{route="/v1/score",status="422"}') == refused + 1
    text = client.raw("GET", "/metrics")[2].decode()
    assert "made-up" not in text
    assert 'difa_queue_length{lane="short",model="support"} 0.0' in text
    for name in ("difa_request_seconds_bucket", "difa_batch_documents_bucket", "difa_batch_words_bucket"):
        assert name in text


def test_a_connection_is_used_again_and_texts_stay_out_of_the_logs(client, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=HANG)
    for body in ('{"text": "sesame"}', '{"text": "sesame", "fpr": 7}', '{"text": "sesame"', '{"texts": [["sesame", 1]]}'):
        connection.request("POST", "/v1/score", body, HEADERS)
        answer = connection.getresponse()
        assert (b"sesame" in answer.read()) == (answer.status == 200 and "texts" not in body)
    connection.close()
    assert "sesame" not in caplog.text
    assert "sesame" not in "".join(capfd.readouterr())


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:8000", 200),
        ("127.0.0.1:1", 200),
        ("127.1.2.3", 200),
        ("[::1]:8000", 200),
        ("evil.example", 421),
        ("evil.example:8000", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost.evil.example", 421),
        ("", 421),
    ],
)
def test_a_service_for_this_machine_answers_to_its_own_names_alone(fast_model, host, status):
    with running({"m": fast_model}) as client:
        given, _, content = client.raw("POST", "/v1/score", b'{"text": "a"}', {**HEADERS, "Host": host})
        assert given == status
        assert status == 200 or "got the host" in json.loads(content)["error"]


def test_a_key_allows_any_name(fast_model):
    with running({"m": fast_model}, api_key="k") as client:
        assert client.raw("GET", "/v1/models", None, {"Host": "models.example", "X-API-Key": "k"})[0] == 200
