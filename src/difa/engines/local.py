"""Files -> results on one machine, in bounded memory.

One thread reads and parses, one encodes, the caller's scores and writes; where there is one core only, encoding waits its turn. A
model without an encoder is run by several processes instead. What needs all documents is a second pass over their columns.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from difa.document import Scored
from difa.engines.cascade import Cascade, Judge
from difa.engines.job import Counts, Job, Silent, Watch, asked_of, check_job, needs_all
from difa.engines.output import Output, Target
from difa.engines.processes import Score, start_workers
from difa.engines.second_pass import second_pass
from difa.engines.stream import ReadAhead, ReadChunk, read_chunks
from difa.errors import ConfigError, InputError
from difa.estimator import DiFA
from difa.formats import Position, read_entries
from difa.formats.results import check_output
from difa.formats.sources import Source, find_sources
from difa.formats.streams import is_packed
from difa.formats.tables import Shape
from difa.formats.write import COLUMNS, Publisher, format_of, json_lines, pack_columns, read_columns
from difa.storage.atomic import is_stream, scratch_folder, writing

__all__ = ["Job", "Silent", "Watch", "score_inputs"]


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
    size = None if any(source.is_stdin for source in sources) else sum(source.size for source in sources)
    run = _Run(Judge(model, rule, cascade), job, sources, watch, size)
    watch.begin(size)
    return run.show(show) if job.out is None else run.write(job.out)


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
    size: int | None
    """Bytes of the inputs; None if they can be read once only."""

    @property
    def needs_all(self) -> bool:
        return needs_all(self.job, self.judge.rule)

    def show(self, show: Callable[[Scored], None]) -> Counts:
        """Hand on results, as they come if that can be."""
        counts = Counts()
        with closing(self._results(counts)) as results:
            if not self.needs_all:
                for scored in results:
                    show(scored)
                return counts
            with scratch_folder() as folder:
                part = folder / "part"
                with writing(folder), part.open("wb") as file:
                    file.writelines(map(pack_columns, results))
                for _, found in second_pass(lambda _: read_columns(part), 1, self.judge.rule, self.job, counts):
                    for scored in found:
                        show(scored)
        return counts

    def _results(self, counts: Counts) -> Generator[Scored]:
        with ReadAhead(self._chunks()) as ahead, closing(self.judge.score(ahead, ahead.ready)) as scored:
            for chunk, parts in scored:
                yield from parts
                counts.add(Counts.of(parts))
                counts.skipped += len(chunk.bad)
                self._tell(chunk)

    def write(self, out: Path) -> Counts:
        """Fill a file, or shards."""
        job, shape = self.job, Shape.of_sources(self.sources)
        form = format_of(Path("part") if job.shard_size else out, job.format)
        target = Target(str(out), "shards" if job.shard_size else "file", form, COLUMNS if self.needs_all else form, shape)
        asked, publish = asked_of(job, self.judge.rule, self.sources), Publisher(target.written, target.shape)
        notes = self.size is not None and job.top is None  # the most unusual are known at the end only
        with start_workers(self.judge, publish, self.size) as score, Output.open(target, asked, job, notes) as output:
            if not output.progress.complete:
                self._fill(output, score)
                output.finish(len(self.sources))
                if self.needs_all:
                    files = second_pass(output.read, 1, self.judge.rule, job, output.progress)
                    output.publish_all((index, map(output.publish.block, found)) for index, found in files)
            return output.progress

    def _fill(self, output: Output, score: Score) -> None:
        start, done = Position(*output.progress.place), output.progress.documents
        with ReadAhead(self._chunks(start, output.shard_size, done)) as ahead, closing(score(ahead)) as scored:
            for chunk, block in scored:
                output.append(block)
                self._tell(chunk)
                output.note(chunk.position, len(chunk.bad))

    def _chunks(self, start: Position | None = None, shard_size: int | None = None, done: int = 0) -> Iterator[ReadChunk]:
        entries = read_entries(self.sources, start)
        times = self.judge.model.detector_.chunk_times
        return read_chunks(entries, skip_bad=self.job.skip_bad, shard_size=shard_size, done=done, times=times)

    def _tell(self, chunk: ReadChunk) -> None:
        for complaint in chunk.bad:
            self.watch.skip(complaint)
        self.watch.advance(len(chunk.documents), chunk.bytes)


def _check_places(job: Job, sources: Sequence[Source]) -> None:
    if job.out is None and (job.shard_size or job.resume or job.force):
        raise ConfigError("expected out=FILE beside shard_size, resume=True or force=True, got none: give a file or folder")
    if job.out is not None and not job.shard_size and job.out.is_dir():
        raise ConfigError(f"{job.out}: expected a file, got a folder: give a file's name, or shard_size for shards in the folder")
    if job.out is not None and not job.shard_size:
        check_output(job.out, [source.path for source in sources if not source.is_stdin], job.force)
    if job.resume and any(source.is_stdin for source in sources):
        raise InputError("resume=True: expected files, got standard input, which cannot be read again: put it into a file first")
