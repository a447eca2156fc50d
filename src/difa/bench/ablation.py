"""`difa bench ablation`: what each part of DiFA is worth.

One fit gives each view alone, their fusion, each pooling rule against the learned aggregation, and plain means of the views
with and without calibration. Each line of `VARIANTS` is a further fit with other settings. Judged by labels, or by pseudo
anomalies of held-out normal documents, of kinds that nothing was taught.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from difa.bench.data import DataSet
from difa.bench.methods import Workbench, merge_stages, pool_words, quiet_rates, read_results
from difa.bench.metrics import RATE, Scores, judge_documents, judge_words, pool_max
from difa.bench.run import Run, Task, finish
from difa.bench.split import Split, split
from difa.bench.store import Record, fingerprint_of
from difa.bench.tables_studies import ablation_markdown
from difa.bench.validation import TAUGHT, PseudoTest, make_pseudo_test
from difa.config import FULL_VIEWS, Config
from difa.document import FloatArray
from difa.errors import ConfigError
from difa.estimator import DiFA


@dataclass(frozen=True)
class Variant:
    """A line of the ablation: a name, and the settings that differ, as `DiFA(stages=…)` takes them."""

    label: str
    stages: Mapping[str, Any]
    concerns: Callable[[Config], bool] = lambda config: True
    """Whether a preset has what is changed: nothing can be taken away that is not there."""


def _is_full(config: Config) -> bool:
    return config.views.names == FULL_VIEWS


def _has_gates(config: Config) -> bool:
    return config.fusion.rule == "gates"


def _without(name: str) -> Variant:
    return Variant(f"without the {name} view", {"views": {"names": tuple(o for o in FULL_VIEWS if o != name)}}, _is_full)


WHOLE = Variant("as it is", {})
VARIANTS = (
    *(_without(name) for name in FULL_VIEWS),
    Variant("with the semantic view", {"views": {"names": (*FULL_VIEWS, "semantic")}}, _is_full),
    Variant("plain mean of the views", {"fusion": {"power": 1.0, "weights": {}}}, _is_full),
    Variant("power of 4", {"fusion": {"power": 4.0}}, _is_full),
    Variant("all views count the same", {"fusion": {"weights": {}}}, _is_full),
    Variant("in-sample calibration", {"calibration": {"reference": "in-sample"}}),
    Variant("unseen calibration", {"calibration": {"reference": "unseen"}}),
    Variant("without the student term", {"semantic": {"student_weight": 0.0}}, _has_gates),
    Variant("without the agreement gate", {"fusion": {"agreement": False}}, _has_gates),
    Variant("gates held at one half", {"learn": {"shrinkage": 1e3}}, _has_gates),
)

JUDGES = ("labels", "pseudo")
POOLING = {"max": "max", "topk": "top-k mean", "lse": "log-mean-exp", "adp": "adaptive", "mean": "mean"}
"""The pooling rules of `difa.aggregate`, and how the table calls them."""


def run_ablation(run: Run, preset: str = "full", judge: str = "labels") -> list[Record]:
    """Measure, and write `ablation.json` and `ablation.md`."""
    if judge not in JUDGES:
        raise ConfigError(f"judge: expected {' or '.join(JUDGES)}, got {judge!r}")
    tasks = [
        _task(run, dataset, seed, preset, judge, variant)
        for dataset in run.sets
        for seed in run.options.seeds
        for variant in (WHOLE, *different(run.bench, preset))
    ]
    return finish(run, "ablation", tasks, ablation_markdown)


def different(bench: Workbench, preset: str) -> list[Variant]:
    """Variants that concern the preset and are not what it does anyway."""
    whole = bench.difa(preset, 0).config()
    concerned = [variant for variant in VARIANTS if variant.concerns(whole)]
    return [variant for variant in concerned if bench.difa(preset, 0, _plain(variant)).config() != whole]


def _plain(variant: Variant) -> dict[str, Any]:
    return {stage: dict(values) if isinstance(values, Mapping) else values for stage, values in variant.stages.items()}


def _task(run: Run, dataset: DataSet, seed: int, preset: str, judge: str, variant: Variant) -> Task:
    name = f"difa-{preset}"
    settings = {"variant": variant.label, "stages": _plain(variant), "judge": judge}
    fingerprint = fingerprint_of(["bench/ablation.py", "bench/validation.py"], difa=run.bench.fingerprint(name))
    cell = run.cell("ablation", dataset, seed, name, settings, fingerprint)
    return Task(cell, partial(_compute, run, dataset, seed, preset, judge, variant))


def _compute(run: Run, dataset: DataSet, seed: int, preset: str, judge: str, variant: Variant) -> Record:
    halves = split(dataset.documents, seed)
    made = make_pseudo_test(halves.training, seed, run.bench) if judge == "pseudo" else None
    if made is not None:
        halves = made.halves
    taught = {"perturb": {"kinds": TAUGHT}} if made is not None and preset == "full" else {}
    model = run.bench.difa(preset, seed, merge_stages(taught, _plain(variant)))
    with quiet_rates():
        model.fit(halves.training)
        if made is not None:
            model.detector_ = replace(model.detector_, encoder=made.encoder)
        scores = read_results(model.score(halves.test, fpr=RATE))
        parts = _parts(model, scores, halves) if variant is WHOLE else {"word": {}, "document": {}}
    words, documents = _whole(scores)
    parts = {"word": {**parts["word"], **words}, "document": {**parts["document"], **documents}}
    return {"figures": _figures(parts, halves, made, run.options.draws, seed)}


def _whole(scores: Scores) -> tuple[dict[str, list[FloatArray]], dict[str, FloatArray]]:
    return {"fusion": scores.words or []}, {"document score": scores.documents["learned"]}


def _parts(model: DiFA, scores: Scores, halves: Split) -> dict[str, dict[str, Any]]:
    """Scores of single parts of the fitted model, by level and name."""
    words: dict[str, list[FloatArray]] = {f"{view} view alone": evidence for view, evidence in scores.views.items()}
    words["calibrated, plain mean of views"] = _plain_mean(list(scores.views.values()))
    words["not calibrated, plain mean of views"] = _plain_mean(_standardised(model, halves))
    documents = {POOLING[rule]: pooled for rule, pooled in pool_words(model, scores.words or []).items()}
    for name in ("calibrated, plain mean of views", "not calibrated, plain mean of views"):
        documents[f"{name}, max"] = pool_max(words[name])
    return {"word": words, "document": documents}


def _plain_mean(by_view: Sequence[Sequence[FloatArray]]) -> list[FloatArray]:
    return [np.mean(views, axis=0) for views in zip(*by_view, strict=True)]


def _standardised(model: DiFA, halves: Split) -> list[list[FloatArray]]:
    """Raw evidence of each view in units of its spread over normal words: what there is without tail probabilities."""
    fitted = model.detector_
    encoded = fitted.encoder.encode(halves.test)
    by_view = []
    for view, reference in zip(fitted.views, fitted.references, strict=True):
        mean, spread = float(reference.values.mean()), float(reference.values.std()) or 1.0
        by_view.append([(raw - mean) / spread for raw in view.raw(encoded)])
    return by_view


def _figures(parts: Mapping[str, Any], halves: Split, made: PseudoTest | None, draws: int, seed: int) -> list[Record]:
    """Figures of every part; with pseudo anomalies, of every kind of them against the same normal documents."""
    labels = halves.word_labels
    kinds = sorted(set(made.kinds) - {""}) if made else []
    groups: dict[str, list[int]] = {"": list(range(len(labels)))}
    for kind in kinds:
        groups[kind] = [index for index, each in enumerate(made.kinds if made else ()) if each in ("", kind)]
    figures: list[Record] = []
    for kind, members in groups.items():
        chosen = [labels[index] for index in members]
        for part, words in parts["word"].items():
            judged = judge_words(chosen, [words[index] for index in members], draws, seed)
            figures.append({"level": "word", "part": part, "pooling": None, "kind": kind} | judged.to_dict())
        for part, documents in parts["document"].items():
            judged = judge_documents(chosen, documents[members], draws, seed)
            figures.append({"level": "document", "part": part, "pooling": None, "kind": kind} | judged.to_dict())
    return figures
