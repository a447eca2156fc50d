"""The service as a process of its own, for the measurements beside this file."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CORPUS = Path(__file__).parent.parent / "examples" / "support" / "normal.txt"


@contextmanager
def service(model: str, *options: str) -> Iterator[tuple[int, int]]:
    """Serve a model: the port and the process number."""
    command = [sys.executable, "-m", "difa", "serve", model, "--port", "0", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            line = process.stderr.readline() if process.stderr else ""
            yield int(line.rsplit(":", 1)[1].split("/")[0]), process.pid
        finally:
            process.terminate()


def memory(pid: int) -> float:
    """Resident megabytes of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return float("nan")
