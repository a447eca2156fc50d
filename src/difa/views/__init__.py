"""Words and vectors -> raw evidence: one view per file, all behind one protocol.

A view is fitted on normal documents and then frozen. It gives one non-negative number per word, higher where the word is
more unusual in its own way, and can say why in words. Scales differ between views; calibration makes them comparable. A view that
does not speak the corpus' language is silent: 0 for every word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from difa.config import VIEW_NAMES, Config
from difa.document import Encoded, FloatArray, IntArray, Reason
from difa.encoders import Encoder
from difa.errors import ConfigError, MissingExtraError
from difa.knowledge import ENGLISH
from difa.perturb import Pseudo
from difa.views.collocation import CollocationView
from difa.views.critic import CriticView
from difa.views.form import FormView
from difa.views.language import LanguageView
from difa.views.neighbour import NeighbourView
from difa.views.phrase import PhraseView
from difa.views.tone.lexicon import LexiconView
from difa.views.tone.vectors import ToneView, learn_directions

KNOWLEDGE = {"language": ("words",), "phrase": ("trigrams",), "critic": ("words", "trigrams"), "tone": ()}
"""What each view needs to know of the language when it scores; what `tone` learns from its lexicon is in the model."""
LEARNT_FROM = {"tone": ("valence",), "critic": ("valence",)}
"""What views need when they are fitted, beside that."""
ENGLISH_ONLY = ("phrase", "tone")
"""Views that are silent in other languages."""


class View(Protocol):
    """A fitted view."""

    @property
    def name(self) -> str: ...

    def raw(self, documents: Sequence[Encoded]) -> list[FloatArray]:
        """Raw evidence per document: (T,), non-negative, the same alone or in any batch."""
        ...

    def explain(self, document: Encoded) -> list[list[Reason]]:
        """For each word the reasons for its raw evidence, strongest first."""
        ...

    def tensors(self) -> Mapping[str, FloatArray | IntArray]:
        """What it learned, as arrays."""
        ...

    def graph(self) -> bytes | None:
        """What it learned, as an ONNX graph, if it has one."""
        ...


@dataclass(frozen=True)
class Lesson:
    """What views are fitted on: normal documents, errors made in them, and the language they are in."""

    documents: Sequence[Encoded]
    pseudos: Sequence[Pseudo]
    """Their `source` is a position among the documents."""
    language: str | None

    def without(self, left_out: Sequence[bool]) -> Lesson:
        """The same without some of the documents, and without what was made of them."""
        new_index: dict[int, int] = {}
        for index, is_out in enumerate(left_out):
            if not is_out:
                new_index[index] = len(new_index)
        pseudos = [replace(pseudo, source=new_index[pseudo.source]) for pseudo in self.pseudos if pseudo.source in new_index]
        return Lesson([self.documents[index] for index in new_index], pseudos, self.language)


def prepare_views(encoder: Encoder, language: str | None, config: Config) -> None:
    """Do once what fits in several threads must not do at the same time."""
    if "tone" in config.views.names and language == ENGLISH and encoder.spec.dimension:
        learn_directions(encoder)
    if "semantic" not in config.views.names:
        return
    try:
        from difa.views.semantic.train import architecture
    except ImportError as error:
        raise MissingExtraError(error.name or "torch", "fit", "fitting") from None
    architecture(encoder.spec.dimension, config.semantic)


def fit_view(name: str, lesson: Lesson, config: Config, seed: int, encoder: Encoder) -> View:
    """Fit a view."""
    documents = lesson.documents
    match name:
        case "semantic":
            from difa.views.semantic import SemanticView
            from difa.views.semantic.train import train

            return SemanticView(train(documents, config.semantic, seed), config.semantic, config.encoder.threads)
        case "form":
            return FormView.fit(documents, config.form)
        case "language":
            return LanguageView.fit(documents, config.language, lesson.language)
        case "phrase":
            return PhraseView(lesson.language)
        case "tone":
            if not encoder.spec.dimension:
                return LexiconView.fit(documents, lesson.language)
            return ToneView.fit(documents, encoder, lesson.language)
        case "critic":
            return CriticView.fit(documents, lesson.pseudos, config.critic, lesson.language, seed)
        case "neighbour":
            return NeighbourView.fit(documents, config.neighbour, seed, config.encoder.threads)
        case "collocation":
            return CollocationView.fit(documents, config.collocation)
    raise ConfigError(f"unknown view {name!r}: expected one of {', '.join(VIEW_NAMES)}")


def restore_view(
    name: str,
    tensors: Mapping[str, FloatArray],
    graph: bytes | None,
    config: Config,
    language: str | None,
    threads: int | None = None,
) -> View:
    """A view from what it saved."""
    match name:
        case "semantic":
            from difa.views.semantic import SemanticView

            return SemanticView(graph or b"", config.semantic, threads)
        case "form":
            return FormView(config=config.form, **tensors)
        case "language":
            return LanguageView.restore(config.language, tensors, language)
        case "phrase":
            return PhraseView(language)
        case "tone":
            return ToneView(**tensors) if "directions" in tensors else LexiconView.restore(tensors)
        case "critic":
            return CriticView.restore(tensors, language)
        case "neighbour":
            return NeighbourView.restore(config.neighbour, tensors, threads)
        case "collocation":
            return CollocationView.restore(config.collocation, tensors)
    raise ConfigError(f"unknown view {name!r}: expected one of {', '.join(VIEW_NAMES)}")
