"""How much the service carries, on loopback: `make bench-serve`.

Starts `difa serve` on a model, drives it from this process over plain sockets, and prints one table: throughput and latency
at 1, 8, 32 and 128 clients with and without micro-batching, what happens at twice the sustainable load, and memory after
2,000 and after 20,000 requests. Everything is bounded in time and count; ratios compare figures of one run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import random
import time
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

import uvloop
from service_process import CORPUS, memory, service

PARTS = ("batching", "overload", "endurance")
LONG = "Where is my order, and why does nobody answer? " * 400  # some 4,400 words


@dataclass
class Tally:
    """Latencies in seconds by status; a request without an answer is lost."""

    seconds: dict[int, list[float]] = field(default_factory=dict)
    lost: int = 0
    elapsed: float = 0.0

    def add(self, status: int, seconds: float) -> None:
        self.seconds.setdefault(status, []).append(seconds)

    def count(self, status: int) -> int:
        return len(self.seconds.get(status, ()))

    @property
    def errors(self) -> int:
        return self.lost + sum(len(times) for status, times in self.seconds.items() if status not in (200, 429))

    def quantile(self, share: float, status: int = 200) -> float:
        times = sorted(self.seconds.get(status, ()))
        return times[min(len(times) - 1, int(share * len(times)))] if times else float("nan")

    @property
    def throughput(self) -> float:
        return self.count(200) / self.elapsed


class Texts:
    """Beginnings of messages, one word exchanged: hardly two alike, so that nothing is known from before."""

    def __init__(self, most_words: int, seed: int = 0) -> None:
        self._texts = [line.split() for line in CORPUS.read_text(encoding="utf-8").splitlines()]
        self._most = most_words
        self._random = random.Random(seed)

    def body(self) -> bytes:
        words = self._random.choice(self._texts)[: self._random.randint(3, self._most)]
        words[self._random.randrange(len(words))] = self._random.choice(self._random.choice(self._texts))
        return json.dumps({"text": " ".join(words)}).encode()


def run(work: Coroutine[Any, Any, Tally]) -> Tally:
    """Run to the end, on the faster event loop: the client shares the cores with the server."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


