"""A fitted detector <-> a model folder.

config.json (format, library, encoder, seed, counts, settings, checksums), weights.safetensors (references and small weights),
encoder.onnx and tokenizer.json if there is an encoder, one graph per view that has one, and a short model card. No pickle. A
folder is written beside its place and then renamed: it is there whole or not at all. Loading checks the sums of all that it
reads, checks every entry of config.json, trusts nothing, and fetches nothing; a first score is the last check.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from difa import __version__
from difa.calibrate import TailReference, check_rate
from difa.config import Config
from difa.config.checks import check_seed, check_threads
from difa.corpus.allow import AllowList
from difa.decide import rank
from difa.decide.confidence import say_bound
from difa.detector import Detector, Updates
from difa.document import FloatArray, IntArray
from difa.document_score import DocumentScore
from difa.encoders import EncoderSpec, encoder_files, restore_encoder, with_cache
from difa.errors import EncoderError, MissingExtraError, ModelError
from difa.feed import FeedSummary
from difa.fuse import FeedFusion
from difa.knowledge import ENGLISH, PACKAGES, check_versions, versions
from difa.knowledge.wordlist import check_language
from difa.paper import PaperWeights
from difa.runtime.graphs import refuse_unsafe
from difa.storage.atomic import fresh_folder, undisturbed, write_synced
from difa.storage.model_folder import (
    CONFIG,
    FORMAT,
    check_place,
    check_sums,
    config_json,
    read_config,
    read_files,
    read_tensors,
    reason_of,
    write_config,
)
from difa.views import SavedView, check_views, view_kind
from difa.words import check_unicode, from_text

_CARD_RATES = (0.01, 0.05, 0.1)  # false-alarm rates whose bounds the card gives
_PARAMETERS = ("preset", "fpr", "fdr", "stages", "max_words")
_MOST_WIDE = 1 << 16  # numbers of a vector, and subwords that an encoder reads at once
_PROBE = "Thank you, teh 2 wordsofa xkcdqwrt text."


@dataclass(frozen=True)
class Stored:
    """What config.json says of a model."""

    config: Config
    language: str | None
    encoder: EncoderSpec
    seed: int
    training: Mapping[str, int]
    knowledge: Mapping[str, str]
    parameters: dict[str, Any]
    allow: AllowList
    updates: Updates
    feed_summary: FeedSummary | None

    @classmethod
    def of(cls, entries: Mapping[str, Any]) -> Stored:
        """Check them; raises `ValueError`, `TypeError`, `KeyError` or `ConfigError` with a reason."""
        if "encoder_origin" in entries:  # as folders of earlier versions could have it
            raise ModelError("expected a model that holds its encoder, got one that names it: fit again with another encoder")
        allowed = entries.get("allowed", [])
        if not isinstance(allowed, list):
            raise ValueError(f"allowed: expected a list, got {type(allowed).__name__}")
        updates = _object(entries, "updates", ("times", "documents", "words"), ("last",)) if "updates" in entries else {}
        summary = FeedSummary.from_dict(_object(entries, "feed")) if "feed" in entries else None
        check_unicode(" ".join(word for finding in (summary.findings if summary else ()) for word in finding.words))
        sizes, texts = ("layer", "dimension", "max_length"), ("name", "sha256", "fingerprint")
        return cls(
            config=check_views(Config().changed(_object(entries, "stages"))),
            language=check_language(entries["language"]),
            encoder=EncoderSpec(**_object(entries, "encoder", sizes, texts, _MOST_WIDE)),
            seed=check_seed(entries["seed"]),
            training=_object(entries, "training", ("documents", "words", "left_out", "copies", "seen_documents", "seen_words")),
            knowledge=_object(entries, "knowledge", texts=_object(entries, "knowledge")),
            parameters=_parameters(entries),
            allow=AllowList.of(allowed),
            updates=Updates(**updates),
            feed_summary=summary,
        )


def _object(
    entries: Mapping[str, Any], name: str, counts: Iterable[str] = (), texts: Iterable[str] = (), most: int = (1 << 53) - 1
) -> dict[str, Any]:
    """An object among the entries, with whole numbers of at most `most` and texts under the keys that are named."""
    found = entries[name]
    if not isinstance(found, dict):
        raise ValueError(f"{name}: expected entries, got {type(found).__name__}")
    for key in counts:
        if type(found[key]) is not int or not 0 <= found[key] <= most:
            raise ValueError(f"{name}.{key}: expected a whole number from 0 to {most}, got {found[key]!r:.40}")
    for key in texts:
        if not isinstance(found[key], str):
            raise ValueError(f"{name}.{key[:40]}: expected a string, got {type(found[key]).__name__}")
        check_unicode(found[key])
    return found


def _parameters(entries: Mapping[str, Any]) -> dict[str, Any]:
    """The constructor's parameters, as it takes them."""
    found = _object(entries, "parameters", ("max_words",))
    if unknown := found.keys() - set(_PARAMETERS):
        raise ValueError(f"parameters: expected {', '.join(_PARAMETERS)}, got {sorted(unknown)[0][:40]!r}")
    Config.preset(found["preset"]).changed(found.get("stages") or {})
    check_rate("fpr", found["fpr"])
    if found.get("fdr") is not None:
        check_rate("fdr", found["fdr"])
    return found


