"""Unusual words at their places in files -> lines for a terminal, JSON, GitHub's annotations or SARIF."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from difa import __version__
from difa.report.sentences import visible
from difa.views.faults.kinds import KINDS

UNUSUAL_WORD = "unusual word"
"""The kind of a word that belongs to no fault with a name."""


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


def as_text(findings: Sequence[Finding]) -> str:
    """A line each, as compilers write them."""
    return "\n".join(f"{visible(found.path)}:{found.line}:{found.column}: {found.kind}: {found.message}" for found in findings)


def as_json(findings: Sequence[Finding]) -> str:
    """A list of objects."""
    return json.dumps([asdict(found) for found in findings], ensure_ascii=False, indent=2)


def as_github(findings: Sequence[Finding]) -> str:
    """Commands of a GitHub workflow, which shows them beside the lines of a change."""
    return "\n".join(
        f"::warning file={_property(found.path)},line={found.line},endLine={found.end_line},col={found.column},"
        f"endColumn={found.end_column},title={_property(found.kind)}::{_data(found.message)}"
        for found in findings
    )


def as_sarif(findings: Sequence[Finding]) -> str:
    """SARIF 2.1.0, which code hosts and editors read."""
    rules = {kind: f"A word that {phrase}." for kind, (_, phrase) in KINDS.items()}
    rules[UNUSUAL_WORD] = "A word that is unlike those of the normal text."
    numbers = {kind: number for number, kind in enumerate(rules)}
    driver = {
        "name": "difa",
        "version": __version__,
        "rules": [{"id": _rule(kind), "shortDescription": {"text": text}} for kind, text in rules.items()],
    }
    results = [
        {
            "ruleId": _rule(found.kind),
            "ruleIndex": numbers[found.kind],
            "level": "warning",
            "message": {"text": found.message},
            "locations": [{"physicalLocation": _location(found)}],
        }
        for found in findings
    ]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(log, ensure_ascii=False, indent=2)


FORMATS = {"text": as_text, "json": as_json, "github": as_github, "sarif": as_sarif}
"""By the name that users give."""


def _location(found: Finding) -> dict[str, Any]:
    path = Path(found.path)
    region = {
        "startLine": found.line,
        "startColumn": found.column,
        "endLine": found.end_line,
        "endColumn": found.end_column,
    }
    uri = path.as_uri() if path.is_absolute() else quote(path.as_posix())
    return {"artifactLocation": {"uri": uri}, "region": region}


def _rule(kind: str) -> str:
    return kind.replace(" ", "-")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
