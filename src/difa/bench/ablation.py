"""`difa bench ablation` and `difa bench layers`, and data to choose settings by without a look at real labels.

Ablation says what each part of DiFA is worth: one fit gives views, their fusion, pooling rules and plain means of the views, and
each of `VARIANTS` is a further fit. Judged by labels, or by pseudo anomalies of held-out normal documents, of kinds that nothing
was taught. The normal training half is then cut in two: models are fitted on one part, anomalies are made from the other, with
vectors of their own. Settings of baselines and the layer of an encoder are judged by the paper's own pseudo anomalies (it selects
models "based on validation performance" and does not describe its validation data). No test document and no label has a part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from difa.bench import methods, tables
from difa.bench.data import DataSet, Split, draw, split
from difa.bench.metrics import Record, Records, Scores, figures_of, judge_documents, judge_words, pool_max
from difa.bench.run import Cell, Run, Study
from difa.config import ERROR_KINDS, FULL_VIEWS, Config, PerturbConfig
from difa.document import Document, FloatArray, split_by
from difa.encoders import Encoder
from difa.errors import ConfigError
from difa.estimator import DiFA
from difa.knowledge.wordlist import find_language
from difa.perturb import make_pseudo_anomalies
from difa.words import from_tokens


@dataclass(frozen=True)
class PseudoTest:
    """Documents to fit on; held-out documents, normal and changed; the kind of each change ("" for none); their vectors."""

    halves: Split
    kinds: tuple[str, ...]
    encoder: methods.GivenVectors


TAUGHT, LEFT_OUT = ERROR_KINDS[::2], ERROR_KINDS[1::2]
"""Kinds of errors that models are taught, and kinds that they are tested on: a critic is always good at what it was taught."""


def make_pseudo_test(
    training: Sequence[Document], seed: int, encoder: Encoder, perturb: PerturbConfig | None = None
) -> PseudoTest:
    """Cut normal documents in two, and make pseudo anomalies of the second part, by default those of `LEFT_OUT`."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(training)).tolist()
    fitted = [training[index] for index in sorted(order[: len(order) // 2])]
    held = [training[index] for index in sorted(order[len(order) // 2 :])]
    normal = [replace(document, id=f"normal-{number}", labels=(0,) * len(document.words)) for number, document in enumerate(held)]
    vectors = encoder.encode(normal)
    language = find_language(word for document in vectors for word in document.words)
    pseudos = make_pseudo_anomalies(vectors, encoder, perturb or PerturbConfig(kinds=LEFT_OUT), rng, language)
    changed = [
        from_tokens(pseudo.document.words, id=f"pseudo-{number}", labels=[int(label) for label in pseudo.labels])
        for number, pseudo in enumerate(pseudos)
    ]
    test = [*normal, *changed]
    known = dict(zip((document.id for document in test), [*vectors, *(pseudo.document for pseudo in pseudos)], strict=True))
    kinds = ("",) * len(normal) + tuple(pseudo.kind for pseudo in pseudos)
    return PseudoTest(Split(fitted, test), kinds, methods.GivenVectors(encoder, known, key=lambda document: document.id))


def _fit_and_score(model: DiFA, halves: Split, made: PseudoTest | None) -> Scores:
    """Scores of the test half, with the vectors that pseudo anomalies carry."""
    with methods.quiet_rates():
        model.fit(halves.training)
    if made is not None:
        model.detector_ = replace(model.detector_, encoder=made.encoder)
    return methods.score_documents(model, halves.test)


VARIANTS: dict[str, dict[str, Mapping[str, Mapping[str, Any]]]] = {
    "full": {
        **{f"without the {name} view": {"views": {"names": tuple(o for o in FULL_VIEWS if o != name)}} for name in FULL_VIEWS},
        "with the semantic view": {"views": {"names": (*FULL_VIEWS, "semantic")}},
        "plain mean of the views": {"fusion": {"power": 1.0, "weights": {}}},
        "power of 4": {"fusion": {"power": 4.0}},
        "all views count the same": {"fusion": {"weights": {}}},
    },
    "": {
        "in-sample calibration": {"calibration": {"reference": "in-sample"}},
        "unseen calibration": {"calibration": {"reference": "unseen"}},
    },
    "paper": {
        "without the student term": {"semantic": {"student_weight": 0.0}},
        "without the agreement gate": {"fusion": {"agreement": False}},
        "gates held at one half": {"learn": {"shrinkage": 1e3}},
    },
}
"""Lines of the ablation by the only preset that has what is changed, those of any preset under "": a name, and the settings that
differ, as `DiFA(stages=…)` takes them.
"""
JUDGES = ("labels", "pseudo")
POOLING = {"max": "max", "topk": "top-k mean", "lse": "log-mean-exp", "adp": "adaptive", "mean": "mean"}
"""The pooling rules of `difa.paper`, and how the tables call them."""
_FINAL = ("fusion", "document score")


def run_ablation(run: Run, preset: str = "full", judge: str = "labels") -> list[Record]:
    """Measure, and write `ablation.json` and `ablation.md`."""
    if judge not in JUDGES:
        raise ConfigError(f"judge: expected {' or '.join(JUDGES)}, got {judge!r}")
    lines: dict[str, Mapping[str, Any]] = {"as it is": {}} | different(run.options, preset)
    settings = [{"variant": label, "stages": stages, "judge": judge} for label, stages in lines.items()]
    return ABLATION.measure(run, [f"difa-{preset}"], lambda cell: settings)


def different(options: methods.Options, preset: str) -> dict[str, Mapping[str, Any]]:
    """Variants that concern the preset and are not what it does anyway."""
    whole = options.difa(preset, 0).config()
    concerned = [pair for of, variants in VARIANTS.items() if of in ("", preset) for pair in variants.items()]
    return {label: stages for label, stages in concerned if options.difa(preset, 0, stages).config() != whole}


def _compute_ablation(cell: Cell) -> Record:
    halves, preset, seed, settings, made = cell.halves, methods.preset_of(cell.method), cell.seed, cell.settings, None
    if settings["judge"] == "pseudo":
        made = make_pseudo_test(halves.training, seed, cell.options.encoder_of(cell.method))
        halves = made.halves
    taught = {"perturb": {"kinds": TAUGHT}} if made and preset == "full" else {}
    model = cell.options.difa(preset, seed, taught, settings["stages"])
    scores = _fit_and_score(model, halves, made)
    words, documents = ({}, {}) if settings["stages"] else _parts(model, scores, halves)
    words, documents = words | {"fusion": scores.words}, documents | {"document score": scores.documents["learned"]}
    kinds = made.kinds if made else ("",) * len(halves.test)
    figures: list[Record] = []
    for kind in tables.unique(["", *sorted(kinds)]):  # every kind of pseudo anomalies against the same normal documents
        members = [index for index, each in enumerate(kinds) if not kind or each in ("", kind)]
        labels, draws = [halves.word_labels[index] for index in members], cell.options.draws
        for part, by_document in words.items():
            figures.append(judge_words(labels, [by_document[index] for index in members], draws, seed, part=part, kind=kind))
        for part, pooled in documents.items():
            figures.append(judge_documents(labels, pooled[members], draws, seed, part=part, kind=kind))
    return {"figures": figures}


def _parts(model: DiFA, scores: Scores, halves: Split) -> tuple[dict[str, list[FloatArray]], dict[str, FloatArray]]:
    """Scores of words and of documents by single parts of the fitted model."""
    fitted, standardised = model.detector_, []
    encoded = fitted.encoder.encode(halves.test)
    for view, reference in zip(fitted.views, fitted.references, strict=True):  # what there is without tail probabilities
        mean, spread = float(reference.values.mean()), float(reference.values.std()) or 1.0
        standardised.append(split_by(map(len, encoded), (view.raw(encoded) - mean) / spread))
    by_view = {"calibrated": scores.views.values(), "not calibrated": standardised}
    means = {
        f"{name}, plain mean of views": [np.mean(views, axis=0) for views in zip(*each, strict=True)]
        for name, each in by_view.items()
    }
    words = {f"{view} view alone": evidence for view, evidence in scores.views.items()}
    documents = {POOLING[rule]: pooled for rule, pooled in methods.pool_words(model, scores.words).items()}
    return words | means, documents | {f"{name}, max": pool_max(mean) for name, mean in means.items()}


def ablation_markdown(records: Records) -> str:
    """Parts of one fit, then other settings, for each preset, judge and form."""
    blocks = [tables.ENTRIES]
    for (method, judge, form), mine in tables.grouped(records, "method", "judge", "form").items():
        frame = tables.figures_frame(mine, "variant", "stages")
        frame["label"] = [_variant_label(*of) for of in zip(frame.part, frame.variant, frame.stages, strict=True)]
        frame, seeds = frame.dropna(subset=["label"]), tables.seeds_of(mine)
        beside = (method, judge, form, seeds) == ("difa-paper", "labels", "original", f"seed {tables.PUBLISHED_SEED}")
        for kind in tables.unique(frame["kind"]):
            judged = "labels" if judge == "labels" else f"{kind or 'all'} pseudo anomalies"
            blocks.append(f"## {methods.label_of(method)}, {form} form, {seeds}: judged by {judged}")
            blocks += tables.by_level(frame[frame.kind == kind], mine, beside)
    return tables.page(*blocks)


def _variant_label(part: str, variant: str, stages: Mapping[str, Any]) -> str | None:
    """What a row of the ablation is called; None for parts of a changed preset, which has only its final scores."""
    if not stages:
        return f"**{part}**" if part in _FINAL else part
    return None if part not in _FINAL else f"{part} {variant}" if variant.startswith("without") else f"{part}, {variant}"


def parts_markdown(records: Records) -> str:
    """The paper's ablation from the records of `difa bench table`: single views, fusion, and pooling rules, over seeds."""
    blocks = [tables.ENTRIES]
    ours = [record for record in records if record["method"] in methods.DIFA and not record["settings"]]
    named = [record | {"split": _split_of(record)} for record in ours]
    groups = tables.grouped(named, "method", "form", "split")
    labels = {"": "**fusion**", "learned": "**document score**"} | POOLING
    for (method, form, kind), group in sorted(groups.items(), key=lambda item: tables.methods_of(ours).index(item[0][0])):
        frame = tables.figures_frame(group)
        frame["label"] = (frame.part + " view alone").where(frame.part != "", frame.pooling.map(labels))
        frame = frame.sort_values("label", key=lambda names: names.str.startswith("**"), kind="stable")
        models = f", {tables.seeds_of(group, 'model_seed')}" if kind.startswith("models") else ""
        beside = (method, form) == ("difa-paper", "original") and kind != "others"
        blocks.append(f"## {methods.label_of(method)}, {form} form, {tables.seeds_of(group)}{models}")
        blocks += tables.by_level(frame, group, beside)
    return tables.page(*blocks)


def _split_of(record: Record) -> str:
    """The published split, the others together, or several models on one split."""
    if record.get("model_seed") is not None:
        return f"models {record['seed']}"
    return "published" if record["seed"] == tables.PUBLISHED_SEED else "others"


def validate(cell: Cell) -> list[Record]:
    """Figures of a baseline with its settings on pseudo anomalies: no test document has a part in the choice of settings."""
    made = _make_paper_test(cell.run, cell.dataset, cell.seed)
    training, test = cell.options.reader.encode(made.halves.training), made.encoder.encode(made.halves.test)
    scores = methods.score_baseline(cell.method, cell.settings, training, test, cell.seed)
    return figures_of(scores, made.halves.word_labels, 0, cell.seed)


@lru_cache(maxsize=1)  # made once for all settings of all methods on a split
def _make_paper_test(run: Run, dataset: DataSet, seed: int) -> PseudoTest:
    return make_pseudo_test(split(dataset.documents, seed).training, seed, run.options.reader, Config.preset("paper").perturb)


def run_layers(run: Run, layers: Sequence[int] = (), preset: str = "paper", documents: int = 300) -> list[Record]:
    """Judge layers of the encoder, and write `layers.json` and `layers.md`.

    For no layers every other one is judged, counted back from the last, with at most so many training documents of a set.
    """
    depth = run.options.source.layers
    settings = [{"layer": layer, "documents": documents} for layer in layers or range(depth, depth // 3, -2)]
    return LAYERS.measure(run, [f"difa-{preset}"], lambda cell: settings)


def _compute_layer(cell: Cell) -> Record:
    options, training = replace(cell.options, layer=cell.settings["layer"]), cell.halves.training
    chosen = sorted(draw(range(len(training)), cell.settings["documents"], np.random.default_rng(cell.seed)))
    some = [training[index] for index in chosen]
    made = make_pseudo_test(some, cell.seed, options.encoder_of(cell.method), Config.preset("paper").perturb)
    scores = _fit_and_score(options.difa(methods.preset_of(cell.method), cell.seed), made.halves, made)
    return {"figures": figures_of(scores, made.halves.word_labels, 0, cell.seed)}


def _word_figures(records: Records) -> tables.Frame:
    frame = tables.figures_frame(records, "layer")
    return frame[(frame.level == "word") & (frame.part == "")].sort_values("layer", kind="stable")


def layers_markdown(records: Records) -> str:
    """Word figures on validation data by layer, and the layer with the highest average AUROC."""
    said = f"Words of pseudo anomalies in held-out normal documents. {tables.ENTRIES}"
    table = tables.by_set(_word_figures(records).rename(columns={"layer": "label"}), records, "layer")
    return tables.page(said, table, f"Chosen: layer {best_layer(records)}.")


def best_layer(records: Records) -> int:
    """The layer with the highest word AUROC on validation data, averaged over sets; the lower one of equals."""
    return int(_word_figures(records).groupby(["layer", "set"])["auroc"].mean().groupby("layer").mean().idxmax())


ABLATION = Study("ablation", _compute_ablation, ablation_markdown, code=("bench/ablation.py",))
LAYERS = Study("layers", _compute_layer, layers_markdown, code=("bench/ablation.py",))
