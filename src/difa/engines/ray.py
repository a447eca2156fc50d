"""Files -> scored parts, by Ray on one machine or many.

The unit of work is a piece of the input. A pool of workers, each with the model loaded once, reads pieces, scores them and
writes one part each; only the model and short notices pass through Ray's object store. A piece whose worker died is done
again by another. Every document is scored as without Ray, and the parts in order are what the local engine writes.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

from difa import __version__
from difa.config.checks import check_threads
from difa.decide import Rule
from difa.engines.cascade import Cascade, Judge
from difa.engines.job import Counts, Job, Silent, Watch, asked_of, check_job, needs_all
from difa.engines.output import PIECE, Output, Target, part_writer
from difa.engines.plan import Piece, for_any_machine, piece_size, plan, read_piece
from difa.engines.second_pass import second_pass
from difa.errors import ConfigError, DifaError, EngineError, InputError, MissingExtraError
from difa.estimator import DiFA
from difa.formats.results import check_output
from difa.formats.sources import Source, find_sources
from difa.formats.streams import is_address, suffix_of
from difa.formats.tables import Shape
from difa.formats.write import COLUMNS, FORMATS, format_of
from difa.runtime.parallel import chunk_documents, core_count
from difa.storage.atomic import scratch_folder

_ATTEMPTS = 5  # at one piece: one that kills every worker must not go round for ever
_STORE = 200 << 20  # bytes of the object store on one machine: beside the model it holds next to nothing

ModelFiles = dict[str, bytes]
"""The files of a model's folder, by name."""


@dataclass
class RayCounts(Counts):
    """What a whole run did."""

    parts: int = 0
    seconds: float = 0.0
    """From the start of the first piece to the end of the last, without starting Ray and loading the model."""


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


@dataclass(slots=True)
class Notice:
    """What a worker says of one piece; `began` and `ended` are seconds of its clock."""

    index: int
    began: float
    ended: float = 0.0
    counts: Counts = field(default_factory=Counts)
    bad: list[str] = field(default_factory=list)


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
    piece_bytes: int | None = None,
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
        piece_bytes: bytes of input per piece; by default from the input's size.
    """
    is_file = not is_address(out) and not job.shard_size and suffix_of(out).removeprefix(".") in FORMATS  # by its ending
    form = _check_choices(job, Path(out if is_file else "part"), workers, threads)
    rule = check_job(job, model or DiFA.load(job.model, threads=1))  # mistakes show before a cluster is asked
    sources = find_sources(job.inputs, job.columns, job.skip_bad) if sources is None else sources
    if any(source.is_stdin for source in sources):
        raise InputError("expected files for the Ray engine, got - (standard input): write it to a file, or use the local engine")
    if is_file:
        check_output(Path(out), [source.path for source in sources], job.force)
    again = needs_all(job, rule) or job.shard_size is not None or (is_file and form != "jsonl")
    target = Target(out, "file" if is_file else "parts", form, COLUMNS if again else form, Shape.of_sources(sources))
    files = [_read_files(folder) for folder in (job.model, job.screen)]
    with Output.open(target, asked_of(job, rule, sources, "ray"), job) as output:
        if output.summary is not None:
            return RayCounts(**output.summary)
        task = Task(job, rule, target.anywhere, threads or 1, cache)
        model_bytes = sum(len(content) for model_files in files for content in model_files.values())
        with _cluster(address, workers, task.threads, model_bytes) as (ray, count):
            size = output.progress.asked.get(PIECE) or piece_bytes or piece_size(sources, count)
            pieces = plan([*map(for_any_machine, sources)], size, partial(_side_by_side, ray))
            output.begin(size)
            counts = RayCounts(parts=len(pieces), seconds=_run(ray, count, output, files, task, pieces, watch or Silent()))
        return _finish(output, counts, task)


def _check_choices(job: Job, file: Path, workers: int | None, threads: int | None) -> str:
    """The format of the results."""
    for module in ("ray", "pyarrow"):
        if find_spec(module) is None:
            raise MissingExtraError(module, "ray", "the Ray engine")
    check_threads(threads)
    form = format_of(file, job.format)
    if workers is not None and workers < 1:
        raise ConfigError(f"workers: expected a whole number of at least 1, got {workers}")
    return form


def _finish(output: Output, counts: RayCounts, task: Task) -> RayCounts:
    """Make what was asked for of the workers' parts, and count it."""
    counts.add(output.progress)
    again, parts, block = task.target.written == COLUMNS, counts.parts, output.publish.block
    files = second_pass(output.read, parts, task.rule, task.job, counts) if again else iter(())
    if task.target.kind == "file":
        results = chain.from_iterable(found for _, found in files)
        output.publish_all([(0, map(block, results) if again else output.content(parts))])
        counts.parts = 1
        return counts
    for index, found in files:
        counts.parts = index + 1
        with part_writer(task.target, index, task.target.format) as write:
            for scored in found:
                write(scored)
    output.finish_folder(asdict(counts))
    return counts


