"""Held-out normal documents -> a test with made-up anomalies, to choose settings without looking at real labels.

The normal training half is cut in two: models are fitted on one part, pseudo anomalies are made from the other. The made
documents carry vectors of their own, which an encoder that only looks them up hands to the detector.

The paper selects models "based on validation performance" and says that anomaly labels serve evaluation alone; it does not
describe its validation data. Here the settings of baselines and the layer of an encoder (`difa bench layers`) are judged by the
paper's own pseudo anomalies. No test document and no label has a part in it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from difa.baselines import METHODS, MethodSettings
from difa.bench.data import DataSet
from difa.bench.methods import Workbench, preset_of, quiet_rates, read_results, score_baseline
from difa.bench.metrics import RATE, figures_of
from difa.bench.run import Run, Task, finish, write_text
from difa.bench.split import Split, split
from difa.bench.store import Record, fingerprint_of
from difa.bench.tables_studies import best_layer, layers_markdown
from difa.config import ERROR_KINDS, Config, EncoderConfig, PerturbConfig
from difa.document import Document, Encoded
from difa.encoders import EncoderSpec, Progress
from difa.encoders.convert import find
from difa.knowledge.wordlist import find_language
from difa.perturb import make_pseudo_anomalies
from difa.words import from_tokens

COMMAND = "validation"


@dataclass(frozen=True)
class GivenVectors:
    """An encoder that knows its documents already, by their id."""

    spec: EncoderSpec
    known: Mapping[str | None, Encoded]

    def encode(self, documents: Sequence[Document], progress: Progress | None = None) -> list[Encoded]:
        """The vectors that were given."""
        return [self.known[document.id] for document in documents]

    def vocabulary(self) -> list[str]:
        """None: nothing new is made from it."""
        return []


@dataclass(frozen=True)
class PseudoTest:
    """Documents to fit on; held-out documents, normal and changed; the kind of each change ("" for none); their vectors."""

    halves: Split
    kinds: tuple[str, ...]
    encoder: GivenVectors


TAUGHT, LEFT_OUT = ERROR_KINDS[::2], ERROR_KINDS[1::2]
"""Kinds of errors that models are taught, and kinds that they are tested on: a critic is always good at what it was taught."""


def make_pseudo_test(
    training: Sequence[Document], seed: int, bench: Workbench, perturb: PerturbConfig | None = None
) -> PseudoTest:
    """Cut normal documents in two, and make pseudo anomalies of the second part.

    Args:
        training: normal documents.
        seed: of the cut and of the changes.
        bench: the encoder.
        perturb: which anomalies, and how many; None makes those of the kinds that are left out.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(training)).tolist()
    fitted = [training[index] for index in sorted(order[: len(order) // 2])]
    held = [training[index] for index in sorted(order[len(order) // 2 :])]
    normal = [replace(document, id=f"normal-{number}", labels=(0,) * len(document.words)) for number, document in enumerate(held)]
    vectors = bench.encode(normal)
    language = find_language(word for document in vectors for word in document.words)
    perturb = perturb or PerturbConfig(kinds=LEFT_OUT)
    pseudos = make_pseudo_anomalies(vectors, bench.encoder, perturb, rng, language)
    changed = [
        from_tokens(pseudo.document.words, id=f"pseudo-{number}", labels=[int(label) for label in pseudo.labels])
        for number, pseudo in enumerate(pseudos)
    ]
    test = [*normal, *changed]
    known = dict(zip((document.id for document in test), [*vectors, *(pseudo.document for pseudo in pseudos)], strict=True))
    kinds = ("",) * len(normal) + tuple(pseudo.kind for pseudo in pseudos)
    return PseudoTest(Split(fitted, test), kinds, GivenVectors(bench.encoder.spec, known))


def validation_tasks(run: Run, dataset: DataSet, seed: int, names: Sequence[str]) -> list[Task]:
    """A task for each setting that a named method's authors searched; none for methods without a choice."""

    @cache  # made once for all settings, and only if one of them is not finished
    def make() -> PseudoTest:
        return make_pseudo_test(split(dataset.documents, seed).training, seed, run.bench, Config.preset("paper").perturb)

    return [
        _task(run, dataset, seed, name, settings, make) for name in names if name in METHODS for settings in METHODS[name].grid
    ]


def _task(run: Run, dataset: DataSet, seed: int, name: str, settings: MethodSettings, make: Callable[[], PseudoTest]) -> Task:
    parts = ["bench/validation.py", "perturb"]
    fingerprint = fingerprint_of(parts, method=run.bench.fingerprint(name), encoder=run.bench.encoder_key)
    return Task(run.cell(COMMAND, dataset, seed, name, settings, fingerprint), partial(_compute, run, seed, name, settings, make))


def _compute(run: Run, seed: int, name: str, settings: MethodSettings, make: Callable[[], PseudoTest]) -> Record:
    made = make()
    scores = score_baseline(name, settings, run.bench.encode(made.halves.training), made.encoder.encode(made.halves.test), seed)
    return {"figures": figures_of(scores, made.halves.word_labels, 0, seed)}


def attach(records: Sequence[Record]) -> list[Record]:
    """The records without those of validation, whose figures go to the record of the same setting, as `validation`."""
    judged = {_key(record): record["figures"] for record in records if record["command"] == COMMAND}
    tested = [record for record in records if record["command"] != COMMAND]
    return [record | {"validation": judged[_key(record)]} if _key(record) in judged else record for record in tested]


def _key(record: Record) -> str:
    return repr([record[key] for key in ("set", "form", "seed", "method")] + sorted(record["settings"].items()))


def run_layers(run: Run, layers: Sequence[int] = (), preset: str = "paper", documents: int = 300) -> list[Record]:
    """Judge layers of the encoder, and write `layers.json`, `layers.md` and, the best one alone, `layer.txt`.

    Args:
        run: where to, and on what.
        layers: which; for none every other one, counted back from the last.
        preset: of DiFA.
        documents: most training documents of a set that are looked at.
    """
    source = find(EncoderConfig(name=run.options.encoder))
    depth = int(json.loads((source.folder / "config.json").read_text(encoding="utf-8"))["num_hidden_layers"])
    tasks = [
        _layer_task(run, dataset, seed, f"difa-{preset}", layer, documents)
        for layer in layers or range(depth, depth // 3, -2)
        for dataset in run.sets
        for seed in run.options.seeds
    ]
    records = finish(run, "layers", tasks, layers_markdown)
    write_text(run.store.folder / "layer.txt", f"{best_layer(records)}\n")
    return records


def _layer_task(run: Run, dataset: DataSet, seed: int, name: str, layer: int, documents: int) -> Task:
    key = fingerprint_of(["bench/validation.py"], method=run.bench.fingerprint(name))
    cell = run.cell("layers", dataset, seed, name, {"layer": layer, "documents": documents}, key)
    return Task(cell, partial(_judge_layer, run, dataset, seed, name, layer, documents))


def _judge_layer(run: Run, dataset: DataSet, seed: int, name: str, layer: int, documents: int) -> Record:
    bench = replace(run.bench, layer=layer, _vectors={})
    training = split(dataset.documents, seed).training
    chosen = np.random.default_rng(seed).permutation(len(training))[:documents].tolist()
    made = make_pseudo_test([training[index] for index in sorted(chosen)], seed, bench, Config.preset("paper").perturb)
    with quiet_rates():
        model = bench.difa(preset_of(name), seed).fit(made.halves.training)
        model.detector_ = replace(model.detector_, encoder=made.encoder)
        scores = read_results(model.score(made.halves.test, fpr=RATE))
    return {"figures": figures_of(scores, made.halves.word_labels, 0, seed)}
