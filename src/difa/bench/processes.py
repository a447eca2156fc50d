"""A command -> how long it took and how much memory it held, as a process of its own, start-up included."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from difa.errors import DifaError

_PAUSE = 0.01  # seconds between looks at a process's memory


@dataclass(frozen=True)
class ProcessCost:
    """Seconds, and MiB: at the peak, after a quarter of the time, and towards the end."""

    seconds: float
    peak: float
    quarter: float
    end: float


def measure(command: Sequence[str]) -> ProcessCost:
    """Run a command and look at its memory on the way; where there is no /proc, memory is 0."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    looks: list[dict[str, float]] = []
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(_PAUSE):
            looks.append(_memory(process.pid))

    # Not the usage that the system reports in the end: a child's peak there is never below what its parent held.
    watcher = threading.Thread(target=look)
    watcher.start()
    _, message = process.communicate()
    seconds = time.perf_counter() - started
    ended.set()
    watcher.join()
    if process.returncode:
        last = message.strip().splitlines()[-1:] or [f"exit code {process.returncode}"]
        raise DifaError(f"{' '.join(command[:4])} …: expected it to end well, got: {last[0]}")
    seen = [one for one in looks if one] or [{"VmRSS:": 0.0, "VmHWM:": 0.0}]
    held = [one["VmRSS:"] for one in seen]
    # The very last look may find a process that is already giving its memory back.
    return ProcessCost(seconds, max(one["VmHWM:"] for one in seen), held[len(held) // 4], max(held[-max(1, len(held) // 10) :]))


def _memory(process: int) -> dict[str, float]:
    """Memory of a process now and at its peak, in MiB."""
    try:
        rows = [line.split() for line in Path(f"/proc/{process}/status").read_text().splitlines()]
    except OSError:
        return {}
    found = {row[0]: int(row[1]) / 1024 for row in rows if row and row[0] in ("VmRSS:", "VmHWM:")}
    return found if len(found) == 2 else {}
