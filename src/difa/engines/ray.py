"""Files -> scored parts, by Ray on one machine or many.

A pool of workers, each with the model loaded once, scores pieces; only the model and short notices pass through Ray's object
store. A piece whose worker died is done again by another. Every document is scored as without Ray.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

from difa import __version__
from difa.config.checks import check_threads
from difa.decide import Rule
from difa.engines.cascade import Cascade, Judge
from difa.engines.job import Counts, Job, Silent, Watch, asked_of, check_job, has_second_pass
from difa.engines.output import Output
from difa.engines.pieces import Notice, score_piece
from difa.engines.plan import Piece, piece_size, plan
from difa.engines.target import Target
from difa.errors import ConfigError, DifaError, EngineError, InputError, MissingExtraError
from difa.estimator import DiFA
from difa.formats.results import check_output
from difa.formats.sources import Source, find_sources
from difa.formats.streams import is_address, suffix_of
from difa.formats.tables import Shape
from difa.formats.write import COLUMNS, FORMATS, format_of
from difa.runtime.parallel import core_count
from difa.storage.atomic import scratch_folder

_ATTEMPTS = 5  # at one piece: one that kills every worker must not go round for ever
_STORE = 200 << 20  # bytes of the object store on one machine: beside the model it holds next to nothing


@dataclass
class RayCounts(Counts):
    """What a whole run did."""

    parts: int = 0
    seconds: float = 0.0
    """From when the first worker has loaded the model until all is written."""


@dataclass(frozen=True, slots=True)
class Task:
    """What every worker must know beside the models."""

    job: Job
    rule: Rule
    target: Target
    threads: int
    cache: Path | None
    """Folder for word vectors, on each machine."""
    version: str = __version__


def score_files(
    job: Job,
    out: str,
    *,
    model: DiFA | None = None,
    sources: Sequence[Source] | None = None,
    watch: Watch | None = None,
    workers: int | None = None,
    threads: int | None = None,
    address: str | None = None,
    cache: Path | None = None,
) -> RayCounts:
    """Score all documents of the inputs into `out`, which appears when it is complete.

    Args:
        job: what to score and how. The files of its models travel to the workers; every worker must be able to read the inputs.
        out: a new folder of parts, as a path or an address that every worker can write; or a file, by its ending.
        model: the model in the job's folder, if it was loaded before.
        sources: the files behind the job's inputs, if they were looked up before.
        watch: told how it goes.
        workers: worker processes; as many as there are cores by default.
        threads: threads, and cores, of one worker; 1 by default.
        address: a running cluster; without it Ray starts on this machine.
        cache: folder for word vectors, on each machine.
    """
    _check_choices(workers, threads)
    rule = check_job(job, model or DiFA.load(job.model, threads=1))  # mistakes show before a cluster is asked
    sources = find_sources(job.inputs, job.columns, job.skip_bad) if sources is None else sources
    target, watch = _target(job, rule, out, sources), watch or Silent()
    with Output.open(target, asked_of(job, rule, sources, "ray"), job, can_resume=job.top is None) as output:
        if output.summary is not None:
            return RayCounts(**output.summary)
        files = [_read_files(folder) for folder in (job.model, job.screen)]
        task = Task(job, rule, target.anywhere, threads or 1, cache)
        with _cluster(address, workers, task.threads, sum(map(len, chain(*map(dict.values, files))))) as (ray, count):
            anywhere = [replace(source, place=source.absolute_path) for source in sources]
            pieces = plan(anywhere, output.begin(piece_size(sources, count)), partial(_side_by_side, ray))
            watch.begin(sum(source.size for source in sources))
            with _workers(ray, files, task, min(count, len(pieces))) as loading:
                started = time.monotonic()
                parts = output.fill(_run(ray, loading, pieces), rule, watch)
        counts = RayCounts(parts=parts, seconds=time.monotonic() - started)
        counts.add(output.progress)
        if target.kind == "parts":
            output.finish_folder(asdict(counts))
        return counts


def _check_choices(workers: int | None, threads: int | None) -> None:
    for module in ("ray", "pyarrow"):
        if find_spec(module) is None:
            raise MissingExtraError(module, "ray", "the Ray engine")
    check_threads(threads)
    if workers is not None and workers < 1:
        raise ConfigError(f"workers: expected a whole number of at least 1, got {workers}")


def _target(job: Job, rule: Rule, out: str, sources: Sequence[Source]) -> Target:
    """What is to be written: a file, if the name ends like one, or a folder of parts."""
    if any(source.is_stdin for source in sources):
        raise InputError("expected files for the Ray engine, got - (standard input): write it to a file, or use the local engine")
    is_file = not is_address(out) and not job.shard_size and suffix_of(out).removeprefix(".") in FORMATS
    form = format_of(Path(out if is_file else "part"), job.format)
    if is_file:
        check_output(Path(out), [source.path for source in sources], job.force)
    written = COLUMNS if has_second_pass(job, rule) else form
    return Target(out, "file" if is_file else "parts", form, written, Shape.of_sources(sources))


class Scorer:
    """A worker of the pool: holds the model, turns pieces into parts, and gives notice of each."""

    def __init__(self, files: list[Any], task: Task) -> None:
        self._files, self._task = files, task
        self._judge: Judge | None = None  # no cached_property: its lock cannot be sent to a worker

    def load(self) -> bool:
        """Be ready for pieces."""
        return self._ready() is not None

    def _ready(self) -> Judge:
        """What scores, read once: a worker that was started again has yet to read it."""
        if self._judge is not None:
            return self._judge
        import ray

        task = self._task
        if task.version != __version__:
            raise EngineError(f"expected difa {task.version} on every machine, a worker has {__version__}: install the same")
        files, screen = ray.get(self._files)
        model = _load(files, task).allow(task.job.allow)
        cascade = Cascade(model, _load(screen, task), task.job.screen_rate) if screen else None
        self._judge = Judge(model, task.rule, cascade)
        return self._judge

    def score(self, piece: Piece) -> list[Notice]:
        """Score one piece; what a user can mend is an error of ours rather than a trace from another machine."""
        try:
            piece.check_reachable()
            return list(score_piece(self._ready(), self._task.target, self._task.job.skip_bad, piece))
        except DifaError as error:
            raise EngineError(str(error)) from None


def _read_files(folder: Path | None) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir()) if file.is_file()} if folder else {}


def _load(files: dict[str, bytes], task: Task) -> DiFA:
    """A model from the files of its folder, which is needed only while they are read and checked."""
    with scratch_folder() as folder:
        for name, content in files.items():
            (folder / name).write_bytes(content)
        return DiFA.load(folder, cache=task.cache, threads=task.threads)


def _side_by_side(ray: Any, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """What `work` makes of each item, by the machines of the cluster where there is more than one."""
    if len(items) <= 1:
        return [*map(work, items)]
    task = ray.remote(lambda item: work(item))
    return list(ray.get([task.remote(item) for item in items]))


@contextmanager
def _cluster(address: str | None, workers: int | None, threads: int, model_bytes: int) -> Iterator[tuple[Any, int]]:
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


@contextmanager
def _workers(ray: Any, files: Sequence[dict[str, bytes]], task: Task, count: int) -> Iterator[dict[Any, Any]]:
    """Workers, by what tells that each has loaded the model: the first has; some may never find a core."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
    options = {"num_cpus": task.threads, "runtime_env": {"env_vars": dict.fromkeys(names, str(task.threads))}}
    start = ray.remote(max_restarts=-1, max_task_retries=_ATTEMPTS - 1, **options)(Scorer)
    models = [ray.put(model) for model in files]
    actors = [start.remote(models, task) for _ in range(count)]
    try:
        loading = {actor.load.remote(): actor for actor in actors}
        ray.wait(list(loading))
        yield loading
    finally:
        for actor in actors:
            ray.kill(actor)


def _run(ray: Any, loading: dict[Any, Any], pieces: Sequence[Piece]) -> Iterator[Notice]:
    """What the workers say of each piece, as it comes; a worker that dies is started again, and so is its piece."""
    busy: dict[Any, tuple[Any, Piece | None]] = {loaded: (actor, None) for loaded, actor in loading.items()}
    rest, left = iter(pieces), len(pieces)
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
            yield from said


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
                f"{piece.sources[0].label}: {_ATTEMPTS} workers died over the piece that begins at line "
                f"{piece.sources[0].span.first}: give workers more memory, or look for an extremely long line"
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
