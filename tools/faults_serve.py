"""Kills `difa serve` at random moments while clients ask it: `python tools/faults_serve.py --faults 60`.

Every round starts the service again, on the same model, port and temporary folder, and ends it by SIGKILL or SIGTERM. An answer
that a client has as a whole must be what the model says; one that was cut off must show that. On SIGTERM every request that was
there before the signal is answered, or refused by 503, and the exit code is 0. Nothing may be left in the temporary folder, and
the model's folder must be as it was. All of it stays on loopback. The exit code is 1 if anything was lost.
"""

from __future__ import annotations

import argparse
import http.client
import json
import math
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faults import CORPUS, Scene, tell

from difa import DiFA

CLIENTS = 4
PATIENCE = 90.0  # seconds for an answer, and for the end of the process
LONGEST = 1.2  # seconds until the signal comes
STARTING = 2.5  # seconds in which a service that has just been started is killed
CUT, NONE = "cut off", "no answer"
JSON, BINARY = {"Content-Type": "application/json"}, {"Content-Type": "application/octet-stream"}


@dataclass(frozen=True)
class Ask:
    """A request, and what must be in its answer."""

    path: str
    content: bytes
    headers: dict[str, str]
    key: str
    expected: Any
    pieces: int = 1
    """In how many it is sent, with a pause after each."""
    takes: int = 1 << 20
    """Bytes of the answer that are read at a time, with a pause after them."""


@dataclass(frozen=True)
class Outcome:
    """What became of a request: a status, or that the answer was cut off, or that there was none."""

    sent: float
    """When its first piece had been sent."""
    became: int | str
    wrong: str = ""


def asks_of(model: DiFA, texts: Sequence[str]) -> list[Ask]:
    """Single texts, lists, tables that come slowly, and large ones whose answers are read slowly."""
    records = [result.to_dict() for result in model.score(texts)]
    for record in records:  # an answer gives the rate once
        del record["rule"], record["rate"]
    singles = [
        Ask("/v1/score", json.dumps({"text": text}).encode(), JSON, "results", [record])
        for text, record in zip(texts[:20], records[:20], strict=True)
    ]
    lists = [
        Ask("/v1/score", json.dumps({"texts": texts[at : at + size]}).encode(), JSON, "results", records[at : at + size])
        for at, size in ((0, 30), (5, 60), (0, len(texts)), (30, 100))
    ]
    tables = []
    for width, pieces, takes in ((1, 3, 1 << 20), (10, 20, 1 << 20), (9000, 4, 1 << 20), (9000, 2, 1 << 16)):
        rows = [(text.replace('"', ""), f"{number}-" * width) for number, text in enumerate(texts)]
        content = "\n".join(["text,note", *(f'"{text}",{note}' for text, note in rows)]).encode()
        documents = [
            {"id": f"a.csv:{line}", "text": text, "columns": {"note": note}} for line, (text, note) in enumerate(rows, 2)
        ]
        path = "/v1/tables?name=a.csv&text_column=text"
        tables.append(Ask(path, content, BINARY, "documents", documents, pieces, takes))
    return singles + 3 * lists + 3 * tables


def same(found: Any, expected: Any) -> bool:
    """Whether two values are the same, but for the last digits of numbers."""
    if isinstance(found, float) and isinstance(expected, float):
        return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(found, dict) and isinstance(expected, dict):
        return found.keys() == expected.keys() and all(same(found[key], expected[key]) for key in found)
    if isinstance(found, list) and isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    return bool(found == expected)


def exchange(connection: http.client.HTTPConnection, ask: Ask) -> Outcome:
    """Send a request and read its answer as far as it goes."""
    sent = math.inf
    try:
        connection.putrequest("POST", ask.path)
        for name, value in (ask.headers | {"Content-Length": str(len(ask.content))}).items():
            connection.putheader(name, value)
        step = math.ceil(len(ask.content) / ask.pieces)
        connection.endheaders(ask.content[:step])
        sent = time.monotonic()
        for at in range(step, len(ask.content), step):
            time.sleep(0.02)
            connection.send(ask.content[at : at + step])
        answer = connection.getresponse()
    except (OSError, http.client.HTTPException):
        return Outcome(sent, NONE)
    if answer.length is None and not answer.chunked:
        return Outcome(sent, answer.status, "its end cannot be told from an interruption")
    try:
        content = read_slowly(answer, ask.takes)
    except (OSError, http.client.HTTPException):
        return Outcome(sent, CUT)
    return Outcome(sent, answer.status, judge(ask, answer.status, content))


def read_slowly(answer: http.client.HTTPResponse, takes: int) -> bytes:
    """An answer, so many bytes at a time; raises where it is cut off, as `read` does."""
    content = b""
    while answer.length:
        time.sleep(0.005)
        part = answer.read(min(takes, answer.length))
        if not part:
            raise http.client.IncompleteRead(content, answer.length)
        content += part
    return content + answer.read()


def judge(ask: Ask, status: int, content: bytes) -> str:
    """What is wrong with an answer that looks whole, if anything is."""
    try:
        body = json.loads(content)
    except ValueError:
        return f"{status}: it looks whole, but is no JSON"
    if status == 200:
        return "" if same(body[ask.key], ask.expected) else f"{ask.path}: it is not what the model says"
    if status == 503 and "shutting down" in body.get("error", ""):
        return ""
    return f"expected 200, or 503 at the end, got {status}: {body}"


