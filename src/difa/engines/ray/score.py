"""Files -> scored parts, by Ray Data on one machine or many.

The unit of work is a piece of the input. A pool of workers, each with the model loaded once, reads pieces, scores them and
writes one part each; only the model and short notices pass through Ray's object store. A piece whose worker died is done
again by another. Every document is scored as without Ray, and the parts in order are what the local engine writes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from difa import __version__
from difa.config import check_threads
from difa.corpus.allow import AllowList
from difa.engines.local import Job, check_job
from difa.engines.output_files import Layout, alone
from difa.engines.ray.cluster import check_installed, cluster, run_pool, start_attempts
from difa.engines.ray.plan import File, Piece, Span, count_lines, cut_tables, find_files, piece_size, plan
from difa.engines.ray.storage import OutputFolder, is_address
from difa.engines.ray.worker import Done, Scorer, WorkerOptions, pack_model
from difa.engines.ray.write import COLUMNS, SecondPass, part_name
from difa.errors import ConfigError, EngineError, InputError
from difa.estimator import DiFA
from difa.formats.delimited import Piece as Rows
from difa.formats.shape import Shape
from difa.formats.table_output import FORMATS
from difa.storage.atomic import scratch_folder

_SPANS = 64  # spans whose lines one task counts


@dataclass(slots=True)
class Summary:
    """What a whole run did."""

    parts: int = 0
    documents: int = 0
    words: int = 0
    flagged: int = 0
    skipped: int = 0
    empty: int = 0
    """Documents without any word."""
    seconds: float = 0.0
    """From the start of the first piece to the end of the last, without starting Ray and loading the model."""


Report = Callable[[Done, float], None]
"""Called with every notice and the share of all pieces that is done."""


def score_files(
    job: Job,
    out: str,
    *,
    workers: int | None = None,
    threads: int | None = None,
    address: str | None = None,
    cache: Path | None = None,
    piece_bytes: int | None = None,
    report: Report | None = None,
) -> Summary:
    """Score all documents of the inputs into the folder `out`, which appears when it is complete.

    Args:
        job: what to score and how. The files of its models travel to the workers; every worker must be able to read the inputs.
        out: a new folder, as a path or an address that every worker can write.
        workers: worker processes; as many as there are cores by default.
        threads: threads, and cores, of one worker; 1 by default.
        address: a running cluster; without it Ray starts on this machine.
        cache: folder for word vectors, on each machine.
        piece_bytes: bytes of input per piece; by default from the input's size.
        report: called with the notice of every piece.
    """
    check_installed()
    form = _check_choices(job.format, workers, threads)
    rule = check_job(job, DiFA.load(job.model, threads=1))  # mistakes show before a cluster is asked
    later, files = SecondPass(rule, job.top, job.shard_size), find_files(job.inputs, job.columns)
    content = Content(pack_model(job.model), pack_model(job.screen) if job.screen else None)
    options = _options(job, later, files, form, threads or 1, cache)
    with _alone(out):
        output = OutputFolder.prepare(out, _asked(content, options, files, form, later), job.resume, job.force)
        if output.summary is not None:
            return Summary(**output.summary)
        with _kept(output), cluster(address, workers, options.threads, content.size) as (ray, count):
            size = output.piece_bytes or piece_bytes or piece_size(files, count)
            pieces = plan(files, size, partial(_count, ray), partial(_cut, ray))
            output.begin(size)
            summary = _run(ray, count, pieces, output, content, replace(options, folder=output.staging), report)
            if later.is_needed:
                summary.flagged = later.run(output.staging, len(pieces), form, options.shape)
                summary.parts = output.count_parts()
            output.finish(asdict(summary))
            return summary


def _options(job: Job, later: SecondPass, files: Sequence[File], format: str, threads: int, cache: Path | None) -> WorkerOptions:
    return WorkerOptions(
        folder="",
        format=COLUMNS if later.is_needed else format,
        rule=None if later.rule.name == "fdr" else later.rule,
        allow=AllowList.of(job.allow).entries,
        cache=None if cache is None else str(cache),
        screen_rate=job.screen_rate if job.screen else None,
        threads=threads,
        skip_bad=job.skip_bad,
        tables=tuple(file.table for file in files),
        shape=Shape.of([file.table for file in files]),
    )


class Content(NamedTuple):
    """The files of the model, and of the one that screens for it."""

    model: dict[str, bytes]
    screen: dict[str, bytes] | None

    @property
    def size(self) -> int:
        """Bytes of all of them."""
        return sum(map(len, [*self.model.values(), *(self.screen or {}).values()]))


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


def _run(
    ray: Any,
    count: int,
    pieces: Sequence[Piece],
    output: OutputFolder,
    content: Content,
    options: WorkerOptions,
    report: Report | None,
) -> Summary:
    """Have all pieces scored that no earlier run has."""
    known = {index: Done(**done) for index, done in output.notices().items()}
    gone = set(output.missing([part_name(index, options.format) for index in known]))
    complete = {index: done for index, done in known.items() if part_name(index, options.format) not in gone}
    earlier, rest = list(complete.values()), [piece for piece in pieces if piece.index not in complete]
    rows: Iterator[dict[str, Any]] = iter(())
    if rest:
        shared = ([ray.put(part) for part in content], start_attempts(ray), options)
        rows = run_pool([asdict(piece) for piece in rest], Scorer, shared, count, options.threads)
    summary = _collect((Done(**json.loads(row["done"])) for row in rows), len(pieces), report, earlier)
    _check_parts(output, pieces, options.format)
    return summary


@contextmanager
def _alone(out: str) -> Iterator[None]:
    """Hold a location on this machine against other runs."""
    with ExitStack() as stack:
        if not is_address(out):
            location = Path(out).absolute()
            try:
                location.parent.mkdir(parents=True, exist_ok=True)
                stack.enter_context(alone(Layout.file(location)))
            except OSError as error:
                raise InputError(f"{out}: cannot be written: {error.strerror}") from None
        yield


def _asked(content: Content, options: WorkerOptions, files: Sequence[File], format: str, later: SecondPass) -> dict[str, Any]:
    """Everything that decides the results."""
    screen = sha256(content.screen["config.json"]).hexdigest() if content.screen else ""
    return {
        "version": f"difa {__version__}",
        "model": sha256(content.model["config.json"]).hexdigest(),
        **({"screen": f"{options.screen_rate!r} {screen}"} if screen else {}),
        "rate": str(later.rule),
        "allowed words": ", ".join(options.allow),
        "shard size": later.shard_size,
        "top": later.top,
        "format": format,
        "inputs": [{"name": file.source, "bytes": file.size, "modified": file.modified} for file in files],
        "columns": "; ".join(f"text {f.table.text!r}, ids {f.table.id!r}" for f in files if f.table),
    }


def _check_parts(output: OutputFolder, pieces: Sequence[Piece], format: str) -> None:
    missing = output.missing([part_name(piece.index, format) for piece in pieces])
    if missing:
        raise EngineError(
            f"{output.location}: expected {len(pieces)} parts, but {len(missing)} are missing, as {missing[0]}: workers on other "
            "machines wrote to their own disks; give a folder that all share, or object storage"
        )


def measure_ray(model: Path, documents: Sequence[str], workers: int) -> float:
    """Seconds that workers of one thread each need for the documents, without starting Ray and loading the model."""
    with scratch_folder() as folder:
        source = folder / "documents.jsonl"
        source.write_text("".join(json.dumps({"text": text}) + "\n" for text in documents), encoding="utf-8")
        return score_files(Job(model, [str(source)]), f"{folder}/out", workers=workers).seconds


def _check_choices(format: str | None, workers: int | None, threads: int | None) -> str:
    """The format of the parts."""
    check_threads(threads)
    if format is not None and format not in FORMATS:
        raise ConfigError(f"format: expected one of {', '.join(FORMATS)}, got {format!r}")
    if workers is not None and workers < 1:
        raise ConfigError(f"workers: expected a whole number of at least 1, got {workers}")
    return format or "jsonl"


def _count(ray: Any, spans: Sequence[Span]) -> list[int]:
    """Lines that begin in each span; many spans are counted side by side."""
    groups = [spans[start : start + _SPANS] for start in range(0, len(spans), _SPANS)]
    try:
        if len(groups) <= 1:
            return [count_lines(*span) for span in spans]
        task = ray.remote(_count_group)
        return [lines for counts in ray.get([task.remote(group) for group in groups]) for lines in counts]
    except OSError as error:
        raise InputError(f"an input cannot be read ({error.strerror or error}): every machine must reach the inputs") from None


def _count_group(spans: Sequence[Span]) -> list[int]:
    return [count_lines(*span) for span in spans]


def _cut(ray: Any, files: Sequence[File], size: int) -> list[list[Rows]]:
    """The pieces of text tables; several are read side by side."""
    if len(files) <= 1:
        return cut_tables(files, size)
    task = ray.remote(cut_tables)
    return [pieces for found in ray.get([task.remote([file], size) for file in files]) for pieces in found]


def _collect(notices: Iterator[Done], total: int, report: Report | None, earlier: Sequence[Done] = ()) -> Summary:
    """What all workers did, those of an earlier run included, which are not reported again."""
    summary, began, ended = Summary(), float("inf"), 0.0
    for at, done in enumerate(chain(earlier, notices)):
        if done.error:
            raise EngineError(done.error)
        summary.parts += 1
        summary.documents += done.documents
        summary.words += done.words
        summary.flagged += done.flagged
        summary.skipped += len(done.bad)
        summary.empty += done.empty
        if at < len(earlier):
            continue
        began, ended = min(began, done.began), max(ended, done.ended)
        if report is not None:
            report(done, summary.parts / total)
    summary.seconds = max(0.0, ended - began)
    return summary
