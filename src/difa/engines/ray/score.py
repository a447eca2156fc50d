"""Files -> scored parts, by Ray Data on one machine or many.

The unit of work is a piece of the input. A pool of workers, each with the model loaded once, reads pieces, scores them and
writes one part each; only the model and short notices pass through Ray's object store. A piece whose worker died is done
again by another. Every document is scored as without Ray, and the parts in order are what the local engine writes.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from difa import __version__
from difa.config import check_threads
from difa.decide import flag
from difa.engines.ray.cluster import check_installed, cluster, run_pool, start_attempts
from difa.engines.ray.plan import Piece, Span, count_lines, find_files, piece_size, plan
from difa.engines.ray.read import read_piece
from difa.engines.ray.storage import OutputFolder
from difa.engines.ray.write import FORMATS, part_name, part_writer
from difa.errors import ConfigError, DifaError, EngineError, InputError
from difa.estimator import DiFA
from difa.prefetch import chunk_documents

_ATTEMPTS = 5  # at one piece
_SPANS = 64  # spans whose lines one task counts


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """What every worker must know beside the model."""

    folder: str
    format: str = "jsonl"
    fpr: float | None = None
    threads: int = 1
    skip_bad: bool = False
    version: str = __version__


@dataclass(frozen=True, slots=True)
class Done:
    """A worker's notice about one piece; `began` and `ended` are seconds of its clock."""

    documents: int = 0
    words: int = 0
    flagged: int = 0
    bad: list[str] = field(default_factory=list)
    error: str = ""
    began: float = 0.0
    ended: float = 0.0


@dataclass(slots=True)
class RunSummary:
    """What a whole run did."""

    parts: int = 0
    documents: int = 0
    words: int = 0
    flagged: int = 0
    skipped: int = 0
    seconds: float = 0.0
    """From the start of the first piece to the end of the last, without starting Ray and loading the model."""


ReportDone = Callable[[Done, float], None]
"""Called with every notice and the share of all pieces that is done."""


def score_files(
    model: Path,
    inputs: Sequence[str],
    out: str,
    *,
    fpr: float | None = None,
    workers: int | None = None,
    threads: int | None = None,
    address: str | None = None,
    format: str = "jsonl",
    skip_bad: bool = False,
    piece_bytes: int | None = None,
    report: ReportDone | None = None,
) -> RunSummary:
    """Score all documents of the inputs into the folder `out`, which appears when it is complete.

    Args:
        model: a model folder on this machine; its files travel to the workers.
        inputs: files and folders, as paths or addresses that every worker can read.
        out: a new folder, as a path or an address that every worker can write.
        fpr: false-alarm rate, in place of the model's own.
        workers: worker processes; as many as there are cores by default.
        threads: threads, and cores, of one worker; 1 by default.
        address: a running cluster; without it Ray starts on this machine.
        format: `jsonl` or `parquet`.
        skip_bad: go on without lines that cannot be read.
        piece_bytes: bytes of input per piece; by default from the input's size.
        report: called with the notice of every piece.
    """
    check_installed()
    options = _checked_options(format, fpr, workers, threads, skip_bad)
    content = _checked_model(model, fpr)
    files = find_files(inputs)
    output = OutputFolder.prepare(out)
    try:
        with cluster(address, workers, options.threads, sum(map(len, content.values()))) as (ray, count):
            pieces = plan(files, piece_bytes or piece_size(files, count), lambda spans: _count(ray, spans))
            options = WorkerOptions(**(asdict(options) | {"folder": output.staging}))
            shared = ([ray.put(content)], start_attempts(ray), options)
            rows = run_pool([asdict(piece) for piece in pieces], Scorer, shared, count, options.threads)
            summary = _collect((Done(**json.loads(row["done"])) for row in rows), len(pieces), report)
        _check_parts(output, [part_name(piece.index, format) for piece in pieces])
        output.finish(asdict(summary))
    except BaseException:
        output.abandon()
        raise
    return summary


def _check_parts(output: OutputFolder, names: list[str]) -> None:
    missing = output.missing(names)
    if missing:
        raise EngineError(
            f"{output.location}: expected {len(names)} parts, but {len(missing)} are not there, as {missing[0]}: workers on "
            "other machines wrote to their own disks; give a folder that all share, or object storage"
        )


