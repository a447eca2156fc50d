"""A command -> how long it took and how much memory it held, as a process of its own, start-up included."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from difa.errors import DifaError

_PAUSE = 0.05  # seconds between looks at a process's memory


@dataclass(frozen=True)
class Outcome:
    """Seconds, and MiB: at the peak, after a quarter of the time, and at the last look."""

    seconds: float
    peak: float
    quarter: float
    end: float


def measure(command: Sequence[str], watch: bool = False) -> Outcome:
    """Run a command; `watch` looks at its memory on the way (Linux only), which costs a little."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    looks: list[float] = []
    while True:
        done, status, usage = os.wait4(process.pid, os.WNOHANG if watch else 0)
        if done:
            break
        looks.append(_resident(process.pid))
        time.sleep(_PAUSE)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    message = process.stderr.read().strip() if process.stderr else ""
    if process.stderr:
        process.stderr.close()
    if process.returncode:
        last = message.splitlines()[-1:] or [f"exit code {process.returncode}"]
        raise DifaError(f"{' '.join(command[:4])} …: expected it to end well, got: {last[0]}")
    seen = [look for look in looks if look] or [0.0]
    return Outcome(seconds, usage.ru_maxrss / 1024, seen[len(seen) // 4], seen[-1])


def _resident(process: int) -> float:
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), 0.0)