def check_scores(detector: Detector) -> None:
    """Score and explain a short text: parts that do not fit together are found now and not in the first document."""
    documents = [from_text(_PROBE), from_text("")]
    encoded = detector.encode(documents)
    scored = rank(detector, detector.score_chunk(documents, encoded))
    if not all(np.isfinite(values).all() for values in (scored.word_scores, scored.evidence, scored.document_scores)):
        raise ValueError("a short text has scores that are no numbers")
    for view in detector.views:
        view.explain(encoded[0])


def save(detector: Detector, folder: Path, parameters: dict[str, Any]) -> None:
    """Write a model folder; an older model at the same path is replaced, anything else is left alone."""
    folder = Path(os.path.realpath(folder))  # behind a link lies what is to be replaced
    check_place(folder)
    files = model_files(detector, parameters)
    try:
        with fresh_folder(folder) as fresh:
            for file, content in files.items():
                write_synced(fresh / file, content)
    except OSError as error:
        raise ModelError(f"{folder}: cannot be written: {error.strerror or error}") from None


def load(folder: Path, cache: str | Path | None = None, threads: int | None = None) -> tuple[Detector, dict[str, Any]]:
    """Read and check a model folder: the detector, and the constructor's parameters it was fitted with."""
    check_threads(threads)
    config_file = read_config(folder)
    try:
        checked = Stored.of(config_file)
        check_versions(checked.knowledge)
        content = read_files(folder, config_file["files"])
        with ThreadPoolExecutor(2) as beside:
            sums = beside.submit(check_sums, folder, content, config_file["files"])
            try:
                detector = _restore(checked, content, threads, beside)
                check_scores(detector)
            finally:
                sums.result()  # a file that was changed is the reason of whatever else went wrong
    except (ModelError, MissingExtraError, EncoderError):
        raise
    except Exception as error:  # what a stranger's file can make the readers of ONNX, tokenizers and tensors raise has no bounds
        raise ModelError(f"{folder}: damaged or incomplete model ({reason_of(error)}): fit and save it again") from None
    return replace(detector, encoder=with_cache(detector.encoder, cache)), checked.parameters


