"""The prose of files -> unusual words at their places -> lines for a terminal, JSON, GitHub's annotations or SARIF.

Words are flagged by a rate per thousand normal words, since a file is no document that could be flagged as a whole. Flagged words
of the same fault, such as a placeholder of several words, are one finding. With a git revision, only lines added since then are
looked at.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from urllib.parse import quote

import numpy as np

from difa import __version__
from difa.decide import flag_columns
from difa.detector import linter_scores
from difa.document import WordScore
from difa.errors import ConfigError, InputError
from difa.estimator import DiFA
from difa.formats.prose import Paragraph, Prose, read_prose
from difa.report.sentences import Reasons, visible, word_sentence
from difa.views.faults.kinds import KINDS

UNUSUAL_WORD = "unusual word"  # the kind of a word that belongs to no fault with a name
_ADDED = "git --literal-pathspecs diff --unified=0 --inter-hunk-context=0 --no-color --no-ext-diff --no-textconv"
_KNOWN = "git --literal-pathspecs ls-files"
_GIT_SECONDS = 60
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})  # how GitHub has a message escaped, and the properties before it
_PROPERTY = _DATA | str.maketrans({":": "%3A", ",": "%2C"})


@dataclass(frozen=True)
class Finding:
    """An unusual word, or a run of words with one fault; lines and columns count from 1, the end is behind the last character."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    kind: str
    text: str
    message: str
    suggestion: str | None
    p_value: float


@dataclass(frozen=True)
class _Passage:
    """A paragraph, the file that it stands in, and those lines of the file that are looked at; None for all."""

    path: Path
    prose: Prose
    paragraph: Paragraph
    lines: set[int] | None

    def place(self, at: int) -> tuple[int, int]:
        """Line and column in the file of an offset in the paragraph."""
        return self.prose.place(self.paragraph.start + at)

    def is_looked_at(self, start: int, end: int) -> bool:
        """Whether a part of the paragraph, by its offsets, is on a line that is looked at."""
        return self.lines is None or not self.lines.isdisjoint(range(self.place(start)[0], self.place(end)[0] + 1))


def find_unusual(
    model: DiFA, paths: Sequence[Path], per_thousand: float = 1.0, diff: str | None = None, allow: Sequence[str] = ()
) -> list[Finding]:
    """The unusual words of files, in the order of the files.

    Args:
        model: a fitted model.
        paths: files, read by their endings.
        per_thousand: of a thousand normal words at most so many are found, above 0 and below 1,000.
        diff: a git revision, to look only at lines that were added since then.
        allow: words and phrases to treat as normal.
    """
    if not 0 < per_thousand < 1000:
        raise ConfigError(f"per_thousand: expected a number between 0 and 1000, both excluded, got {per_thousand:g}")
    rate = per_thousand / 1000
    reference = model.detector_.linter_reference
    if why := reference.why_too_small(rate, "word"):
        raise ConfigError(f"per_thousand: {why}")
    passages = [passage for path in paths for passage in _passages(path, diff)]
    findings: list[Finding] = []
    rest = iter(passages)
    for part in model.score_columns([passage.paragraph.text for passage in passages], allow=allow):
        p_values = reference.p_values(linter_scores(part.word_scores, part.evidence, part.views))
        ranked = replace(part, word_p=np.where(part.allowed, 1.0, p_values))
        (flagged,) = flag_columns([ranked], model.rule(rate, warn=False))
        for at, passage in enumerate(islice(rest, len(part))):
            if flagged.flagged(at):
                document, words = part.documents[at], flagged.words(at)
                (faults,) = model.detector_.name_faults([document])
                reasons = model.detector_.reasons(document)
                findings += (_finding(passage, words, run, reasons) for run in _runs(passage, words, faults))
    return findings


def _passages(path: Path, diff: str | None) -> list[_Passage]:
    prose = read_prose(path)
    lines = None if diff is None else _added_lines(path, diff)
    passages = [_Passage(path, prose, paragraph, lines) for paragraph in prose.paragraphs]
    return [passage for passage in passages if passage.is_looked_at(0, len(passage.paragraph.text))]


