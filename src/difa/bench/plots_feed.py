"""Records of `difa bench feed` -> a picture: a row per preset, a panel per question, averages over sets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from difa.bench.methods import RATE, label_of
from difa.bench.plots import FAINT, colour_of, figure
from difa.bench.render import methods, unique
from difa.bench.render_feed import VARIANTS, Read, flagged, mean_of, part_of, set_names
from difa.bench.render_feed import figure as read_figure
from difa.bench.store import Record

_COLOURS = {"without": FAINT, "earlier": "#56b4e9", "documents": "#009e73", "words": "#0072b2"}
"""Of all variants but the feed, which has the colour of its preset."""
_DASHED = (0, (4, 2))


def draw_feed(records: Sequence[Record], path: Path) -> None:
    """The three questions side by side."""
    names = methods(records)
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
    return _COLOURS.get(variant) or colour_of(records[0]["method"])


def _finish(axes: Any, x: str, y: str) -> None:
    axes.grid(True, axis="y", zorder=0)
    axes.set_axisbelow(True)
    axes.set_ylim(0, None)
    axes.set(xlabel=x, ylabel=y)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), fontsize=8.5, frameon=False, ncols=1 if not x else 2)
