"""Records -> pictures, as PNG and SVG: the comparison, and the paper's analyses.

Colours can be told apart by colour-blind readers. Names of lines and points stand beside their panel, in the order of their
ends, or from the most accurate down. The same records give the same files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from difa.bench import tables
from difa.bench.methods import DIFA, label_of
from difa.bench.metrics import Record, Records
from difa.bench.tables import LEVELS, Frame, figures_frame, grouped

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
    "axes.axisbelow": True,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "grid.color": "#e6e6e6",
    "legend.frameon": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "svg.hashsalt": "difa",
}


@contextmanager
def panels(path: Path, rows: int, columns: int, width: float, height: float, **shared: Any) -> Iterator[Any]:
    """The axes of an empty figure, (rows, columns); it is saved beside `path` as PNG and SVG."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with rc_context(_STYLE):
        drawn = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(drawn)  # drawn into memory: no screen, no state shared with anybody's own plots
        yield drawn.subplots(rows, columns, squeeze=False, **shared)
        drawn.savefig(path.with_suffix(".png"), dpi=160, metadata={"Software": None})
        drawn.savefig(path.with_suffix(".svg"), metadata={"Date": None})


def draw_lines(axes: Any, lines: Mapping[str, Frame], colours: Sequence[str], style: Any = "-") -> None:
    """A line of means by x for each label, with a band where a mean is of several values."""
    for (label, values), colour in zip(lines.items(), colours, strict=True):
        ends = values.groupby(level=0).agg(["mean", "min", "max"])
        axes.plot(ends.index, ends["mean"], color=colour, ls=style, lw=2, marker="o", ms=4.5, label=label)
        axes.fill_between(ends.index, ends["min"], ends["max"], color=colour, alpha=0.15, lw=0)
    axes.grid(True, axis="y")


def name_beside(axes: Any) -> None:
    """The names of lines or points to the right of a panel, in their colours."""
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), labelcolor="linecolor", handlelength=1, fontsize=9)


_COSTS = {"score_ms": "scoring 1,000 words, ms", "fit_seconds": "fitting, s", "peak_mib": "peak memory, MiB"}


def draw_efficiency(records: Records, path: Path) -> None:
    """Word AUROC against time to score, time to fit and memory; the line joins what nothing else beats in both."""
    from matplotlib.ticker import LogLocator

    sets = grouped(records, "set", "form")
    with panels(path, len(sets), 3, 15, 4.3 * len(sets)) as grid:
        for row, ((name, form), mine) in zip(grid, sets.items(), strict=True):
            costs = tables.costs_of(figures_frame(mine)).sort_values("word", ascending=False)
            costs["score_ms"] = 1e6 * costs.score_seconds / costs.test_words
            costs["fit_seconds"] = costs.fit_seconds.clip(lower=1e-3)  # less would stretch the axis
            for axes, (cost, label) in zip(row, _COSTS.items(), strict=True):
                _draw_frontier(axes, costs[cost], costs.word)
                axes.set(xscale="log", xlabel=label, ylabel="word AUROC", title=f"{name.capitalize()}, {form} form")
                steps = (1, 2, 5) if costs[cost].max() < 100 * costs[cost].min() else (1,)
                axes.xaxis.set(major_locator=LogLocator(subs=steps), major_formatter="{x:,g}", minor_formatter="")
            name_beside(row[-1])


def _draw_frontier(axes: Any, costs: Frame, accuracy: Frame) -> None:
    """A numbered point for each method, and a line along those that no cheaper one beats."""
    best = accuracy[costs.sort_values(kind="stable").index]
    best = best[best > best.cummax().shift(fill_value=-1.0)]
    axes.plot(costs[best.index], best, color="#c8c8c8", lw=1.5, drawstyle="steps-post")
    for number, method in enumerate(costs.index, 1):
        at, colour = (costs[method], accuracy[method]), colour_of(method)
        label = label_of(method).replace(", has seen the unlabelled test text)", ") with feed")
        axes.plot(*at, "o", ms=8 if method in COLOURS else 6, color=colour, label=f"{number} {label}")
        place = (4, 4) if number % 2 else (4, -12)  # neighbours are often close in rank
        axes.annotate(str(number), at, place, textcoords="offset points", fontsize=8.5, color=colour)
    axes.grid(True)
    axes.margins(0.1)


