"""Files -> scored parts, by Ray on one machine or many.

The unit of work is a piece of the input. A pool of workers, each with the model loaded once, reads pieces, scores them and
writes one part each; only the model and short notices pass through Ray's object store. A piece whose worker died is done
again by another. Every document is scored as without Ray, and the parts in order are what the local engine writes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from difa import __version__
from difa.config import check_threads
from difa.decide import Rule
from difa.engines.cascade import Cascade, Judge
from difa.engines.job import Counts, Job, Silent, Watch, asked_of, check_job
from difa.engines.plan import Piece, for_any_machine, piece_size, plan, read_piece
from difa.engines.ray.cluster import check_installed, cluster, run_pool
from difa.engines.ray.folder import OutputFolder, part_name, part_writer, second_pass, write_notice
from difa.errors import ConfigError, DifaError, EngineError, InputError
from difa.estimator import DiFA
from difa.formats.results import check_output
from difa.formats.sources import Source, find_sources
from difa.formats.streams import is_address, suffix_of
from difa.formats.tables import Shape
from difa.formats.write import COLUMNS, FORMATS, Publisher, format_of
from difa.runtime.parallel import chunk_documents
from difa.storage.atomic import scratch_folder

ModelFiles = dict[str, bytes]
"""The files of a model's folder, by name."""


@dataclass
class RayCounts(Counts):
    """What a whole run did."""

    parts: int = 0
    words: int = 0
    seconds: float = 0.0
    """From the start of the first piece to the end of the last, without starting Ray and loading the model."""


@dataclass(frozen=True, slots=True)
class Task:
    """What every worker must know beside the models."""

    job: Job
    folder: str
    format: str
    rule: Rule | None
    """How flags are set; None where that is done in a second pass."""
    shape: Shape
    """The columns of the parts, where they are tables."""
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
    documents: int = 0
    words: int = 0
    flagged: int = 0
    empty: int = 0
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
    form = _check_choices(job, out, workers, threads)
    rule = check_job(job, model or DiFA.load(job.model, threads=1))  # mistakes show before a cluster is asked
    sources = find_sources(job.inputs, job.columns, job.skip_bad) if sources is None else sources
    if any(source.is_stdin for source in sources):
        raise InputError("expected files for the Ray engine, got - (standard input): write it to a file, or use the local engine")
    if _is_file(job, out):
        check_output(Path(out), [source.path for source in sources], job.force)
    task = _task(job, out, rule, form, Shape.of_sources(sources), threads or 1, cache)
    files = [_read_files(folder) for folder in (job.model, job.screen)]
    with OutputFolder.open(out, asked_of(job, rule, sources), job.resume, job.force, _is_file(job, out)) as output:
        if output.summary is not None:
            return RayCounts(**output.summary)
        model_bytes = sum(map(len, chain.from_iterable(content.values() for content in files)))
        with cluster(address, workers, task.threads, model_bytes) as (ray, count):
            size = output.piece_bytes or piece_bytes or piece_size(sources, count)
            pieces = plan([*map(for_any_machine, sources)], size, partial(_side_by_side, ray))
            output.begin(size)
            task = replace(task, folder=output.staging)
            counts = _run(ray, count, output, files, task, pieces, watch or Silent())
        _finish(output, counts, task, form, rule, len(pieces))
        return counts


def _check_choices(job: Job, out: str, workers: int | None, threads: int | None) -> str:
    """The format of the results."""
    check_installed()
    check_threads(threads)
    form = format_of(Path(out if _is_file(job, out) else "part"), job.format)
    if workers is not None and workers < 1:
        raise ConfigError(f"workers: expected a whole number of at least 1, got {workers}")
    return form


def _is_file(job: Job, out: str) -> bool:
    """Whether the results go into one file, by its ending."""
    return not is_address(out) and not job.shard_size and suffix_of(out).removeprefix(".") in FORMATS


