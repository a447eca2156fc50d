"""`difa check`: the prose of files -> unusual words at their places, as a linter prints them."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from difa.cli.options import Allow, ModelFolder, Quiet, allowed_words, command, say, say_next
from difa.errors import ConfigError, InputError

if TYPE_CHECKING:
    from difa.document import WordScore
    from difa.estimator import DiFA
    from difa.formats.prose import Paragraph, Prose
    from difa.report.findings import Finding

_NEAR = 3  # words from one flagged word to the next that is part of the same fault: the braces around a name
_GIT_SECONDS = 60


@command(
    "difa check model README.md docs",
    "difa check model docs/*.md --diff main",
    "difa check model src --format github --per-thousand 0.5",
    "difa check model docs --format sarif > difa.sarif",
)
def check(
    model: ModelFolder,
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES...",
            help="Markdown (.md), reStructuredText (.rst), Python (comments and docstrings), plain text, or folders of these.",
        ),
    ],
    per_thousand: Annotated[
        float,
        typer.Option(help="Flag at most this many of a thousand normal words: 1 flags words with a p-value up to 0.001."),
    ] = 1.0,
    format: Annotated[str, typer.Option(help="text, json, github (annotations of a workflow) or sarif.")] = "text",
    diff: Annotated[
        str | None, typer.Option(metavar="REVISION", help="Look only at lines that were added since this git revision.")
    ] = None,
    allow: Allow = None,
    quiet: Quiet = False,
) -> None:
    """Check the prose of files, word by word. Exit code 0: nothing is found. 1: something is. 2: an error."""
    from difa.estimator import DiFA
    from difa.formats.prose import read_prose
    from difa.report.findings import FORMATS

    if not 0 < per_thousand < 1000:
        raise ConfigError(f"--per-thousand: expected a number between 0 and 1000, both excluded, got {per_thousand:g}")
    if format not in FORMATS:
        raise ConfigError(f"--format: expected one of {', '.join(FORMATS)}, got {format!r}")
    words, paths = allowed_words(allow), _find_files(files)
    fitted = DiFA.load(model)
    if why := fitted.detector_.word_reference.why_too_small(per_thousand / 1000, "word"):
        raise ConfigError(f"--per-thousand: {why}")
    places = [place for path in paths for place in _places(path, read_prose(path), diff)]
    findings = list(_find(fitted, places, per_thousand / 1000, words))
    if findings or format in ("json", "sarif"):  # which are never empty
        typer.echo(FORMATS[format](findings))
    within = len({found.path for found in findings})
    say(f"difa: {len(findings)} found in {within} of {len(paths)} files, at {per_thousand:g} in 1,000 normal words", quiet)
    if findings:
        say_next(f"if a word is right, difa allow {model} WORD keeps it from being found again", quiet)
        raise typer.Exit(1)


@dataclass(frozen=True)
class _Place:
    """A paragraph, the file that it stands in, and those lines of the file that are looked at; None for all."""

    path: Path
    prose: Prose
    paragraph: Paragraph
    lines: set[int] | None

    def wants(self, start: int, end: int) -> bool:
        """Whether a part of the paragraph, by its offsets, is on a line that is looked at."""
        first, last = (self.prose.place(self.paragraph.start + at)[0] for at in (start, end))
        return self.lines is None or any(line in self.lines for line in range(first, last + 1))


def _places(path: Path, prose: Prose, diff: str | None) -> list[_Place]:
    lines = None if diff is None else _added_lines(path, diff)
    places = [_Place(path, prose, paragraph, lines) for paragraph in prose.paragraphs]
    return [place for place in places if place.wants(0, len(place.paragraph.text))]


def _find(model: DiFA, places: Sequence[_Place], rate: float, allow: Sequence[str]) -> Iterator[Finding]:
    from difa.decide import flag_columns

    rest = iter(places)
    for part in flag_columns(
        model.score_columns([place.paragraph.text for place in places], allow=allow), model.rule(rate, warn=False)
    ):
        for at, place in enumerate(islice(rest, len(part.documents))):
            if part.flagged(at):
                yield from _of_paragraph(model, place, part.words(at), allow)


def _of_paragraph(model: DiFA, place: _Place, words: Sequence[WordScore], allow: Sequence[str]) -> Iterator[Finding]:
    """The flagged words of a paragraph; those near each other that have the same fault are one finding."""
    from difa.report.findings import UNUSUAL_WORD, Finding
    from difa.report.sentences import word_sentence

    runs: list[list[int]] = []
    for t, word in enumerate(words):
        if not word.is_anomaly or not place.wants(word.start, word.start):
            continue
        if runs and word.fault and words[runs[-1][-1]].fault == word.fault and t - runs[-1][-1] <= _NEAR:
            runs[-1].append(t)
        else:
            runs.append([t])
    reasons = model.explain_unflagged(place.paragraph.text, allow=allow).reasons if runs else ()
    for run in runs:
        worst = min(run, key=lambda t: words[t].p_value)
        start, end = words[run[0]].start, words[run[-1]].end
        whole = " ".join(place.paragraph.text[start:end].split())
        found = words[worst] if len(run) == 1 else replace(words[worst], text=whole, suggestion=None)
        yield Finding(
            os.fsencode(place.path).decode("utf-8", "backslashreplace"),
            *place.prose.place(place.paragraph.start + start),
            *place.prose.place(place.paragraph.start + end),
            found.fault or UNUSUAL_WORD,
            found.text,
            word_sentence(found, reasons[worst]),
            found.suggestion,
            found.p_value,
        )


def _find_files(names: Sequence[str]) -> list[Path]:
    """The files, each once, with those in folders that hold prose by their endings and are not hidden."""
    from difa.formats.prose import SUFFIXES
    from difa.formats.sources import files_below

    paths: dict[Path, None] = {}
    for path in map(Path, names):
        if not path.is_dir():
            paths[path] = None
            continue
        found = files_below(path, lambda file: file.suffix.lower() in SUFFIXES)
        for place, why in found.unreadable:
            raise InputError(f"{place}: cannot be read: {why}")
        shown = [file for file in found.files if not any(part.startswith(".") for part in file.relative_to(path).parts)]
        if not shown:
            raise InputError(f"{path}: expected files ending in {', '.join(SUFFIXES)} in this folder, found none")
        paths |= dict.fromkeys(shown)
    return list(paths)


def _added_lines(path: Path, revision: str) -> set[int] | None:
    """Numbers of the lines that were added since a revision; None for all, of a file that git does not know yet."""
    changes = ["diff", "--unified=0", "--inter-hunk-context=0", "--no-color", "--no-ext-diff", "--no-textconv"]
    if revision.startswith("-"):
        raise ConfigError(f"--diff: expected a git revision, got {revision!r}")
    hunks = re.findall(rb"^@@ \S+ \+(\d+)(?:,(\d+))? @@", _git(path, *changes, revision), re.MULTILINE)
    if not hunks and not _git(path, "ls-files"):
        return None
    return {int(first) + at for first, count in hunks for at in range(int(count or 1))}


def _git(path: Path, *arguments: str) -> bytes:
    command = ["git", "-C", str(path.parent), "--literal-pathspecs", *arguments, "--", path.name]
    try:
        run = subprocess.run(command, capture_output=True, timeout=_GIT_SECONDS, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise ConfigError("--diff: expected git to be installed, found no such command") from None
    except subprocess.TimeoutExpired:
        raise InputError(f"{path}: git did not answer within {_GIT_SECONDS} seconds") from None
    if run.returncode:
        why = run.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        raise InputError(f"{path}: git cannot say which lines were added: {why}")
    return run.stdout