class Connection:
    """One kept-alive connection: as little client as HTTP allows, since it shares the cores with the server."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, body: bytes) -> int:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        head = f"POST /v1/score HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        at = answer.lower().index(b"content-length:") + 15
        await reader.readexactly(int(answer[at : answer.index(b"\r", at)]))
        return int(answer[9:12])

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def timed(connection: Connection, body: bytes, tally: Tally) -> int:
    """One request, counted."""
    started = time.perf_counter()
    try:
        status = await connection.post(body)
    except (OSError, asyncio.IncompleteReadError, ValueError):
        connection.close()
        tally.lost += 1
        return 0
    tally.add(status, time.perf_counter() - started)
    return status


async def closed_loop(port: int, clients: int, texts: Texts, seconds: float, most: int = 10**9) -> Tally:
    """Clients that ask again as soon as they are answered; one that is refused waits for as long as it was told."""
    tally = Tally()
    started = time.perf_counter()
    left = most

    async def client() -> None:
        nonlocal left
        connection = Connection(port)
        while time.perf_counter() - started < seconds and left > 0:
            left -= 1
            if await timed(connection, texts.body(), tally) == 429:
                await asyncio.sleep(1.0)
        connection.close()

    await asyncio.gather(*(client() for _ in range(clients)))
    tally.elapsed = time.perf_counter() - started
    return tally


async def open_loop(port: int, rate: float, texts: Texts, seconds: float) -> Tally:
    """Requests at random times at a rate, whether or not earlier ones are answered."""
    tally = Tally()
    spacing = random.Random(1)
    idle: list[Connection] = []
    tasks: set[asyncio.Task[None]] = set()
    started = due = time.perf_counter()

    async def one() -> None:
        connection = idle.pop() if idle else Connection(port)
        await timed(connection, texts.body(), tally)
        idle.append(connection)

    while due - started < seconds:
        due += spacing.expovariate(rate)
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        task = asyncio.create_task(one())
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.gather(*tasks)
    tally.elapsed = time.perf_counter() - started
    for connection in idle:
        connection.close()
    return tally


def show(name: str, tally: Tally) -> None:
    refused = tally.count(429)
    print(
        f"{name:<34}{tally.throughput:8.1f}/s   p50 {1000 * tally.quantile(0.5):7.1f} ms"
        f"   p99 {1000 * tally.quantile(0.99):7.1f} ms   refused {refused:5d}   errors {tally.errors:3d}",
        flush=True,
    )


def compare_batching(model: str, seconds: float, texts: Texts, threads: list[str]) -> float:
    """The table of clients; returns the ratio of throughput at 32 clients."""
    at_32 = {}
    for name, options in (("micro-batching", []), ("one at a time", ["--batch-documents", "1"])):
        with service(model, *options, *threads) as (port, _):
            run(closed_loop(port, 8, texts, 2))
            for clients in (1, 8, 32, 128):
                tally = run(closed_loop(port, clients, texts, seconds))
                show(f"{name}, {clients} clients", tally)
                at_32[name] = tally.throughput if clients == 32 else at_32.get(name, 0.0)
    return at_32["micro-batching"] / at_32["one at a time"]


def overload(port: int, seconds: float, texts: Texts) -> dict[str, float]:
    """From half to twice the sustainable load."""
    full = run(closed_loop(port, 32, texts, seconds))
    show("the sustainable load, 32 clients", full)
    half = run(open_loop(port, full.throughput / 2, texts, 2 * seconds))
    show("half the sustainable load", half)
    twice = run(open_loop(port, 2 * full.throughput, texts, 2 * seconds))
    show("twice the sustainable load", twice)
    print(f"{'':<34}refusals: p50 {1000 * twice.quantile(0.5, 429):.1f} ms, p99 {1000 * twice.quantile(0.99, 429):.1f} ms")
    return {
        "p99 of accepted requests, twice / half the sustainable load": twice.quantile(0.99) / half.quantile(0.99),
        "p99 of accepted requests, twice / just the sustainable load": twice.quantile(0.99) / full.quantile(0.99),
        "p99 of refusals, ms": 1000 * twice.quantile(0.99, 429),
    }


def beside_long(port: int, seconds: float, texts: Texts) -> dict[str, float]:
    """Short texts of one client, alone and while another sends long documents without end."""

    async def both() -> Tally:
        long = asyncio.create_task(_long_documents(port, seconds))
        tally = await closed_loop(port, 1, texts, seconds)
        await long
        return tally

    alone = run(closed_loop(port, 1, texts, seconds))
    beside = run(both())
    show("1 client beside long documents", beside)
    return {"p50 beside long documents / alone": beside.quantile(0.5) / alone.quantile(0.5)}


async def _long_documents(port: int, seconds: float) -> None:
    connection, end = Connection(port), time.perf_counter() + seconds
    body = json.dumps({"text": LONG, "return_words": False}).encode()
    while time.perf_counter() < end:
        if await connection.post(body) != 200:
            raise SystemExit("a long document was not scored")
    connection.close()


def endurance(port: int, pid: int, texts: Texts) -> dict[str, float]:
    """32 clients for 20,000 requests."""
    first = run(closed_loop(port, 32, texts, 300, 2_000))
    early = memory(pid)
    rest = run(closed_loop(port, 32, texts, 300, 18_000))
    late = memory(pid)
    show("32 clients, 20,000 requests", rest)
    print(f"{'':<34}{rest.elapsed:.0f} s; memory {early:.0f} MB after 2,000 requests, {late:.0f} MB after 20,000")
    done = first.count(200) + rest.count(200)
    return {"requests answered with 200": done, "memory after 20,000 / after 2,000": late / early}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a model folder")
    parser.add_argument("--seconds", type=float, default=8.0, help="of each row")
    parser.add_argument("--words", type=int, default=6, help="words of a short text at most, by white space; 3 at least")
    parser.add_argument("--threads", help="passed on to the service")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="what to measure")
    options = parser.parse_args()
    threads = ["--threads", options.threads] if options.threads else []
    texts = Texts(options.words)
    print(f"{platform.machine()}, Python {platform.python_version()}, texts of 3 to {options.words} words")
    ratios: dict[str, float] = {}
    if "batching" in options.parts:
        ratio = compare_batching(options.model, options.seconds, texts, threads)
        ratios["throughput at 32 clients, micro-batching / one at a time"] = ratio
    if "overload" in options.parts:
        with service(options.model, *threads) as (port, _):
            run(closed_loop(port, 8, texts, 2))
            ratios |= beside_long(port, options.seconds, texts)
            ratios |= overload(port, options.seconds, texts)
    if "endurance" in options.parts:
        with service(options.model, *threads) as (port, pid):
            ratios |= endurance(port, pid, texts)
    print()
    for name, value in ratios.items():
        print(f"{name:<60}{value:10.2f}")


main()
