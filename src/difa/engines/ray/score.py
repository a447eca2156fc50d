"""Files -> scored parts, by Ray Data on one machine or many.

The unit of work is a piece of the input. A pool of workers, each with the model loaded once, reads pieces, scores them and
writes one part each; only the model and short notices pass through Ray's object store. A piece whose worker died is done
again by another. Every document is scored as without Ray, and the parts in order are what the local engine writes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from difa import __version__
from difa.config import check_threads
from difa.corpus.allow import AllowList
from difa.decide import Rule
from difa.engines.cascade import Cascade, Judge
from difa.engines.job import Counts, Job, Silent, Watch, asked_of, check_job
from difa.engines.plan import Piece, count_all, cut_tables, for_any_machine, piece_size, plan, read_piece
from difa.engines.ray.cluster import check_installed, cluster, run_pool, start_attempts
from difa.engines.ray.folder import (
    COLUMNS,
    OutputFolder,
    SecondPass,
    alone_in,
    part_name,
    part_writer,
    write_notice,
)
from difa.errors import ConfigError, DifaError, EngineError, InputError
from difa.estimator import DiFA
from difa.formats.bounds import Span
from difa.formats.packed import suffix_of
from difa.formats.replaceable import check_output
from difa.formats.shape import Shape
from difa.formats.sources import Source, find_sources, is_address
from difa.formats.table_output import FORMATS, Publisher, format_of
from difa.runtime.parallel import chunk_documents
from difa.storage.atomic import scratch_folder

_SPANS = 64  # spans whose lines one task counts
_ATTEMPTS = 5  # at one piece


@dataclass
class RayCounts(Counts):
    """What a whole run did."""

    parts: int = 0
    words: int = 0
    seconds: float = 0.0
    """From the start of the first piece to the end of the last, without starting Ray and loading the model."""


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """What every worker must know beside the model."""

    folder: str
    format: str = "jsonl"
    rule: Rule | None = None
    """How flags are set; None where that is done in a second pass."""
    allow: tuple[str, ...] = ()
    cache: str | None = None
    """Folder for word vectors, on each machine."""
    screen_rate: float | None = None
    """Share of normal documents that a fast model passes on, where there is one."""
    threads: int = 1
    skip_bad: bool = False
    version: str = __version__
    shape: Shape | None = None
    """The columns of the parts, where they are tables."""
    pieces: tuple[Piece, ...] = ()


@dataclass(frozen=True, slots=True)
class Notice:
    """What a worker says of one piece; `began` and `ended` are seconds of its clock."""

    documents: int = 0
    words: int = 0
    flagged: int = 0
    bad: list[str] = field(default_factory=list)
    empty: int = 0
    error: str = ""
    began: float = 0.0
    ended: float = 0.0
    index: int = 0


class ModelFiles(NamedTuple):
    """The files of the model, and of the one that screens for it, by name."""

    model: dict[str, bytes]
    screen: dict[str, bytes] | None

    @classmethod
    def read(cls, job: Job) -> ModelFiles:
        """The files in the job's folders."""
        found = [
            {file.name: file.read_bytes() for file in sorted(folder.iterdir()) if file.is_file()} if folder else None
            for folder in (job.model, job.screen)
        ]
        return cls(found[0] or {}, found[1])

    @property
    def size(self) -> int:
        """Bytes of all of them."""
        return sum(map(len, [*self.model.values(), *(self.screen or {}).values()]))


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
    check_installed()
    form = _check_choices(job, out, workers, threads)
    rule = check_job(job, model or DiFA.load(job.model, threads=1))  # mistakes show before a cluster is asked
    sources = find_sources(job.inputs, job.columns, job.skip_bad) if sources is None else sources
    if any(source.is_stdin for source in sources):
        raise InputError("expected files for the Ray engine, got - (standard input): write it to a file, or use the local engine")
    is_file = _is_file(job, out)
    if is_file:
        check_output(Path(out), [source.path for source in sources], job.force)
    files, options = ModelFiles.read(job), _options(job, rule, sources, form, is_file, threads, cache)
    with alone_in(out):
        output = OutputFolder.prepare(out, asked_of(job, rule, sources), job.resume, job.force, is_file)
        if output.summary is not None:
            return RayCounts(**output.summary)
        with _kept(output), cluster(address, workers, options.threads, files.size) as (ray, count):
            size = output.piece_bytes or piece_bytes or piece_size(sources, count)
            pieces = plan([*map(for_any_machine, sources)], size, partial(_count, ray), partial(_cut, ray))
            output.begin(size)
            options = replace(options, folder=output.staging, pieces=tuple(pieces))
            counts = _run(ray, count, output, files, options, watch or Silent())
            _finish(output, counts, job, rule, form, options)
            return counts


