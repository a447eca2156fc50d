"""A worker of the pool: holds the model, turns pieces into parts, and sends a notice of each."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from difa import __version__
from difa.decide import Cutoff, Rule
from difa.document import Scored, columns_of
from difa.engines.cascade import Cascade
from difa.engines.ray.plan import Piece
from difa.engines.ray.read import read_piece
from difa.engines.ray.storage import write_notice
from difa.engines.ray.write import part_writer
from difa.errors import DifaError, EngineError
from difa.estimator import DiFA
from difa.formats.shape import Shape
from difa.formats.tables import Table
from difa.runtime.parallel import Chunk, chunk_documents
from difa.storage.atomic import scratch_folder

_ATTEMPTS = 5  # at one piece


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
    tables: tuple[Table | None, ...] = ()
    """The columns of every file that is a table."""
    shape: Shape | None = None
    """The columns of the parts, where they are tables."""


@dataclass(frozen=True, slots=True)
class Done:
    """A worker's notice about one piece; `began` and `ended` are seconds of its clock."""

    documents: int = 0
    words: int = 0
    flagged: int = 0
    bad: list[str] = field(default_factory=list)
    empty: int = 0
    error: str = ""
    began: float = 0.0
    ended: float = 0.0


class Scorer:
    """A worker: holds the model, turns pieces into parts."""

    def __init__(self, content: list[Any], attempts: Any, options: WorkerOptions) -> None:
        import ray

        self._options = options
        self._attempts = attempts
        self._detector, self._cascade = None, None
        if options.version == __version__:
            model, screen = ray.get(content)
            self._detector = unpack_model(model, options).allow(options.allow)
            if screen is not None and options.screen_rate is not None:
                self._cascade = Cascade(self._detector, unpack_model(screen, options), options.screen_rate)

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
        documents = words = flagged = empty = 0
        bad: list[str] | None = [] if self._options.skip_bad else None
        table = self._options.tables[piece.file]
        with part_writer(self._options.folder, piece.index, self._options.format, self._options.shape) as write:
            for scored in self._score_chunks(chunk_documents(read_piece(piece, bad, table))):
                write(scored)
                documents += len(scored)
                words += len(scored.word_p)
                flagged += int(scored.document_flags.sum())
                empty += sum(not document.words for document in scored.documents)
        done = Done(documents, words, flagged, bad or [], empty, "", began, time.time())
        write_notice(self._options.folder, piece.index, asdict(done))
        return done

    def _score_chunks(self, chunks: Iterator[Chunk]) -> Iterator[Scored]:
        rule = self._options.rule
        if self._cascade is not None and rule is not None:
            for chunk in chunks:
                yield from columns_of(self._cascade.score(chunk.documents, fpr=rule.rate))
        elif self._detector is not None:
            for _, ranked in self._detector.score_chunks(chunks):
                yield ranked if rule is None else Cutoff.of([ranked], rule).flag(ranked)

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


def unpack_model(content: dict[str, bytes], options: WorkerOptions) -> DiFA:
    """A detector from the files of a model folder; the folder is needed only while they are read and checked."""
    with scratch_folder() as folder:
        for file, data in content.items():
            (folder / file).write_bytes(data)
        return DiFA.load(folder, cache=options.cache, threads=options.threads)
