"""Draw the pictures of docs/concepts.md from a model of the example corpus and its test messages.

    python tools/concept_pictures.py MODEL      (`make pictures` takes the model of `make demo`)

Every number in the pictures is computed here, by the model, from `examples/support/test.jsonl`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from difa import DiFA
from difa.detector import raw_evidence
from difa.document import Document, Result
from difa.formats import read_documents

ROOT = Path(__file__).parent.parent
SUPPORT = ROOT / "examples" / "support"
IMAGES = ROOT / "docs" / "images"
ACCENT, CALM, INK, BLUE = "#d9480f", "#c3cad6", "#344054", "#3b5bdb"
GROUND = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1}
RATE = 0.05
FOLDS = 5
EXCERPTS = {"delivrey": (-3, 4), "when when": (-2, 5), "idiots": (-3, 4)}
"""What to look for in a message, and how many words before and after its first word are shown."""
MARKED = ("The driver was polite", "My parcel was banana", "I'd like to know if the the", "Could you tell me when my refnud")
"""Beginnings of the messages that are marked in the picture of p-values."""


def views_picture(results: list[Result]) -> Figure:
    """Evidence of every view for the words of three messages, and the score that they give together."""
    figure = Figure(figsize=(9.6, 3.5), layout="constrained")
    panels = figure.subplots(1, len(EXCERPTS))
    names = [*results[0].words[0].evidence]
    for axes, (wanted, (before, after)) in zip(panels, EXCERPTS.items(), strict=True):
        result = next(result for result in results if wanted in result.text)
        at = next(t for t, word in enumerate(result.words) if word.start == result.text.index(wanted))
        words = result.words[max(0, at + before) : at + after]
        table = np.array([[*(word.evidence[name] for name in names), word.score] for word in words]).T
        axes.imshow(table, cmap="Oranges", vmin=0, vmax=7, aspect="auto")
        for (row, column), value in np.ndenumerate(table):
            axes.text(column, row, f"{value:.1f}", ha="center", va="center", fontsize=7, color="white" if value > 5 else INK)
        axes.axhline(len(names) - 0.5, color="white", linewidth=4)
        for column, word in enumerate(words):
            if word.is_anomaly:
                axes.add_patch(Rectangle((column - 0.5, len(names) - 0.5), 1, 1, fill=False, edgecolor=INK, linewidth=2))
        axes.set_xticks(range(len(words)), [word.text for word in words], rotation=40, ha="right", fontsize=9)
        axes.set_yticks(range(len(names) + 1), [*names, "word score"] if axes is panels[0] else [""] * (len(names) + 1))
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    return figure


def evidence_picture(model: DiFA, documents: list[Document]) -> Figure:
    """Where one word lies among the normal words of one view, and the evidence that follows."""
    fitted = model.detector_
    document = next(document for document in documents if "delivrey" in document.text)
    names = [view.name for view in fitted.views]
    raw = raw_evidence(fitted.views, fitted.encoder.encode([document]))
    at = next(t for t, word in enumerate(document.words) if word.text == "delivrey")
    figure = Figure(figsize=(9.6, 2.8), layout="constrained")
    for axes, name in zip(figure.subplots(1, 2), ("language", "form"), strict=True):
        reference, value = fitted.references[names.index(name)], float(raw[at, names.index(name)])
        _, edges, bars = axes.hist(reference.values, bins=60, color=CALM)
        for bar, edge in zip(bars, edges, strict=False):
            bar.set_color(ACCENT if edge >= value else CALM)
        p_value = float(reference.p_values(np.array([value]))[0])
        axes.axvline(value, color=ACCENT, linewidth=1.5)
        note = f"delivrey: {value:.1f}\nrarer than all but {_share(p_value)}\nevidence −log p = {-np.log(p_value):.1f}"
        axes.text(0.99, 0.97, note, transform=axes.transAxes, va="top", ha="right", color=ACCENT)
        axes.set_title(f"{name} view: {len(reference.values):,} normal words", loc="left", fontsize=10, color=INK)
        axes.set_xlabel("raw evidence")
        axes.set_yticks([])
        axes.set_xlim(right=reference.values[-1] * (1.45 if name == "language" else 1))
        _open(axes)
    return figure


def p_value_picture(model: DiFA, results: list[Result]) -> Figure:
    """Scores of normal documents, where two rates cut them off, and where four messages lie."""
    reference = model.detector_.document_reference
    figure = Figure(figsize=(9.6, 3.2), layout="constrained")
    axes = figure.subplots()
    counts, *_ = axes.hist(reference.values, bins=45, color=CALM)
    top = max(counts)
    for rate in (0.05, 0.01):
        limit = reference.threshold(rate)
        axes.axvline(limit, color=BLUE, linestyle="--", linewidth=1.2)
        axes.text(limit, top * 1.08, f"fpr {rate:g}", ha="center", color=BLUE, fontsize=9)
    marked = [next(result for result in results if result.text.startswith(begins)) for begins in MARKED]
    for row, result in enumerate(marked):
        height = top * (0.8 - 0.17 * row)
        axes.plot(result.score, height, "o", color=ACCENT if result.is_anomaly else INK)
        text = f"“{' '.join(result.text.split()[:7])}…”  p = {result.p_value:.2g}"
        axes.annotate(text, (result.score, height), xytext=(8, -3), textcoords="offset points", fontsize=8.5, bbox=GROUND)
    axes.set_xlim(0, max(reference.values[-1], *(result.score for result in marked)) * 1.45)
    axes.set_xlabel(f"document score; grey: {len(reference.values)} normal documents, each scored as if it were new")
    axes.set_yticks([])
    _open(axes)
    return figure


def rate_picture(texts: list[str], messages: list[Document]) -> Figure:
    """What is asked for and what comes: the share of new normal and of anomalous texts flagged at each rate.

    Normal texts are those of the example corpus, each scored by a fast model that was fitted on four fifths of the others.
    """
    normal: list[float] = []
    odd: list[float] = []
    for fold in range(FOLDS):
        model = DiFA("fast", fpr=RATE).fit([text for number, text in enumerate(texts) if number % FOLDS != fold])
        normal += [result.p_value for result in model.score(texts[fold::FOLDS])]
        odd += [result.p_value for result in model.score(messages)]
    figure = Figure(figsize=(6.4, 3.4), layout="constrained")
    axes = figure.subplots()
    rates = np.linspace(0.003, 0.3, 400)
    labels = (f"{len(messages)} anomalous messages, mean of {FOLDS} fits", f"{len(normal)} normal messages, not fitted on")
    for label, colour, p_values in zip(labels, (ACCENT, INK), (np.array(odd), np.array(normal)), strict=True):
        axes.plot(rates, [(p_values <= rate).mean() for rate in rates], color=colour, label=label)
    axes.plot(rates, rates, "--", color=BLUE, label="what is asked for")
    axes.set_xlabel("false-alarm rate that is asked for (fpr)")
    axes.set_ylabel("share flagged")
    axes.set_ylim(0, 1)
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(0.25, 1.02))
    _open(axes)
    return figure


def word_and_document_picture(results: list[Result], anomalous: list[bool]) -> Figure:
    """Each message by the p-value of its rarest word and its own: a word's flag is not the document's."""
    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    axes = figure.subplots()
    for label, colour, wanted in (("anomalous", ACCENT, True), ("normal", INK, False)):
        mine = [result for result, is_odd in zip(results, anomalous, strict=True) if is_odd is wanted]
        rarest = [min(word.p_value for word in result.words) for result in mine]
        axes.loglog(rarest, [result.p_value for result in mine], "o", color=colour, alpha=0.75, label=f"{label} message")
    axes.axvline(RATE, color=BLUE, linestyle="--", linewidth=1)
    axes.axhline(RATE, color=BLUE, linestyle="--", linewidth=1)
    axes.set_ylim(bottom=1e-3)
    notes = {
        (0.02, 0.96): "a word is flagged,\nnot the document",
        (0.02, 0.08): "both are flagged",
        (0.985, 0.68): "neither is flagged",
    }
    notes[0.985, 0.5] = "the document is flagged,\nno single word"
    for (x, y), note in notes.items():
        axes.text(x, y, note, transform=axes.transAxes, va="top", ha="left" if x < 0.5 else "right", color=BLUE, fontsize=9)
    axes.set_xlabel("p-value of the message's rarest word")
    axes.set_ylabel("p-value of the message")
    axes.legend(fontsize=9, loc="lower right", edgecolor="white", framealpha=1)
    _open(axes)
    return figure


def _share(p_value: float) -> str:
    return f"1 in {1 / p_value:,.0f}"


def _open(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)


def main(folder: str) -> None:
    """Draw all pictures."""
    matplotlib.rcParams.update({"svg.hashsalt": "difa", "font.size": 10, "text.color": INK, "axes.edgecolor": CALM})
    model = DiFA.load(folder)
    documents = list(read_documents([str(SUPPORT / "test.jsonl")]))
    texts = (SUPPORT / "normal.txt").read_text(encoding="utf-8").splitlines()
    results = model.score(documents, fpr=RATE)
    anomalous = [any(document.labels or ()) for document in documents]
    pictures = {
        "views": views_picture(results),
        "evidence": evidence_picture(model, documents),
        "p-values": p_value_picture(model, results),
        "rate": rate_picture(texts, [document for document, is_odd in zip(documents, anomalous, strict=True) if is_odd]),
        "word-and-document": word_and_document_picture(results, anomalous),
    }
    for name, figure in pictures.items():
        figure.savefig(IMAGES / f"concept-{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main(sys.argv[1])
