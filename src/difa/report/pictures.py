"""A summary of results -> single pictures (PNG), for slides and mails."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from difa.errors import InputError, MissingExtraError
from difa.formats.replaceable import SOFTWARE
from difa.report.summary import BINS, Summary

_ACCENT, _CALM, _INK = "#d9480f", "#c3cad6", "#344054"
_MOST = 20


def write_pictures(summary: Summary, folder: Path) -> list[Path]:
    """Write histogram, views, words and shares by group into a folder; gives their paths."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "report", "pictures") from None
    bars: dict[str, dict[str, float]] = {"views": {**summary.views}}
    bars["words"] = {word.text: word.documents for word in summary.most_flagged(True, _MOST)}
    shares = {name: {key: group.share for key, group in sorted(groups.items())} for name, groups in summary.groups.items()}
    titles = {"views": "Flagged words by strongest view", "words": "Most flagged words, by documents"}
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        written.append(_save(_histogram(Figure(figsize=(8, 3.2), layout="constrained"), summary), folder / "p-values.png"))
        for name, values in bars.items():
            if values:
                written.append(_save(_bars(_tall(Figure, values), values, titles[name]), folder / f"{name}.png"))
        for name, values in shares.items():
            shown = dict(list(values.items())[-_MOST:])
            file = folder / f"by-{re.sub(r'[^A-Za-z0-9_-]+', '-', name)}.png"
            written.append(_save(_bars(_tall(Figure, shown), shown, f"Share flagged by {name}"), file))
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}") from None
    return written


def _tall(figure: Any, values: dict[str, Any]) -> Any:
    return figure(figsize=(8, 0.8 + 0.3 * max(2, len(values))), layout="constrained")


def _histogram(figure: Any, summary: Summary) -> Any:
    axes = _axes(figure)
    edges = [at / BINS for at in range(BINS)]
    colours = [_ACCENT if edge < summary.highest_flagged_p else _CALM for edge in edges]
    axes.bar(edges, summary.histogram, width=0.9 / BINS, align="edge", color=colours)
    axes.axhline(summary.all.documents / BINS, color=_INK, linestyle="--", linewidth=1, label="normal text")
    axes.set_xlabel("p-value of the document")
    axes.set_ylabel("documents")
    axes.legend(frameon=False)
    return figure


def _bars(figure: Any, values: dict[str, Any], title: str) -> Any:
    axes = _axes(figure)
    # A dollar sign would begin a formula.
    axes.barh([key[:40].replace("$", r"\$") for key in values], list(values.values()), color=_ACCENT)
    axes.invert_yaxis()
    axes.set_title(title.replace("$", r"\$"), loc="left", fontsize=11, color=_INK)
    return figure


def _axes(figure: Any) -> Any:
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _save(figure: Any, path: Path) -> Path:
    figure.savefig(path, dpi=150, metadata=SOFTWARE)
    return path
