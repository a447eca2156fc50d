"""Long runs under mixed load: `python benchmarks/soak.py MODEL --minutes 3`.

First the service, with clients that are short, long, hostile, leave early, stall, or open files; then a stream of documents
through `difa score`. Memory, open files and threads are read at the quarters of each run. Growth from half time to the end
beyond the bounds below, an answer that is not allowed, or a lost document gives exit code 1.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from service_process import CORPUS, memory, service

GROWTH_MEMORY = 1.10  # times: the allocator keeps some of what a peak has taken
GROWTH_COUNT = 8  # files and threads: connections that are just being closed
EXPECTED = {200, 400, 408, 413, 422, 429, 504}
HEAD = (
    "POST /v1/{} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/{}\r\nContent-Length: {}\r\n\r\n"
)


@dataclass(frozen=True)
class Reading:
    """What a process holds at a moment."""

    megabytes: float
    files: int
    threads: int

    @classmethod
    def of(cls, pid: int) -> Reading:
        return cls(memory(pid), len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task")))

    def __str__(self) -> str:
        return f"{self.megabytes:.0f} MB, {self.files} files, {self.threads} threads"


def judge(name: str, readings: list[Reading]) -> list[str]:
    """Print the readings of a run, and return what grew too much."""
    for quarter, reading in enumerate(readings, 1):
        print(f"{name}, after quarter {quarter}: {reading}", flush=True)
    if len(readings) < 4:
        return [f"{name}: expected four readings, got {len(readings)}"]
    first, last = readings[1], readings[-1]  # by half time every cache is full
    grown = []
    if last.megabytes > GROWTH_MEMORY * first.megabytes:
        grown.append(f"{name}: memory grew from {first.megabytes:.0f} to {last.megabytes:.0f} MB")
    if max(last.files - first.files, last.threads - first.threads) > GROWTH_COUNT:
        grown.append(f"{name}: from {first} to {last}")
    return grown


class Load:
    """Clients of one kind each, until the time is up."""

    def __init__(self, port: int, seconds: float, seed: int = 0) -> None:
        self.port, self.end = port, time.monotonic() + seconds
        self.texts = CORPUS.read_text(encoding="utf-8").splitlines()
        self.random = random.Random(seed)
        self.statuses: Counter[str] = Counter()

    async def run(self) -> None:
        kinds: list[Callable[[], Awaitable[None]]] = [
            *(self.short,) * 4, self.long, self.hostile, self.reasons, self.many, self.leave, self.stall, self.table, self.garbage
        ]  # fmt: skip
        await asyncio.gather(*(self.repeat(kind) for kind in kinds))

    async def repeat(self, kind: Callable[[], Awaitable[None]]) -> None:
        while time.monotonic() < self.end:
            try:
                await asyncio.wait_for(kind(), 120)
            except (ConnectionError, asyncio.IncompleteReadError):
                self.statuses["cut off"] += 1
            await asyncio.sleep(self.random.random() / 20)

    def text(self, lines: int = 1) -> str:
        return " ".join(self.random.choice(self.texts) for _ in range(lines))

    async def short(self) -> None:
        await self.score({"text": self.text()})

    async def long(self) -> None:
        await self.score({"text": self.text(self.random.randint(20, 100)), "return_words": False})

    async def hostile(self) -> None:
        mark = self.random.choice((".", "x", "é", "\u200d", "<b>", "a1!", "我", "🎉", " "))
        await self.score({"text": mark * (10 ** self.random.randint(2, 5) // len(mark))})

    async def reasons(self) -> None:
        await self.score({"text": self.text(3), "return_reasons": True})

    async def many(self) -> None:
        await self.score({"texts": [self.text() for _ in range(self.random.randint(2, 200))]})

    async def leave(self) -> None:
        body = json.dumps({"text": self.text(60)}).encode()
        _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(HEAD.format("score", "json", len(body)).encode() + body)
        await writer.drain()
        await asyncio.sleep(self.random.random() / 2)
        writer.close()
        self.statuses["left"] += 1

    async def stall(self) -> None:
        head = HEAD.format("score", "json", 1_000_000).encode() + b" " * self.random.randint(0, 900_000)
        await self.exchange(head)

    async def table(self) -> None:
        rows = "".join(f'{number},"{self.text()}"\r\n' for number in range(200))
        content = f"number,text\r\n{rows}".encode()
        await self.exchange(HEAD.format("tables?name=a.csv", "octet-stream", len(content)).encode() + content)

    async def garbage(self) -> None:
        await self.exchange(self.random.randbytes(self.random.randint(1, 1000)) + b"\r\n\r\n")

    async def score(self, request: dict[str, object]) -> None:
        body = json.dumps(request).encode()
        await self.exchange(HEAD.format("score", "json", len(body)).encode() + body)

    async def exchange(self, content: bytes) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 26)
        try:
            writer.write(content)
            await writer.drain()
            answer = await reader.read()
            self.statuses[answer[9:12].decode("ascii", "replace") or "cut off"] += 1
        finally:
            writer.close()


def soak_service(model: str, seconds: float) -> list[str]:
    with service(model) as (port, pid):
        load, readings = Load(port, seconds), []
        running = threading.Thread(target=lambda: asyncio.run(load.run()))
        running.start()
        for _ in range(4):
            time.sleep(seconds / 4)
            readings.append(Reading.of(pid))
        running.join()
        rest = Load(port, 0)
        asyncio.run(rest.short())
    print("answers:", ", ".join(f"{count} of {status}" for status, count in sorted(load.statuses.items())))
    odd = {status for status in load.statuses if status.isdecimal() and int(status) not in EXPECTED}
    found = [f"service: answers of {status}" for status in sorted(odd)]
    return found + judge("service", readings) + ([] if rest.statuses["200"] else ["service: it no longer answers"])


def soak_stream(model: str, seconds: float) -> list[str]:
    texts = [line.encode() + b"\n" for line in CORPUS.read_text(encoding="utf-8").splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.jsonl"
        command = [sys.executable, "-m", "difa", "score", model, "-", "--out", str(out)]
        readings: list[Reading] = []
        sent, started = 0, time.monotonic()
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            if process.stdin is None or process.stderr is None:
                raise SystemExit("no pipes")
            threading.Thread(target=process.stderr.read, daemon=True).start()
            while len(readings) < 4:
                process.stdin.write(texts[sent % len(texts)])  # waits while the other side is busy
                sent += 1
                if time.monotonic() - started > (len(readings) + 1) * seconds / 4:
                    readings.append(Reading.of(process.pid))
            process.stdin.close()
            code = process.wait()
        with out.open("rb") as lines:
            got = sum(1 for _ in lines)
    print(f"stream: {sent} documents sent, {got} scored, exit code {code}")
    return judge("stream", readings) + ([] if (got, code) == (sent, 0) else ["stream: documents were lost"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a model folder")
    parser.add_argument("--minutes", type=float, default=3.0, help="two thirds for the service, one for the stream")
    options = parser.parse_args()
    seconds = 60 * options.minutes
    grown = soak_service(options.model, 2 * seconds / 3) + soak_stream(options.model, seconds / 3)
    for line in grown:
        print(line)
    raise SystemExit(1 if grown else 0)


main()
