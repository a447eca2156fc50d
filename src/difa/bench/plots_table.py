"""Records of `difa bench table` -> a picture for each form: a line per method, a panel per set and level.

Each line shows AUROC and average precision with what chance does to them: their spread over the splits where there are
several, else the bootstrap interval. Settings that were searched are left to the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from difa.bench.plots import FAINT, INK, colour_of, figure
from difa.bench.render import PUBLISHED_SEED, by_set, methods, rules, sets_of, title_of, unique
from difa.bench.store import Record

_METRICS = {"auroc": ("AUROC", "o", 0.14), "ap": ("average precision", "D", -0.14)}
"""What is drawn: its name, its mark, and how far above its line it stands."""


def draw_table(records: Sequence[Record], path: Path) -> None:
    """A picture `<path>-<form>` for each form."""
    shown = [record for record in records if record["figures"] and not record["settings"] and record.get("model_seed") is None]
    for form in unique(record["form"] for record in shown):
        _draw_form(most_telling([record for record in shown if record["form"] == form]), path.with_name(f"{path.name}-{form}"))


def most_telling(records: Sequence[Record]) -> list[Record]:
    """Records of the published split or of the others, whichever have more methods; of the others where they have as many."""
    single = [record for record in records if record["seed"] == PUBLISHED_SEED]
    several = [record for record in records if record["seed"] != PUBLISHED_SEED]
    return max(several, single, key=lambda part: len(methods(part)))


def _draw_form(records: Sequence[Record], path: Path) -> None:
    names, sets = methods(records)[::-1], sets_of(records)
    seeds = sorted({record["seed"] for record in records})
    labels = max(2.2, 0.085 * max(len(title_of(name)) for name in names))  # inches
    with figure(labels + 3.1 * len(sets), 1.6 + 0.52 * len(names), path) as drawn:
        grid = drawn.subplots(2, len(sets), squeeze=False, sharex=True, sharey=True)
        for row, level in zip(grid, ("word", "document"), strict=True):
            for axes, name in zip(row, sets, strict=True):
                mine = [record for record in records if record["set"] == name]
                _panel(axes, mine, level, names)
                axes.set_title(f"{name.capitalize()}, {level}s")
        _name_lines(grid, names)
        drawn.suptitle(f"{records[0]['form'].capitalize()} form, {_seeds(seeds)}", x=0.01, ha="left", color=INK)
        drawn.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower right", ncols=2, frameon=False)


def _panel(axes: Any, records: Sequence[Record], level: str, names: Sequence[str]) -> None:
    axes.grid(True, axis="x", zorder=0)
    for row, name in enumerate(names):
        mine = [record for record in records if record["method"] == name]
        rule = rules(name, mine)[0] if level == "document" and rules(name, mine) else None
        figures = [figure for found in by_set(mine, level, rule).values() for figure in found]
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
            strong = name.startswith("difa-")
            text.set(color=colour_of(name) if strong else INK, fontweight="bold" if strong else "normal")


def _seeds(seeds: Sequence[int]) -> str:
    if len(seeds) == 1:
        return f"seed {seeds[0]}: 95 % bootstrap intervals"
    return f"seeds {', '.join(map(str, seeds))}: mean ± sd"
