"""Records -> pictures, as PNG and SVG: the comparison, and the paper's analyses.

Colours can be told apart by colour-blind readers and each line or point carries its own name, so that no legend is needed.
The same records give the same files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from difa.bench.methods import DIFA, label_of, own_rule
from difa.bench.metrics import Record, Records
from difa.bench.tables import LEVELS, PUBLISHED_SEED, grouped, methods_of, of_split, pick, seeds_of, sets_of
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
    axes_of = (("score_ms", "scoring 1,000 words, ms"), ("fit_seconds", "fitting, s"), ("peak_mib", "peak memory, MiB"))
    sets = grouped(records, "set", "form")
    with figure(13.5, 4.3 * len(sets), path) as drawn:
        grid = drawn.subplots(len(sets), 3, squeeze=False)
        for row, ((name, form), mine) in zip(grid, sets.items(), strict=True):
            costs = {method: _drawable(cost_of(own)) for (method,), own in grouped(mine, "method").items()}
            for axes, (key, label) in zip(row, axes_of, strict=True):
                _scatter(axes, {m: (cost[key], cost["word"]) for m, cost in costs.items()})
                axes.set(xlabel=label, ylabel="word AUROC", title=f"{name.capitalize()}, {form} form")
            drawn.canvas.draw()
            for axes in row:
                _name_points(axes, drawn)


def _drawable(cost: Mapping[str, float]) -> dict[str, float]:
    scoring = 1e6 * cost["score_seconds"] / cost["test_words"]
    return {**cost, "score_ms": scoring, "fit_seconds": max(cost["fit_seconds"], 1e-3)}  # less would stretch the axis


def cost_of(records: Records) -> dict[str, float]:
    """Means over seeds of what a method costs on a set, and of what it gives for it."""
    keys = ("encode_seconds", "fit_seconds", "score_seconds", "peak_mib", "test_words")
    costs = {key: sum(record[key] for record in records) / len(records) for key in keys}
    for level, rule in (("word", None), ("document", own_rule(records[0]["method"]))):
        costs[level] = sum((pick(record, level, rule) or {})["auroc"] for record in records) / len(records)
    return costs


def _scatter(axes: Any, points: dict[str, tuple[float, float]]) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_xscale("log")
    wide = max(x for x, _ in points.values()) > 100 * min(x for x, _ in points.values())
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0,) if wide else (1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, position: f"{value:,g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(True, zorder=0)
    ordered = sorted(points.values(), key=lambda point: (point[0], -point[1]))
    frontier = [(x, y) for at, (x, y) in enumerate(ordered) if all(y > better for _, better in ordered[:at])]
    axes.plot(*zip(*frontier, strict=True), color="#c8c8c8", linewidth=1.5, drawstyle="steps-post", zorder=1)
    for method, (x, y) in points.items():
        strong = method in COLOURS
        axes.scatter([x], [y], s=70 if strong else 36, color=colour_of(method), zorder=3, gid=label_of(method))
    axes.margins(x=0.32, y=0.12)


_PLACES = [(side * 7, height) for height in (-3, 5, -11, 13, -19, 21, -27, 29, -35) for side in (1, -1)]
"""Where a name may stand, in points from its dot: beside it first, then ever higher and lower."""


def _name_points(axes: Any, drawn: Any) -> None:
    """Write each point's name beside it, at the first place where it lies on no other name or point."""
    from matplotlib.patheffects import withStroke
    from matplotlib.transforms import Bbox

    renderer = drawn.canvas.get_renderer()
    dots = sorted(axes.collections, key=lambda item: -item.get_offsets()[0][1])
    centres = [axes.transData.transform(item.get_offsets()[0]) for item in dots]
    taken = [Bbox.from_bounds(x - 5, y - 5, 10, 10) for x, y in centres]
    frame = axes.get_window_extent(renderer)
    for item in dots:
        strong = item.get_sizes()[0] > 50
        style = {"color": item.get_facecolor()[0] if strong else "#666666", "fontweight": "bold" if strong else "normal"}
        for place in _PLACES:
            text = axes.annotate(item.get_gid(), item.get_offsets()[0], place, textcoords="offset points", fontsize=8.5, zorder=4)
            text.set(ha="left" if place[0] > 0 else "right", path_effects=[withStroke(linewidth=3, foreground="white")], **style)
            box = text.get_window_extent(renderer)
            inside = frame.x0 < box.x0 and box.x1 < frame.x1 + 10
            if (inside and not any(box.overlaps(other) for other in taken)) or place == _PLACES[-1]:
                taken.append(box)
                break
            text.remove()