def colour_of(method: str) -> str:
    """The colour of a method in every picture."""
    return COLOURS.get(method, FAINT)


def draw_contamination(records: Records, path: Path) -> None:
    """Document AUROC as more of the training data is spoilt: a panel for each form and way."""
    titles = {"noise": "noise on training word vectors", "anomalies": "real anomalies in training"}
    frame = figures_frame(records, "kind", "share").assign(x=lambda each: 100 * each.share)
    frame["title"] = frame.form.str.capitalize() + " form: " + frame.kind.map(titles)
    _draw_methods(frame, "share spoilt, %", path)


def draw_sparsity(records: Records, path: Path) -> None:
    """Document AUROC by the number of anomalous words in an anomalous document: a panel for each form."""
    frame = figures_frame(records).assign(x=lambda each: each.part.astype(float))
    frame["title"] = frame.form.str.capitalize() + " form"
    _draw_methods(frame, "anomalous words per document", path)


def _draw_methods(frame: Frame, label: str, path: Path) -> None:
    """A panel for each title with a line for each method, the names beside it in the order of their ends."""
    titles = frame.title.unique()
    with panels(path, 1, len(titles), 6.4 * len(titles), 4, sharey=True) as grid:
        for axes, title in zip(grid[0], titles, strict=True):
            mine = frame[frame.title == title].set_index("x")
            ends = mine.groupby(["method", "x"]).auroc.mean().groupby("method").last()
            methods = ends.sort_values(ascending=False).index
            lines = {label_of(method): mine.auroc[mine.method == method] for method in methods}
            draw_lines(axes, lines, list(map(colour_of, methods)))
            axes.set(title=title, xlabel=label, ylabel="document AUROC" if axes is grid[0, 0] else "")
            axes.set_xticks(sorted(mine.index.unique()))
            name_beside(axes)


def draw_table(records: Records, path: Path) -> None:
    """A picture `<path>-<form>` for each form: AUROC and average precision of each method, set and level."""
    usual = [record for record in tables.of_split(records) if record["figures"] and not record["settings"]]
    for (form,), mine in grouped(usual, "form").items():
        shown = most_telling(mine)
        _draw_form(tables.final_figures(figures_frame(shown)), shown, path.with_name(f"{path.name}-{form}"))


def most_telling(records: Records) -> list[Record]:
    """Records of the published split or of the others, whichever have more methods; of the others where they have as many."""
    return max(reversed(tables.by_split(records)), key=lambda part: len(tables.methods_of(part)))


def _draw_form(frame: Frame, records: Records, path: Path) -> None:
    names, sets, seeds = tables.methods_of(records)[::-1], tables.sets_of(records), tables.seeds_of(records)
    width = max(2.2, 0.085 * max(len(label_of(name)) for name in names)) + 3.1 * len(sets)  # inches
    with panels(path, 2, len(sets), width, 1.6 + 0.52 * len(names), sharex=True, sharey=True) as grid:
        for row, level in zip(grid, LEVELS, strict=True):
            for axes, name in zip(row, sets, strict=True):
                for metric, label, mark, lift in (("auroc", "AUROC", "o", 0.14), ("ap", "average precision", "D", -0.14)):
                    axes.plot([], [], mark, color=FAINT, mfc=FAINT if metric == "auroc" else "white", ms=5, label=label)
                    for method, mine in frame[(frame["set"] == name) & (frame.level == level)].groupby("method", sort=False):
                        (middle, low, high), colour = spread(mine, metric), colour_of(method)
                        at, face = names.index(method) + lift, colour if metric == "auroc" else "white"
                        axes.plot([low, high], [at, at], color=colour, lw=1.6, solid_capstyle="round")
                        axes.plot([middle], [at], mark, color=colour, mfc=face, ms=5)
                axes.set(xlim=(-0.02, 1.02), xticks=(0, 0.25, 0.5, 0.75, 1), title=f"{name.capitalize()}, {level}s")
                axes.tick_params(axis="y", length=0)
                axes.xaxis.set_tick_params(labelbottom=True)
                axes.grid(True, axis="x")
            row[0].set_yticks(range(len(names)), list(map(label_of, names)))
            for text, name in zip(row[0].get_yticklabels(), names, strict=True):
                text.set(color=colour_of(name) if name in DIFA else INK, fontweight="bold" if name in DIFA else "normal")
        said = f"{seeds}: {'mean ± sd' if seeds.startswith('seeds') else '95 % bootstrap intervals'}"
        drawn = grid[0, 0].figure
        drawn.suptitle(f"{records[0]['form'].capitalize()} form, {said}", x=0.01, ha="left", color=INK)
        drawn.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower right", ncols=2)


