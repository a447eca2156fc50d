"""Hostile and odd requests to the service: `python tools/fuzz_http.py --minutes 2`, or a test with a few of them.

Two kinds: requests that schemathesis makes from the service's own OpenAPI document, right and wrong ones, whose answers must be
as that document says; and bytes that are hardly HTTP, after which the service must still answer. Exit code 1 on any finding.
"""

from __future__ import annotations

import argparse
import json
import random
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CORPUS = Path(__file__).parent.parent / "examples" / "support" / "normal.txt"
HEAD = b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n"
SEEDS = (
    HEAD + b'{"text": "abc"}',
    HEAD.replace(b"Content-Length: 15", b"Transfer-Encoding: chunked") + b'f\r\n{"text": "abc"}\r\n0\r\n\r\n',
    b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n",
    HEAD.replace(b"score", b"tables?name=a.csv").replace(b"json", b"octet-stream") + b"text,n\na b,1\nc,2",
)


def fuzz_operations(url: str, examples: int, seed: int) -> Counter[int]:
    """Requests to every operation of the OpenAPI document; raises on the first answer that it does not describe."""
    import schemathesis
    from hypothesis import HealthCheck, given, settings
    from hypothesis import seed as with_seed
    from schemathesis.checks import not_a_server_error
    from schemathesis.generation import GenerationMode
    from schemathesis.specs.openapi import checks

    described = [
        not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_headers_conformance,
        checks.response_schema_conformance,
    ]
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
    statuses: Counter[int] = Counter()
    for found in schema.get_all_operations():
        operation = found.ok()
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            if not operation.body and not len(operation.query) and mode is GenerationMode.NEGATIVE:
                continue  # there is nothing to get wrong

            @with_seed(seed)
            @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
            @given(case=operation.as_strategy(generation_mode=mode))
            def ask(case: schemathesis.Case) -> None:
                answer = case.call(timeout=120)
                statuses[answer.status_code] += 1
                case.validate_response(answer, checks=described)

            ask()
    return statuses


def fuzz_bytes(port: int, count: int, seed: int) -> Counter[int]:
    """Damaged requests; raises where an answer is no HTTP or no JSON error, or where the service stops answering."""
    statuses: Counter[int] = Counter()
    rng = random.Random(seed)
    for _ in range(count):
        content = _damage(rng, rng.choice(SEEDS))
        answer = _exchange(port, content, patience=0.5)
        status = int(answer[9:12]) if answer.startswith(b"HTTP/1.1 ") else 0
        statuses[status] += 1
        body = answer.partition(b"\r\n\r\n")[2]
        if (answer and not status) or status >= 500 or (status >= 400 and body and not _is_problem(body)):
            raise AssertionError(f"{content!r} was answered with {answer[:500]!r}")
    if _exchange(port, SEEDS[0])[9:12] != b"200":
        raise AssertionError("the service no longer answers")
    return statuses


def _is_problem(body: bytes) -> bool:
    try:
        return "error" in json.JSONDecoder().raw_decode(body.decode())[0]
    except ValueError:
        return False


def _damage(rng: random.Random, content: bytes) -> bytes:
    """A few bytes exchanged, left out, repeated or put in."""
    damaged = bytearray(content)
    for _ in range(rng.randint(1, 6)):
        at, size = rng.randrange(len(damaged)), rng.choice((1, 1, 1, 4, 20))
        match rng.randrange(4):
            case 0:
                damaged[at] = rng.randrange(256)
            case 1 if len(damaged) > size + 1:
                del damaged[at : at + size]
            case 2:
                damaged[at:at] = damaged[at : at + size] * rng.choice((1, 2, 2000))
            case _:
                damaged[at:at] = rng.choice((b"\r\n", b"\0", b"\xff\xfe", b": ", b"%00", b"\r\n\r\n", b"9" * 30))
    return bytes(damaged)


def _exchange(port: int, content: bytes, patience: float = 60.0) -> bytes:
    """The first answer to some bytes, if there is one."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=patience) as connection:
        try:
            connection.sendall(content)
            while not _is_whole(answer) and (part := connection.recv(65536)):
                answer += part
        except (ConnectionResetError, BrokenPipeError, TimeoutError):
            pass  # it may hang up on what is no request, or wait for the rest of it
    return answer


def _is_whole(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    length = head.lower().partition(b"content-length: ")[2].split(b"\r")[0]
    return bool(end) and (not length or len(body) >= int(length))


@contextmanager
def served(model: str) -> Iterator[int]:
    """The service in a process of its own: its port."""
    command = [sys.executable, "-m", "difa", "serve", model, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            line = process.stderr.readline() if process.stderr else ""
            yield int(line.rsplit(":", 1)[1].split("/")[0])
        finally:
            process.terminate()


def _example_model(folder: str) -> str:
    from difa import DiFA

    model = Path(folder) / "example"
    DiFA("fast").fit(CORPUS.read_text(encoding="utf-8").splitlines()).save(model)
    return str(model)


def main() -> None:
    """Fuzz for some minutes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", help="a model folder; without it a fast one is fitted on the example")
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    end, statuses, seed = time.monotonic() + 60 * options.minutes, Counter[int](), options.seed
    with tempfile.TemporaryDirectory() as folder, served(options.model or _example_model(folder)) as port:
        try:
            while time.monotonic() < end:
                statuses += fuzz_operations(f"http://127.0.0.1:{port}", 25, seed)
                statuses += fuzz_bytes(port, 200, seed)
                seed += 1
        except (AssertionError, ExceptionGroup, OSError) as error:
            sys.exit(f"seed {seed}: {error}")
        ready = urllib.request.urlopen(f"http://127.0.0.1:{port}/health/ready").status
    listed = ", ".join(f"{count} of {status or 'no answer'}" for status, count in sorted(statuses.items()))
    sys.stdout.write(f"{statuses.total()} requests ({listed}), no finding; ready: {ready}\n")


if __name__ == "__main__":
    main()