def _task(job: Job, out: str, rule: Rule, form: str, shape: Shape, threads: int, cache: Path | None) -> Task:
    needs_all = rule.name == "fdr" or job.top is not None or job.shard_size is not None
    written = COLUMNS if needs_all or (_is_file(job, out) and form != "jsonl") else form
    return Task(job, "", written, None if rule.name == "fdr" else rule, shape, threads, cache)


def _finish(output: OutputFolder, counts: RayCounts, task: Task, form: str, rule: Rule, pieces: int) -> None:
    """Make what was asked for of the workers' parts."""
    again = second_pass(task.folder, pieces, rule, task.job, counts) if task.format == COLUMNS else None
    if output.is_file:
        results = None if again is None else chain.from_iterable(part for _, part in again)
        output.join(pieces, Publisher(form, task.shape), results)
        counts.parts = 1
        return
    if again is not None:
        counts.parts = 0
        for index, part in again:
            counts.parts += 1
            with part_writer(task.folder, index, form, task.shape) as write:
                for scored in part:
                    write(scored)
    output.finish(asdict(counts))


def _run(
    ray: Any,
    count: int,
    output: OutputFolder,
    files: Sequence[ModelFiles],
    task: Task,
    pieces: Sequence[Piece],
    watch: Watch,
) -> RayCounts:
    """Have all pieces scored that no earlier run has; those are counted, but their bad lines are not named again."""
    counts, began, ended = RayCounts(parts=len(pieces)), float("inf"), 0.0
    earlier = [Notice(**notice) for notice in output.notices(task.format)]
    complete = {notice.index for notice in earlier}
    rest = [piece for piece in pieces if piece.index not in complete]
    notices = run_pool(ray, Scorer, ([ray.put(model) for model in files], task), rest, count, task.threads) if rest else ()
    watch.begin(len(pieces))
    for done, notice in enumerate(chain(earlier, notices), 1):
        counts.documents += notice.documents
        counts.words += notice.words
        counts.flagged += notice.flagged
        counts.skipped += len(notice.bad)
        counts.empty += notice.empty
        watch.advance(notice.documents, done)
        if done > len(earlier):
            began, ended = min(began, notice.began), max(ended, notice.ended)
            for complaint in notice.bad:
                watch.skip(complaint)
    counts.seconds = max(0.0, ended - began)
    output.check_parts([part_name(piece.index, task.format) for piece in pieces])
    return counts


class Scorer:
    """A worker of the pool: holds the model, turns pieces into parts, and gives notice of each."""

    def __init__(self, files: list[Any], task: Task) -> None:
        self._files, self._task = files, task
        self._judge: Judge | None = None

    def load(self) -> None:
        """Be ready for pieces."""
        self._loaded()

    def _loaded(self) -> Judge:
        import ray

        task = self._task
        if task.version != __version__:
            raise EngineError(f"expected difa {task.version} on every machine, a worker has {__version__}: install the same")
        if self._judge is None:
            files, screen = ray.get(self._files)
            model = _load(files, task).allow(task.job.allow)
            cascade = Cascade(model, _load(screen, task), task.job.screen_rate) if screen else None
            self._judge = Judge(model, task.rule, cascade)
        return self._judge

    def score(self, piece: Piece) -> Notice:
        """Score one piece; what a user can mend is an error of ours rather than a trace from another machine."""
        try:
            return self._score(piece)
        except DifaError as error:
            raise EngineError(str(error)) from None
        except OSError as error:
            raise EngineError(f"{self._task.folder}: a worker cannot write there: {error}") from None

    def _score(self, piece: Piece) -> Notice:
        task, judge, notice = self._task, self._loaded(), Notice(piece.index, time.time())
        chunks = chunk_documents(read_piece(piece, notice.bad if task.job.skip_bad else None))
        with part_writer(task.folder, piece.index, task.format, task.shape) as write:
            for scored in chain.from_iterable(parts for _, parts in judge.score(chunks)):
                write(scored)
                notice.documents += len(scored)
                notice.words += len(scored.word_p)
                notice.flagged += int(scored.document_flags.sum())
                notice.empty += sum(not document.words for document in scored.documents)
        notice.ended = time.time()
        write_notice(task.folder, piece.index, asdict(notice))
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