def spread(figures: Frame, metric: str) -> tuple[float, ...]:
    """Mean of a figure over splits with one standard deviation to either side; of one split, its bootstrap interval."""
    middle = figures[metric].mean()
    if len(figures) > 1:
        return middle, middle - figures[metric].std(), middle + figures[metric].std()
    return middle, *figures[[f"{metric}_low", f"{metric}_high"]].fillna(middle).iloc[0]


_LINE = 92  # characters of a line in the picture of examples
_SHADES = {1.0: "#ffffff", 0.05: "#fde3c8", 0.02: "#fdb97d", 0.005: "#f58536", 0.001: "#d94801"}
"""Colours of words by their p-values."""


def example_titles(records: Records) -> list[tuple[str, Record]]:
    """All documents of the records of examples, each with its title."""
    return [
        (f"{record['set'].capitalize()} ({record['form']}), {document['why']}: {document['verdict']}", document)
        for record in records
        for document in record["documents"]
    ]


def draw_examples(records: Records, path: Path) -> None:
    """The examples as a picture, in a typeface of equal widths so that words can be laid out by counting."""
    legend = [{"text": f"≤ {step:g}", "p": step, "marked": False} for step in list(_SHADES)[1:]]
    legend.append({"text": "marked by annotators", "p": 1.0, "marked": True})
    blocks = [("p-value among normal words", legend), *((title, shown["words"]) for title, shown in example_titles(records))]
    placed, line = [], 0.0
    for title, words in blocks:
        placed.append(({"text": title}, 0, line))
        column, line = 0, line + 1.1
        for word in words:
            if column and column + len(word["text"]) > _LINE:
                column, line = 0, line + 1
            placed.append((word, column, line))
            column += len(word["text"]) + 1
        line += 1.5
    with panels(path, 1, 1, 7.95, 0.24 * line + 0.2) as ((axes,),):  # so wide that a character of the grid is one of the typeface
        axes.get_figure().set_layout_engine("none")
        axes.set(xlim=(0, _LINE + 4), ylim=(line, -1), position=(0.02, 0, 0.96, 1))
        axes.axis("off")
        for word, column, at in placed:
            _draw_word(axes, word, column, at)


def _draw_word(axes: Any, word: Record, column: int, line: float) -> None:
    """A word with its shade and mark; a title has none."""
    if "p" not in word:
        axes.text(column, line, word["text"], fontsize=9, color="#666666", va="center")
        return
    shade = _SHADES[min(step for step in _SHADES if word["p"] <= step)]
    shown = "".join(each if each.isprintable() and ord(each) < 0x2E80 else "□" for each in word["text"])
    text = axes.text(column, line, shown, fontsize=9.5, family="monospace", va="center_baseline", parse_math=False)
    text.set(color="white" if shade == _SHADES[0.001] else INK, bbox={"facecolor": shade, "lw": 0, "pad": 1.2})
    if word["marked"]:
        axes.plot([column, column + len(shown)], [line + 0.46] * 2, color="#0072b2", lw=2.2, solid_capstyle="butt")