def _runs(passage: _Passage, words: Sequence[WordScore], faults: Mapping[int, tuple[str, int]]) -> Iterable[list[int]]:
    """Positions of the flagged words that are looked at, those of one fault together."""
    runs: dict[tuple[str, int], list[int]] = {}  # by fault, or the word alone
    for t, word in enumerate(words):
        if word.is_anomaly and passage.is_looked_at(word.start, word.start):
            runs.setdefault(faults.get(t, ("", t)), []).append(t)
    for fault, run in runs.items():  # of %s the whole, even if only the sign is flagged
        while faults.get(run[-1] + 1) == fault and words[run[-1] + 1].start == words[run[-1]].end:
            run.append(run[-1] + 1)
    return runs.values()


def _finding(passage: _Passage, words: Sequence[WordScore], run: Sequence[int], reasons: Sequence[Reasons]) -> Finding:
    worst = min(run, key=lambda t: words[t].p_value)
    start, end = words[run[0]].start, words[run[-1]].end
    whole = " ".join(passage.paragraph.text[start:end].split())
    found = words[worst] if len(run) == 1 else replace(words[worst], text=whole, suggestion=None)
    return Finding(
        os.fsencode(passage.path).decode("utf-8", "backslashreplace"),
        *passage.place(start),
        *passage.place(end),
        found.fault or UNUSUAL_WORD,
        found.text,
        word_sentence(found, reasons[worst]),
        found.suggestion,
        found.p_value,
    )


def _added_lines(path: Path, revision: str) -> set[int] | None:
    """Numbers of the lines that were added since a revision; None for all, of a file that git does not know yet."""
    if revision.startswith("-"):
        raise ConfigError(f"diff: expected a git revision, got {revision!r}")
    hunks = re.findall(rb"^@@ \S+ \+(\d+)(?:,(\d+))? @@", _git(path, *_ADDED.split(), revision), re.MULTILINE)
    if not hunks and not _git(path, *_KNOWN.split()):
        return None
    return {int(first) + at for first, count in hunks for at in range(int(count or 1))}


def _git(path: Path, *command: str) -> bytes:
    asked = [*command, "--", path.name]
    try:
        run = subprocess.run(asked, cwd=path.parent, capture_output=True, timeout=_GIT_SECONDS, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise ConfigError("diff: expected git to be installed, found no such command") from None
    except subprocess.TimeoutExpired:
        raise InputError(f"{path}: git did not answer within {_GIT_SECONDS} seconds") from None
    if run.returncode:
        why = run.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        raise InputError(f"{path}: git cannot say which lines were added: {why}")
    return run.stdout


def as_text(findings: Sequence[Finding]) -> str:
    """A line each, as compilers write them."""
    return "\n".join(f"{visible(found.path)}:{found.line}:{found.column}: {found.kind}: {found.message}" for found in findings)


def as_json(findings: Sequence[Finding]) -> str:
    """A list of objects."""
    return json.dumps([asdict(found) for found in findings], ensure_ascii=False, indent=2)


def as_github(findings: Sequence[Finding]) -> str:
    """Commands of a GitHub workflow, which shows them beside the lines of a change."""
    return "\n".join(
        f"::warning file={found.path.translate(_PROPERTY)},line={found.line},endLine={found.end_line},col={found.column},"
        f"endColumn={found.end_column},title={found.kind.translate(_PROPERTY)}::{found.message.translate(_DATA)}"
        for found in findings
    )


def as_sarif(findings: Sequence[Finding]) -> str:
    """SARIF 2.1.0, which code hosts and editors read."""
    rules = {name: f"A word that {kind.said}." for name, kind in KINDS.items()}
    rules[UNUSUAL_WORD] = "A word that is unlike those of the normal text."
    numbers = {kind: number for number, kind in enumerate(rules)}
    driver = {
        "name": "difa",
        "version": __version__,
        "rules": [{"id": kind.replace(" ", "-"), "shortDescription": {"text": text}} for kind, text in rules.items()],
    }
    results = []
    for found in findings:
        path = Path(found.path)
        place = {"uri": path.as_uri() if path.is_absolute() else quote(path.as_posix())}
        region = {"startLine": found.line, "startColumn": found.column, "endLine": found.end_line, "endColumn": found.end_column}
        rule = {"ruleId": found.kind.replace(" ", "-"), "ruleIndex": numbers[found.kind], "level": "warning"}
        location = {"physicalLocation": {"artifactLocation": place, "region": region}}
        results.append({**rule, "message": {"text": found.message}, "locations": [location]})
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(log, ensure_ascii=False, indent=2)


FORMATS = {"text": as_text, "json": as_json, "github": as_github, "sarif": as_sarif}  # by the name that users give
