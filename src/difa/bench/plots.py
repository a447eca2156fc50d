"""Records -> pictures, as PNG and SVG: the comparison, and the paper's analyses.

Colours can be told apart by colour-blind readers. Each point carries its own name, and the names of lines stand in the order of
their ends.
The same records give the same files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from difa.bench.methods import DIFA, label_of
from difa.bench.metrics import Record, Records
from difa.bench.tables import (
    LEVELS,
    Frame,
    by_split,
    costs_of,
    figures_frame,
    final_figures,
    grouped,
    methods_of,
    of_split,
    seeds_of,
    sets_of,
)
from difa.errors import MissingExtraError

INK, FAINT = "#222222", "#9a9a9a"
COLOURS = {
    "difa-full": "#d55e00",
    "difa-fast": "#cc79a7",
    "difa-paper": "#e69f00",
    "difa-full-feed": "#8a3d00",
    "difa-fast-feed": "#8c4a70",
    "tokencore": "#0072b2",
    "iforest": "#009e73",
    "trigram": "#56b4e9",
}
"""Of the palette by Okabe and Ito, darker where DiFA has seen the test text; any other method is grey."""
_STYLE = {
    "font.size": 10,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "grid.color": "#e6e6e6",
    "xtick.color": INK,
    "ytick.color": INK,
    "svg.hashsalt": "difa",
}


@contextmanager
def figure(width: float, height: float, path: Path, layout: Any = "constrained") -> Iterator[Any]:
    """An empty figure that is saved beside `path` as PNG and SVG."""
    try:
        from matplotlib import rc_context
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "bench", "drawing") from None
    with rc_context(_STYLE):
        drawn = Figure(figsize=(width, height), layout=layout)
        FigureCanvasAgg(drawn)  # drawn into memory: no screen, no state shared with anybody's own plots
        yield drawn
        drawn.savefig(path.with_suffix(".png"), dpi=160, metadata={"Software": None})
        drawn.savefig(path.with_suffix(".svg"), metadata={"Date": None})


def colour_of(method: str) -> str:
    """The colour of a method in every picture."""
    return COLOURS.get(method, FAINT)


def draw_efficiency(records: Records, path: Path) -> None:
    """Word AUROC against time to score, time to fit and memory; the line joins what nothing else beats in both."""
    axes_of = {"score_ms": "scoring 1,000 words, ms", "fit_seconds": "fitting, s", "peak_mib": "peak memory, MiB"}
    sets = grouped(records, "set", "form")
    with figure(13.5, 4.3 * len(sets), path) as drawn:
        for row, ((name, form), mine) in zip(drawn.subplots(len(sets), 3, squeeze=False), sets.items(), strict=True):
            costs = costs_of(figures_frame(mine)).assign(score_ms=lambda each: 1e6 * each.score_seconds / each.test_words)
            costs["fit_seconds"] = costs.fit_seconds.clip(lower=1e-3)  # less would stretch the axis
            for axes, (key, label) in zip(row, axes_of.items(), strict=True):
                _scatter(axes, costs.assign(x=costs[key], y=costs.word))
                axes.set(xlabel=label, ylabel="word AUROC", title=f"{name.capitalize()}, {form} form")
            drawn.canvas.draw()
            for axes in row:
                _name_points(axes, drawn.canvas.get_renderer())


def _scatter(axes: Any, points: Frame) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0,) if points.x.max() > 100 * points.x.min() else (1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(True, zorder=0)
    ordered = points.sort_values(["x", "y"], ascending=[True, False])
    frontier = ordered[ordered.y > ordered.y.cummax().shift(fill_value=-1.0)]
    axes.plot(frontier.x, frontier.y, color="#c8c8c8", linewidth=1.5, drawstyle="steps-post", zorder=1)
    for name, point in points.iterrows():
        label = label_of(name).replace(", has seen the unlabelled test text)", ") with feed")  # beside a dot is little room
        axes.scatter([point.x], [point.y], s=70 if name in COLOURS else 36, color=colour_of(name), zorder=3, gid=label)
    axes.margins(x=0.32, y=0.12)


_PLACES = [(side * 7, height) for height in (-3, 5, -11, 13, -19, 21, -27, 29, -35) for side in (1, -1)]
"""Where a name may stand, in points from its dot: beside it first, then ever higher and lower."""


def _name_points(axes: Any, renderer: Any) -> None:
    """Write each point's name beside it, at the first place where it lies on no other name or point."""
    from matplotlib.patheffects import withStroke
    from matplotlib.transforms import Bbox

    dots = sorted(axes.collections, key=lambda item: -item.get_offsets()[0][1])
    centres = [axes.transData.transform(item.get_offsets()[0]) for item in dots]
    taken = [Bbox.from_bounds(x - 5, y - 5, 10, 10) for x, y in centres]
    frame = axes.get_window_extent(renderer)
    for item in dots:
        strong = item.get_sizes()[0] > 50
        text = axes.annotate(item.get_gid(), item.get_offsets()[0], (0, 0), textcoords="offset points", fontsize=8.5, zorder=4)
        text.set(color=item.get_facecolor()[0] if strong else "#666666", fontweight="bold" if strong else "normal")
        text.set_path_effects([withStroke(linewidth=3, foreground="white")])
        for place in _PLACES:
            text.set(position=place, ha="left" if place[0] > 0 else "right")
            box = text.get_window_extent(renderer)
            if frame.x0 < box.x0 and box.x1 < frame.x1 + 10 and not box.count_overlaps(taken):
                break
        taken.append(box)


