"""`difa bench feed`: what DiFA learns from text that nobody has labelled, and from a few reviewed documents.

Three questions, each on the test documents of a split. `share`: how many of the feed must be anomalous for it to teach
something? `later`: is what one feed taught of use for later text? `verdicts`: what do the highest-scoring documents add once
somebody has reviewed them? Every answer stands beside that of a model without a feed on the same documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from difa.bench.data import DataSet
from difa.bench.methods import LEARNERS, check_methods, run_difa
from difa.bench.metrics import Scores, alarms_of, figures_of
from difa.bench.plots import draw_feed
from difa.bench.run import Run, Task, finish
from difa.bench.split import Split, is_anomalous, split
from difa.bench.store import Record, fingerprint_of
from difa.bench.tables_feed import feed_markdown
from difa.document import Document

SHARES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)
"""Shares of anomalous documents in a feed."""
REVIEWED = (0, 10, 20, 50)
"""Numbers of reviewed documents."""


def run_feed(run: Run, presets: Sequence[str] = ("full", "fast")) -> list[Record]:
    """Measure, and write `feed.json`, `feed.md` and the picture."""
    names = check_methods([f"difa-{preset}" for preset in presets], LEARNERS)
    tasks = []
    for dataset in run.sets:
        for seed in run.options.seeds:
            for name in names:
                tasks += _tasks(run, dataset, seed, name)
    return finish(run, "feed", tasks, feed_markdown, draw_feed)


def _tasks(run: Run, dataset: DataSet, seed: int, name: str) -> list[Task]:
    trial = Trial(run, split(dataset.documents, seed), seed, name)
    fingerprint = fingerprint_of(["bench/feed.py"], method=run.bench.fingerprint(name))

    def task(settings: Record, compute: partial[Record]) -> Task:
        return Task(run.cell("feed", dataset, seed, name, settings, fingerprint), compute)

    test = trial.halves.test
    shares = [share for share in SHARES if draw_share(test, share, seed)]
    counts = [count for count in REVIEWED if 2 * count < len(test)]
    return [
        *(task({"part": "share", "share": share}, partial(_share, trial, share)) for share in shares),
        task({"part": "later"}, partial(_later, trial)),
        *(task({"part": "verdicts", "reviewed": count}, partial(_verdicts, trial, count)) for count in counts),
    ]


@dataclass(frozen=True)
class Trial:
    """A preset on a split; what several cells need is computed once, when the first of them asks for it."""

    run: Run
    halves: Split
    seed: int
    name: str

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
        scores = run_difa(self.name, halves, self.seed, self.run.bench, feed=given, verdicts=verdicts)
        return replace(scores, views={}, documents={"learned": scores.documents["learned"]})

    def record(self, places: Sequence[int], by_variant: Mapping[str, Scores]) -> Record:
        """Figures and flags of every variant on the same documents; no figures where all of these are of one kind."""
        documents = self.at(places)
        labels = Split([], documents).word_labels
        both = len(set(map(is_anomalous, documents))) == 2
        figures = [
            figure | {"part": variant}
            for variant, scores in by_variant.items()
            for figure in (figures_of(scores, labels, self.run.options.draws, self.seed) if both else ())
        ]
        return {
            "figures": figures,
            "alarms": {variant: alarms_of(scores, documents) for variant, scores in by_variant.items()},
            "taught": {variant: scores.taught for variant, scores in by_variant.items()},
        }


def take(scores: Scores, places: Sequence[int]) -> Scores:
    """The scores of some of the documents."""
    words, flagged, word_p = scores.words or [], scores.flagged or [], scores.word_p or []
    return replace(
        scores,
        words=[words[place] for place in places],
        documents={rule: pooled[list(places)] for rule, pooled in scores.documents.items()},
        flagged=[flagged[place] for place in places],
        word_p=[word_p[place] for place in places],
    )


def draw_share(documents: Sequence[Document], share: float, seed: int) -> list[int]:
    """Places of all normal documents and of as many anomalous ones as make a share; none where these are too few.

    A larger share holds the anomalous documents of a smaller one.
    """
    anomalous = [place for place, document in enumerate(documents) if is_anomalous(document)]
    normal = len(documents) - len(anomalous)
    wanted = round(share / (1 - share) * normal)
    if wanted > len(anomalous) or (share and not wanted):
        return []
    drawn = {anomalous[index] for index in np.random.default_rng(seed).permutation(len(anomalous))[:wanted].tolist()}
    return [place for place, document in enumerate(documents) if place in drawn or not is_anomalous(document)]


def _share(trial: Trial, share: float) -> Record:
    places = draw_share(trial.halves.test, share, trial.seed)
    return trial.record(places, {"without": take(trial.plain, places), "feed": trial.score(places, places)})


def _later(trial: Trial) -> Record:
    """The test documents in two halves by chance: the first is yesterday's feed, the second is scored."""
    order = np.random.default_rng(trial.seed).permutation(len(trial.places)).tolist()
    first, second = sorted(order[: len(order) // 2]), sorted(order[len(order) // 2 :])
    fed = {"earlier": trial.score(second, first), "feed": trial.score(second, second)}
    return trial.record(second, {"without": take(trial.plain, second), **fed})


def _verdicts(trial: Trial, count: int) -> Record:
    """The highest-scoring documents are reviewed; the others are the feed, and are scored."""
    places = choose_reviewed(trial, count)
    reviewed, texts = trial.at(places), {document.text for document in trial.at(places)}
    rest = [place for place in trial.places if trial.halves.test[place].text not in texts]
    fed = trial.score(rest, rest) if count else trial.fed
    by_variant = {"without": take(trial.plain, rest), "feed": fed, "documents": fed, "words": fed}
    odd = sum(map(is_anomalous, reviewed))
    if odd:
        judged = [replace(document, labels=None, odd=is_anomalous(document)) for document in reviewed]
        by_variant |= {"documents": trial.score(rest, rest, judged), "words": trial.score(rest, rest, reviewed)}
    return trial.record(rest, by_variant) | {"odd": odd, "used": bool(odd)}


def choose_reviewed(trial: Trial, count: int) -> list[int]:
    """Places of the highest-scoring test documents, each text once, by a model with all of them as feed."""
    order = np.argsort(-trial.fed.documents["learned"], kind="stable").tolist()
    first_of_text: dict[str, int] = {}
    for place in order:
        first_of_text.setdefault(trial.halves.test[place].text, place)
    return list(first_of_text.values())[:count]
