"""Files -> results on one machine, in bounded memory.

One thread reads and parses, one encodes, the caller's scores and writes; where there is one core only, encoding waits its turn. A
model without an encoder is run by several processes instead. A false-discovery rate looks at all documents at once: results are
spooled first, and get their flags in a second pass.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from difa.decide import Cutoff, Rule
from difa.document import Scored
from difa.engines.cascade import Cascade, Judge
from difa.engines.job import Counts, Job, Silent, Watch, asked_of, check_job
from difa.engines.output import Layout, Output
from difa.engines.processes import Workers, start_workers
from difa.engines.stream import ReadAhead, ReadChunk, Shown, Top, cut_shards, read_chunks
from difa.errors import ConfigError, InputError
from difa.estimator import DiFA
from difa.formats import Position, read_entries
from difa.formats.results import check_output
from difa.formats.sources import Source, find_sources
from difa.formats.streams import is_packed
from difa.formats.tables import Shape
from difa.formats.write import COLUMNS, Publisher, format_of, json_lines, read_columns
from difa.storage.atomic import is_stream, scratch_folder, writing

__all__ = ["Job", "Silent", "Watch", "score_inputs"]

_Sink: TypeAlias = Output | Shown


def score_inputs(
    model: DiFA,
    job: Job,
    watch: Watch,
    show: Callable[[Scored], None] = lambda scored: None,
    sources: Sequence[Source] | None = None,
) -> Counts:
    """Score all documents of the inputs, in order, and count them.

    Args:
        model: the model in the job's folder.
        job: what is to be done.
        watch: told how it goes.
        show: takes the results, where the job has no file for them.
        sources: the files behind the job's inputs, if they were looked up before.
    """
    sources = find_sources(job.inputs, job.columns, job.skip_bad) if sources is None else sources
    if job.out is not None and is_stream(job.out):
        return _score_to_stream(model, job, watch, job.out, sources)
    _check_places(job, sources)
    model = model.allowing(job.allow)
    rule = check_job(job, model)
    cascade = Cascade(model, DiFA.load(job.screen, threads=model.threads), job.screen_rate) if job.screen else None
    run = _Run(Judge(model, rule, cascade), job, sources, watch)
    size = sum(source.size for source in sources) if run.repeatable else None
    watch.begin(size)
    if job.out is None:
        with scratch_folder() as folder:
            return run.score_best(Shown(show), Layout.file(folder / "results").spool())
    if job.top is not None and rule.name == "fpr":  # it needs results, and workers make lines
        return run.score_to_files(job.out)
    first = run.publisher() if rule.name == "fpr" else run.publisher(COLUMNS)
    with start_workers(run.judge, first, size) as workers:
        return replace(run, workers=workers).score_to_files(job.out)


def _score_to_stream(model: DiFA, job: Job, watch: Watch, out: Path, sources: Sequence[Source]) -> Counts:
    """Score into a pipe or a device: lines as they come, a table when it is complete."""
    if job.shard_size or job.resume or job.force:
        raise ConfigError(f"{out}: expected a file or folder for shard_size, resume=True and force=True, got a pipe or a device")
    form = format_of(out, job.format)
    with writing(out), out.open("wb", buffering=0) as stream:

        def write(content: bytes) -> None:
            rest = memoryview(content)
            while rest:  # nothing waits in a buffer, so that an interrupted run ends at once
                rest = rest[stream.write(rest) :]

        if form == "jsonl" and not is_packed(out):
            lines = replace(job, out=None, format=form)
            return score_inputs(model, lines, watch, lambda scored: write(json_lines(scored)), sources)
        with scratch_folder() as folder:
            table = folder / f"table.{form}{out.suffix if is_packed(out) else ''}"
            counts = score_inputs(model, replace(job, out=table, format=form), watch, sources=sources)
            with table.open("rb") as content:
                while block := content.read(1 << 20):
                    write(block)
            return counts


@dataclass(frozen=True)
class _Run:
    judge: Judge
    job: Job
    sources: Sequence[Source]
    watch: Watch
    workers: Workers | None = None

    @property
    def rule(self) -> Rule:
        return self.judge.rule

    @property
    def repeatable(self) -> bool:
        return not any(source.is_stdin for source in self.sources)

    @property
    def format(self) -> str:
        return self.job.format or "jsonl" if self.job.shard_size else format_of(self.job.out, self.job.format)

    def publisher(self, format: str | None = None) -> Publisher:
        return Publisher(format or self.format, Shape.of_sources(self.sources))

    def output(self, layout: Layout, publisher: Publisher) -> Output:
        asked, resume, force = asked_of(self.job, self.rule, self.sources), self.job.resume, self.job.force
        notes = self.repeatable and self.job.top is None  # the most unusual are known at the end only
        return Output(layout, asked, publisher, resume=resume, force=force, notes=notes)

    def score_best(self, sink: _Sink, spooled: Layout) -> Counts:
        """Score everything into a sink, or with `top` only the most unusual; all are counted."""
        if self.job.top is None:
            return self.score(sink, spooled)
        best = Top(sink.write, self.job.top)
        self.score(best, spooled)
        best.finish()
        return best.counts

    def score_to_files(self, out: Path) -> Counts:
        """Score everything into a file, or into shards."""
        layout = Layout.shards(out, self.job.shard_size, self.format) if self.job.shard_size else Layout.file(out)
        with self.output(layout, self.publisher()) as output:
            counts = output.counts
            if not output.progress.complete:
                counts = self.score_best(output, layout.spool())
                output.finish()
            layout.spool().remove()
            return counts

    def score(self, sink: _Sink, spooled: Layout) -> Counts:
        """Score everything into a sink, by way of a spool file if the flags need to know all p-values."""
        first = self.output(spooled, self.publisher(COLUMNS))
        if self.rule.name == "fpr":
            with first if spooled.journal.exists() else nullcontext():  # of an earlier run, which must not be forgotten
                self._score_into(sink)
            return sink.counts
        with first as spool:
            if not spool.progress.complete:
                self._score_into(spool)
                spool.finish()
            cutoff = Cutoff.of(read_columns(spooled.final(0)), self.rule)
            flagged = map(cutoff.flag, read_columns(spooled.final(0), sink.counts.documents))
            for _, part in cut_shards(flagged, sink.shard_size, sink.counts.documents):
                sink.write(part)
                sink.note(Position(0, sink.counts.documents))
            sink.counts.skipped, sink.counts.empty = spool.counts.skipped, spool.counts.empty
        return sink.counts

    def _score_into(self, sink: _Sink) -> None:
        done = sink.counts.documents
        entries = read_entries(self.sources, sink.position)
        chunks = read_chunks(entries, skip_bad=self.job.skip_bad, shard_size=sink.shard_size, done=done)
        with ReadAhead(chunks) as ahead, closing(self._written(ahead, sink)) as written:
            for chunk in written:
                for complaint in chunk.bad:
                    self.watch.skip(complaint)
                sink.note(chunk.position, len(chunk.bad), sum(not document.words for document in chunk.documents))
                self.watch.advance(len(chunk.documents), chunk.bytes)

    def _written(self, chunks: ReadAhead[ReadChunk], sink: _Sink) -> Generator[ReadChunk, None, None]:
        """The chunks, each of them when its results have been handed to the sink."""
        if self.workers is not None and isinstance(sink, Output):
            for chunk, block in self.workers.score(chunks):
                sink.append(block)
                yield chunk
            return
        with closing(self.judge.score(chunks, chunks.ready)) as scored:
            for chunk, parts in scored:
                for part in parts:
                    sink.write(part)
                yield chunk


def _check_places(job: Job, sources: Sequence[Source]) -> None:
    if job.out is None and (job.shard_size or job.resume or job.force):
        raise ConfigError("expected out=FILE beside shard_size, resume=True or force=True, got none: give a file or folder")
    if job.out is not None and not job.shard_size and job.out.is_dir():
        raise ConfigError(f"{job.out}: expected a file, got a folder: give a file's name, or shard_size for shards in the folder")
    if job.out is not None and not job.shard_size:
        check_output(job.out, [source.path for source in sources if not source.is_stdin], job.force)
    if job.resume and any(source.is_stdin for source in sources):
        raise InputError("resume=True: expected files, got standard input, which cannot be read again: put it into a file first")
