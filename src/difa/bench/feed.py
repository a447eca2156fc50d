"""`difa bench feed`: what DiFA learns from text that nobody has labelled, and from a few reviewed documents.

Three questions, each on the test documents of a split. `share`: how many of the feed must be anomalous for it to teach
something? `later`: is what one feed taught of use for later text? `verdicts`: what do the highest-scoring documents add once
somebody has reviewed them? Every answer stands beside that of a model without a feed on the same documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from difa.bench.data import DataSet, Split, draw, is_anomalous
from difa.bench.methods import LEARNERS, check_methods, label_of, run_difa
from difa.bench.metrics import RATE, Record, Records, Scores, alarms_of, figures_of
from difa.bench.plots import FAINT, colour_of, draw_lines, panels
from difa.bench.run import Cell, Run, Study
from difa.bench.tables import LEVELS, Frame, grouped, markdown, methods_of, page, plural, seeds_of, short
from difa.document import Document, FloatArray

SHARES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)  # of anomalous documents in a feed
REVIEWED = (0, 10, 20, 50)  # numbers of reviewed documents
VARIANTS = {
    "share": {"without": "without a feed", "feed": "with this feed"},
    "later": {
        "without": "without a feed",
        "earlier": "with an earlier feed, the other half of the test text",
        "feed": "with the scored text itself as feed",
    },
    "verdicts": {
        "without": "without a feed",
        "feed": "with a feed, without verdicts",
        "documents": "with verdicts on documents",
        "words": "with marked words",
    },
}
"""What each question compares, and how tables and pictures call it."""
_VARIED = {"share": "share", "verdicts": "reviewed"}  # the setting that a question varies
_FLAGGED = {"anomalous": "anomalous documents", "normal": "normal documents", "normal_words": "their words"}
_LEGEND = (
    "Words and documents: AUROC / average precision. Flags are those at a false-alarm rate of 0.05. All figures are averages "
    "over sets, of means over seeds. Models that share a first column are judged on the same documents. Other rows have other "
    "documents, and sets without enough anomalous documents are missing from rows with a large share: compare neighbours only."
)


def run_feed(run: Run, presets: Sequence[str] = ("full", "fast")) -> list[Record]:
    """Measure, and write `feed.json`, `feed.md` and the picture."""
    return FEED.measure(run, check_methods([f"difa-{preset}" for preset in presets], LEARNERS), _settings)


def _settings(cell: Cell) -> list[Record]:
    test = cell.halves.test
    shares = [{"part": "share", "share": share} for share in SHARES if draw_share(test, share, cell.seed)]
    counts = [{"part": "verdicts", "reviewed": count} for count in REVIEWED if 2 * count < len(test)]
    return [*shares, {"part": "later"}, *counts]


def _score(
    cell: Cell, test: list[Document], feed: list[Document] | None = None, verdicts: list[Document] | None = None
) -> Scores:
    """Scores of documents, after a fit with a feed."""
    halves = Split(cell.halves.training, test)
    scores = run_difa(cell.method, halves, cell.seed, cell.options, feed=feed, verdicts=verdicts)
    return replace(scores, views={}, documents={"learned": scores.documents["learned"]})


@lru_cache(maxsize=2)
def _score_all(run: Run, dataset: DataSet, seed: int, method: str, fed: bool) -> Scores:
    """Scores of all test documents, with these as feed or without one; several cells of a split need them."""
    cell = Cell(FEED, run, dataset, seed, method)
    return _score(cell, cell.halves.test, cell.halves.test if fed else None)


def _record(cell: Cell, documents: list[Document], by_variant: Mapping[str, Scores]) -> Record:
    """Figures and flags of every variant on the same documents; no figures where all of these are of one kind."""
    labels, both = Split([], documents).word_labels, len(set(map(is_anomalous, documents))) == 2
    figures = [
        figure | {"part": variant}
        for variant, scores in by_variant.items()
        for figure in (figures_of(scores, labels, cell.options.draws, cell.seed) if both else ())
    ]
    alarms = {variant: alarms_of(scores, documents) for variant, scores in by_variant.items()}
    return {"figures": figures, "alarms": alarms, "taught": {name: scores.taught for name, scores in by_variant.items()}}


def draw_share(documents: Sequence[Document], share: float, seed: int) -> list[int]:
    """Places of all normal documents and of as many anomalous ones as make a share; none where these are too few.

    A larger share holds the anomalous documents of a smaller one.
    """
    anomalous = [place for place, document in enumerate(documents) if is_anomalous(document)]
    wanted = round(share / (1 - share) * (len(documents) - len(anomalous)))
    if wanted > len(anomalous) or (share and not wanted):
        return []
    drawn = set(draw(anomalous, wanted, np.random.default_rng(seed)))
    return [place for place, document in enumerate(documents) if place in drawn or not is_anomalous(document)]


def _compute(cell: Cell) -> Record:
    part, test = cell.settings["part"], cell.halves.test
    if part == "verdicts":
        return _compute_verdicts(cell, cell.settings["reviewed"])
    plain = _score_all(cell.run, cell.dataset, cell.seed, cell.method, False)
    if part == "share":
        places = draw_share(test, cell.settings["share"], cell.seed)
        documents = [test[place] for place in places]
        return _record(cell, documents, {"without": plain.take(places), "feed": _score(cell, documents, documents)})
    # The test documents in two halves by chance: the first is yesterday's feed, the second is scored.
    order = np.random.default_rng(cell.seed).permutation(len(test)).tolist()
    first, second = sorted(order[: len(order) // 2]), sorted(order[len(order) // 2 :])
    earlier, later = ([test[place] for place in places] for places in (first, second))
    fed = {"earlier": _score(cell, later, earlier), "feed": _score(cell, later, later)}
    return _record(cell, later, {"without": plain.take(second), **fed})


def _compute_verdicts(cell: Cell, count: int) -> Record:
    """The highest-scoring documents are reviewed; the others are the feed, and are scored."""
    plain, fed = (_score_all(cell.run, cell.dataset, cell.seed, cell.method, is_fed) for is_fed in (False, True))
    test, reviewed = cell.halves.test, choose_reviewed(cell.halves.test, fed.documents["learned"], count)
    texts, odd = {document.text for document in reviewed}, sum(map(is_anomalous, reviewed))
    places = [place for place, document in enumerate(test) if document.text not in texts]
    rest = [test[place] for place in places]
    fed = _score(cell, rest, rest) if count else fed
    by_variant = {"without": plain.take(places), "feed": fed, "documents": fed, "words": fed}
    if odd:
        judged = [replace(document, labels=None, odd=is_anomalous(document)) for document in reviewed]
        by_variant |= {"documents": _score(cell, rest, rest, judged), "words": _score(cell, rest, rest, reviewed)}
    return _record(cell, rest, by_variant) | {"odd": odd, "used": bool(odd)}


def choose_reviewed(documents: Sequence[Document], scores: FloatArray, count: int) -> list[Document]:
    """The highest-scoring documents, each text once."""
    first_of_text: dict[str, Document] = {}
    for place in np.argsort(-scores, kind="stable").tolist():
        first_of_text.setdefault(documents[place].text, documents[place])
    return list(first_of_text.values())[:count]


def averages(records: Records) -> Frame:
    """Means over sets of means over seeds: a row per question, value of its setting and variant, with the number of sets."""
    import pandas

    rows = []
    for record in records:
        settings = record["settings"]
        of = {"part": settings["part"], "value": settings.get(_VARIED.get(settings["part"]), 0.0)}
        final = [each for each in record["figures"] if each["pooling"] in (None, "learned")]
        for variant, counts in record["alarms"].items():
            row = of | {"variant": variant, "set": record["set"], "form": record["form"]}
            row |= {kind: counts[f"flagged_{kind}"] / counts[kind] if counts[kind] else np.nan for kind in _FLAGGED}
            own = [each for each in final if each["part"] == variant]
            rows.append(row | {f"{each['level']} {metric}": each[metric] for each in own for metric in ("auroc", "ap")})
    keys, values = ["part", "value", "variant"], [f"{level} {metric}" for level in LEVELS for metric in ("auroc", "ap")]
    frame = pandas.DataFrame(rows, columns=[*keys, "set", "form", *_FLAGGED, *values])
    by_set = frame.groupby([*keys, "set", "form"], sort=False).mean().groupby(keys, sort=False)
    return by_set.mean().assign(sets=by_set.size()).reset_index().sort_values(["value"], kind="stable")


def feed_markdown(records: Records) -> str:
    """All tables, for each preset that was measured."""
    blocks = [_LEGEND]
    for name in methods_of(records):
        mine = [record for record in records if record["method"] == name]
        frame, sets = averages(mine), plural(len(grouped(mine, "set", "form")), "set")
        shares, later, verdicts = (frame[frame.part == part] for part in VARIANTS)
        blocks += [
            f"## {label_of(name)}, {sets}, {seeds_of(mine)}",
            "**How many of the feed are anomalous**",
            _table(shares.assign(value=100 * shares.value), "anomalous", "{:g} %"),
            "**An earlier feed for later text**",
            _table(later),
            "**Verdicts on the highest-scoring documents**: figures of the documents that were not reviewed",
            _table(verdicts, "reviewed", "{:.0f}"),
            _remarks(mine),
        ]
    return page(*blocks)


def _table(frame: Frame, head: str = "", value: str = "") -> str:
    """A row for each model, or for each value of the setting that is varied and each model."""
    if not len(frame):
        return ""
    table = frame[["sets"]].assign(model=[VARIANTS[part][name] for part, name in frame[["part", "variant"]].to_numpy()])
    if head:
        table.insert(0, head, frame.value.map(value.format))
    for level in LEVELS:
        table[f"{level}s"] = frame[f"{level} auroc"].map(short) + " / " + frame[f"{level} ap"].map(short)
    for kind, label in _FLAGGED.items():
        table[f"{label} flagged"] = frame[kind].map(short)
    return markdown(table.replace(" / ", ""))


def _remarks(records: Records) -> str:
    """Fits in which a feed or verdicts had no part, and why."""
    idle = [record for record in records if record["settings"].get("reviewed") and not record["used"]]
    counts = [count for record in records for variant, count in record["taught"].items() if variant != "without"]
    lines = []
    if idle:
        why = "no reviewed document was odd, so that verdicts could not be used: their figures are those without"
        lines.append(f"In {plural(len(idle), 'run')} {why}.")
    if not all(counts):
        lines.append(f"In {counts.count(0)} of {len(counts)} fits the feed had too few documents to learn from.")
    return "\n".join(lines)


_COLOURS = {"without": FAINT, "earlier": "#56b4e9", "documents": "#009e73", "words": "#0072b2"}
"""Of all variants but the feed, which has the colour of its preset."""
_DASHED = (0, (4, 2))


def draw_feed(records: Records, path: Path) -> None:
    """The three questions side by side."""
    names = methods_of(records)
    with panels(path, len(names), 3, 16, 4.6 * len(names)) as grid:
        for row, name in zip(grid, names, strict=True):
            frame = averages([record for record in records if record["method"] == name])
            shares, later, verdicts = (frame[frame.part == part] for part in VARIANTS)
            colours, most = _COLOURS | {"feed": colour_of(name)}, shares.sets.max()
            columns = {"anomalous": (_FLAGGED["anomalous"], "-"), "normal": (_FLAGGED["normal"], _DASHED)}
            _draw_part(row[0], shares.assign(value=100 * shares.value), columns, colours)
            row[0].axhline(RATE, color=FAINT, lw=0.8, ls=":")
            row[0].set_xscale("symlog", linthresh=1)
            ticks = dict(zip(100 * shares.value, shares.sets, strict=True))
            row[0].set_xticks(list(ticks), [f"{at:g}" + (f"\n({count})" if count < most else "") for at, count in ticks.items()])
            row[0].minorticks_off()
            x = "anomalous documents in the feed, % (sets, where not all have so many)"
            row[0].set(xlabel=x, ylabel=f"share flagged at {RATE:g}", title=f"{label_of(name)}: anomalies in the feed")
            _draw_bars(row[1], later, colours)
            row[1].set(ylabel="average precision", title=f"{label_of(name)}: an earlier feed for later text")
            _draw_part(row[2], verdicts, {"document ap": ("documents", "-"), "word ap": ("words", _DASHED)}, colours)
            row[2].set(xlabel="reviewed documents; figures of the others", xticks=verdicts.value.unique())
            row[2].set(ylabel="average precision", title=f"{label_of(name)}: reviewed documents")
            for axes in row:
                axes.grid(True, axis="y")
                axes.set_ylim(0, None)
                axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), fontsize=8.5, ncols=1 if axes is row[1] else 2)


def _draw_part(axes: Any, frame: Frame, columns: Mapping[str, tuple[str, Any]], colours: Mapping[str, str]) -> None:
    """A line for each variant and each column of the frame, which has a label and a style."""
    variants = dict(list(frame.groupby("variant", sort=False)))
    for column, (said, style) in columns.items():
        values = {name: mine.dropna(subset=[column]).set_index("value")[column] for name, mine in variants.items()}
        labels = [f"{said}, {VARIANTS[frame.part.iloc[0]][name]}" for name in values]
        draw_lines(axes, dict(zip(labels, values.values(), strict=True)), [colours[name] for name in values], style)


def _draw_bars(axes: Any, frame: Frame, colours: Mapping[str, str]) -> None:
    for at, row in enumerate(frame.fillna(0.0).to_dict("records")):
        heights, variant = [row[f"{level} ap"] for level in LEVELS], row["variant"]
        places = np.arange(len(LEVELS)) + 0.27 * (at - 1)
        bars = axes.bar(places, heights, width=0.25, color=colours[variant], label=VARIANTS["later"][variant])
        axes.bar_label(bars, fmt="%.3f", fontsize=8.5)
    axes.set_xticks(range(len(LEVELS)), [f"{level}s" for level in LEVELS])


FEED = Study("feed", _compute, feed_markdown, draw_feed, code=("bench/feed.py",))
