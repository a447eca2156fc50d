"""`difa bench examples`: scored documents with their words coloured, as HTML and as a picture.

Per set the example of the paper, where the test half has it, and a few anomalous documents drawn by chance: not the best
ones. Colour is the word's p-value among normal words; a line under a word is the annotator's mark.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from difa.bench.data import DataSet
from difa.bench.methods import RATE, label_of, quiet_rates
from difa.bench.plots import INK, figure
from difa.bench.run import Run, write_text
from difa.bench.split import Split, is_anomalous, split
from difa.document import Document, Result, WordScore

PAPER = {"grammar": ("social", "issues"), "review": ("Tastless",), "spam": ("oeidjhksiwewiwj",)}
"""Words by which the examples of the paper's figure are found."""
_MOST_WORDS = 60  # longer documents fill a page without showing more
_LINE = 92  # characters of a line in the picture
_WIDTH = 8.4  # inches: so that a character of the picture's grid is as wide as one of the typeface
_SHADES = ("#ffffff", "#fde3c8", "#fdb97d", "#f58536", "#d94801")
_STEPS = (0.05, 0.02, 0.005, 0.001)  # p-values at which the colour deepens


@dataclass(frozen=True)
class ShownDocument:
    """A scored document, its labels, and where it comes from."""

    origin: str
    result: Result
    labels: tuple[int, ...]


def run_examples(run: Run, preset: str = "full", count: int = 3) -> list[ShownDocument]:
    """Fit on each set, and write `examples.html` and the picture."""
    examples = []
    for number, dataset in enumerate(run.sets):
        run.progress(f"examples {dataset.name} {dataset.form}", number, len(run.sets))
        examples += _examples(run, dataset, preset, count)
        run.bench.forget()
    run.progress("done", len(run.sets), len(run.sets))
    title = f"{label_of(f'difa-{preset}')}, seed {run.options.seeds[0]}"
    write_text(run.store.folder / "examples.html", page(examples, title))
    draw_examples(examples, run.store.folder / "examples")
    return examples


def _examples(run: Run, dataset: DataSet, preset: str, count: int) -> list[ShownDocument]:
    seed = run.options.seeds[0]
    halves = split(dataset.documents, seed)
    chosen = choose(dataset.name, halves, count, seed)
    with quiet_rates():
        model = run.bench.difa(preset, seed).fit(halves.training)
        results = model.score([document for _, document in chosen], fpr=RATE)
    return [
        ShownDocument(f"{dataset.name.capitalize()} ({dataset.form}), {why}", result, document.labels or ())
        for (why, document), result in zip(chosen, results, strict=True)
    ]


def choose(name: str, halves: Split, count: int, seed: int) -> list[tuple[str, Document]]:
    """The paper's example, if it is there, and some drawn by chance."""
    anomalous = [document for document in halves.test if is_anomalous(document) and len(document.words) <= _MOST_WORDS]
    wanted = PAPER.get(name, ())
    known = [d for d in anomalous if wanted and {w.text.lower() for w in d.words} >= {word.lower() for word in wanted}][:1]
    others = [document for document in anomalous if document not in known]
    drawn = np.random.default_rng(seed).permutation(len(others))[:count]
    return [*(("the paper's example", d) for d in known), *(("drawn by chance", others[index]) for index in sorted(drawn))]


def shade(word: WordScore) -> str:
    """The colour behind a word."""
    return _SHADES[sum(word.p_value <= step for step in _STEPS)]


def page(examples: Sequence[ShownDocument], title: str) -> str:
    """The examples as one HTML file that needs nothing else."""
    scale = " ".join(
        f'<span class="w" style="background:{colour}">{label}</span>'
        for colour, label in zip(_SHADES[1:], (f"p ≤ {step:g}" for step in _STEPS), strict=True)
    )
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8"><title>Examples</title>',
        "<style>body{font:16px/1.9 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem;color:#222}",
        "h2{font-size:.85rem;color:#666;margin:1.6rem 0 .2rem;font-weight:600}",
        ".w{border-radius:4px;padding:.1em .2em}.m{border-bottom:3px solid #0072b2}</style></head><body>",
        f"<h1>Scored examples</h1><p>{html.escape(title)}. Behind a word its p-value among normal words: {scale}; "
        'under it the <span class="m">annotator’s mark</span>.</p>',
    ]
    for example in examples:
        parts += [f"<h2>{html.escape(example.origin)}: {_verdict(example.result)}</h2>", f"<p>{_marked(example)}</p>"]
    return "\n".join([*parts, "</body></html>", ""])


