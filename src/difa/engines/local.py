"""Files -> results on one machine, in bounded memory.

One thread reads and parses, one encodes, the caller's scores and writes; where there is one core only, encoding waits its turn. A
false-discovery rate looks at all documents at once: results are spooled first, and get their flags in a second pass.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from difa import __version__
from difa.ahead import work_ahead
from difa.document import Encoded, Result
from difa.engines.budget import Top
from difa.engines.chunks import Chunk, ReadAhead, cut_chunks
from difa.engines.discoveries import Limits
from difa.engines.layout import Layout, State
from difa.engines.output import Output
from difa.errors import ConfigError, InputError
from difa.estimator import DiFA
from difa.formats import Place, read_entries
from difa.formats.shape import Shape
from difa.formats.sources import Source, find_sources
from difa.formats.table_output import Publisher, format_of
from difa.formats.tables import Columns
from difa.formats.write import read_lines


@dataclass(frozen=True)
class Job:
    """What is to be scored, how, and where the results go."""

    model: Path
    inputs: Sequence[str]
    out: Path | None = None
    """A file, or with `shard_size` a folder; None shows the results instead."""
    shard_size: int | None = None
    fpr: float | None = None
    fdr: float | None = None
    resume: bool = False
    force: bool = False
    skip_bad: bool = False
    columns: Columns | None = None
    """The columns of tables that hold text and ids; guessed where not given."""
    format: str | None = None
    """`jsonl`, `csv`, `tsv` or `parquet`; by the ending of `out` where not given."""
    top: int | None = None
    """Keep only so many documents, the most unusual first."""


class Watch(Protocol):
    """Someone who looks on."""

    def begin(self, total: int | None) -> None:
        """Reading begins; so many bytes are to be read, if that is known."""
        ...

    def advance(self, documents: int, read: int) -> None:
        """Some more documents are scored, and so many bytes have been read in all."""
        ...

    def skip(self, complaint: str) -> None:
        """A bad line was left out."""
        ...


class Silent:
    """Nobody looks on."""

    def begin(self, total: int | None) -> None: ...

    def advance(self, documents: int, read: int) -> None: ...

    def skip(self, complaint: str) -> None: ...


class Sink(Protocol):
    """Something that takes results in order."""

    state: State

    @property
    def shard_size(self) -> int | None: ...

    @property
    def place(self) -> Place: ...

    def write(self, results: Sequence[Result]) -> None: ...

    def note(self, place: Place, skipped: int = 0) -> None: ...


class Shown:
    """Results that are shown at once and not kept."""

    shard_size = None
    place = Place()

    def __init__(self, show: Callable[[Sequence[Result]], None]) -> None:
        self._show, self.state = show, State({})

    def write(self, results: Sequence[Result]) -> None:
        self._show(results)
        self.state.documents += len(results)
        self.state.flagged += sum(result.is_anomaly for result in results)

    def note(self, place: Place, skipped: int = 0) -> None:
        self.state.skipped += skipped


def score_inputs(model: DiFA, job: Job, watch: Watch, show: Callable[[Sequence[Result]], None] = lambda results: None) -> State:
    """Score all documents of the inputs, in order; what came out is counted in the state returned.

    Args:
        model: the model in the job's folder.
        job: what is to be done.
        watch: told how it goes.
        show: takes the results, where the job has no file for them.
    """
    sources = find_sources(job.inputs, job.columns)
    _check(job, sources)
    model.decide([], [], fpr=job.fpr, fdr=job.fdr)  # an impossible rate is refused before anything is read
    run = _Run(model, job, sources, watch)
    watch.begin(sum(source.size for source in sources) if run.repeatable else None)
    if job.out is None:
        with tempfile.TemporaryDirectory(prefix="difa.") as folder:
            return run.score_best(Shown(show), Layout.file(Path(folder) / "results").spool())
    form = job.format or "jsonl" if job.shard_size else format_of(job.out, job.format)
    layout = Layout.shards(job.out, job.shard_size, form) if job.shard_size else Layout.file(job.out)
    with run.output(layout, Publisher(form, Shape.of(sources))) as output:
        outcome: State = output.state
        if not output.state.complete:
            outcome = run.score_best(output, layout.spool())
            output.finish()
        layout.spool().remove()
        return outcome


@dataclass(frozen=True)
class _Run:
    model: DiFA
    job: Job
    sources: Sequence[Source]
    watch: Watch

    @property
    def repeatable(self) -> bool:
        return not any(source.is_stdin for source in self.sources)

    @property
    def discovery_rate(self) -> float | None:
        """The false-discovery rate in force, if one is."""
        return self.job.fdr if self.job.fdr is not None or self.job.fpr is not None else self.model.fdr

    def output(self, layout: Layout, publish: Publisher | None = None) -> Output:
        asked, resume, force = self._asked(), self.job.resume, self.job.force
        notes = self.repeatable and self.job.top is None  # the most unusual are known at the end only
        return Output(layout, asked, resume=resume, force=force, notes=notes, publish=publish)

    def score_best(self, sink: Sink, spooled: Layout) -> State:
        """Score everything into a sink, or with `top` only the most unusual; the state counts all."""
        if self.job.top is None:
            return self.score(sink, spooled)
        best = Top(sink, self.job.top)
        self.score(best, spooled)
        best.finish()
        return best.state

    def score(self, sink: Sink, spooled: Layout) -> State:
        """Score everything into a sink, by way of a spool file if the flags need to know all p-values."""
        rate = self.discovery_rate
        with self.output(spooled) as spool:  # looks after what an earlier run spooled even if this one does not need it
            if rate is None:
                self._score_into(sink)
                return sink.state
            if not spool.state.complete:
                self._score_into(spool)
                spool.finish()
            results = spooled.final(0)
            limits = Limits.of(read_lines(results), rate, self.model.detector_)
            for result in read_lines(results, sink.state.documents):
                sink.write([limits.flag(result)])
                sink.note(Place(0, sink.state.documents))
            sink.state.skipped = spool.state.skipped
        return sink.state

    def _score_into(self, sink: Sink) -> None:
        entries = read_entries(self.sources, sink.place)
        chunks = cut_chunks(entries, sink.place, skip_bad=self.job.skip_bad, cut=sink.shard_size, done=sink.state.documents)
        with ReadAhead(chunks) as ahead, closing(self._encoded(ahead)) as encoded:
            for chunk, vectors in encoded:
                scored = self.model.detector_.score_encoded(vectors)
                del vectors  # a long document's are large, and not needed for its results
                sink.write(self.model.decide(chunk.documents, scored, fpr=self.job.fpr, fdr=self.job.fdr))
                for complaint in chunk.bad:
                    self.watch.skip(complaint)
                sink.note(chunk.place, len(chunk.bad))
                self.watch.advance(len(chunk.documents), chunk.bytes)

    def _encoded(self, chunks: ReadAhead[Chunk]) -> Generator[tuple[Chunk, list[Encoded]], None, None]:
        encode = self.model.detector_.encoder.encode
        several = self.model.detector_.has_threads
        return work_ahead(lambda chunk: encode(chunk.documents), chunks, chunks.ready, side_by_side=several)

    def _asked(self) -> dict[str, Any]:
        """Everything that decides the results."""
        rate = self.discovery_rate
        return {
            "version": f"difa {__version__}",
            "model": sha256((self.job.model / "config.json").read_bytes()).hexdigest(),
            "rate": f"fdr {rate!r}" if rate is not None else f"fpr {self.job.fpr or self.model.fpr!r}",
            "shard size": self.job.shard_size,
            "inputs": [{"name": s.name, "bytes": s.size, "modified": s.modified} for s in self.sources],
            "format": self.job.format,
            "columns": "; ".join(f"text {s.table.text!r}, ids {s.table.id!r}" for s in self.sources if s.table),
        }


def _check(job: Job, sources: Sequence[Source]) -> None:
    if job.out is None and (job.shard_size or job.resume or job.force):
        raise ConfigError("--shard-size, --resume and --force are about files: give --out as well")
    if job.shard_size is not None and job.shard_size < 1:
        raise ConfigError(f"shard size: expected a whole number of at least 1, got {job.shard_size}")
    if job.out is not None and not job.shard_size and job.out.is_dir():
        raise ConfigError(
            f"{job.out}: expected a file, got a folder: give a file's name, or --shard-size for shards in the folder"
        )
    if job.top is not None and (job.shard_size or job.resume):
        raise ConfigError("--top keeps the most unusual of all documents: expected no --shard-size and no --resume beside it")
    if job.top is not None and job.top < 1:
        raise ConfigError(f"--top: expected a whole number of at least 1, got {job.top}")
    if job.resume and job.force:
        raise ConfigError("expected one of --resume and --force, got both")
    if job.resume and any(source.is_stdin for source in sources):
        raise InputError("--resume: expected files, got standard input, which cannot be read again: put it into a file first")