def _restore(checked: Stored, content: Mapping[str, bytes], threads: int | None, beside: Executor) -> Detector:
    """The detector; its encoder is made ready in another thread, which takes as long as all the rest."""
    config, language, training = checked.config, checked.language, checked.training
    for name in content:
        if name.endswith(".onnx"):
            refuse_unsafe(name, content[name])
    encoder = beside.submit(restore_encoder, checked.encoder, content, config.encoder.batch_tokens, threads)
    tensors = read_tensors(content["weights.safetensors"])
    names = config.views.names
    saved = (SavedView(_part(tensors, f"view.{name}."), content.get(f"{name}.onnx"), config, language, threads) for name in names)
    dimension = checked.encoder.dimension
    feed_fusion = FeedFusion.restore(found, len(names), dimension, config.feed) if (found := _part(tensors, "taught.")) else None
    evidence_names = (*names, *(feed_fusion.names if feed_fusion else ()))
    traits = _part(tensors, "document.")
    views = tuple(view_kind(name).restore(of_view) for name, of_view in zip(names, saved, strict=True))
    return Detector(
        config=config,
        seed=checked.seed,
        encoder=encoder.result(),
        language=language,
        views=views,
        references=tuple(TailReference.restore(tensors[f"reference.{name}"]) for name in names),
        paper=PaperWeights(fusion, _part(tensors, "aggregation.")) if (fusion := _part(tensors, "fusion.")) else None,
        document_score=DocumentScore.restore(traits, evidence_names, config.feed) if traits else None,
        word_reference=TailReference.restore(tensors["reference.word"]),
        linter_reference=TailReference.restore(tensors["reference.linter"]),
        document_reference=TailReference.restore(tensors["reference.document"]),
        training_scores=tensors["training_scores"],
        left_out=training["left_out"],
        copies=training["copies"],
        training_words=training["words"],
        seen_documents=training["seen_documents"],
        seen_words=training["seen_words"],
        threads=threads,
        allow=checked.allow,
        updates=replace(checked.updates, fingerprints=tensors.get("updates", np.empty(0)).astype(np.int64)),
        feed_fusion=feed_fusion,
        feed_summary=checked.feed_summary,
    )


def set_rate(folder: Path, fpr: float) -> None:
    """Change the false-alarm rate that a stored model flags at; a stored false-discovery rate gives way to it."""
    with undisturbed(folder):
        config = read_config(folder)
        config["parameters"] = {**Stored.of(config).parameters, "fpr": fpr, "fdr": None}
        write_config(folder, config)


def set_allowed(folder: Path, change: Callable[[AllowList], AllowList]) -> tuple[AllowList, AllowList]:
    """Change which words a stored model allows for good; returns the list before and after."""
    with undisturbed(folder):
        config = read_config(folder)
        before = Stored.of(config).allow
        after = change(before)
        write_config(folder, {**config, "allowed": list(after.entries)})
    return before, after


def model_files(detector: Detector, parameters: dict[str, Any]) -> dict[str, bytes]:
    """The content of a model folder, by the names of its files."""
    from safetensors.numpy import save as serialise

    paper, score, feed_fusion = detector.paper, detector.document_score, detector.feed_fusion
    references = {view.name: reference for view, reference in zip(detector.views, detector.references, strict=True)}
    references |= {"word": detector.word_reference, "document": detector.document_reference, "linter": detector.linter_reference}
    parts: dict[str, Mapping[str, FloatArray | IntArray]] = {
        "reference": {name: reference.values for name, reference in references.items()},
        "fusion": paper.fusion if paper else {},
        "aggregation": paper.aggregation if paper else {},
        "document": score.tensors() if score else {},
        "taught": feed_fusion.tensors() if feed_fusion else {},
        **{f"view.{view.name}": view.tensors() for view in detector.views},
    }
    tensors = {f"{part}.{name}": value for part, values in parts.items() for name, value in values.items()}
    tensors["training_scores"] = detector.training_scores
    if detector.updates.times:
        tensors["updates"] = detector.updates.fingerprints
    graphs = {f"{view.name}.onnx": graph for view in detector.views if (graph := view.graph()) is not None}
    weights = serialise({name: np.ascontiguousarray(value) for name, value in tensors.items()})
    files = {**encoder_files(detector.encoder), **graphs, "weights.safetensors": weights}
    card, config = _card(detector, parameters), _config(detector, parameters, files)
    return files | {"README.md": card.encode(), CONFIG: config_json(config).encode()}


