"""`difa bench examples`: scored documents with their words coloured, as HTML and as a picture.

Per set the example of the paper, where the test half has it, and a few anomalous documents drawn by chance: not the best
ones. Colour is the word's p-value among normal words; a line under a word is the annotator's mark.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from difa.bench.data import DataSet
from difa.bench.methods import label_of, preset_of, quiet_rates
from difa.bench.metrics import RATE
from difa.bench.plots import INK, figure
from difa.bench.run import Run, Task, finish, write_text
from difa.bench.split import Split, is_anomalous, split
from difa.bench.store import Record, fingerprint_of
from difa.bench.tables import markdown, unique
from difa.document import Document, Result
from difa.report.html import WORD_STYLE, safe, shaded_text

PAPER = {"grammar": ("social", "issues"), "review": ("Tastless",), "spam": ("oeidjhksiwewiwj",)}
"""Words by which the examples of the paper's figure are found; the last is the one that it says scores highest."""
PAPERS_OWN = "the paper's example"
_MOST_WORDS = 60  # longer documents fill a page without showing more
_LINE = 92  # characters of a line in the picture
_WIDTH = 8.4  # inches: so that a character of the picture's grid is as wide as one of the typeface
_SHADES = ("#ffffff", "#fde3c8", "#fdb97d", "#f58536", "#d94801")
_STEPS = (0.05, 0.02, 0.005, 0.001)  # p-values at which the colour deepens


def run_examples(run: Run, preset: str = "full", count: int = 3) -> list[Record]:
    """Fit on each set with the first seed, and write `examples.json`, `examples.md`, `examples.html` and the picture."""
    name, seed = f"difa-{preset}", run.options.seeds[0]
    fingerprint = fingerprint_of(["bench/examples.py"], method=run.bench.fingerprint(name))
    tasks = [
        Task(
            run.cell("examples", dataset, seed, name, {"count": count}, fingerprint),
            partial(_compute, run, dataset, seed, name, count),
        )
        for dataset in run.sets
    ]
    records = finish(run, "examples", tasks, examples_markdown, draw_examples)
    write_text(run.store.folder / "examples.html", page(records))
    return records


def _compute(run: Run, dataset: DataSet, seed: int, name: str, count: int) -> Record:
    halves = split(dataset.documents, seed)
    chosen = choose(dataset.name, halves, count, seed)
    with quiet_rates():
        model = run.bench.difa(preset_of(name), seed).fit(halves.training)
        results = model.score([document for _, document in chosen], fpr=RATE)
    return {"documents": [_shown(why, document, result) for (why, document), result in zip(chosen, results, strict=True)]}


def _shown(why: str, document: Document, result: Result) -> Record:
    words = zip(result.words, document.labels or (), strict=True)
    return {
        "why": why,
        "verdict": f"document p = {result.p_value:.2g}" + (", flagged" if result.is_anomaly else ""),
        "html": shaded_text(result),
        "words": [{"text": word.text, "score": word.score, "p": word.p_value, "marked": bool(label)} for word, label in words],
    }


def choose(name: str, halves: Split, count: int, seed: int) -> list[tuple[str, Document]]:
    """The paper's example, if it is there, and some drawn by chance."""
    anomalous = [document for document in halves.test if is_anomalous(document) and len(document.words) <= _MOST_WORDS]
    wanted = {word.lower() for word in PAPER.get(name, ())}
    known = [d for d in anomalous if wanted and wanted <= set(" ".join(w.text for w in d.words).lower().split())][:1]
    others = [document for document in anomalous if document not in known]
    drawn = np.random.default_rng(seed).permutation(len(others))[:count]
    return [*((PAPERS_OWN, d) for d in known), *(("drawn by chance", others[index]) for index in sorted(drawn))]


def shown_documents(records: Sequence[Record]) -> list[tuple[str, Record]]:
    """All documents of the records, each with its title."""
    return [
        (f"{record['set'].capitalize()} ({record['form']}), {document['why']}: {document['verdict']}", document)
        for record in records
        for document in record["documents"]
    ]


def _marked(document: Record) -> str:
    return ", ".join(word["text"] for word in document["words"] if word["marked"])


