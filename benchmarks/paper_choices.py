"""Settings of the preset paper, chosen on pseudo anomalies in held-out normal documents.

Half of the training documents of each set (published split, original form) are fitted on. In the other half pseudo anomalies are
made, and found again among its normal documents. No test document and no label is used. Prints the tables of docs/paper.md.

    python benchmarks/paper_choices.py [--sets spam,review,grammar] [--into docs/paper.md]
"""

from __future__ import annotations

import argparse
import json
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from difa.bench.data import load_sets, split
from difa.bench.methods import Options
from difa.bench.tables import markdown, short
from difa.calibrate import tail_evidence
from difa.config import Config
from difa.detector import Detector, raw_evidence
from difa.document import Encoded, FloatArray, split_by
from difa.paper import aggregate, fuse, mixture, open_gates, pool
from difa.perturb import Pseudo, make_pseudo_anomalies
from difa.views.semantic import train

CHOICES: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "letters": ("third entry of the form view", [{"form": {"letters": value}} for value in ("share", "changes")]),
    "distance": ("λ", [{"semantic": {"distance_weight": value}} for value in (1 / 384, 1.0, 10.0, 100.0, 1000.0)]),
    "penalty": ("penalty on q and r", [{"learn": {"shrinkage": value}} for value in (0.1, 0.01, 0.0)]),
}


@dataclass(frozen=True, eq=False)
class Held:
    """One set: documents to fit on, held-out normal documents, and pseudo anomalies made in them."""

    name: str
    bench: Options
    training: list[Any]
    normal: list[Encoded]
    pseudo: list[Pseudo]

    @property
    def documents(self) -> list[Encoded]:
        return [item.document for item in self.pseudo] + self.normal

    @property
    def labels(self) -> FloatArray:
        return np.concatenate([*(item.labels for item in self.pseudo), *(np.zeros(len(item)) for item in self.normal)])


def hold_out(name: str, bench: Options, data: Path | None) -> Held:
    """Cut the training documents of a set in two, and make pseudo anomalies in the second part."""
    (dataset,) = load_sets(data, [name], ["original"])
    training = split(dataset.documents, 42).training
    order = np.random.default_rng(0).permutation(len(training)).tolist()
    half = len(training) // 2
    normal = bench.reader.encode([training[index] for index in order[half:]])
    config = Config.preset("paper").perturb
    pseudo = make_pseudo_anomalies(normal, bench.reader, config, np.random.default_rng(1))
    return Held(name, bench, [training[index] for index in order[:half]], normal, pseudo)


@cache
def fit_and_judge(held: Held, stages: str) -> dict[str, Any]:
    """Figures of the preset with changed settings, given as JSON."""
    return judge(held, held.bench.difa("paper", 0, json.loads(stages)).fit(held.training).detector_)


def judge(held: Held, detector: Detector) -> dict[str, Any]:
    """Figures of words and documents, and how far the gates open."""
    lengths = [len(document) for document in held.documents]
    raw, paper = raw_evidence(detector.views, held.documents), detector.paper
    assert paper is not None
    evidence = tail_evidence(raw, detector.references, detector.config.calibration.epsilon)
    words = fuse(evidence, lengths, paper.fusion, detector.config.fusion)
    documents = aggregate(split_by(lengths, words), paper.aggregation, detector.config.aggregation)
    is_pseudo = np.arange(len(lengths)) < len(held.pseudo)
    gates = open_gates(evidence, paper.fusion)
    sharpness = paper.aggregation["log_sharpness"]
    descriptors = [
        pool(row[None], np.ones((1, len(row))), sharpness, detector.config.aggregation) for row in split_by(lengths, words)
    ]
    pi = mixture(np.concatenate(descriptors), paper.aggregation)
    form = raw[:, detector.config.views.names.index("form")]
    return {
        "form": measure(held.labels, form),
        "words": measure(held.labels, words),
        "documents": measure(is_pseudo, documents),
        "α": gates[:, 0],
        "β": gates[:, 1],
        "weight of the maximum": pi[:, 0],
        "least": least_eigenvalue(detector),
    }


def measure(labels: FloatArray, scores: FloatArray) -> tuple[float, float]:
    """AUROC and average precision."""
    return float(roc_auc_score(labels, scores)), float(average_precision_score(labels, scores))


def least_eigenvalue(detector: Detector) -> float:
    """Of the correlations of the form view, before they are shrunk."""
    view: Any = next(view for view in detector.views if view.name == "form")
    shrinkage = detector.config.form.shrinkage
    correlations = (np.linalg.inv(view.precision) - shrinkage * np.eye(len(view.mean))) / (1 - shrinkage)
    varies = np.diag(correlations) > 0.5  # an entry that is constant here, such as digits, has no correlations
    return float(np.linalg.eigvalsh(correlations[np.ix_(varies, varies)])[0])