def _config(detector: Detector, parameters: dict[str, Any], files: dict[str, bytes]) -> dict[str, Any]:
    return {
        "difa_format": FORMAT,
        "difa_version": __version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "encoder": detector.encoder.spec.to_dict(),
        "seed": detector.seed,
        "language": detector.language,
        "knowledge": versions(_knowledge(detector)),
        "training": {
            "documents": len(detector.training_scores),
            "words": detector.training_words,
            "left_out": detector.left_out,
            "copies": detector.copies,
            "seen_documents": detector.seen_documents,
            "seen_words": detector.seen_words,
        },
        **({"updates": detector.updates.to_dict()} if detector.updates.times else {}),
        **({"feed": asdict(detector.feed_summary)} if detector.feed_summary else {}),
        **({"allowed": list(detector.allow.entries)} if detector.allow else {}),
        "parameters": parameters,
        "stages": detector.config.to_dict(),
        "files": {name: sha256(content).hexdigest() for name, content in sorted(files.items())},
    }


def _card(detector: Detector, parameters: dict[str, Any]) -> str:
    spec, reference = detector.encoder.spec, detector.document_reference
    ignored = str(detector.config.ignore).replace("|", "\\|")
    language, place = (f"`{detector.language}`", " in it") if detector.language else ("not found: only the corpus counts", "")
    silent = [view for view in detector.config.views.names if view_kind(view).english_only and detector.language != ENGLISH]
    learnt = {part for view in detector.config.views.names for part in view_kind(view).learnt_from}
    parts = [PACKAGES[part] for part in sorted({*_knowledge(detector), *learnt})]
    thanks = [f"- {part.credit} ({part.licence})" for part in parts]  # which the licences ask for
    lines = [
        "# A DiFA model",
        "",
        "Finds words and documents that do not belong among the normal texts it was fitted on. It knows nothing else:",
        "its scores say how unusual a text is for that corpus, not whether it is bad.",
        "",
        "| | |",
        "|---|---|",
        f"| library | difa {__version__}, preset `{parameters['preset']}` |",
        f"| encoder | {f'`{spec.name}`, layer {spec.layer}, {spec.dimension} dimensions' if spec.dimension else 'none'} |",
        f"| fitted on | {_extent(detector)} |",
        f"| left out | {detector.left_out} documents that do not belong among the others |",
        *([f"| counted once | {detector.copies} copies and near-copies of other documents |"] if detector.copies else []),
        *([f"| learned from | {detector.feed_summary.extent} |"] if detector.feed_summary else []),
        *([f"| updated | {detector.updates} |"] if detector.updates.times else []),
        *([f"| ignored | {ignored} |"] if detector.noise else []),
        f"| language | {language}{f'; silent{place}: ' if silent else ''}{', '.join(silent)} |",
        f"| seed | {detector.seed} |",
        f"| smallest document p-value | {reference.least_p:.2g} |",
        *(f"| normal documents flagged at {100 * rate:g} % | {say_bound(len(reference.values), rate)} |" for rate in _CARD_RATES),
        "",
        *([*detector.feed_summary.sentences(), ""] if detector.feed_summary else []),
        "The bounds are for documents like the normal ones, and approximate: the scores that p-values are ranked among come from",
        "views that had not seen the document, and so a little less text than the model.",
        "",
        "```python",
        "from difa import DiFA",
        'DiFA.load("this-folder").score(["some text"])',
        "```",
        "",
        *(["## Knowledge of the language", "", *thanks, ""] if thanks else []),
    ]
    return "\n".join(lines)


def _knowledge(detector: Detector) -> list[str]:
    """The parts of the knowledge of the language that scoring needs."""
    views = detector.config.views.names
    return sorted({part for view in views for part in view_kind(view).knowledge})


def _extent(detector: Detector) -> str:
    if len(detector.training_scores) == detector.seen_documents:
        return detector.extent
    return f"{detector.extent}, a uniform sample of {detector.seen_documents:,} documents, {detector.seen_words:,} words"


def _part(tensors: dict[str, FloatArray], prefix: str) -> dict[str, FloatArray]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