def _finish(output: OutputFolder, counts: RayCounts, job: Job, rule: Rule, format: str, options: WorkerOptions) -> None:
    """Make what was asked for of the workers' parts."""
    pieces = len(options.pieces)
    again = SecondPass(output.staging, pieces, rule) if options.format == COLUMNS else None
    if output.is_file:
        results = chain.from_iterable(part for _, part in again.parts(job)) if again else None
        output.join(pieces, Publisher(format, options.shape or Shape(())), results)
        counts.parts = 1
    elif again:
        again.write(job, format, options.shape)
        counts.parts = output.count_parts()
    if again:
        counts.flagged = again.flagged
    if not output.is_file:
        output.finish(asdict(counts))


def _is_file(job: Job, out: str) -> bool:
    """Whether the results go into one file, by its ending."""
    return not is_address(out) and not job.shard_size and suffix_of(out).removeprefix(".") in FORMATS


def _options(
    job: Job, rule: Rule, sources: Sequence[Source], format: str, is_file: bool, threads: int | None, cache: Path | None
) -> WorkerOptions:
    needs_all = rule.name == "fdr" or job.top is not None or job.shard_size is not None
    return WorkerOptions(
        folder="",
        format=COLUMNS if needs_all or (is_file and format != "jsonl") else format,
        rule=None if rule.name == "fdr" else rule,
        allow=AllowList.of(job.allow).entries,
        cache=None if cache is None else str(cache),
        screen_rate=job.screen_rate if job.screen else None,
        threads=threads or 1,
        skip_bad=job.skip_bad,
        shape=Shape.of_sources(sources),
    )


@contextmanager
def _kept(output: OutputFolder) -> Iterator[None]:
    """Keep complete parts of a run that fails for one that goes on, and remove the rest."""
    try:
        yield
    except BaseException as error:
        kept = output.abandon()
        if kept and isinstance(error, (EngineError, InputError)):
            raise type(error)(f"{error}; {kept} finished parts are kept: resume goes on with the others") from None
        raise


def _run(ray: Any, count: int, output: OutputFolder, files: ModelFiles, options: WorkerOptions, watch: Watch) -> RayCounts:
    """Have all pieces scored that no earlier run has."""
    earlier = [Notice(**done) for done in output.notices(options.format).values()]
    complete = {notice.index for notice in earlier}
    rest = [{"index": piece.index} for piece in options.pieces if piece.index not in complete]
    rows: Iterator[dict[str, Any]] = iter(())
    if rest:
        shared = ([ray.put(part) for part in files], start_attempts(ray), options)
        rows = run_pool(rest, Scorer, shared, count, options.threads)
    counts = _collect((Notice(**json.loads(row["notice"])) for row in rows), len(options.pieces), watch, earlier)
    missing = output.missing([part_name(piece.index, options.format) for piece in options.pieces])
    if missing:
        raise EngineError(
            f"{output.location}: expected {len(options.pieces)} parts, but {len(missing)} are missing, as {missing[0]}: workers "
            "on other machines wrote to their own disks; give a folder that all share, or object storage"
        )
    return counts


def _collect(notices: Iterator[Notice], total: int, watch: Watch, earlier: Sequence[Notice] = ()) -> RayCounts:
    """What all workers did, those of an earlier run included, whose bad lines are not named again."""
    counts, began, ended = RayCounts(), float("inf"), 0.0
    watch.begin(total)
    for at, notice in enumerate(chain(earlier, notices)):
        if notice.error:
            raise EngineError(notice.error)
        counts.parts += 1
        counts.documents += notice.documents
        counts.words += notice.words
        counts.flagged += notice.flagged
        counts.skipped += len(notice.bad)
        counts.empty += notice.empty
        watch.advance(notice.documents, counts.parts)
        if at >= len(earlier):
            began, ended = min(began, notice.began), max(ended, notice.ended)
            for complaint in notice.bad:
                watch.skip(complaint)
    counts.seconds = max(0.0, ended - began)
    return counts


