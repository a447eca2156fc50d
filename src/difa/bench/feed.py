"""`difa bench feed`: what DiFA learns from text that nobody has labelled, and from a few reviewed documents.

Three questions, each on the test documents of a split. `share`: how many of the feed must be anomalous for it to teach
something? `later`: is what one feed taught of use for later text? `verdicts`: what do the highest-scoring documents add once
somebody has reviewed them? Every answer stands beside that of a model without a feed on the same documents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from difa.bench.data import Split, draw, is_anomalous
from difa.bench.methods import LEARNERS, check_methods, label_of, run_difa
from difa.bench.metrics import RATE, Record, Records, Scores, alarms_of, figures_of
from difa.bench.plots import FAINT, colour_of, figure
from difa.bench.run import Run, Study, Trial
from difa.bench.tables import LEVELS, Frame, grouped, markdown, methods_of, page, plural, seeds_of, short, unique
from difa.document import Document

SHARES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)
"""Shares of anomalous documents in a feed."""
REVIEWED = (0, 10, 20, 50)
"""Numbers of reviewed documents."""
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
_VARIED = {"share": "share", "verdicts": "reviewed"}
"""The setting that a question varies."""
_FLAGGED = {"anomalous": "anomalous documents", "normal": "normal documents", "normal_words": "their words"}
_LEGEND = (
    "Words and documents: AUROC / average precision. Flags are those at a false-alarm rate of 0.05. All figures are averages "
    "over sets, of means over seeds. Models that share a first column are judged on the same documents. Other rows have other "
    "documents, and sets without enough anomalous documents are missing from rows with a large share: compare neighbours only."
)


def run_feed(run: Run, presets: Sequence[str] = ("full", "fast")) -> list[Record]:
    """Measure, and write `feed.json`, `feed.md` and the picture."""
    return FEED.measure(run, check_methods([f"difa-{preset}" for preset in presets], LEARNERS), _settings)


def _settings(trial: FeedTrial) -> list[Record]:
    test = trial.halves.test
    shares = [{"part": "share", "share": share} for share in SHARES if draw_share(test, share, trial.seed)]
    counts = [{"part": "verdicts", "reviewed": count} for count in REVIEWED if 2 * count < len(test)]
    return [*shares, {"part": "later"}, *counts]


@dataclass(frozen=True)
class FeedTrial(Trial):
    """A preset on a split; what several cells need is computed once, when the first of them asks for it."""

    @property
    def places(self) -> list[int]:
        """Of all test documents."""
        return list(range(len(self.halves.test)))

    @cached_property
    def plain(self) -> Scores:
        """Of all test documents, without a feed."""
        return self.score(self.places)

    @cached_property
    def fed(self) -> Scores:
        """Of all test documents, which are the feed, too."""
        return self.score(self.places, self.places)

    def at(self, places: Sequence[int]) -> list[Document]:
        """Some of the test documents."""
        return [self.halves.test[place] for place in places]

    def score(
        self, places: Sequence[int], feed: Sequence[int] | None = None, verdicts: Sequence[Document] | None = None
    ) -> Scores:
        """Scores of some of the test documents, after a fit with some of them as feed."""
        halves, given = Split(self.halves.training, self.at(places)), None if feed is None else self.at(feed)
        scores = run_difa(self.method, halves, self.seed, self.options, feed=given, verdicts=verdicts)
        return replace(scores, views={}, documents={"learned": scores.documents["learned"]})

    def record(self, places: Sequence[int], by_variant: Mapping[str, Scores]) -> Record:
        """Figures and flags of every variant on the same documents; no figures where all of these are of one kind."""
        documents = self.at(places)
        labels = Split([], documents).word_labels
        both = len(set(map(is_anomalous, documents))) == 2
        figures = [
            figure | {"part": variant}
            for variant, scores in by_variant.items()
            for figure in (figures_of(scores, labels, self.options.draws, self.seed) if both else ())
        ]
        return {
            "figures": figures,
            "alarms": {variant: alarms_of(scores, documents) for variant, scores in by_variant.items()},
            "taught": {variant: scores.taught for variant, scores in by_variant.items()},
        }


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


def _compute(trial: FeedTrial, settings: Record) -> Record:
    if settings["part"] == "share":
        places = draw_share(trial.halves.test, settings["share"], trial.seed)
        return trial.record(places, {"without": trial.plain.take(places), "feed": trial.score(places, places)})
    return compute_later(trial) if settings["part"] == "later" else compute_verdicts(trial, settings["reviewed"])


def compute_later(trial: FeedTrial) -> Record:
    """The test documents in two halves by chance: the first is yesterday's feed, the second is scored."""
    order = np.random.default_rng(trial.seed).permutation(len(trial.places)).tolist()
    first, second = sorted(order[: len(order) // 2]), sorted(order[len(order) // 2 :])
    fed = {"earlier": trial.score(second, first), "feed": trial.score(second, second)}
    return trial.record(second, {"without": trial.plain.take(second), **fed})


def compute_verdicts(trial: FeedTrial, count: int) -> Record:
    """The highest-scoring documents are reviewed; the others are the feed, and are scored."""
    reviewed = trial.at(choose_reviewed(trial, count))
    texts = {document.text for document in reviewed}
    rest = [place for place in trial.places if trial.halves.test[place].text not in texts]
    fed = trial.score(rest, rest) if count else trial.fed
    by_variant = {"without": trial.plain.take(rest), "feed": fed, "documents": fed, "words": fed}
    odd = sum(map(is_anomalous, reviewed))
    if odd:
        judged = [replace(document, labels=None, odd=is_anomalous(document)) for document in reviewed]
        by_variant |= {"documents": trial.score(rest, rest, judged), "words": trial.score(rest, rest, reviewed)}
    return trial.record(rest, by_variant) | {"odd": odd, "used": bool(odd)}


def choose_reviewed(trial: FeedTrial, count: int) -> list[int]:
    """Places of the highest-scoring test documents, each text once, by a model with all of them as feed."""
    order = np.argsort(-trial.fed.documents["learned"], kind="stable").tolist()
    first_of_text: dict[str, int] = {}
    for place in order:
        first_of_text.setdefault(trial.halves.test[place].text, place)
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
        blocks.append(f"## {label_of(name)}, {sets}, {seeds_of(mine)}")
        shares = _table(frame, "share", "anomalous", lambda share: f"{100 * share:g} %")
        blocks += ["**How many of the feed are anomalous**", shares]
        blocks += ["**An earlier feed for later text**", _table(frame, "later")]
        blocks.append("**Verdicts on the highest-scoring documents**: figures of the documents that were not reviewed")
        blocks += [_table(frame, "verdicts", "reviewed", "{:.0f}".format), _remarks(mine)]
    return page(*blocks)


def _table(frame: Frame, part: str, head: str = "", name_of: Callable[[Any], str] = str) -> str:
    """A group of rows for each value of the setting that is varied, or one group where nothing is."""
    rows = []
    for row in frame[frame.part == part].replace({np.nan: None}).to_dict("records"):
        pairs = {level: [row[f"{level} auroc"], row[f"{level} ap"]] for level in LEVELS}
        rows.append(
            ({head: name_of(row["value"])} if head else {})
            | {"sets": row["sets"], "model": VARIANTS[part][row["variant"]]}
            | {f"{level}s": " / ".join(map(short, pair)) if None not in pair else "" for level, pair in pairs.items()}
            | {f"{label} flagged": short(row[kind]) for kind, label in _FLAGGED.items()}
        )
    return markdown(rows)


def _remarks(records: Records) -> str:
    """Fits in which a feed or verdicts had no part, and why."""
    idle = [r for r in records if r["settings"].get("reviewed") and not r["used"]]
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
    titles = ("anomalies in the feed", "an earlier feed for later text", "reviewed documents")
    with figure(16, 4.6 * len(names), path) as drawn:
        for row, name in zip(drawn.subplots(len(names), 3, squeeze=False), names, strict=True):
            frame = averages([record for record in records if record["method"] == name])
            colours = _COLOURS | {"feed": colour_of(name)}
            shares, later, verdicts = (frame[frame.part == part] for part in VARIANTS)
            _draw_shares(row[0], shares.assign(value=100 * shares.value), colours)
            _draw_bars(row[1], later, colours)
            for column, line in (("document ap", ("documents", "-")), ("word ap", ("words", _DASHED))):
                _draw_lines(row[2], verdicts, {column: line}, colours)
            row[2].set_xticks(unique(verdicts.value))
            row[2].set(xlabel="reviewed documents; figures of the others", ylabel="average precision")
            for axes, title, columns in zip(row, titles, (2, 1, 2), strict=True):
                axes.set_title(f"{label_of(name)}: {title}")
                axes.grid(True, axis="y", zorder=0)
                axes.set_axisbelow(True)
                axes.set_ylim(0, None)
                axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), fontsize=8.5, frameon=False, ncols=columns)


