"""A fitted detector <-> a model folder.

config.json (format, library, encoder, seed, counts, settings, checksums), weights.safetensors (references and small
weights), encoder.onnx and tokenizer.json if there is an encoder, one graph per view that has one, and a short model card. An
encoder without graph is named in config.json instead. No pickle. A folder is written beside its place and then renamed: it
is there whole or not at all. Loading checks the sums of all that it reads.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from difa import __version__
from difa.atomic import fresh_folder, write_synced
from difa.calibrate import TailReference
from difa.confidence import say_bound
from difa.config import Config, check_threads
from difa.detector import Detector
from difa.document import FloatArray, IntArray
from difa.document_score import DocumentScore
from difa.encoders import EncoderSpec, stored, with_cache
from difa.errors import ConfigError, ModelError
from difa.knowledge import ENGLISH, PACKAGES, check_versions, versions
from difa.learn import Heads
from difa.views import SavedView, restore_view, view_kind

FORMAT = 3
_CARD_RATES = (0.01, 0.05, 0.1)  # false-alarm rates whose bounds the card gives


def save(detector: Detector, folder: Path, parameters: dict[str, Any]) -> None:
    """Write a model folder; an older model at the same path is replaced, anything else is left alone."""
    check_place(folder)
    files = _files(detector, parameters)
    with fresh_folder(folder) as fresh:
        for file, content in files.items():
            write_synced(fresh / file, content)


def load(folder: Path, cache: str | Path | None = None, threads: int | None = None) -> tuple[Detector, dict[str, Any]]:
    """Read and check a model folder: the detector, and the constructor's parameters it was fitted with."""
    check_threads(threads)
    config_file = _read_config(folder)
    check_versions(config_file["knowledge"])
    content = {file: _checked(folder / file, digest) for file, digest in config_file["files"].items()}
    try:
        config = Config.from_dict(config_file["stages"])
        language = config_file["language"]
        spec = EncoderSpec(**config_file["encoder"])
        tensors, training = _tensors(content["weights.safetensors"]), config_file["training"]
        origin = config_file.get("encoder_origin", "")
        encoder = stored.restore(spec, content, origin, config.encoder.batch_tokens, threads)
        names = config.views.names
        saved = (
            SavedView(_part(tensors, f"view.{name}."), content.get(f"{name}.onnx"), config, language, threads) for name in names
        )
        detector = Detector(
            config=config,
            seed=config_file["seed"],
            encoder=with_cache(encoder, cache),
            language=language,
            views=tuple(map(restore_view, names, saved)),
            references=tuple(TailReference(tensors[f"reference.{name}"]) for name in names),
            heads=Heads(fusion, _part(tensors, "aggregation.")) if (fusion := _part(tensors, "fusion.")) else None,
            document_score=DocumentScore.restore(traits) if (traits := _part(tensors, "document.")) else None,
            word_reference=TailReference(tensors["reference.word"]),
            document_reference=TailReference(tensors["reference.document"]),
            training_scores=tensors["training_scores"],
            left_out=training["left_out"],
            training_words=training["words"],
            seen_documents=training.get("seen_documents", training["documents"]),
            seen_words=training.get("seen_words", training["words"]),
            threads=threads,
        )
    except (KeyError, TypeError, ValueError, ConfigError) as error:
        raise ModelError(
            f"{folder}: damaged or incomplete model ({type(error).__name__}: {error}): fit and save it again"
        ) from None
    return detector, config_file["parameters"]


def set_rate(folder: Path, fpr: float) -> None:
    """Change the false-alarm rate that a stored model flags at; a stored false-discovery rate gives way to it."""
    config = _read_config(folder)
    config["parameters"] |= {"fpr": fpr, "fdr": None}
    fresh = folder / ".config.json.new"
    with fresh.open("w", encoding="utf-8") as handle:
        json.dump(config, handle, indent=2)
        handle.flush()
        os.fsync(handle.fileno())
    fresh.replace(folder / "config.json")


