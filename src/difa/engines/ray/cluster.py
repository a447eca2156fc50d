"""Starts Ray or joins a cluster, quietly, and runs a pool of workers over pieces."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from difa.engines.plan import Piece
from difa.errors import DifaError, EngineError, MissingExtraError
from difa.runtime.parallel import core_count
from difa.storage.atomic import scratch_folder

_ATTEMPTS = 5  # at one piece: one that kills every worker must not go round for ever
_STORE = 200 << 20  # bytes of the object store on one machine: beside the model it holds next to nothing


def check_installed() -> None:
    """Name the extra where Ray or what it reads by is missing."""
    for module in ("ray", "pyarrow"):
        if find_spec(module) is None:
            raise MissingExtraError(module, "ray", "the Ray engine")


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
    ray: Any, worker: type, arguments: tuple[Any, ...], pieces: Sequence[Piece], workers: int, threads: int
) -> Iterator[Any]:
    """What the workers say of each piece, as it comes; a worker that dies is started again, and so is its piece.

    The class `worker` has the methods `load`, called once, and `score`, called for each piece. A worker takes as many cores as
    threads.
    """
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
    environment = {"env_vars": dict.fromkeys(names, str(threads))}
    start = ray.remote(num_cpus=threads, max_restarts=-1, max_task_retries=_ATTEMPTS - 1, runtime_env=environment)(worker)
    actors = [start.remote(*arguments) for _ in range(min(workers, len(pieces)))]
    # A piece is given to a worker that has loaded the model: some may never find a core.
    busy: dict[Any, tuple[Any, Piece | None]] = {actor.load.remote(): (actor, None) for actor in actors}
    rest, left = iter(pieces), len(pieces)
    try:
        while left:
            (done,), _ = ray.wait(list(busy))
            actor, piece = busy.pop(done)
            said = _outcome(ray, done, piece)
            if (following := next(rest, None)) is not None:
                busy[actor.score.remote(following)] = actor, following
            else:
                ray.kill(actor)  # its cores are for workers that died
            if piece is not None:
                left -= 1
                yield said
    finally:
        for actor in actors:
            ray.kill(actor)


def _outcome(ray: Any, done: Any, piece: Piece | None) -> Any:
    """What a worker said, or why there is nothing."""
    try:
        return ray.get(done)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, DifaError):
            raise error.cause from None
        raise  # a fault of ours: its trace is worth seeing
    except ray.exceptions.RayError as error:
        if piece is not None and isinstance(error, ray.exceptions.RayActorError):
            raise EngineError(
                f"{piece.source.label}: {_ATTEMPTS} workers died over the piece that begins at line {piece.span.first}: "
                "give workers more memory, or look for an extremely long line"
            ) from None
        raise EngineError(f"Ray cannot go on: {str(error).strip().partition(chr(10))[0]}") from None


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