def _draw_lines(axes: Any, frame: Frame, lines: Mapping[str, tuple[str, Any]], colours: Mapping[str, str]) -> None:
    """A line for each variant and each column of the frame, which has a label and a style."""
    for variant, mine in frame.groupby("variant", sort=False):
        for column, (said, style) in lines.items():
            points, label = mine.dropna(subset=[column]), f"{said}, {VARIANTS[mine.part.iloc[0]][variant]}"
            axes.plot(points["value"], points[column], color=colours[variant], ls=style, marker="o", ms=4, label=label)


def _draw_shares(axes: Any, frame: Frame, colours: Mapping[str, str]) -> None:
    _draw_lines(
        axes, frame, {kind: (_FLAGGED[kind], style) for kind, style in (("anomalous", "-"), ("normal", _DASHED))}, colours
    )
    axes.axhline(RATE, color=FAINT, linewidth=0.8, linestyle=":")
    axes.set_xscale("symlog", linthresh=1)
    counts, most = dict(zip(frame.value, frame.sets, strict=True)), frame.sets.max()
    axes.set_xticks(list(counts), [f"{at:g}" + (f"\n({n})" if n < most else "") for at, n in counts.items()])
    axes.minorticks_off()
    x = "anomalous documents in the feed, % (sets, where not all have so many)"
    axes.set(xlabel=x, ylabel=f"share flagged at {RATE:g}")


def _draw_bars(axes: Any, frame: Frame, colours: Mapping[str, str]) -> None:
    for at, row in enumerate(frame.fillna(0.0).to_dict("records")):
        places = [place + 0.27 * (at - 1) for place in range(len(LEVELS))]
        heights, variant = [row[f"{level} ap"] for level in LEVELS], row["variant"]
        bars = axes.bar(places, heights, width=0.25, color=colours[variant], label=VARIANTS["later"][variant])
        axes.bar_label(bars, fmt="%.3f", fontsize=8.5)
    axes.set_xticks(range(len(LEVELS)), [f"{level}s" for level in LEVELS])
    axes.set_ylabel("average precision")


FEED = Study("feed", _compute, feed_markdown, draw_feed, code=("bench/feed.py",), trial=FeedTrial)
