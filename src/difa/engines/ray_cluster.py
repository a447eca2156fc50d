"""Starts Ray or joins a cluster, quietly, and runs a pool of workers over rows."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from difa.encoders.onnx import core_count
from difa.errors import EngineError, MissingExtraError

_RETRIES = 4  # of a piece whose worker died: many would hide a document that kills every worker
_STORE = 200 << 20  # bytes of the object store on one machine: beside the model it holds next to nothing


def check_installed() -> None:
    """Name the extra where Ray or what it reads by is missing."""
    for module in ("ray", "pyarrow"):
        if find_spec(module) is None:
            raise MissingExtraError(module, "ray", "--engine ray")


@contextmanager
def cluster(address: str | None, workers: int | None, threads: int, model_bytes: int) -> Iterator[tuple[Any, int]]:
    """Ray, and the number of workers: on a running cluster, or on this machine alone, by loopback."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent to anyone unless the user says so
    import ray

    if ray.is_initialized():  # the caller's own
        yield ray, _worker_count(ray, workers, threads)
        return
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    with tempfile.TemporaryDirectory(prefix="difa-ray-", ignore_cleanup_errors=True) as scratch:
        address = address or os.environ.get("RAY_ADDRESS")
        if not address:
            quiet |= {
                "num_cpus": max(core_count(), (workers or 1) * threads),
                "include_dashboard": False,
                "object_store_memory": max(_STORE, 2 * model_bytes),
                "_node_ip_address": "127.0.0.1",
                "_temp_dir": scratch,
            }
        try:
            ray.init(address or "local", **quiet)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            where = f"the cluster at {address}" if address else "Ray on this machine"
            raise EngineError(f"{where} cannot be reached: {error}") from None
        try:
            yield ray, _worker_count(ray, workers, threads)
        finally:
            ray.shutdown()


def run_pool(
    rows: Sequence[Mapping[str, Any]], worker: type, arguments: tuple[Any, ...], workers: int, threads: int
) -> Iterator[dict[str, Any]]:
    """What the workers return for each row, as it comes; a row whose worker died is given to another."""
    import ray
    from ray.data import ActorPoolStrategy

    _quieten()
    cores = str(threads)
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
    results = ray.data.from_items(list(rows), override_num_blocks=len(rows)).map(
        worker,
        fn_constructor_args=arguments,
        compute=ActorPoolStrategy(size=min(workers, len(rows)), max_tasks_in_flight_per_actor=2),
        num_cpus=threads,
        runtime_env={"env_vars": dict.fromkeys(names, cores)},
        max_restarts=-1,
        max_task_retries=_RETRIES,
    )
    try:
        yield from results.iter_rows()
    except ray.exceptions.RayTaskError:
        raise  # a fault of ours: its trace is worth seeing
    except ray.exceptions.RayError as error:
        raise EngineError(
            f"a worker died {_RETRIES + 1} times over the same piece of input, or Ray failed ({_first_line(error)}): "
            "look for too little memory per worker"
        ) from None


def _worker_count(ray: Any, workers: int | None, threads: int) -> int:
    cores = int(ray.cluster_resources().get("CPU", 0))
    if cores < threads:
        raise EngineError(f"expected at least {threads} cores for a worker of {threads} threads, the cluster has {cores}")
    return workers or cores // threads


def _quieten() -> None:
    """No bars and no chatter: the command line has its own."""
    from ray.data import DataContext

    settings = {
        "enable_progress_bars": False,
        "print_on_execution_start": False,
        "max_consecutive_actor_init_deaths": _RETRIES,
        "execution_no_progress_timeout_s": -1,  # pieces take minutes, and a cluster may have to grow first
    }
    context = DataContext.get_current()
    for name, value in settings.items():
        if hasattr(context, name):  # some are younger than the oldest Ray that will do
            setattr(context, name, value)
    logging.getLogger("ray.data").setLevel(logging.ERROR)


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