def _run(
    ray: Any, workers: int, output: Output, files: Sequence[ModelFiles], task: Task, pieces: Sequence[Piece], watch: Watch
) -> float:
    """Have all pieces scored that no earlier run has; bad lines of those are not named again. Returns the seconds it took."""
    complete, began, ended = {part["file"] for part in output.progress.shards}, float("inf"), 0.0
    names = [task.target.part_name(piece.index) for piece in pieces]
    rest = [piece for piece, name in zip(pieces, names, strict=True) if name not in complete]
    watch.begin(len(pieces))
    watch.advance(output.progress.documents, len(complete))
    try:
        for done, notice in enumerate(_run_pool(ray, files, task, rest, workers), len(complete) + 1):
            output.add(notice.index, notice.counts)
            watch.advance(notice.counts.documents, done)
            began, ended = min(began, notice.began), max(ended, notice.ended)
            for complaint in notice.bad:
                watch.skip(complaint)
    finally:
        output.keep()
    output.check_parts(names)
    return max(0.0, ended - began)


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
        if self._judge is None:
            self._judge = self._read()
        return self._judge

    def _read(self) -> Judge:
        import ray

        task = self._task
        if task.version != __version__:
            raise EngineError(f"expected difa {task.version} on every machine, a worker has {__version__}: install the same")
        files, screen = ray.get(self._files)
        model = _load(files, task).allow(task.job.allow)
        cascade = Cascade(model, _load(screen, task), task.job.screen_rate) if screen else None
        return Judge(model, task.rule, cascade)

    def score(self, piece: Piece) -> Notice:
        """Score one piece; what a user can mend is an error of ours rather than a trace from another machine."""
        try:
            return self._score(piece)
        except DifaError as error:
            raise EngineError(str(error)) from None
        except OSError as error:
            raise EngineError(f"{self._task.target.staging}: a worker cannot write there: {error}") from None

    def _score(self, piece: Piece) -> Notice:
        task, judge, notice = self._task, self._ready(), Notice(piece.index, time.time())
        chunks = chunk_documents(read_piece(piece, notice.bad if task.job.skip_bad else None))
        with part_writer(task.target, piece.index, task.target.written) as write:
            for _, parts in judge.score(chunks):
                for scored in parts:
                    write(scored)
                notice.counts.add(Counts.of(parts))
        notice.counts.skipped, notice.ended = len(notice.bad), time.time()
        return notice


def _read_files(folder: Path | None) -> ModelFiles:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir()) if file.is_file()} if folder else {}


def _load(files: ModelFiles, task: Task) -> DiFA:
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


def _run_pool(ray: Any, files: Sequence[ModelFiles], task: Task, pieces: Sequence[Piece], workers: int) -> Iterator[Notice]:
    """What the workers say of each piece, as it comes; a worker that dies is started again, and so is its piece."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
    options = {"num_cpus": task.threads, "runtime_env": {"env_vars": dict.fromkeys(names, str(task.threads))}}
    start = ray.remote(max_restarts=-1, max_task_retries=_ATTEMPTS - 1, **options)(Scorer)
    models = [ray.put(model) for model in files]
    actors = [start.remote(models, task) for _ in range(min(workers, len(pieces)))]
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
