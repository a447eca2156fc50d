"""Starts Ray or joins a cluster, quietly, and runs a pool of workers over rows."""

from __future__ import annotations

import logging
import os
import socket
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from difa.errors import EngineError, MissingExtraError
from difa.runtime.parallel import core_count
from difa.storage.atomic import scratch_folder

_START_DEATHS = 4  # workers in a row that may die while they load the model
_STORE = 200 << 20  # bytes of the object store on one machine: beside the model it holds next to nothing


def check_installed() -> None:
    """Name the extra where Ray or what it reads by is missing."""
    for module in ("ray", "pyarrow"):
        if find_spec(module) is None:
            raise MissingExtraError(module, "ray", "the Ray engine")


class Attempts:
    """Counts how often each piece was begun: one that kills every worker must not go round for ever."""

    def __init__(self) -> None:
        self._begun: Counter[int] = Counter()

    def begin(self, index: int) -> int:
        """How often this piece was begun, now included."""
        self._begun[index] += 1
        return self._begun[index]


def start_attempts(ray: Any) -> Any:
    """The counter as an actor, which needs no core."""
    return ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(Attempts).remote()


@contextmanager
def cluster(address: str | None, workers: int | None, threads: int, model_bytes: int) -> Iterator[tuple[Any, int]]:
    """Ray, and the number of workers: on a running cluster, or on this machine alone, by loopback."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent to anyone unless the user says so
    address = address or os.environ.get("RAY_ADDRESS")
    if address:
        _check_reachable(address)
    if not address or address.startswith(("127.", "localhost:", "[::1]:")):
        # Ray's switch against clusters: without it the ports of a Ray on one machine are open to the network.
        # A cluster that stays on loopback can only be joined from there.
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # it shouts about restarts that are meant to happen
    import ray

    if ray.is_initialized():  # the caller's own
        yield ray, _worker_count(ray, workers, threads)
        return
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    with scratch_folder() as scratch:
        if not address:
            quiet |= {
                "num_cpus": max(core_count(), (workers or 1) * threads),
                "include_dashboard": False,
                "object_store_memory": max(_STORE, 2 * model_bytes),
                "_temp_dir": str(scratch),
            }
        try:
            with _silence():
                ray.init(address or "local", **quiet)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            if address:
                hint = "if it asks for a token, set RAY_AUTH_TOKEN"
                raise EngineError(f"the cluster at {address} cannot be joined ({error}): {hint}") from None
            raise EngineError(f"Ray cannot start on this machine: {error}") from None
        try:
            yield ray, _worker_count(ray, workers, threads)
        finally:
            ray.shutdown()


def run_pool(
    rows: Sequence[Mapping[str, Any]], worker: type, arguments: tuple[Any, ...], workers: int, threads: int
) -> Iterator[dict[str, Any]]:
    """What the workers return for each row, as it comes.

    Ray Data starts dead workers again and gives them their rows again, without a limit: `Attempts` sets one.
    """
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
    )
    try:
        yield from results.iter_rows()
    except ray.exceptions.RayTaskError:
        raise  # a fault of ours: its trace is worth seeing
    except ray.exceptions.RayError as error:
        raise EngineError(f"Ray cannot go on: {_first_line(error)}") from None


def _check_reachable(address: str) -> None:
    """Say at once what Ray would find out after many minutes."""
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or "://" in address:
        raise EngineError(f"address: expected auto or host:port of a running cluster's head, got {address!r}")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise EngineError(f"the cluster at {address} cannot be reached: {error}: start one by `ray start --head`") from None


@contextmanager
def _silence() -> Iterator[None]:
    """Drop what compiled code writes to stderr while Ray starts: it announces its own log level."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


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
        "max_consecutive_actor_init_deaths": _START_DEATHS,
        "execution_no_progress_timeout_s": -1,  # pieces take minutes, and a cluster may have to grow first
    }
    context = DataContext.get_current()
    for name, value in settings.items():
        if hasattr(context, name):  # some are younger than the oldest Ray that will do
            setattr(context, name, value)
    logging.getLogger("ray.data").setLevel(logging.ERROR)


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