class Scorer:
    """A worker: holds the model, turns pieces into parts."""

    def __init__(self, content: list[Any], attempts: Any, options: WorkerOptions) -> None:
        import ray

        self._options = options
        self._attempts = attempts
        self._detector = None
        if options.version == __version__:
            self._detector = unpack_model(ray.get(content)[0], options.threads)

    def __call__(self, row: dict[str, Any]) -> dict[str, str]:
        """Score one piece; what a user can mend comes back as a notice rather than as a trace from another machine."""
        began = time.time()
        try:
            done = self._score(Piece(**row), began)
        except DifaError as error:
            done = Done(error=str(error), began=began, ended=time.time())
        except OSError as error:
            done = Done(error=f"{self._options.folder}: a worker cannot write there: {error}", began=began, ended=time.time())
        return {"done": json.dumps(asdict(done))}

    def _score(self, piece: Piece, began: float) -> Done:
        if self._detector is None:
            raise EngineError(
                f"expected difa {self._options.version} on every machine, a worker has {__version__}: install the same"
            )
        self._check_attempts(piece)
        documents = words = flagged = 0
        bad: list[str] | None = [] if self._options.skip_bad else None
        rule = self._detector.rule(self._options.fpr, warn=False)  # said once, before there were workers
        with part_writer(self._options.folder, piece.index, self._options.format) as write:
            for _, ranked in self._detector.score_chunks(chunk_documents(read_piece(piece, bad))):
                results = flag(ranked, rule)
                write(results)
                documents += len(results)
                words += sum(len(result.words) for result in results)
                flagged += sum(result.is_anomaly for result in results)
        return Done(documents, words, flagged, bad or [], "", began, time.time())

    def _check_attempts(self, piece: Piece) -> None:
        import ray

        begun = ray.get(self._attempts.begin.remote(piece.index))
        if begun > _ATTEMPTS:
            raise EngineError(
                f"{piece.source}: {begun - 1} workers died over the piece that begins at line {piece.first}: "
                "give workers more memory, or look for an extremely long line"
            )


def pack_model(folder: Path) -> dict[str, bytes]:
    """The files of a model folder."""
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir()) if file.is_file()}


def unpack_model(content: dict[str, bytes], threads: int) -> DiFA:
    """A detector from the files of a model folder; the folder is needed only while they are read and checked."""
    with tempfile.TemporaryDirectory(prefix="difa-model-") as name:
        for file, data in content.items():
            (Path(name) / file).write_bytes(data)
        return DiFA.load(name, threads=threads)


def measure_ray(model: Path, documents: Sequence[str], workers: int) -> float:
    """Seconds that workers of one thread each need for the documents, without starting Ray and loading the model."""
    with tempfile.TemporaryDirectory(prefix="difa-measure-") as name:
        source = Path(name) / "documents.jsonl"
        source.write_text("".join(json.dumps({"text": text}) + "\n" for text in documents), encoding="utf-8")
        return score_files(model, [str(source)], f"{name}/out", workers=workers).seconds


def _checked_options(format: str, fpr: float | None, workers: int | None, threads: int | None, skip_bad: bool) -> WorkerOptions:
    if format not in FORMATS:
        raise ConfigError(f"format: expected one of {', '.join(FORMATS)}, got {format!r}")
    if workers is not None and workers < 1:
        raise ConfigError(f"workers: expected a whole number of at least 1, got {workers}")
    check_threads(threads)
    return WorkerOptions("", format, fpr, threads or 1, skip_bad)


def _checked_model(model: Path, fpr: float | None) -> dict[str, bytes]:
    """The model's files, once they have proved to work, so that mistakes show before a cluster is asked."""
    detector = DiFA.load(model, threads=1)
    if detector.rule(fpr).name == "fdr":
        raise ConfigError("the model decides by a false-discovery rate, which the Ray engine does not offer: give fpr")
    return pack_model(model)


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


def _collect(notices: Iterator[Done], total: int, report: ReportDone | None) -> RunSummary:
    summary, began, ended = RunSummary(), float("inf"), 0.0
    for done in notices:
        if done.error:
            raise EngineError(done.error)
        summary.parts += 1
        summary.documents += done.documents
        summary.words += done.words
        summary.flagged += done.flagged
        summary.skipped += len(done.bad)
        began, ended = min(began, done.began), max(ended, done.ended)
        if report is not None:
            report(done, summary.parts / total)
    summary.seconds = max(0.0, ended - began)
    return summary
