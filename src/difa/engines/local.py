"""Files -> results on one machine, in bounded memory.

One thread reads and parses, one encodes, the caller's scores and writes; where there is one core only, encoding waits its turn. A
model without an encoder is run by several processes instead. A false-discovery rate looks at all documents at once: results are
spooled first, and get their flags in a second pass.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from difa import __version__
from difa.corpus.allow import AllowList
from difa.decide import Cutoff, Rule
from difa.document import Scored, columns_of
from difa.engines.budget import Top
from difa.engines.cascade import Cascade
from difa.engines.chunks import ReadAhead, ReadChunk, cut_shards, read_chunks
from difa.engines.output import Output, Pack
from difa.engines.output_files import Layout, State
from difa.engines.processes import Workers, start_workers
from difa.engines.sinks import Shown, Sink, open_stream
from difa.errors import ConfigError, InputError
from difa.estimator import DiFA
from difa.formats import Position, read_entries
from difa.formats.columns import pack_columns, read_columns
from difa.formats.packed import is_packed
from difa.formats.replaceable import check_output
from difa.formats.shape import Shape
from difa.formats.sources import Source, find_sources
from difa.formats.table_output import Publisher, format_of
from difa.formats.tables import Columns
from difa.formats.write import json_lines
from difa.storage.atomic import is_stream, scratch_folder


@dataclass(frozen=True)
class Job:
    """What to score, how, and where the results go."""

    model: Path
    inputs: Sequence[str]
    out: Path | None = None
    """A file, or with `shard_size` a folder; None shows the results instead."""
    shard_size: int | None = None
    fpr: float | None = None
    fdr: float | None = None
    allow: Sequence[str] = ()
    """Words that are normal, beside those that the model allows."""
    resume: bool = False
    force: bool = False
    skip_bad: bool = False
    screen: Path | None = None
    """Folder of a fast model that reads everything first, if there is one."""
    screen_rate: float = 0.1
    """Share of normal documents that the fast model passes on."""
    columns: Columns | None = None
    """The columns of tables that hold text and ids; guessed if not given."""
    format: str | None = None
    """`jsonl`, `csv`, `tsv` or `parquet`; by the ending of `out` if not given."""
    top: int | None = None
    """Keep only this many documents, the most unusual first."""


class Watch(Protocol):
    """Receives the progress of a run."""

    def begin(self, total: int | None) -> None:
        """Called when reading begins, with the total number of bytes if that is known."""
        ...

    def advance(self, documents: int, read: int) -> None:
        """Called when more documents are scored, with the bytes read so far."""
        ...

    def skip(self, complaint: str) -> None:
        """A bad line was left out."""
        ...


class Silent:
    """Shows no progress."""

    def begin(self, total: int | None) -> None: ...

    def advance(self, documents: int, read: int) -> None: ...

    def skip(self, complaint: str) -> None: ...


def score_inputs(model: DiFA, job: Job, watch: Watch, show: Callable[[Scored], None] = lambda scored: None) -> State:
    """Score all documents of the inputs, in order; what came out is counted in the state returned.

    Args:
        model: the model in the job's folder.
        job: what is to be done.
        watch: told how it goes.
        show: takes the results, where the job has no file for them.
    """
    if job.out is not None and is_stream(job.out):
        return _score_to_stream(model, job, watch, job.out)
    sources = find_sources(job.inputs, job.columns, job.skip_bad)
    _check_places(job, sources)
    model = model.allowing(job.allow)
    rule = check_job(job, model)
    cascade = Cascade(model, DiFA.load(job.screen, threads=model.threads), job.screen_rate) if job.screen else None
    run = _Run(model, job, rule, sources, watch, cascade)
    size = sum(source.size for source in sources) if run.repeatable else None
    watch.begin(size)
    if job.out is None:
        with scratch_folder() as folder:
            return run.score_best(Shown(show), Layout.file(folder / "results").spool())
    if cascade is not None or (job.top is not None and rule.name == "fpr"):  # they need results, and workers make lines
        return run.score_to_files(job.out)
    with start_workers(model, *run.first_pass(), size) as workers:
        return replace(run, workers=workers).score_to_files(job.out)


def _score_to_stream(model: DiFA, job: Job, watch: Watch, out: Path) -> State:
    """Score into a pipe or a device: lines as they come, a table when it is complete."""
    if job.shard_size or job.resume or job.force:
        raise ConfigError(f"{out}: expected a file or folder for shard_size, resume and force, got a pipe or a device")
    form = format_of(out, job.format)
    with open_stream(out) as write:
        if form == "jsonl" and not is_packed(out):
            lines = replace(job, out=None, format=form)
            return score_inputs(model, lines, watch, lambda scored: write(json_lines(scored)))
        with scratch_folder() as folder:
            table = folder / f"table.{form}{out.suffix if is_packed(out) else ''}"
            state = score_inputs(model, replace(job, out=table, format=form), watch)
            with table.open("rb") as content:
                while block := content.read(1 << 20):
                    write(block)
            return state


@dataclass(frozen=True)
class _Run:
    model: DiFA
    job: Job
    rule: Rule
    sources: Sequence[Source]
    watch: Watch
    cascade: Cascade | None = None
    workers: Workers | None = None

    @property
    def repeatable(self) -> bool:
        return not any(source.is_stdin for source in self.sources)

    @property
    def format(self) -> str:
        return self.job.format or "jsonl" if self.job.shard_size else format_of(self.job.out, self.job.format)

    @property
    def publisher(self) -> Publisher:
        return Publisher(self.format, Shape.of([source.table for source in self.sources]))

    def first_pass(self) -> tuple[Rule | None, Pack]:
        """The rule of flags that are set at once, and what documents append to the first file that they are written to."""
        return (self.rule, self.publisher.block) if self.rule.name == "fpr" else (None, pack_columns)

    def output(self, layout: Layout, pack: Pack = pack_columns, publish: Publisher | None = None) -> Output:
        asked, resume, force = self._asked(), self.job.resume, self.job.force
        notes = self.repeatable and self.job.top is None  # the most unusual are known at the end only
        return Output(layout, asked, resume=resume, force=force, notes=notes, pack=pack, publish=publish)

    def score_best(self, sink: Sink, spooled: Layout) -> State:
        """Score everything into a sink, or with `top` only the most unusual; the state counts all."""
        if self.job.top is None:
            return self.score(sink, spooled)
        best = Top(sink, self.job.top)
        self.score(best, spooled)
        best.finish()
        return best.state

    def score_to_files(self, out: Path) -> State:
        """Score everything into a file, or into shards."""
        layout = Layout.shards(out, self.job.shard_size, self.format) if self.job.shard_size else Layout.file(out)
        with self.output(layout, self.publisher.block, self.publisher) as output:
            outcome: State = output.state
            if not output.state.complete:
                outcome = self.score_best(output, layout.spool())
                output.finish()
            layout.spool().remove()
            return outcome

    def score(self, sink: Sink, spooled: Layout) -> State:
        """Score everything into a sink, by way of a spool file if the flags need to know all p-values."""
        with self.output(spooled) as spool:  # looks after what an earlier run spooled even if this one does not need it
            if self.rule.name == "fpr":
                self._score_into(sink, self.rule)
                return sink.state
            if not spool.state.complete:
                self._score_into(spool, None)
                spool.finish()
            results = spooled.final(0)
            cutoff = Cutoff.of(read_columns(results), self.rule)
            for scored in read_columns(results, sink.state.documents):
                for part in cut_shards(cutoff.flag(scored), sink.shard_size, sink.state.documents):
                    sink.write(part)
                    sink.note(Position(0, sink.state.documents))
            sink.state.skipped, sink.state.empty = spool.state.skipped, spool.state.empty
        return sink.state

    def _score_into(self, sink: Sink, rule: Rule | None) -> None:
        entries = read_entries(self.sources, sink.position)
        chunks = read_chunks(entries, skip_bad=self.job.skip_bad, shard_size=sink.shard_size, done=sink.state.documents)
        with ReadAhead(chunks) as ahead, closing(self._written(ahead, sink, rule)) as written:
            for chunk in written:
                for complaint in chunk.bad:
                    self.watch.skip(complaint)
                sink.note(chunk.position, len(chunk.bad), sum(not document.words for document in chunk.documents))
                self.watch.advance(len(chunk.documents), chunk.bytes)

    def _written(self, chunks: ReadAhead[ReadChunk], sink: Sink, rule: Rule | None) -> Generator[ReadChunk, None, None]:
        """The chunks, each of them when its results have been handed to the sink; flags are set where there is a rule."""
        if self.cascade is not None:
            for chunk in chunks:
                for part in columns_of(self.cascade.score(chunk.documents, fpr=self.job.fpr)):
                    sink.write(part)
                yield chunk
            return
        if self.workers is not None and isinstance(sink, Output):
            for chunk, block in self.workers.score(chunks):
                sink.append(block)
                yield chunk
            return
        with closing(self.model.score_chunks(chunks, chunks.ready)) as scored:
            for chunk, ranked in scored:
                sink.write(ranked if rule is None else Cutoff.of([ranked], rule).flag(ranked))
                yield chunk

    def _asked(self) -> dict[str, Any]:
        """Everything that decides the results."""
        return {
            "version": f"difa {__version__}",
            "model": _checksum(self.job.model),
            **({"screen": f"{self.job.screen_rate!r} {_checksum(self.job.screen)}"} if self.job.screen else {}),
            "rate": str(self.rule),
            "allowed words": ", ".join(AllowList.of(self.job.allow).entries),
            "shard size": self.job.shard_size,
            "inputs": [{"name": s.label, "bytes": s.size, "modified": s.modified} for s in self.sources],
            "format": self.job.format,
            "columns": "; ".join(f"text {s.table.text!r}, ids {s.table.id!r}" for s in self.sources if s.table),
        }


def _checksum(model: Path) -> str:
    return sha256((model / "config.json").read_bytes()).hexdigest()


def check_job(job: Job, model: DiFA) -> Rule:
    """The rule in force; what cannot be done is refused before anything is read."""
    if job.shard_size is not None and job.shard_size < 1:
        raise ConfigError(f"shard size: expected a whole number of at least 1, got {job.shard_size}")
    if job.screen is not None and job.fdr is not None:
        raise ConfigError("expected fpr beside a screen, got fdr: p-values of two models are not ranked together")
    if job.top is not None and (job.shard_size or job.resume):
        raise ConfigError("top keeps the most unusual of all documents: expected no shard_size and no resume beside it")
    if job.top is not None and job.top < 1:
        raise ConfigError(f"top: expected a whole number of at least 1, got {job.top}")
    if job.resume and job.force:
        raise ConfigError("expected one of resume and force, got both")
    rule = model.rule(job.fpr, job.fdr)
    if job.screen is not None:
        Cascade(model, model, job.screen_rate).rate_in_force(job.fpr)
    return rule


def _check_places(job: Job, sources: Sequence[Source]) -> None:
    if job.out is None and (job.shard_size or job.resume or job.force):
        raise ConfigError("shard_size, resume and force are about files: give a file or folder, out, as well")
    if job.out is not None and not job.shard_size and job.out.is_dir():
        raise ConfigError(f"{job.out}: expected a file, got a folder: give a file's name, or shard_size for shards in the folder")
    if job.out is not None and not job.shard_size:
        check_output(job.out, [source.path for source in sources if not source.is_stdin], job.force)
    if job.resume and any(source.is_stdin for source in sources):
        raise InputError("resume: expected files, got standard input, which cannot be read again: put it into a file first")