class Client(threading.Thread):
    """Asks one thing after the other until the service is gone; every second client keeps its connection."""

    def __init__(self, port: int, asks: Sequence[Ask], seed: int) -> None:
        super().__init__(daemon=True)
        self.port, self.asks, self.draw, self.keeps = port, asks, random.Random(seed), bool(seed % 2)
        self.outcomes: list[Outcome] = []

    def run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        while not self.outcomes or self.outcomes[-1].became == 200:
            if not self.keeps:
                connection.close()
            if connection.sock is None:
                connection.sock = self.socket()
            self.outcomes.append(exchange(connection, self.draw.choice(self.asks)))
        connection.close()

    def socket(self) -> socket.socket:
        """One that holds little, so that the service has much of a large answer still to send."""
        made = socket.socket()
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 14)
        made.settimeout(PATIENCE)
        with suppress(OSError):  # where nobody listens any more, sending fails
            made.connect(("127.0.0.1", self.port))
        return made


@dataclass
class Place:
    """Where a service runs: the model's folder, the folder for temporary files, and the port, which the first service chooses."""

    model: Path
    temporary: Path
    port: int = 0

    def command(self) -> list[str]:
        return [sys.executable, "-m", "difa", "serve", str(self.model), "--port", str(self.port), "--threads", "1"]

    @contextmanager
    def started(self) -> Iterator[subprocess.Popen[str]]:
        environment = os.environ | {"TMPDIR": str(self.temporary)}
        with subprocess.Popen(self.command(), stderr=subprocess.PIPE, text=True, env=environment) as process:
            try:
                yield process
            finally:
                process.kill()

    def left(self) -> list[str]:
        """What is in the folder for temporary files."""
        return sorted(str(path.relative_to(self.temporary)) for path in self.temporary.rglob("*"))

    def files(self) -> dict[str, bytes]:
        """The model's folder and what lies beside it, hidden files too."""
        return {str(path): path.read_bytes() for path in self.model.parent.rglob("*") if path.is_file()}


def kill_at_start(scene: Scene, place: Place, draw: random.Random) -> None:
    """End a service that has hardly begun."""
    number = draw.choice((signal.SIGKILL, signal.SIGTERM))
    with place.started() as process:
        time.sleep(draw.uniform(0.0, STARTING))
        process.send_signal(number)
        code = process.wait(PATIENCE)
    if code != -number and (number, code) != (signal.SIGTERM, 0):  # it dies of it, or was ready to end as it should
        scene.lose(f"{number.name} at the start: expected to end by it, got exit code {code}")
    scene.injected[f"{number.name} at the start"] += 1


def kill_under_load(scene: Scene, place: Place, asks: Sequence[Ask], draw: random.Random) -> Counter[int | str]:
    """End a service that is at work; what its clients got."""
    number = draw.choice((signal.SIGKILL, signal.SIGTERM))
    with place.started() as process:
        line = process.stderr.readline() if process.stderr else ""
        if "serving" not in line:
            scene.lose(f"it does not start again: {line.strip()}")
            return Counter()
        place.port = int(line.rsplit(":", 1)[1].split("/")[0])
        clients = [Client(place.port, asks, draw.randrange(1 << 30) * 2 + at % 2) for at in range(CLIENTS)]
        for client in clients:
            client.start()
        time.sleep(draw.uniform(0.0, LONGEST))
        signalled = time.monotonic()
        process.send_signal(number)
        code, said = process.wait(PATIENCE), process.stderr.read() if process.stderr else ""
        for client in clients:
            client.join(PATIENCE)
    scene.injected[number.name] += 1
    outcomes = [outcome for client in clients for outcome in client.outcomes]
    for outcome in outcomes:
        if outcome.wrong:
            scene.lose(f"{number.name}: an answer: {outcome.wrong}")
        elif number == signal.SIGTERM and outcome.sent < signalled and outcome.became in (CUT, NONE):
            scene.lose(f"SIGTERM: a request of {signalled - outcome.sent:.3f} s before it: {outcome.became}")
    if code != (0 if number == signal.SIGTERM else -signal.SIGKILL) or said:
        scene.lose(f"{number.name}: exit code {code}, and it said {said!r}")
    return Counter(outcome.became for outcome in outcomes)


def campaign(faults: int, seed: int) -> tuple[Scene, Counter[int | str]]:
    """So many services killed, one in six of them while it starts; what became of all requests."""
    draw, texts = random.Random(seed), CORPUS.read_text(encoding="utf-8").splitlines()
    scene, became = Scene("serve", lambda place: None), Counter[int | str]()
    with tempfile.TemporaryDirectory(prefix="difa-faults-") as name:
        place = Place(Path(name) / "models" / "model", Path(name) / "temporary")
        place.temporary.mkdir()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            DiFA("fast", seed=1, fpr=0.05).fit(texts[:80]).save(place.model)
        asks, before = asks_of(DiFA.load(place.model, threads=1), texts[100:400]), place.files()
        for _ in range(faults):
            if draw.random() < 1 / 6:
                kill_at_start(scene, place, draw)
            else:
                became += kill_under_load(scene, place, asks, draw)
            if left := place.left():
                scene.lose(f"left behind: {', '.join(left)}")
            if place.files() != before:
                scene.lose("the model's folder is not as it was")
    return scene, became


def main() -> int:
    """Run the campaign, print its table, and return 1 if anything was lost."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--faults", type=int, default=60, help="services to kill, a few seconds each")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    started = time.monotonic()
    scene, became = campaign(options.faults, options.seed)
    listed = ", ".join(f"{count} {status}" for status, count in sorted(became.items(), key=str))
    print(f"{became.total()} requests: {listed}\n")
    return tell([scene], options.seed, started)


if __name__ == "__main__":
    sys.exit(main())