def draw_contamination(records: Records, path: Path) -> None:
    """Document AUROC as more of the training data is spoilt: a panel for each form and way."""
    titles = {"noise": "noise on training word vectors", "anomalies": "real anomalies in training"}
    panels = {
        f"{form.capitalize()} form: {titles[kind]}": [
            (r["method"], 100 * r["settings"]["share"], r["figures"][0]["auroc"]) for r in mine
        ]
        for (form, kind), mine in grouped(records, "form", "kind").items()
    }
    _panels_of_lines(panels, "share spoilt, %", path)


def draw_sparsity(records: Records, path: Path) -> None:
    """Document AUROC by the number of anomalous words in an anomalous document: a panel for each form."""
    panels = {
        f"{form.capitalize()} form": [(r["method"], float(each["part"]), each["auroc"]) for r in mine for each in r["figures"]]
        for (form,), mine in grouped(records, "form").items()
    }
    _panels_of_lines(panels, "anomalous words per document", path)


def _panels_of_lines(panels: dict[str, list[tuple[str, float, float]]], label: str, path: Path) -> None:
    with figure(5.6 * len(panels), 4, path) as drawn:
        row = drawn.subplots(1, len(panels), squeeze=False, sharey=True)[0]
        for axes, (title, points) in zip(row, panels.items(), strict=True):
            _lines(axes, points)
            axes.set(title=title, xlabel=label, ylabel="document AUROC" if axes is row[0] else "")


def _lines(axes: Any, points: Sequence[tuple[str, float, float]]) -> None:
    """A line per method with its name at the right end; a band where there are several seeds."""
    axes.grid(True, axis="y")
    ends = []
    for method in dict.fromkeys(name for name, _, _ in points):
        xs = sorted({x for name, x, _ in points if name == method})
        values = [[y for name, at, y in points if name == method and at == x] for x in xs]
        means = [float(np.mean(each)) for each in values]
        axes.plot(xs, means, color=colour_of(method), linewidth=2.2, marker="o", markersize=5, zorder=3)
        if max(map(len, values)) > 1:
            axes.fill_between(xs, [min(v) for v in values], [max(v) for v in values], color=colour_of(method), alpha=0.15, lw=0)
        ends.append((means[-1], xs[-1], method))
    for place, (_, x, method) in zip(_apart([y for y, _, _ in sorted(ends)], *axes.get_ylim()), sorted(ends), strict=True):
        label = axes.annotate(label_of(method), (x, place), (9, 0), textcoords="offset points", va="center", fontsize=9.5)
        label.set(color=colour_of(method), fontweight="bold", annotation_clip=False)
    axes.margins(x=0.04)
    axes.set_xticks(sorted({x for _, x, _ in points}))
    left, right = axes.get_xlim()
    axes.set_xlim(left, right + 0.3 * (right - left))


def _apart(heights: Sequence[float], low: float, high: float) -> list[float]:
    """Rising heights, moved apart where names would lie on each other, and down again where they would leave the picture."""
    gap = 0.065 * (high - low)
    places: list[float] = []
    for height in heights:
        places.append(max(height, places[-1] + gap) if places else height)
    for at in range(len(places) - 1, -1, -1):
        places[at] = min(places[at], high - gap * (len(places) - 1 - at))
    return places


_METRICS = {"auroc": ("AUROC", "o", 0.14), "ap": ("average precision", "D", -0.14)}
"""What is drawn: its name, its mark, and how far above its line it stands."""


def draw_table(records: Records, path: Path) -> None:
    """A picture `<path>-<form>` for each form."""
    shown = [record for record in of_split(records) if record["figures"] and not record["settings"]]
    for (form,), mine in grouped(shown, "form").items():
        _draw_form(most_telling(mine), path.with_name(f"{path.name}-{form}"))


