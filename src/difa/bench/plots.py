"""Records -> pictures, as PNG and SVG: the comparison, the paper's three analyses, and what a feed teaches.

Colours can be told apart by colour-blind readers and each line or point carries its own name, so that no legend is needed.
The same records give the same files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from difa.bench.methods import DIFA, label_of
from difa.bench.metrics import RATE
from difa.bench.store import Record
from difa.bench.tables import PUBLISHED_SEED, grouped, methods_of, of_split, own_rule, pick, seeds_of, sets_of, title_of, unique
from difa.bench.tables_feed import VARIANTS, Read, flagged, mean_of, part_of, set_names
from difa.bench.tables_feed import figure as read_figure
from difa.bench.tables_studies import cost_of
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


def draw_efficiency(records: Sequence[Record], path: Path) -> None:
    """Word AUROC against time to score, time to fit and memory; the line joins what nothing else beats in both."""
    axes_of = (("score_ms", "scoring 1,000 words, ms"), ("fit_seconds", "fitting, s"), ("peak_mib", "peak memory, MiB"))
    sets = grouped(records, "set", "form")
    with figure(13.5, 4.3 * len(sets), path) as drawn:
        grid = drawn.subplots(len(sets), 3, squeeze=False)
        for row, ((name, form), mine) in zip(grid, sets.items(), strict=True):
            costs = {method: _cost(own) for (method,), own in grouped(mine, "method").items()}
            for axes, (key, label) in zip(row, axes_of, strict=True):
                _scatter(axes, {m: (cost[key], cost["word"]) for m, cost in costs.items()})
                axes.set(xlabel=label, ylabel="word AUROC", title=f"{name.capitalize()}, {form} form")
            drawn.canvas.draw()
            for axes in row:
                _name_points(axes, drawn)


def _cost(records: Sequence[Record]) -> dict[str, float]:
    cost = cost_of(records)
    quickest = 1e-3  # what takes less is as good as nothing, and would stretch the axis
    scoring = 1e6 * cost["score_seconds"] / cost["test_words"]
    return cost | {"score_ms": scoring, "fit_seconds": max(cost["fit_seconds"], quickest)}


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


def draw_contamination(records: Sequence[Record], path: Path) -> None:
    """Document AUROC as more of the training data is spoilt: a panel for each form and way."""
    titles = {"noise": "noise on training word vectors", "anomalies": "real anomalies in training"}
    panels = {
        f"{form.capitalize()} form: {titles[kind]}": [
            (r["method"], 100 * r["settings"]["share"], r["figures"][0]["auroc"]) for r in mine
        ]
        for (form, kind), mine in grouped(records, "form", "kind").items()
    }
    _panels_of_lines(panels, "share spoilt, %", path)


def draw_sparsity(records: Sequence[Record], path: Path) -> None:
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


def draw_table(records: Sequence[Record], path: Path) -> None:
    """A picture `<path>-<form>` for each form."""
    shown = [record for record in of_split(records) if record["figures"] and not record["settings"]]
    for (form,), mine in grouped(shown, "form").items():
        _draw_form(most_telling(mine), path.with_name(f"{path.name}-{form}"))


def most_telling(records: Sequence[Record]) -> list[Record]:
    """Records of the published split or of the others, whichever have more methods; of the others where they have as many."""
    single = [record for record in records if record["seed"] == PUBLISHED_SEED]
    several = [record for record in records if record["seed"] != PUBLISHED_SEED]
    return max(several, single, key=lambda part: len(methods_of(part)))


def _draw_form(records: Sequence[Record], path: Path) -> None:
    names, sets = methods_of(records)[::-1], sets_of(records)
    labels = max(2.2, 0.085 * max(len(title_of(name)) for name in names))  # inches
    with figure(labels + 3.1 * len(sets), 1.6 + 0.52 * len(names), path) as drawn:
        grid = drawn.subplots(2, len(sets), squeeze=False, sharex=True, sharey=True)
        for row, level in zip(grid, ("word", "document"), strict=True):
            for axes, name in zip(row, sets, strict=True):
                mine = [record for record in records if record["set"] == name]
                _panel(axes, mine, level, names)
                axes.set_title(f"{name.capitalize()}, {level}s")
        _name_lines(grid, names)
        drawn.suptitle(f"{records[0]['form'].capitalize()} form, {_spread_of(records)}", x=0.01, ha="left", color=INK)
        drawn.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower right", ncols=2, frameon=False)


def _panel(axes: Any, records: Sequence[Record], level: str, names: Sequence[str]) -> None:
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


def spread(figures: Sequence[Record], metric: str) -> tuple[float, float, float]:
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
        axes.set_yticks(range(len(names)), [title_of(name) for name in names])
        for text, name in zip(axes.get_yticklabels(), names, strict=True):
            strong = name in DIFA
            text.set(color=colour_of(name) if strong else INK, fontweight="bold" if strong else "normal")


def _spread_of(records: Sequence[Record]) -> str:
    several = len({record["seed"] for record in records}) > 1
    return f"{seeds_of(records)}: {'mean ± sd' if several else '95 % bootstrap intervals'}"


_VARIANT_COLOURS = {"without": FAINT, "earlier": "#56b4e9", "documents": "#009e73", "words": "#0072b2"}
"""Of all variants but the feed, which has the colour of its preset."""
_DASHED = (0, (4, 2))


def draw_feed(records: Sequence[Record], path: Path) -> None:
    """The three questions side by side."""
    names = methods_of(records)
    with figure(16, 4.6 * len(names), path) as drawn:
        for row, name in zip(drawn.subplots(len(names), 3, squeeze=False), names, strict=True):
            mine = [record for record in records if record["method"] == name]
            _draw_shares(row[0], part_of(mine, "share"))
            _draw_later(row[1], part_of(mine, "later"))
            _draw_verdicts(row[2], part_of(mine, "verdicts"))
            titles = ("anomalies in the feed", "an earlier feed for later text", "reviewed documents")
            for axes, title in zip(row, titles, strict=True):
                axes.set_title(f"{label_of(name)}: {title}")


def _draw_shares(axes: Any, records: Sequence[Record]) -> None:
    for variant, label in VARIANTS["share"].items():
        for kind, said, style in (("anomalous", "anomalous documents", "-"), ("normal", "normal documents", _DASHED)):
            points = _points(records, "share", flagged(kind, variant))
            axes.plot(
                [100 * share for share, _ in points],
                [value for _, value in points],
                color=_colour(variant, records),
                linestyle=style,
                marker="o",
                markersize=4,
                label=f"{said}, {label}",
            )
    axes.axhline(RATE, color=FAINT, linewidth=0.8, linestyle=":")
    shares = sorted(unique(record["settings"]["share"] for record in records))
    axes.set_xscale("symlog", linthresh=1)
    axes.set_xticks([100 * share for share in shares], [_tick(records, share) for share in shares])
    axes.minorticks_off()
    _finish(axes, "anomalous documents in the feed, % (sets, where not all have so many)", f"share flagged at {RATE:g}")


def _tick(records: Sequence[Record], share: float) -> str:
    having = set_names([record for record in records if record["settings"]["share"] == share])
    return f"{100 * share:g}" + (f"\n({len(having)})" if len(having) < len(set_names(records)) else "")


def _draw_later(axes: Any, records: Sequence[Record]) -> None:
    levels = ("word", "document")
    for at, (variant, label) in enumerate(VARIANTS["later"].items()):
        heights = [mean_of(records, read_figure(level, "ap", variant)) or 0.0 for level in levels]
        places = [place + 0.27 * (at - 1) for place in range(len(levels))]
        bars = axes.bar(places, heights, width=0.25, color=_colour(variant, records), label=label)
        axes.bar_label(bars, fmt="%.3f", fontsize=8.5)
    axes.set_xticks(range(len(levels)), [f"{level}s" for level in levels])
    _finish(axes, "", "average precision")


def _draw_verdicts(axes: Any, records: Sequence[Record]) -> None:
    for level, style in (("document", "-"), ("word", _DASHED)):
        for variant, label in VARIANTS["verdicts"].items():
            points = _points(records, "reviewed", read_figure(level, "ap", variant))
            xs, ys = [count for count, _ in points], [value for _, value in points]
            colour = _colour(variant, records)
            axes.plot(xs, ys, color=colour, linestyle=style, marker="o", markersize=4, label=f"{level}s, {label}")
    axes.set_xticks(sorted(unique(record["settings"]["reviewed"] for record in records)))
    _finish(axes, "reviewed documents; figures of the others", "average precision")


def _points(records: Sequence[Record], key: str, read: Read) -> list[tuple[float, float]]:
    """Averages by the value of a setting, where there are any."""
    values = sorted(unique(record["settings"][key] for record in records))
    means = [(value, mean_of([record for record in records if record["settings"][key] == value], read)) for value in values]
    return [(value, mean) for value, mean in means if mean is not None]


def _colour(variant: str, records: Sequence[Record]) -> str:
    return _VARIANT_COLOURS.get(variant) or colour_of(records[0]["method"])


def _finish(axes: Any, x: str, y: str) -> None:
    axes.grid(True, axis="y", zorder=0)
    axes.set_axisbelow(True)
    axes.set_ylim(0, None)
    axes.set(xlabel=x, ylabel=y)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), fontsize=8.5, frameon=False, ncols=1 if not x else 2)