class Scorer:
    """A worker of the pool: holds the model, turns pieces into parts, and sends a notice of each."""

    def __init__(self, content: list[Any], attempts: Any, options: WorkerOptions) -> None:
        import ray

        self._options = options
        self._attempts = attempts
        self._judge: Judge | None = None
        if options.version == __version__:
            model, screen = ray.get(content)
            loaded = _load(model, options).allow(options.allow)
            cascade = Cascade(loaded, _load(screen, options), options.screen_rate or 0.0) if screen is not None else None
            self._judge = Judge(loaded, options.rule, cascade)

    def __call__(self, row: dict[str, Any]) -> dict[str, str]:
        """Score one piece; what a user can mend comes back as a notice rather than as a trace from another machine."""
        began, piece = time.time(), self._options.pieces[int(row["index"])]
        try:
            notice = self._score(piece, began)
        except DifaError as error:
            notice = Notice(error=str(error), began=began, ended=time.time())
        except OSError as error:
            notice = Notice(error=f"{self._options.folder}: a worker cannot write there: {error}", began=began, ended=time.time())
        return {"notice": json.dumps(asdict(notice))}

    def _score(self, piece: Piece, began: float) -> Notice:
        options = self._options
        if self._judge is None:
            raise EngineError(f"expected difa {options.version} on every machine, a worker has {__version__}: install the same")
        self._check_attempts(piece)
        documents = words = flagged = empty = 0
        bad: list[str] | None = [] if options.skip_bad else None
        chunks = chunk_documents(read_piece(piece, bad))
        with part_writer(options.folder, piece.index, options.format, options.shape) as write:
            for scored in (part for _, parts in self._judge.score(chunks) for part in parts):
                write(scored)
                documents += len(scored)
                words += len(scored.word_p)
                flagged += int(scored.document_flags.sum())
                empty += sum(not document.words for document in scored.documents)
        notice = Notice(documents, words, flagged, bad or [], empty, "", began, time.time(), piece.index)
        write_notice(options.folder, piece.index, asdict(notice))
        return notice

    def _check_attempts(self, piece: Piece) -> None:
        import ray

        begun = ray.get(self._attempts.begin.remote(piece.index))
        if begun > _ATTEMPTS:
            raise EngineError(
                f"{piece.source.label}: {begun - 1} workers died over the piece that begins at line {piece.span.first}: "
                "give workers more memory, or look for an extremely long line"
            )


def _load(content: dict[str, bytes], options: WorkerOptions) -> DiFA:
    """A model from the files of its folder, which is needed only while they are read and checked."""
    with scratch_folder() as folder:
        for file, data in content.items():
            (folder / file).write_bytes(data)
        return DiFA.load(folder, cache=options.cache, threads=options.threads)


def measure_ray(model: Path, documents: Sequence[str], workers: int) -> float:
    """Seconds that workers of one thread each need for the documents, without starting Ray and loading the model."""
    with scratch_folder() as folder:
        source = folder / "documents.jsonl"
        source.write_text("".join(json.dumps({"text": text}) + "\n" for text in documents), encoding="utf-8")
        return score_files(Job(model, [str(source)]), f"{folder}/out", workers=workers).seconds


def _check_choices(job: Job, out: str, workers: int | None, threads: int | None) -> str:
    """The format of the results."""
    check_threads(threads)
    form = format_of(Path(out if _is_file(job, out) else "part"), job.format)
    if workers is not None and workers < 1:
        raise ConfigError(f"workers: expected a whole number of at least 1, got {workers}")
    return form


def _count(ray: Any, spans: Sequence[tuple[Source, Span]]) -> list[int]:
    """Lines that begin in each span; many spans are counted side by side."""
    groups = [spans[start : start + _SPANS] for start in range(0, len(spans), _SPANS)]
    if len(groups) <= 1:
        return count_all(spans)
    task = ray.remote(count_all)
    return [lines for counts in ray.get([task.remote(group) for group in groups]) for lines in counts]


def _cut(ray: Any, sources: Sequence[Source], size: int) -> list[list[Span]]:
    """The spans of text tables; several are read side by side."""
    if len(sources) <= 1:
        return cut_tables(sources, size)
    task = ray.remote(cut_tables)
    return [spans for found in ray.get([task.remote([source], size) for source in sources]) for spans in found]
