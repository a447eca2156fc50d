"""Files -> results on one machine, in bounded memory.

Everything is one piece, of which one thread reads and parses, one encodes, and the caller's scores and writes; where there is one
core only, encoding waits its turn. For a model without an encoder, files are cut into pieces, which processes score side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

from difa.document import Scored
from difa.engines.cascade import Cascade, Judge
from difa.engines.job import Counts, Job, Silent, Watch, asked_of, check_job, has_second_pass
from difa.engines.output import Output
from difa.engines.pieces import process_count, run_forked, run_here, score_piece, score_sources
from difa.engines.plan import piece_size, plan
from difa.engines.target import Target
from difa.errors import ConfigError, InputError
from difa.estimator import DiFA
from difa.formats.results import check_output
from difa.formats.sources import Source, find_sources
from difa.formats.streams import is_packed
from difa.formats.tables import Shape
from difa.formats.write import COLUMNS, format_of, json_lines, read_columns
from difa.storage.atomic import is_stream, scratch_folder, writing

__all__ = ["Job", "Silent", "Watch", "score_inputs"]

_PART = 1.0  # seconds of work in a part, which is what a killed run loses


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
    judge = Judge(model, rule, cascade)
    if job.out is not None:
        form = format_of(Path("part") if job.shard_size else job.out, job.format)  # a folder may be called anything
        return _write(judge, job, job.out, form, sources, watch)
    if not has_second_pass(job, rule):
        return _show(judge, job.skip_bad, sources, watch, show)
    with scratch_folder() as folder:
        counts = _write(judge, job, folder / COLUMNS, COLUMNS, sources, watch)
        for scored in read_columns(folder / COLUMNS):
            show(scored)
        return counts


def _write(judge: Judge, job: Job, out: Path, form: str, sources: Sequence[Source], watch: Watch) -> Counts:
    """Fill a file, or shards."""
    kind: Literal["file", "shards"] = "shards" if job.shard_size else "file"
    written = COLUMNS if has_second_pass(job, judge.rule) else form
    target, total = Target(str(out), kind, form, written, Shape.of_sources(sources)), _total(sources)
    can_resume = total is not None and job.top is None  # the most unusual are known at the end only
    with Output.open(target, asked_of(job, judge.rule, sources), job, can_resume) as output:
        if not output.progress.complete:
            processes = process_count(judge, total)
            pieces = plan(sources, output.begin(piece_size(sources, processes) if processes > 1 else None))
            score = partial(score_piece, judge, target, job.skip_bad, seconds=_PART)
            has_many = min(processes, len(pieces)) > 1
            with closing(run_forked(score, pieces, processes) if has_many else run_here(score, pieces)) as notices:
                watch.begin(total)
                output.fill(notices, judge.rule, watch)
        return output.progress


def _show(judge: Judge, skip_bad: bool, sources: Sequence[Source], watch: Watch, show: Callable[[Scored], None]) -> Counts:
    """Hand on results as they come."""
    counts = Counts()
    watch.begin(_total(sources))
    with closing(score_sources(judge, sources, skip_bad)) as scored:
        for chunk, columns in scored:
            for part in columns:
                show(part)
            counts.add(Counts.of(columns, skipped=len(chunk.bad)))
            for complaint in chunk.bad:
                watch.skip(complaint)
            watch.advance(len(chunk.documents), chunk.bytes)
    return counts


def _total(sources: Sequence[Source]) -> int | None:
    """Bytes of the inputs; None if they can be read once only."""
    return None if any(source.is_stdin for source in sources) else sum(source.size for source in sources)


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


def _check_places(job: Job, sources: Sequence[Source]) -> None:
    if job.out is None and (job.shard_size or job.resume or job.force):
        raise ConfigError("expected out=FILE beside shard_size, resume=True or force=True, got none: give a file or folder")
    if job.out is not None and not job.shard_size and job.out.is_dir():
        raise ConfigError(f"{job.out}: expected a file, got a folder: give a file's name, or shard_size for shards in the folder")
    if job.out is not None and not job.shard_size:
        check_output(job.out, [source.path for source in sources if not source.is_stdin], job.force)
    if job.resume and any(source.is_stdin for source in sources):
        raise InputError("resume=True: expected files, got standard input, which cannot be read again: put it into a file first")
