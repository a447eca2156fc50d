"""`difa serve` as a process: its address, its signals, its mistakes."""

import http.client
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from difa.serve.settings import Settings
from tests import HANG
from tests.conftest import tool
from tests.serve.conftest import Client, wait_until

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-m", "difa", "serve"]


@pytest.fixture(scope="module")
def folder(quick_model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("serve") / "tiny"
    quick_model.save(folder)
    return folder


@contextmanager
def started(folder, **environment):
    command = [*COMMAND, str(folder), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | environment) as process:
        try:
            address = process.stderr.readline()
            assert "serving tiny at http://127.0.0.1:" in address
            yield Client(int(address.split(":")[2].split("/")[0]), None), process
        finally:
            process.kill()


def test_sigterm_finishes_what_is_under_way_and_refuses_the_rest(folder, corpus):
    with started(folder) as (client, process), ThreadPoolExecutor(1) as pool:
        texts = [f"{text} {number}" for number in range(2) for text in corpus[:200]]
        under_way = pool.submit(client.score, texts=texts)
        wait_until(lambda: client.metric('difa_queue_length{lane="short",model="tiny"}') > 0)
        process.send_signal(signal.SIGTERM)
        wait_until(lambda: refuses(client))
        status, answer = under_way.result()
        assert status == 200
        assert [result["text"] for result in answer["results"]] == texts
        assert process.wait(HANG) == 0
        assert process.stderr.read() == ""


def refuses(client):
    try:
        return client.score(text="new")[0] == 503
    except (ConnectionError, http.client.BadStatusLine):
        return True


def test_services_that_are_killed_lose_nothing():
    scene, became = tool("faults_serve").campaign(4, 5)
    assert scene.losses == []
    assert became[200] > 0


def test_the_key_may_come_from_the_environment(folder):
    with started(folder, DIFA_API_KEY="s3cret") as (client, process):
        assert client.get("/v1/models")[0] == 401
        assert client.get("/v1/models", **{"X-API-Key": "s3cret"})[0] == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(HANG) == 0


def run(*arguments):
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=HANG)


def test_an_address_that_others_reach_without_a_key_is_warned_of(folder):
    # An address that no machine has, so that nothing is opened to anybody.
    without = run(folder, "--host", "192.0.2.1")
    assert without.stderr.startswith("difa: warning: anyone who reaches 192.0.2.1")
    assert without.returncode == 2
    assert "warning" not in run(folder, "--host", "192.0.2.1", "--api-key", "k").stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("{model}", "--port", "99999"), "port: expected a whole number from 0 to 65535, got 99999"),
        (("no-model", "--port", "0"), "expected a model folder with config.json"),
        (("{model}", "{model}", "--port", "0"), "expected model folders of different names, got 'tiny' twice"),
        (("{model}", "--queue", "0"), "queue: expected a whole number of at least 1, got 0"),
        (("{model}", "--api-key", ""), "api_key: expected at least one printable"),
        (("{model}", "--timeout", "inf"), "timeout: expected a number of at least 1 and at most 86400, got inf"),
        (("{model}", "--timeout", "nan"), "timeout: expected a number of at least 1 and at most 86400, got nan"),
        (("{model}", "--timeout", "-3"), "timeout: expected a number of at least 1 and at most 86400, got -3.0"),
    ],
)
def test_mistakes_get_one_line_and_exit_code_2(folder, arguments, message):
    process = run(*(argument.format(model=folder) for argument in arguments))
    assert process.returncode == 2, process.stderr
    assert message in process.stderr
    assert process.stderr.count("\n") == 1


@pytest.mark.parametrize(("host", "loopback"), [("127.0.0.1", True), ("localhost", True), ("::1", True), ("0.0.0.0", False)])
def test_loopback(host, loopback):
    assert Settings(host=host).is_loopback is loopback
