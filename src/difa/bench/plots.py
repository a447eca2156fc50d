"""Records -> pictures, as PNG and SVG: the paper's three analyses.

Colours can be told apart by colour-blind readers and each line or point carries its own name, so that no legend is needed.
The same records give the same files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from difa.bench.methods import label_of
from difa.bench.render_studies import cost_of
from difa.bench.store import Record
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
    sets = list(dict.fromkeys((record["set"], record["form"]) for record in records))
    with figure(13.5, 4.3 * len(sets), path) as drawn:
        grid = drawn.subplots(len(sets), 3, squeeze=False)
        for row, (name, form) in zip(grid, sets, strict=True):
            mine = [record for record in records if (record["set"], record["form"]) == (name, form)]
            costs = {m: _cost(mine, m) for m in dict.fromkeys(record["method"] for record in mine)}
            for axes, (key, label) in zip(row, axes_of, strict=True):
                _scatter(axes, {m: (cost[key], cost["word"]) for m, cost in costs.items()})
                axes.set(xlabel=label, ylabel="word AUROC", title=f"{name.capitalize()}, {form} form")
            drawn.canvas.draw()
            for axes in row:
                _name_points(axes, drawn)


def _cost(records: Sequence[Record], method: str) -> dict[str, float]:
    cost = cost_of([record for record in records if record["method"] == method])
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
    """Document AUROC as more of the training data is spoilt, in both ways."""
    titles = {"noise": "Noise on training word vectors", "anomalies": "Real anomalies among training documents"}
    kinds = [kind for kind in titles if any(record["settings"]["kind"] == kind for record in records)]
    with figure(5.6 * len(kinds), 4, path) as drawn:
        for axes, kind in zip(drawn.subplots(1, len(kinds), squeeze=False, sharey=True)[0], kinds, strict=True):
            mine = [record for record in records if record["settings"]["kind"] == kind]
            points = [(r["method"], 100 * r["settings"]["share"], r["figures"][0]["auroc"]) for r in mine]
            _lines(axes, points)
            axes.set(title=titles[kind], xlabel="share spoilt, %", ylabel="document AUROC" if kind == kinds[0] else "")


def draw_sparsity(records: Sequence[Record], path: Path) -> None:
    """Document AUROC by the number of anomalous words in an anomalous document."""
    points = [(r["method"], float(figure["part"]), figure["auroc"]) for r in records for figure in r["figures"]]
    with figure(6, 4, path) as drawn:
        axes = drawn.subplots()
        _lines(axes, points)
        axes.set(title="So many anomalous words per document", xlabel="anomalous words", ylabel="document AUROC")


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