def table(choice: str, sets: Sequence[Held]) -> str:
    """A row for each value; the one in force is bold."""
    title, candidates = CHOICES[choice]
    names = [held.name.capitalize() for held in sets]
    head = [title, *(f"words, {name}" for name in names), *(f"documents, {name}" for name in names)]
    head += {"letters": ["least eigenvalue"], "penalty": ["α", "β", "weight of the maximum in π"]}.get(choice, [])
    rows = []
    for stages in candidates:
        ((stage, values),) = stages.items()
        ((name, value),) = values.items()
        in_force = getattr(getattr(Config.preset("paper"), stage), name) == value
        found = [fit_and_judge(held, "{}" if in_force else json.dumps(stages)) for held in sets]
        shown = f"{value:.4g}" if isinstance(value, float) else str(value)
        cells = [f"**{shown}**" if in_force else shown]
        cells += [" / ".join(map(short, item[level])) for level in ("words", "documents") for item in found]
        if choice == "letters":
            cells.append(", ".join(f"{item['least']:.0e}" for item in found))
        if choice == "penalty":
            cells += [span(np.concatenate([item[gate] for item in found])) for gate in ("α", "β", "weight of the maximum")]
        rows.append(dict(zip(head, cells, strict=True)))
    return markdown(rows)


def span(values: FloatArray) -> str:
    """The range of 98 % of the values."""
    return "–".join(f"{value:.2f}".removeprefix("0") for value in np.quantile(values, (0.01, 0.99)))


def convergence(sets: Sequence[Held]) -> str:
    """Error of held-out documents after each round of encoder and teacher."""
    rounds = (1, 3, 6, 9)
    rows = ["| | " + " | ".join(f"after {100 * number} steps" for number in rounds) + " | at the end |", "|---" * 6 + "|"]
    for held in sets:
        errors = held_out_errors(held.bench.reader.encode(held.training))
        cells = [f"{errors[number - 1]:.3f}" if number <= len(errors) else "" for number in rounds]
        rows.append(f"| {held.name.capitalize()} | " + " | ".join(cells) + f" | {min(errors):.3f} after {len(errors)} rounds |")
    return "\n".join(rows)


def held_out_errors(documents: Sequence[Encoded]) -> list[float]:
    """The losses that training logs for encoder and teacher; those of the student begin again with round 1."""
    rounds: list[tuple[int, float]] = []
    handler = logging.Handler()
    handler.emit = lambda record: rounds.append(record.args)  # type: ignore[assignment, arg-type, return-value]
    train.LOG.addHandler(handler)
    train.LOG.setLevel(logging.INFO)
    try:
        train.train_network(documents, Config.preset("paper").semantic, 0)
    finally:
        train.LOG.removeHandler(handler)
    starts = [place for place, (number, _) in enumerate(rounds) if number == 1]
    return [error for _, error in rounds[: starts[1]]]


def fill(path: Path, name: str, text: str) -> None:
    """Write a table between its marks in a page."""
    page = path.read_text(encoding="utf-8")
    block = re.compile(f"(<!-- choice:{name} -->\n).*?(<!-- /choice -->)", re.DOTALL)
    path.write_text(block.sub(lambda found: f"{found[1]}\n{text}\n\n{found[2]}", page), encoding="utf-8")


def main() -> None:
    """Print the tables, or write them between the marks of a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default="spam,review,grammar", help="sets, separated by commas")
    parser.add_argument("--only", default="convergence,letters,distance,penalty", help="tables, separated by commas")
    parser.add_argument("--data", type=Path, help="folder of the sets; default: DIFA_DATA or ../shared/data")
    parser.add_argument("--cache", type=Path, help="folder that stores word vectors between runs")
    parser.add_argument("--into", type=Path, help="page whose marked blocks are to be filled")
    options = parser.parse_args()
    bench = Options(cache=options.cache, flags=False)
    sets = [hold_out(name, bench, options.data) for name in options.sets.split(",")]
    for name in options.only.split(","):
        text = convergence(sets) if name == "convergence" else table(name, sets)
        text += f"\n\n*Measured {date.today()} by `python benchmarks/paper_choices.py --only {name}`.*"
        print(f"{name}\n\n{text}\n", flush=True)
        if options.into:
            fill(options.into, name, text)


if __name__ == "__main__":
    main()