def _verdict(result: Result) -> str:
    return f"document p = {result.p_value:.2g}" + (", flagged" if result.is_anomaly else "")


def _marked(example: ShownDocument) -> str:
    """The text with a span around each word that has a colour or a mark."""
    parts, position, text = [], 0, example.result.text
    for word, label in zip(example.result.words, example.labels, strict=True):
        parts.append(html.escape(text[position : word.start]))
        position = word.end
        inner, colour = html.escape(text[word.start : word.end]), shade(word)
        classes = "w m" if label else "w"
        title = ", ".join(f"{view} {value:.1f}" for view, value in word.evidence.items())
        plain = colour == _SHADES[0] and not label
        parts.append(inner if plain else f'<span class="{classes}" style="background:{colour}" title="{title}">{inner}</span>')
    return "".join([*parts, html.escape(text[position:])])


def draw_examples(examples: Sequence[ShownDocument], path: Path) -> None:
    """The examples as a picture, in a typeface of equal widths so that words can be laid out by counting."""
    blocks = [(example, _lay_out(example.result.words)) for example in examples]
    rows = 2 + sum(max((line for _, _, line in laid_out), default=0) + 2.6 for _, laid_out in blocks)
    with figure(_WIDTH, 0.24 * rows + 0.2, path, layout=None) as drawn:
        axes = drawn.add_axes((0.02, 0.0, 0.96, 1.0))
        axes.set(xlim=(0, _LINE + 4), ylim=(rows + 0.4, 0))
        axes.axis("off")
        _draw_legend(axes)
        top = 2.8
        for example, laid_out in blocks:
            axes.text(0, top, f"{example.origin}: {_verdict(example.result)}", fontsize=9, color="#666666", va="center")
            for (word, column, line), label in zip(laid_out, example.labels, strict=True):
                _draw_word(axes, word, column, top + 1.1 + line, bool(label))
            top += max((line for _, _, line in laid_out), default=0) + 2.6


def _lay_out(words: Sequence[WordScore]) -> list[tuple[WordScore, int, int]]:
    """Column and line of each word."""
    laid_out, column, line = [], 0, 0
    for word in words:
        if column and column + len(word.text) > _LINE:
            column, line = 0, line + 1
        laid_out.append((word, column, line))
        column += len(word.text) + 1
    return laid_out


def _draw_legend(axes: Any) -> None:
    from matplotlib.patches import Rectangle

    axes.text(0, 0.9, "p-value among normal words:", fontsize=9, color=INK, va="center")
    for at, (colour, step) in enumerate(zip(_SHADES[1:], _STEPS, strict=True)):
        axes.add_patch(Rectangle((28 + 11 * at, 0.5), 2, 0.84, color=colour, lw=0))
        axes.text(30.7 + 11 * at, 0.9, f"≤ {step:g}", fontsize=9, color=INK, va="center")
    axes.plot([73, 76], [1.1, 1.1], color="#0072b2", lw=2.2)
    axes.text(77, 0.9, "marked by annotators", fontsize=9, color=INK, va="center")


def _draw_word(axes: Any, word: WordScore, column: int, line: float, marked: bool) -> None:
    from matplotlib.patches import Rectangle

    width, colour = len(word.text), shade(word)
    axes.add_patch(Rectangle((column - 0.2, line - 0.42), width + 0.4, 0.84, color=colour, lw=0, zorder=1))
    dark = colour == _SHADES[-1]
    # Each character by itself: the grid of equal widths is ours, not the typeface's.
    for offset, character in enumerate(word.text):
        shown = character if character.isprintable() and ord(character) < 0x2E80 else "□"
        centre = (column + offset + 0.5, line)
        axes.text(
            *centre,
            shown,
            fontsize=9.5,
            family="monospace",
            color="white" if dark else INK,
            ha="center",
            va="center",
            zorder=3,
            parse_math=False,
        )
    if marked:
        axes.plot([column, column + width], [line + 0.46] * 2, color="#0072b2", lw=2.2, solid_capstyle="butt", zorder=2)
