"""Verdicts over HTTP: what is kept, what is refused, and who may send them."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from difa.serve.schemas import VERDICT_EXAMPLES as EXAMPLES
from tests import HANG
from tests.serve.conftest import HEADERS, Client, running

AT = "2026-11-17T22:00:00Z"
RECORD = {"text": "Is the wpdlkrt 👍 in?", "verdict": "odd", "spans": [[7, 14]], "model": "m", "at": AT}
PLAIN = {key: value for key, value in RECORD.items() if key != "spans"}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("verdicts") / "verdicts.jsonl"


@pytest.fixture(scope="module")
def keeping(quick_model, path):
    with running({"m": quick_model}, verdicts=path, max_characters=1000, max_words=100, timeout=HANG) as client:
        yield client


@pytest.fixture
def emptied(path):
    path.write_bytes(b"")
    return path


def send(client, record, **headers):
    body = record if isinstance(record, bytes) else json.dumps(record)
    status, _, content = client.raw("POST", "/v1/verdicts", body, {**HEADERS, **headers})
    return status, json.loads(content)


def kept(path):
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (RECORD, RECORD),
        (RECORD | {"spans": [[0, 2], [7, 14], [15, 16], [17, 20]]}, None),
        (PLAIN, PLAIN),
        (RECORD | {"spans": []}, PLAIN),
        (PLAIN | {"verdict": "normal"}, None),
        (RECORD | {"verdict": "normal", "spans": []}, PLAIN | {"verdict": "normal"}),
        (PLAIN | {"text": "two\nlines\u2028 \x00"}, None),
    ],
)
def test_a_verdict_becomes_a_line(keeping, emptied, sent, expected):
    assert send(keeping, sent) == (200, {"status": "kept"})
    assert kept(emptied) == [expected or sent]
    assert list(kept(emptied)[0])[:2] == ["text", "verdict"]


def test_time_and_model_may_be_left_out(keeping, emptied):
    before = datetime.now(UTC).replace(microsecond=0)
    assert send(keeping, {"text": "fine", "verdict": "normal"})[0] == 200
    (record,) = kept(emptied)
    assert record["model"] == ""
    at = datetime.fromisoformat(record["at"])
    assert record["at"].endswith("Z")
    assert before <= at <= datetime.now(UTC)


def test_a_changed_mind_is_another_line(keeping, emptied):
    send(keeping, RECORD)
    send(keeping, PLAIN | {"verdict": "normal"})
    assert [record["verdict"] for record in kept(emptied)] == ["odd", "normal"]


def without(*keys):
    return {key: value for key, value in RECORD.items() if key not in keys}


@pytest.mark.parametrize(
    ("record", "status", "message"),
    [
        (without("text"), 422, "text: expected a value, got none"),
        (without("verdict"), 422, "verdict: expected a value, got none"),
        (RECORD | {"verdict": "guilty"}, 422, "verdict: expected 'odd' or 'normal', got a string"),
        (RECORD | {"verdict": None}, 422, "verdict: expected 'odd' or 'normal'"),
        (RECORD | {"verdict": "normal"}, 422, "spans: expected none in a normal text"),
        (RECORD | {"note": "secret"}, 422, "expected only the keys text, verdict, spans, model, at, got another one"),
        (RECORD | {"text": 5}, 422, "text: expected string"),
        (RECORD | {"text": ""}, 422, "text: expected a text, got none"),
        (RECORD | {"text": " \n", "spans": []}, 422, "text: expected a text, got none"),
        (RECORD | {"text": "a \ud800 b", "spans": []}, 422, "expected"),
        (RECORD | {"model": "\udfff"}, 422, "model: expected a name in Unicode"),
        (RECORD | {"model": 1}, 422, "model: expected string"),
        (RECORD | {"at": "yesterday"}, 422, "at: expected a time such as 2026-11-17T22:00:00Z"),
        (RECORD | {"at": "2026-13-17T22:00:00Z"}, 422, "at: expected a time"),
        (RECORD | {"at": "2026-11-17T22:00:00+01:00"}, 422, "at: expected a time"),
        (RECORD | {"at": 5}, 422, "at: expected string"),
        (RECORD | {"spans": None}, 422, "spans: expected list"),
        (RECORD | {"spans": [7, 14]}, 422, "spans.0: expected list"),
        (RECORD | {"spans": [[7]]}, 422, "spans: expected pairs of 0 <= start < end <= 20"),
        (RECORD | {"spans": [[7, 14, 15]]}, 422, "spans: expected pairs"),
        (RECORD | {"spans": [[7, 7]]}, 422, "spans: expected pairs"),
        (RECORD | {"spans": [[14, 7]]}, 422, "spans: expected pairs"),
        (RECORD | {"spans": [[-1, 7]]}, 422, "spans: expected pairs"),
        (RECORD | {"spans": [[7, 21]]}, 422, "spans: expected pairs"),
        (RECORD | {"spans": [[7.0, 14]]}, 422, "spans.0.0: expected integer"),
        (RECORD | {"spans": [[False, True]]}, 422, "spans.0.0: expected integer"),
        (RECORD | {"spans": [[2, 3]]}, 422, "spans: expected words, got white space"),
        (RECORD | {"text": "wide " * 201}, 413, "expected at most 1000 characters"),
        (RECORD | {"text": "a " * 101}, 413, "expected at most 100 words"),
        ([RECORD], 422, "expected a JSON object, got"),
        (b'{"text": "a", "text": "b", "verdict": "odd"}', 400, "got the key 'text' twice"),
        (b'{"text": "a", "verdict": NaN}', 400, "NaN"),
        (b'{"text": "\xff"}', 400, "expected UTF-8"),
        (b"{", 400, "expected JSON"),
    ],
)
def test_what_is_no_verdict_is_refused_and_not_kept(keeping, emptied, record, status, message):
    got, answer = send(keeping, record)
    assert (got, list(answer)) == (status, ["error"])
    assert message in answer["error"]
    assert "\n" not in answer["error"]
    assert "wpdlkrt" not in answer["error"], "what was sent is not repeated"
    assert "secret" not in answer["error"]
    assert emptied.read_bytes() == b""


def test_other_kinds_of_bodies(keeping, emptied):
    assert send(keeping, RECORD, **{"Content-Type": "text/plain"})[0] == 415
    assert keeping.raw("GET", "/v1/verdicts")[0] == 405
    assert emptied.read_bytes() == b""


def test_bodies_are_bounded(quick_model, emptied):
    with running({"m": quick_model}, verdicts=emptied, max_body=200) as client:
        assert send(client, PLAIN)[0] == 200
        status, answer = send(client, PLAIN | {"text": "wide " * 60})
        assert status == 413
        assert "at most 200 bytes" in answer["error"]
    assert kept(emptied) == [PLAIN]


def test_a_service_without_a_file_says_so(client):
    assert client.get("/v1/models")[1]["takes_verdicts"] is False
    status, answer = send(client, RECORD)
    assert status == 404
    assert answer == {"error": "this service keeps no verdicts: it was started without a file for them"}


def test_the_key_is_asked_for(quick_model, emptied):
    with running({"m": quick_model}, verdicts=emptied, api_key="s3cret") as client:
        assert send(client, RECORD)[0] == 401
        assert emptied.read_bytes() == b""
        assert send(client, RECORD, **{"X-API-Key": "s3cret"})[0] == 200
        document = client.get("/openapi.json")[1]
        assert document["paths"]["/v1/verdicts"]["post"]["security"]
    assert kept(emptied) == [RECORD]


def test_models_openapi_and_counters_know_of_it(keeping, emptied):
    assert keeping.get("/v1/models")[1]["takes_verdicts"] is True
    document = keeping.get("/openapi.json")[1]
    operation = document["paths"]["/v1/verdicts"]["post"]
    body = operation["requestBody"]["content"]["application/json"]
    schema = document["components"]["schemas"][body["schema"]["$ref"].rpartition("/")[2]]
    assert list(schema["properties"]) == list(RECORD)
    assert {"200", "404", "413", "422", "503"} <= set(operation["responses"])
    for example in EXAMPLES.values():
        assert send(keeping, example["value"])[0] == 200
    assert keeping.metric('difa_requests_total{route="/v1/verdicts",status="200"}') >= len(EXAMPLES)


def test_a_torn_last_line_is_ended_first(keeping, emptied):
    emptied.write_bytes(b'{"text":"tor')
    assert send(keeping, RECORD)[0] == 200
    torn, whole, end = emptied.read_bytes().split(b"\n")
    assert (torn, json.loads(whole), end) == (b'{"text":"tor', RECORD, b"")


def test_a_disk_that_takes_nothing_is_said(quick_model, caplog):
    with running({"m": quick_model}, verdicts=Path("/dev/full")) as client:
        status, headers, content = client.raw("POST", "/v1/verdicts", json.dumps(RECORD))
        assert status == 503
        assert headers["Retry-After"] == "60"
        assert "No space left on device" in json.loads(content)["error"]
        assert client.score(text="a")[0] == 200
    assert "No space left" in caplog.text
    assert "wpdlkrt" not in caplog.text


def test_two_services_share_a_file(quick_model, emptied):
    count = 25
    settings = {"verdicts": emptied, "timeout": HANG}
    with running({"m": quick_model}, **settings) as one, running({"m": quick_model}, **settings) as other:

        def write(writer):
            name, client = writer
            return [send(client, PLAIN | {"text": f"{name} {number}"})[0] for number in range(count)]

        with ThreadPoolExecutor(4) as pool:
            statuses = list(pool.map(write, zip("abcd", (one, other, one, other), strict=True)))
    assert statuses == [[200] * count] * 4
    found = [record["text"] for record in kept(emptied)]
    assert sorted(found) == sorted(f"{name} {number}" for name in "abcd" for number in range(count))


@pytest.fixture(scope="module")
def folder(quick_model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("serve") / "tiny"
    quick_model.save(folder)
    return folder


def command(folder, path):
    return [sys.executable, "-m", "difa", "serve", str(folder), "--port", "0", "--verdicts", str(path)]


@pytest.mark.slow
def test_what_was_answered_survives_a_kill(folder, tmp_path):
    path = tmp_path / "verdicts.jsonl"
    for number in range(2):
        with subprocess.Popen(command(folder, path), stderr=subprocess.PIPE, text=True) as process:
            try:
                client = Client(int(process.stderr.readline().split(":")[2].split("/")[0]), None)
                assert send(client, PLAIN | {"text": f"number {number}"})[0] == 200
            finally:
                process.kill()
        assert [record["text"] for record in kept(path)] == [f"number {each}" for each in range(number + 1)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("documents.jsonl", "expected a file of verdicts, got something else in its first line"),
        ("folder", "expected a file for verdicts, got a folder"),
        ("nowhere/verdicts.jsonl", "in a folder that exists"),
    ],
)
def test_files_that_will_not_do_get_one_line_and_exit_code_2(folder, tmp_path, name, message):
    (tmp_path / "folder").mkdir()
    (tmp_path / "documents.jsonl").write_text('{"text": "a document"}\n')
    done = subprocess.run(command(folder, tmp_path / name), capture_output=True, text=True, timeout=HANG)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert (tmp_path / "documents.jsonl").read_text() == '{"text": "a document"}\n'