def draw_contamination(records: Records, path: Path) -> None:
    """Document AUROC as more of the training data is spoilt: a panel for each form and way."""
    titles = {"noise": "noise on training word vectors", "anomalies": "real anomalies in training"}
    frame = figures_frame(records, "kind", "share").assign(x=lambda each: 100 * each.share)
    panels = frame.groupby(["form", "kind"], sort=False)
    _draw_lines({f"{form.capitalize()} form: {titles[kind]}": mine for (form, kind), mine in panels}, "share spoilt, %", path)


def draw_sparsity(records: Records, path: Path) -> None:
    """Document AUROC by the number of anomalous words in an anomalous document: a panel for each form."""
    frame = figures_frame(records).assign(x=lambda each: each.part.astype(float))
    panels = {f"{form.capitalize()} form": mine for form, mine in frame.groupby("form", sort=False)}
    _draw_lines(panels, "anomalous words per document", path)


def _draw_lines(panels: dict[str, Frame], label: str, path: Path) -> None:
    """A line per method, the names beside them in the order of their ends; a band where there are several seeds."""
    with figure(6.4 * len(panels), 4, path) as drawn:
        row = drawn.subplots(1, len(panels), squeeze=False, sharey=True)[0]
        for axes, (title, frame) in zip(row, panels.items(), strict=True):
            values = frame.groupby(["method", "x"]).auroc.agg(["mean", "min", "max"])
            for method in values["mean"].groupby("method").last().sort_values(ascending=False).index:
                line, colour = values.loc[method], colour_of(method)
                axes.plot(line.index, line["mean"], color=colour, lw=2.2, marker="o", ms=5, zorder=3, label=label_of(method))
                axes.fill_between(line.index, line["min"], line["max"], color=colour, alpha=0.15, lw=0)
            axes.set(title=title, xlabel=label, ylabel="document AUROC" if axes is row[0] else "")
            axes.set_xticks(sorted(values.index.unique("x")))
            axes.grid(True, axis="y")
            axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, labelcolor="linecolor", handlelength=1)


_METRICS = {"auroc": ("AUROC", "o", 0.14), "ap": ("average precision", "D", -0.14)}
"""What is drawn: its name, its mark, and how far above its line it stands."""


def draw_table(records: Records, path: Path) -> None:
    """A picture `<path>-<form>` for each form."""
    usual = [record for record in of_split(records) if record["figures"] and not record["settings"]]
    for (form,), mine in grouped(usual, "form").items():
        shown = most_telling(mine)
        _draw_form(final_figures(figures_frame(shown)), shown, path.with_name(f"{path.name}-{form}"))


def most_telling(records: Records) -> list[Record]:
    """Records of the published split or of the others, whichever have more methods; of the others where they have as many."""
    return max(reversed(by_split(records)), key=lambda part: len(methods_of(part)))


def _draw_form(frame: Frame, records: Records, path: Path) -> None:
    names, sets, seeds = methods_of(records)[::-1], sets_of(records), seeds_of(records)
    labels = max(2.2, 0.085 * max(len(label_of(name)) for name in names))  # inches
    with figure(labels + 3.1 * len(sets), 1.6 + 0.52 * len(names), path) as drawn:
        grid = drawn.subplots(2, len(sets), squeeze=False, sharex=True, sharey=True)
        for row, level in zip(grid, LEVELS, strict=True):
            for axes, name in zip(row, sets, strict=True):
                _panel(axes, frame[(frame["set"] == name) & (frame.level == level)], names)
                axes.set_title(f"{name.capitalize()}, {level}s")
            row[0].set_yticks(range(len(names)), [label_of(name) for name in names])
            for text, name in zip(row[0].get_yticklabels(), names, strict=True):
                text.set(color=colour_of(name) if name in DIFA else INK, fontweight="bold" if name in DIFA else "normal")
        said = f"{seeds}: {'mean ± sd' if seeds.startswith('seeds') else '95 % bootstrap intervals'}"
        drawn.suptitle(f"{records[0]['form'].capitalize()} form, {said}", x=0.01, ha="left", color=INK)
        drawn.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower right", ncols=2, frameon=False)


