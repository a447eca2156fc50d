"""What is to be scored, how, and where the results go: the same for every engine.

What cannot be done is refused before anything is read. What decides the results is noted beside them, so that only the same run
can go on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from difa import __version__
from difa.corpus.allow import AllowList
from difa.decide import Rule
from difa.document import Scored
from difa.engines.cascade import Cascade
from difa.errors import ConfigError, InputError
from difa.estimator import DiFA
from difa.formats.sources import Source
from difa.formats.tables import Columns


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


@dataclass
class Counts:
    """What a run did."""

    documents: int = 0
    flagged: int = 0
    skipped: int = 0
    """Bad lines that were left out."""
    empty: int = 0
    """Documents without any word."""
    words: int = 0

    @classmethod
    def of(cls, parts: Iterable[Scored], skipped: int = 0) -> Counts:
        """What is counted of scored documents."""
        counts = cls(skipped=skipped)
        for part in parts:
            empty = sum(not document.words for document in part.documents)
            counts.add(Counts(len(part), int(part.document_flags.sum()), 0, empty, len(part.word_p)))
        return counts

    def add(self, other: Counts) -> None:
        for entry in fields(Counts):
            setattr(self, entry.name, getattr(self, entry.name) + getattr(other, entry.name))


class Watch(Protocol):
    """Is told how a run goes."""

    def begin(self, total: int | None) -> None: ...

    def advance(self, documents: int, read: int) -> None: ...

    def skip(self, complaint: str) -> None: ...


class Silent:
    """Shows no progress."""

    def begin(self, total: int | None) -> None:
        """Called when reading begins, with the total number of bytes if that is known."""

    def advance(self, documents: int, read: int) -> None:
        """Called when more documents are scored, with the bytes read so far."""

    def skip(self, complaint: str) -> None:
        """Called for each bad line that was left out."""


def check_job(job: Job, model: DiFA) -> Rule:
    """The rule in force; what cannot be done is refused before anything is read."""
    if job.shard_size is not None and job.shard_size < 1:
        raise ConfigError(f"shard_size: expected a whole number of at least 1, got {job.shard_size}")
    if job.screen is not None and job.fdr is not None:
        raise ConfigError("expected fpr beside a screen, got fdr: p-values of two models are not ranked together")
    if job.top is not None and (job.shard_size or job.resume):
        raise ConfigError("top keeps the most unusual of all documents: expected no shard_size and no resume=True beside it")
    if job.top is not None and job.top < 1:
        raise ConfigError(f"top: expected a whole number of at least 1, got {job.top}")
    if job.resume and job.force:
        raise ConfigError("expected one of resume=True and force=True, got both")
    rule = model.rule(job.fpr, job.fdr)
    if job.screen is not None:
        Cascade(model, model, job.screen_rate).rate_in_force(job.fpr)
    return rule


def has_second_pass(job: Job, rule: Rule) -> bool:
    """Whether what belongs into a file depends on other documents, so that it is made once they are scored."""
    return rule.name == "fdr" or job.top is not None or job.shard_size is not None


def asked_of(job: Job, rule: Rule, sources: Sequence[Source], engine: str = "local") -> dict[str, Any]:
    """Everything that decides the results, by name, and who goes on with them."""
    return {
        "engine": engine,
        "version": f"difa {__version__}",
        "model": _checksum(job.model),
        **({"screen": f"{job.screen_rate!r} {_checksum(job.screen)}"} if job.screen else {}),
        "rate": str(rule),
        "allowed words": ", ".join(AllowList.of(job.allow).entries),
        "shard size": job.shard_size,
        "top": job.top,
        "inputs": [{"name": s.label, "bytes": s.size, "modified": s.modified} for s in sources],
        "format": job.format,
        "columns": "; ".join(f"text {s.table.text!r}, ids {s.table.id!r}" for s in sources if s.table),
    }


def refuse_other(title: object, asked: dict[str, Any], stored: dict[str, Any]) -> None:
    """Say what is different from the run that is to go on, if anything is."""
    for name in asked:
        if asked[name] != stored.get(name):
            old, new = stored.get(name), asked[name]
            if isinstance(old, list) and isinstance(new, list):  # say the first that differs, or else how many there are
                counts = f"{len(old)} files", f"{len(new)} files"
                old, new = next((pair for pair in zip(old, new, strict=False) if pair[0] != pair[1]), counts)
            raise InputError(
                f"{title}: expected the same {name} as in the interrupted run, {_describe(old)}, got {_describe(new)}: give the "
                "same to resume, or force=True to start anew"
            )


def _checksum(model: Path) -> str:
    return sha256((model / "config.json").read_bytes()).hexdigest()[:16]


def _describe(source: Any) -> str:
    known = isinstance(source, dict) and {"name", "bytes", "modified"} <= set(source)
    return f"{source['name']} of {source['bytes']} bytes, modified {source['modified']}" if known else str(source)
