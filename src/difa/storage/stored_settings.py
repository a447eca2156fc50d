"""The entries of config.json -> values that a model can be restored from, checked one by one; a first score is the last check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from difa.calibrate import check_rate
from difa.config import Config, check_seed
from difa.corpus.allow import AllowList
from difa.decide import rank
from difa.detector import Detector, Updates
from difa.encoders import EncoderSpec
from difa.errors import ModelError
from difa.feed import Lessons
from difa.knowledge.wordlist import check_language
from difa.views import check_views
from difa.words import check_unicode, from_text

_PARAMETERS = ("preset", "fpr", "fdr", "stages", "max_words")
_COUNTS = ("documents", "words", "left_out", "copies")
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
    lessons: Lessons | None

    @classmethod
    def of(cls, entries: Mapping[str, Any]) -> Stored:
        """Check them; raises `ValueError`, `TypeError` or `ConfigError` with a reason."""
        training, knowledge = _mapping(entries, "training"), _mapping(entries, "knowledge")
        for name in (*_COUNTS, *(name for name in ("seen_documents", "seen_words") if name in training)):
            _count(f"training.{name}", training[name])
        if not all(isinstance(version, str) for version in knowledge.values()):
            raise ValueError("knowledge: expected a version for each package")
        if "encoder_origin" in entries:  # as folders of earlier versions could have it
            raise ModelError("expected a model that holds its encoder, got one that names it: fit again with another encoder")
        return cls(
            config=check_views(Config.from_dict(_mapping(entries, "stages"))),
            language=check_language(entries["language"]),
            encoder=_encoder(_mapping(entries, "encoder")),
            seed=check_seed(entries["seed"]),
            training=training,
            knowledge=knowledge,
            parameters=_parameters(_mapping(entries, "parameters")),
            allow=AllowList.of(_list(entries, "allowed")),
            updates=_updates(_mapping(entries, "updates")) if "updates" in entries else Updates(),
            lessons=_lessons(_mapping(entries, "feed")) if "feed" in entries else None,
        )


def check_scores(detector: Detector) -> None:
    """Score and explain a short text: parts that do not fit together are found now and not in the first document."""
    documents = [from_text(_PROBE), from_text("")]
    encoded = detector.encode(documents)
    scored = rank(detector, detector.score_chunk(documents, encoded))
    if not all(np.isfinite(values).all() for values in (scored.word_scores, scored.evidence, scored.document_scores)):
        raise ValueError("a short text has scores that are no numbers")
    for view in detector.views:
        view.explain(encoded[0])


def _encoder(entries: dict[str, Any]) -> EncoderSpec:
    spec = EncoderSpec(**entries)
    for name in ("layer", "dimension", "max_length"):
        if _count(f"encoder.{name}", getattr(spec, name)) > _MOST_WIDE:
            raise ValueError(f"encoder.{name}: expected at most {_MOST_WIDE}, got {getattr(spec, name)}")
    for name in ("name", "sha256", "fingerprint"):
        if not isinstance(getattr(spec, name), str):
            raise ValueError(f"encoder.{name}: expected a string, got {type(getattr(spec, name)).__name__}")
        check_unicode(getattr(spec, name))
    return spec


def _parameters(entries: dict[str, Any]) -> dict[str, Any]:
    """The constructor's parameters, as it takes them."""
    if unknown := entries.keys() - set(_PARAMETERS):
        raise ValueError(f"parameters: expected {', '.join(_PARAMETERS)}, got {sorted(unknown)[0][:40]!r}")
    Config.preset(entries["preset"]).changed(entries.get("stages") or {})
    check_rate("fpr", entries["fpr"])
    if entries.get("fdr") is not None:
        check_rate("fdr", entries["fdr"])
    if "max_words" in entries:
        _count("parameters.max_words", entries["max_words"])
    return entries


def _updates(entries: dict[str, Any]) -> Updates:
    for name in ("times", "documents", "words"):
        _count(f"updates.{name}", entries[name])
    if not isinstance(entries["last"], str):
        raise ValueError(f"updates.last: expected a time, got {type(entries['last']).__name__}")
    check_unicode(entries["last"])
    return Updates(**entries)


def _lessons(entries: dict[str, Any]) -> Lessons:
    lessons = Lessons.from_dict(entries)
    for finding in lessons.findings:
        for word in finding.words:
            check_unicode(word)
    return lessons


def _list(entries: Mapping[str, Any], name: str) -> list[Any]:
    value = entries.get(name, [])
    if not isinstance(value, list):
        raise ValueError(f"{name}: expected a list, got {type(value).__name__}")
    return value


def _mapping(entries: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = entries[name]
    if not isinstance(value, dict):
        raise ValueError(f"{name}: expected entries, got {type(value).__name__}")
    return value


def _count(name: str, value: object) -> int:
    if type(value) is not int or not 0 <= value < 1 << 53:
        raise ValueError(f"{name}: expected a whole number of at least 0, got {value!r:.40}")
    return value