def _panel(axes: Any, frame: Frame, names: Sequence[str]) -> None:
    axes.grid(True, axis="x", zorder=0)
    for label, mark, _ in _METRICS.values():
        axes.plot([], [], mark, color=FAINT, markerfacecolor=FAINT if mark == "o" else "white", markersize=5, label=label)
    for name, mine in frame.groupby("method", sort=False):
        row, colour = names.index(name), colour_of(name)
        for metric, (_, mark, lift) in _METRICS.items():
            middle, low, high = spread(mine, metric)
            axes.plot([low, high], [row + lift] * 2, color=colour, linewidth=1.6, zorder=2, solid_capstyle="round")
            face = colour if metric == "auroc" else "white"
            axes.plot([middle], [row + lift], mark, color=colour, markerfacecolor=face, markersize=5, zorder=3)
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.6, len(names) - 0.4), xticks=(0, 0.25, 0.5, 0.75, 1))
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_tick_params(labelbottom=True)


def spread(figures: Frame, metric: str) -> tuple[float, ...]:
    """Mean of a figure over splits with one standard deviation to either side; of one split, its bootstrap interval."""
    middle = figures[metric].mean()
    if len(figures) > 1:
        return middle, middle - figures[metric].std(), middle + figures[metric].std()
    return middle, *figures[[f"{metric}_low", f"{metric}_high"]].fillna(middle).iloc[0]


_LINE = 92  # characters of a line in the picture of examples
_WIDTH = 7.95  # its inches: so that a character of its grid is as wide as one of the typeface
_SHADES = ("#ffffff", "#fde3c8", "#fdb97d", "#f58536", "#d94801")
_STEPS = (0.05, 0.02, 0.005, 0.001)  # p-values at which the colour deepens
_MARK = {"color": "#0072b2", "lw": 2.2, "zorder": 2, "solid_capstyle": "butt"}


def example_titles(records: Records) -> list[tuple[str, Record]]:
    """All documents of the records of examples, each with its title."""
    return [
        (f"{record['set'].capitalize()} ({record['form']}), {document['why']}: {document['verdict']}", document)
        for record in records
        for document in record["documents"]
    ]


def draw_examples(records: Records, path: Path) -> None:
    """The examples as a picture, in a typeface of equal widths so that words can be laid out by counting."""
    titled = example_titles(records)
    blocks = [_lay_out(document["words"]) for _, document in titled]
    heights = [max((line for _, _, line in placed), default=0) + 2.6 for placed in blocks]
    rows = 2 + sum(heights)
    with figure(_WIDTH, 0.24 * rows + 0.2, path, layout=None) as drawn:
        axes = drawn.add_axes((0.02, 0.0, 0.96, 1.0))
        axes.set(xlim=(0, _LINE + 4), ylim=(rows + 0.4, 0))
        axes.axis("off")
        axes.text(0, 0.9, "p-value among normal words:", fontsize=9, color=INK, va="center")
        for at, step in enumerate(_STEPS):
            _draw_word(axes, {"text": f"≤ {step:g}", "p": step, "marked": False}, 30 + 10 * at, 0.9)
        axes.plot([73, 76], [1.1, 1.1], **_MARK)
        axes.text(77, 0.9, "marked by annotators", fontsize=9, color=INK, va="center")
        for (title, _), placed, top in zip(titled, blocks, np.cumsum([2.8, *heights]), strict=False):
            axes.text(0, top, title, fontsize=9, color="#666666", va="center")
            for word, column, line in placed:
                _draw_word(axes, word, column, top + 1.1 + line)


def _lay_out(words: Records) -> list[tuple[Record, int, int]]:
    """Column and line of each word."""
    placed, column, line = [], 0, 0
    for word in words:
        if column and column + len(word["text"]) > _LINE:
            column, line = 0, line + 1
        placed.append((word, column, line))
        column += len(word["text"]) + 1
    return placed


def _draw_word(axes: Any, word: Record, column: int, line: float) -> None:
    shade = _SHADES[sum(word["p"] <= step for step in _STEPS)]
    shown = "".join(each if each.isprintable() and ord(each) < 0x2E80 else "□" for each in word["text"])
    text = axes.text(column, line, shown, fontsize=9.5, family="monospace", va="center_baseline", zorder=3, parse_math=False)
    text.set(color="white" if shade == _SHADES[-1] else INK, bbox={"facecolor": shade, "lw": 0, "pad": 1.2})
    if word["marked"]:
        axes.plot([column, column + len(shown)], [line + 0.46] * 2, **_MARK)
