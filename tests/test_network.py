"""Loading, scoring, explaining and serving a model ask nobody anything: a process in which any look at the network fails."""

import os
import subprocess
import sys

import pytest

from tests.serve.conftest import Client

WATCH = """
import sys

def watch(event, arguments):
    if event == "socket.connect" and isinstance(arguments[1], tuple) or event == "socket.sendto":
        raise SystemExit(f"looked at the network: {event} {arguments}")
    if event in ("socket.getaddrinfo", "socket.gethostbyname") and arguments[0] not in ("127.0.0.1", "localhost", None):
        raise SystemExit(f"looked at the network: {event} {arguments}")

sys.addaudithook(watch)
"""
SCORE = """
from difa import DiFA
model = DiFA.load(sys.argv[1])
print(len(model.score(["Where is my xkcdqwrtplk order?"])), model.explain("Thank you.").result.score)
"""
SERVE = """
from difa.cli import main
sys.argv = ["difa", "serve", sys.argv[1], "--port", "0"]
main()
"""
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "ORT_", "TRANSFORMERS_"))}


def run(code, *arguments):
    return subprocess.run(
        [sys.executable, "-c", WATCH + code, *map(str, arguments)], capture_output=True, text=True, check=False, env=ENVIRONMENT
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fast_model", "quick_model"])
def test_load_score_and_explain_have_no_network(kind, request, tmp_path):
    request.getfixturevalue(kind).save(tmp_path / "model")
    done = run(SCORE, tmp_path / "model")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1 ")


@pytest.mark.slow
def test_serving_has_no_network(quick_model, tmp_path):
    quick_model.save(tmp_path / "model")
    command = [sys.executable, "-c", WATCH + SERVE, str(tmp_path / "model")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
        try:
            address = process.stderr.readline()
            assert "serving model at http://127.0.0.1:" in address
            client = Client(int(address.split(":")[2].split("/")[0]), None)
            assert client.score(text="Where is my xkcdqwrtplk order?")[0] == 200
        finally:
            process.terminate()
        assert "network" not in process.stderr.read()


def test_the_watch_sees_a_look_at_the_network():
    for look in ("create_connection(('192.0.2.1', 80))", "getaddrinfo('example.org', 80)"):
        assert "looked at the network" in run(f"import socket; socket.{look}").stderr