def most_telling(records: Records) -> list[Record]:
    """Records of the published split or of the others, whichever have more methods; of the others where they have as many."""
    single = [record for record in records if record["seed"] == PUBLISHED_SEED]
    several = [record for record in records if record["seed"] != PUBLISHED_SEED]
    return max(several, single, key=lambda part: len(methods_of(part)))


def _draw_form(records: Records, path: Path) -> None:
    names, sets = methods_of(records)[::-1], sets_of(records)
    labels = max(2.2, 0.085 * max(len(label_of(name)) for name in names))  # inches
    with figure(labels + 3.1 * len(sets), 1.6 + 0.52 * len(names), path) as drawn:
        grid = drawn.subplots(2, len(sets), squeeze=False, sharex=True, sharey=True)
        for row, level in zip(grid, LEVELS, strict=True):
            for axes, name in zip(row, sets, strict=True):
                mine = [record for record in records if record["set"] == name]
                _panel(axes, mine, level, names)
                axes.set_title(f"{name.capitalize()}, {level}s")
        _name_lines(grid, names)
        drawn.suptitle(f"{records[0]['form'].capitalize()} form, {_spread_of(records)}", x=0.01, ha="left", color=INK)
        drawn.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower right", ncols=2, frameon=False)


def _panel(axes: Any, records: Records, level: str, names: Sequence[str]) -> None:
    axes.grid(True, axis="x", zorder=0)
    for row, name in enumerate(names):
        mine = [record for record in records if record["method"] == name]
        rule = own_rule(name) if level == "document" else None
        figures = [found for record in mine if (found := pick(record, level, rule))]
        if not figures:
            continue
        for metric, (_, mark, lift) in _METRICS.items():
            middle, low, high = spread(figures, metric)
            colour = colour_of(name)
            axes.plot([low, high], [row + lift] * 2, color=colour, linewidth=1.6, zorder=2, solid_capstyle="round")
            face = colour if metric == "auroc" else "white"
            axes.plot([middle], [row + lift], mark, color=colour, markerfacecolor=face, markersize=5, zorder=3)
    for label, mark, _ in _METRICS.values():
        axes.plot([], [], mark, color=FAINT, markerfacecolor=FAINT if mark == "o" else "white", markersize=5, label=label)
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.6, len(names) - 0.4), xticks=(0, 0.25, 0.5, 0.75, 1))
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_tick_params(labelbottom=True)


def spread(figures: Records, metric: str) -> tuple[float, float, float]:
    """Mean of a figure over splits with one standard deviation to either side; of one split, its bootstrap interval."""
    values = [figure[metric] for figure in figures]
    middle = float(np.mean(values))
    if len(values) > 1:
        width = float(np.std(values, ddof=1))
        return middle, middle - width, middle + width
    low, high = figures[0].get(f"{metric}_interval") or (middle, middle)
    return middle, low, high


def _name_lines(grid: Any, names: Sequence[str]) -> None:
    for axes in grid[:, 0]:
        axes.set_yticks(range(len(names)), [label_of(name) for name in names])
        for text, name in zip(axes.get_yticklabels(), names, strict=True):
            strong = name in DIFA
            text.set(color=colour_of(name) if strong else INK, fontweight="bold" if strong else "normal")


def _spread_of(records: Records) -> str:
    several = len({record["seed"] for record in records}) > 1
    return f"{seeds_of(records)}: {'mean ± sd' if several else '95 % bootstrap intervals'}"


_LINE = 92  # characters of a line in the picture of examples
_WIDTH = 8.4  # its inches: so that a character of its grid is as wide as one of the typeface
_SHADES = ("#ffffff", "#fde3c8", "#fdb97d", "#f58536", "#d94801")
_STEPS = (0.05, 0.02, 0.005, 0.001)  # p-values at which the colour deepens


def example_titles(records: Records) -> list[tuple[str, Record]]:
    """All documents of the records of examples, each with its title."""
    return [
        (f"{record['set'].capitalize()} ({record['form']}), {document['why']}: {document['verdict']}", document)
        for record in records
        for document in record["documents"]
    ]


def draw_examples(records: Records, path: Path) -> None:
    """The examples as a picture, in a typeface of equal widths so that words can be laid out by counting."""
    blocks = [(title, _lay_out(document["words"])) for title, document in example_titles(records)]
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


def _lay_out(words: Records) -> list[tuple[Record, int, int]]:
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
