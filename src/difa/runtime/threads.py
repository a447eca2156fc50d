"""How many threads this process may take, so that several on one machine do not fight over its cores.

The least of: cores it is bound to, the processor quota of its control groups (as containers have it) and `OMP_NUM_THREADS`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")


def core_count() -> int:
    """Cores that this process may use."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limits = [bound, group_quota(_GROUPS, _MEMBERSHIP), _wished(os.environ.get("OMP_NUM_THREADS", ""))]
    return min(limit for limit in limits if limit is not None)


def bound_tokenizer(threads: int | None) -> None:
    """Limit the threads of the Rust tokenizer; its pool is made once per process, at first use."""
    if threads is not None or core_count() < (os.cpu_count() or 1):
        os.environ.setdefault("RAYON_NUM_THREADS", str(threads or core_count()))


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """One thread of torch: trainings on small tensors share the cores well, teams of threads wait for each other."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def group_quota(groups: Path, membership: Path) -> int | None:
    """The tightest `cpu.max` of the process's control group and those above it, in whole cores; None without one."""
    try:
        lines = membership.read_text().splitlines()
        own = next((line[3:].strip("/") for line in lines if line.startswith("0::")), "")
    except OSError:
        own = ""
    found = []
    for folder in [groups / own, *(groups / own).parents]:
        if folder != groups and groups not in folder.parents:
            break
        try:
            quota, period = (folder / "cpu.max").read_text().split()
            found.append(-(-int(quota) // int(period)))
        except (OSError, ValueError):
            continue  # no such file here, or "max": no bound
    return max(1, min(found)) if found else None


def _wished(value: str) -> int | None:
    first = value.split(",")[0].strip()
    return int(first) if first.isdecimal() and int(first) > 0 else None