def check_place(folder: Path) -> None:
    """Refuse a folder that cannot be written, or where something other than an older model lies, before any work is done."""
    if folder.exists() and not is_model(folder) and (not folder.is_dir() or any(folder.iterdir())):
        raise ModelError(
            f"{folder}: expected a new folder, an empty one or an older model, found other files: choose another folder"
        )
    existing = next(parent for parent in folder.absolute().parents if parent.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        raise ModelError(f"{folder}: expected a folder that can be written, but {existing} cannot: choose another folder")


def is_model(folder: Path) -> bool:
    """Whether a folder looks like a model of ours."""
    try:
        return "difa_format" in json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        return False


def _files(detector: Detector, parameters: dict[str, Any]) -> dict[str, bytes]:
    from safetensors.numpy import save as serialise

    tensors: dict[str, FloatArray | IntArray] = {
        "reference.word": detector.word_reference.values,
        "reference.document": detector.document_reference.values,
        "training_scores": detector.training_scores,
    }
    if detector.heads is not None:
        tensors |= {f"fusion.{name}": value for name, value in detector.heads.fusion.items()}
        tensors |= {f"aggregation.{name}": value for name, value in detector.heads.aggregation.items()}
    if detector.document_score is not None:
        tensors |= {f"document.{name}": value for name, value in detector.document_score.tensors().items()}
    files = stored.files_of(detector.encoder)
    for view, reference in zip(detector.views, detector.references, strict=True):
        tensors[f"reference.{view.name}"] = reference.values
        tensors |= {f"view.{view.name}.{name}": value for name, value in view.tensors().items()}
        if (graph := view.graph()) is not None:
            files[f"{view.name}.onnx"] = graph
    files["weights.safetensors"] = serialise({name: np.ascontiguousarray(value) for name, value in tensors.items()})
    card, config = _card(detector, parameters), _config(detector, parameters, files)
    return files | {"README.md": card.encode(), "config.json": json.dumps(config, indent=2).encode()}


def _config(detector: Detector, parameters: dict[str, Any], files: dict[str, bytes]) -> dict[str, Any]:
    return {
        "difa_format": FORMAT,
        "difa_version": __version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "encoder": detector.encoder.spec.to_dict(),
        **({"encoder_origin": origin} if (origin := stored.origin_of(detector.encoder)) else {}),
        "seed": detector.seed,
        "language": detector.language,
        "knowledge": versions(_knowledge(detector)),
        "training": {
            "documents": len(detector.training_scores),
            "words": detector.training_words,
            "left_out": detector.left_out,
            "seen_documents": detector.seen_documents,
            "seen_words": detector.seen_words,
        },
        "parameters": parameters,
        "stages": detector.config.to_dict(),
        "files": {name: sha256(content).hexdigest() for name, content in sorted(files.items())},
    }


def _card(detector: Detector, parameters: dict[str, Any]) -> str:
    spec, reference = detector.encoder.spec, detector.document_reference
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
        f"| language | {_language(detector)} |",
        f"| seed | {detector.seed} |",
        f"| smallest document p-value | {reference.least_p:.2g} |",
        *(f"| normal documents flagged at {100 * rate:g} % | {say_bound(len(reference.values), rate)} |" for rate in _CARD_RATES),
        "",
        "The bounds are for documents like the normal ones, and approximate: the scores that p-values are ranked among come from",
        "views that had not seen the document, and so a little less text than the model.",
        "",
        "```python",
        "from difa import DiFA",
        'DiFA.load("this-folder").score(["some text"])',
        "```",
        "",
        *_credits(detector),
    ]
    return "\n".join(lines)


def _knowledge(detector: Detector) -> list[str]:
    """The parts of the knowledge of the language that scoring needs."""
    views = detector.config.views.names
    return sorted({part for view in views for part in view_kind(view).knowledge})


def _language(detector: Detector) -> str:
    english_only = [view for view in detector.config.views.names if view_kind(view).english_only]
    silent = [] if detector.language == ENGLISH else english_only
    if detector.language is None:
        return "not found: only the corpus counts" + (f"; silent: {', '.join(silent)}" if silent else "")
    return f"`{detector.language}`" + (f"; silent in it: {', '.join(silent)}" if silent else "")


def _credits(detector: Detector) -> list[str]:
    """The credit that the licences of the knowledge ask for."""
    learnt = {part for view in detector.config.views.names for part in view_kind(view).learnt_from}
    parts = sorted({*_knowledge(detector), *learnt})
    if not parts:
        return []
    return ["## Knowledge of the language", "", *(f"- {PACKAGES[part].credit} ({PACKAGES[part].licence})" for part in parts), ""]


def _extent(detector: Detector) -> str:
    if len(detector.training_scores) == detector.seen_documents:
        return detector.extent
    return f"{detector.extent}, a uniform sample of {detector.seen_documents:,} documents, {detector.seen_words:,} words"


def _read_config(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    if not path.is_file():
        raise ModelError(
            f"{folder}: expected a model folder with config.json, found none: give the folder that a fitted model was saved to"
        )
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: expected readable JSON, got {error}") from None
    found = config.get("difa_format") if isinstance(config, dict) else None
    if found != FORMAT:
        version = config.get("difa_version", "unknown") if isinstance(config, dict) else "unknown"
        raise ModelError(
            f"{path}: expected model format {FORMAT}, got {found!r} (written by difa {version}): fit again or use that version"
        )
    for key in ("files", "stages", "encoder", "parameters", "training", "seed", "language", "knowledge"):
        if key not in config:
            raise ModelError(f"{path}: expected the entry {key!r}, found none: the model is damaged, fit and save it again")
    return dict(config)


def _checked(path: Path, digest: str) -> bytes:
    try:
        content = path.read_bytes()
    except OSError:
        raise ModelError(f"{path}: missing from the model folder: copy the folder again, or fit and save it again") from None
    found = sha256(content).hexdigest()
    if found != digest:
        raise ModelError(f"{path}: expected sha256 {digest[:12]}…, got {found[:12]}…: the file was changed or cut short")
    return content


def _tensors(content: bytes) -> dict[str, FloatArray]:
    from safetensors.numpy import load as parse

    return dict(parse(content))


def _part(tensors: dict[str, FloatArray], prefix: str) -> dict[str, FloatArray]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