def examples_markdown(records: Sequence[Record]) -> str:
    """What the picture cannot say: the highest word of each document beside the annotators' marks."""
    titles = unique(f"{label_of(record['method'])}, seed {record['seed']}" for record in records)
    rows = [
        {
            "document": title.replace("|", "\\|"),
            "highest word": f"`{max(document['words'], key=lambda word: word['score'])['text']}`",
            "marked by annotators": f"`{_marked(document)}`",
        }
        for title, document in shown_documents(records)
    ]
    return "\n".join(["# Examples", "", f"{'; '.join(titles)}.", "", *markdown(rows), ""])


def page(records: Sequence[Record]) -> str:
    """The examples as one HTML file that needs nothing else."""
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>Examples</title><style>{WORD_STYLE}',
        "body{font-family:system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}</style></head><body>",
        "<h1>Scored examples</h1>",
    ]
    for title, document in shown_documents(records):
        marks = f"<p><small>Marked by annotators: {safe(_marked(document))}</small></p>"
        parts += [f'<h2>{safe(title)}</h2><p class="difa-text">{document["html"]}</p>{marks}']
    return "\n".join([*parts, "</body></html>", ""])


def draw_examples(records: Sequence[Record], path: Path) -> None:
    """The examples as a picture, in a typeface of equal widths so that words can be laid out by counting."""
    blocks = [(title, _lay_out(document["words"])) for title, document in shown_documents(records)]
    rows = 2 + sum(max((line for _, _, line in placed), default=0) + 2.6 for _, placed in blocks)
    with figure(_WIDTH, 0.24 * rows + 0.2, path, layout=None) as drawn:
        axes = drawn.add_axes((0.02, 0.0, 0.96, 1.0))
        axes.set(xlim=(0, _LINE + 4), ylim=(rows + 0.4, 0))
        axes.axis("off")
        _draw_legend(axes)
        top = 2.8
        for title, placed in blocks:
            axes.text(0, top, title, fontsize=9, color="#666666", va="center")
            for word, column, line in placed:
                _draw_word(axes, word, column, top + 1.1 + line)
            top += max((line for _, _, line in placed), default=0) + 2.6


def _lay_out(words: Sequence[Record]) -> list[tuple[Record, int, int]]:
    """Column and line of each word."""
    placed, column, line = [], 0, 0
    for word in words:
        if column and column + len(word["text"]) > _LINE:
            column, line = 0, line + 1
        placed.append((word, column, line))
        column += len(word["text"]) + 1
    return placed


def _draw_legend(axes: Any) -> None:
    style = {"fontsize": 9, "color": INK, "va": "center"}
    axes.text(0, 0.9, "p-value among normal words:", **style)
    for at, (colour, step) in enumerate(zip(_SHADES[1:], _STEPS, strict=True)):
        axes.add_patch(_box(28 + 11 * at, 0.5, 2, colour))
        axes.text(30.7 + 11 * at, 0.9, f"≤ {step:g}", **style)
    axes.plot([73, 76], [1.1, 1.1], color="#0072b2", lw=2.2)
    axes.text(77, 0.9, "marked by annotators", **style)


def _box(left: float, top: float, width: float, colour: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((left, top), width, 0.84, color=colour, lw=0, zorder=1)


def _draw_word(axes: Any, word: Record, column: int, line: float) -> None:
    width, colour = len(word["text"]), _SHADES[sum(word["p"] <= step for step in _STEPS)]
    axes.add_patch(_box(column - 0.2, line - 0.42, width + 0.4, colour))
    style = {"fontsize": 9.5, "family": "monospace", "ha": "center", "va": "center", "zorder": 3, "parse_math": False}
    # Each character by itself: the grid of equal widths is ours, not the typeface's.
    for offset, character in enumerate(word["text"]):
        shown = character if character.isprintable() and ord(character) < 0x2E80 else "□"
        axes.text(column + offset + 0.5, line, shown, color="white" if colour == _SHADES[-1] else INK, **style)
    if word["marked"]:
        axes.plot([column, column + width], [line + 0.46] * 2, color="#0072b2", lw=2.2, solid_capstyle="butt", zorder=2)
