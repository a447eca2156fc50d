"""What a view is, and the views by name: words and vectors -> raw evidence, one view per file or folder.

A view is fitted on normal documents and then frozen. It gives one non-negative number per word, higher where the word is
more unusual in its own way, and can say why in words. Scales differ between views; calibration makes them comparable. A view that
does not speak the corpus' language is silent: 0 for every word. `VIEW_NAMES` in `difa.config` lists the views; the module of each
name declares it as `VIEW`, a `ViewKind`, and is loaded when it is asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from difa.config import NO_ENCODER, VIEW_NAMES, Config
from difa.document import Encoded, FloatArray, IntArray, Reason, ReasonKind
from difa.errors import ConfigError
from difa.views.stored_words import count_words, rare_words

if TYPE_CHECKING:
    from difa.encoders import Encoder
    from difa.perturb import Pseudo

SILENT = ReasonKind("silent", "silent: the corpus is not in English")
"""The only reason of a view that does not speak the corpus' language."""


@dataclass(frozen=True)
class Wording:
    """How reports speak of a view."""

    subject: str
    """The words that it finds: "rare and unknown words"."""
    word: str
    """What a sentence says of such a word where no reasons are given: "is rare"."""
    document: str = ""
    """What a sentence says of a document that is unusual by this view: "its words are rare"."""
    rank: int = 80
    """Place of `word` in a sentence, as in `ReasonKind`."""


class View(Protocol):
    """A fitted view; one that inherits from this class has its defaults."""

    @property
    def name(self) -> str: ...

    def raw(self, documents: Sequence[Encoded]) -> FloatArray:
        """Raw evidence of the words of documents, at least one, in a row: (T,), non-negative, the same alone or in any batch.

        What several views ask of the same documents, `Batch.of(documents)` finds once.
        """
        ...

    def explain(self, document: Encoded) -> list[list[Reason]]:
        """For each word the reasons for its raw evidence, strongest first."""
        ...

    def tensors(self) -> Mapping[str, FloatArray | IntArray]:
        """What it learned, as arrays: unless it says otherwise, its fields that are arrays."""
        return {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}

    def graph(self) -> bytes | None:
        """What it learned, as an ONNX graph, if it has one."""
        return None


@dataclass(frozen=True)
class TrainingData:
    """What views are fitted on: normal documents, errors made in them, and the language they are in."""

    documents: Sequence[Encoded]
    pseudos: Sequence[Pseudo]
    """Their `source` is a position among the documents."""
    language: str | None
    config: Config
    seed: int
    encoder: Encoder
    progress: Callable[[float], None] = lambda share: None
    """Called by views that learn for long, with the share that is done."""

    @cached_property
    def word_counts(self) -> Counter[str]:
        """How often each word occurs, as counts know it."""
        return count_words(self.documents)

    @cached_property
    def rare_words(self) -> frozenset[str]:
        """Words that must not be readable in a saved model."""
        return rare_words(self.documents, self.config.privacy.least_documents, self.language)

    def without(self, left_out: Sequence[bool]) -> TrainingData:
        """The same without some of the documents, and without what was made of them."""
        kept = [index for index, is_out in enumerate(left_out) if not is_out]
        new_index = dict(zip(kept, range(len(kept)), strict=True))
        pseudos = [replace(pseudo, source=new_index[pseudo.source]) for pseudo in self.pseudos if pseudo.source in new_index]
        return replace(self, documents=[self.documents[index] for index in new_index], pseudos=pseudos)


@dataclass(frozen=True)
class SavedView:
    """What a view is restored from: what its `tensors` and `graph` gave, and what the model knows beside that."""

    tensors: Mapping[str, FloatArray]
    graph: bytes | None
    config: Config
    language: str | None
    threads: int | None = None


@dataclass(frozen=True)
class ViewKind:
    """What a view's module declares as `VIEW`."""

    fit: Callable[[TrainingData], View]
    restore: Callable[[SavedView], View]
    extend: Callable[[Any, TrainingData, int], View] | None = None
    """The view with what further documents add to its counts, beside the number of words it has learned from; None where it is
    trained as a whole."""
    join: Callable[[TrainingData, Sequence[Any]], View] | None = None
    """The view of all documents from views that were fitted on parts of them; None where it is fitted like those."""
    knowledge: tuple[str, ...] = ()
    """Keys of `difa.knowledge.PACKAGES` that it needs when it scores: a model folder pins their versions."""
    learnt_from: tuple[str, ...] = ()
    """Keys that it needs only when it is fitted: what it learns from them is in the model."""
    english_only: bool = False
    """Whether it is silent in other languages: 0 for every word."""
    needs_vectors: bool = False
    """Whether it sees nothing but vectors; the others do without where there is no encoder."""
    needs_errors: bool = False
    """Whether it learns from errors made on purpose (`TrainingData.pseudos`), which are made only where a view asks for them."""
    wording: Wording | None = None
    """Its words in reports; without them they say "stands out by" and its name."""
    prepare: Callable[[TrainingData], None] | None = None
    """Set-up that is not thread-safe, run before views are fitted in parallel."""


def view_kind(name: str) -> ViewKind:
    """What the module of a view declares."""
    if name not in VIEW_NAMES:
        raise ConfigError(f"unknown view {name!r}: expected one of {', '.join(VIEW_NAMES)}")
    kind: ViewKind = import_module(f"difa.views.{name}").VIEW
    return kind


def check_views(config: Config) -> Config:
    """The same settings; views that see nothing but vectors are refused where there is no encoder."""
    blind = [name for name in config.views.names if view_kind(name).needs_vectors]
    if blind and config.encoder.name == NO_ENCODER:
        raise ConfigError(f"views.names: expected views that need no vectors beside encoder.name=none, got {', '.join(blind)}")
    return config


def all_vectors(documents: Sequence[Encoded]) -> FloatArray:
    """The vectors of all words of at least one document, one behind the other: (T, d); those of a single one are not copied."""
    vectors = [document.vectors for document in documents]
    return vectors[0] if len(vectors) == 1 else np.concatenate(vectors)


def silence(document: Encoded) -> list[list[Reason]]:
    """The reasons of a view that does not speak the corpus' language."""
    return [[Reason(SILENT, {}, 0.0)] for _ in document.words]
