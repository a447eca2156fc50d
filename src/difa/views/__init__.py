"""Words and vectors -> raw evidence: one view per file, all behind one protocol.

A view is fitted on normal documents and then frozen. It gives one non-negative number per word, higher where the word is
more unusual in its own way, and can say why in words. Scales differ between views; calibration makes them comparable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from difa.config import VIEW_NAMES, Config
from difa.document import Encoded, FloatArray, IntArray, Reason
from difa.errors import ConfigError, MissingExtraError
from difa.views.collocation import CollocationView
from difa.views.form import FormView
from difa.views.lexical import LexicalView
from difa.views.neighbour import NeighbourView


class View(Protocol):
    """A fitted view."""

    @property
    def name(self) -> str: ...

    @property
    def side(self) -> str:
        """`meaning` or `form`: views of one side are combined before the sides are fused."""
        ...

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


def prepare_views(width: int, config: Config) -> None:
    """Do once what fits in several threads must not do at the same time."""
    if "semantic" not in config.views.names:
        return
    try:
        from difa.views.semantic.train import architecture
    except ImportError as error:
        raise MissingExtraError(error.name or "torch", "fit", "fitting") from None
    architecture(width, config.semantic)


def fit_view(name: str, documents: Sequence[Encoded], config: Config, seed: int) -> View:
    """Fit a view on normal documents."""
    match name:
        case "semantic":
            from difa.views.semantic import SemanticView
            from difa.views.semantic.train import train

            return SemanticView(train(documents, config.semantic, seed), config.semantic, config.encoder.threads)
        case "form":
            return FormView.fit(documents, config.form)
        case "lexical":
            return LexicalView.fit(documents, config.lexical)
        case "neighbour":
            return NeighbourView.fit(documents, config.neighbour, seed, config.encoder.threads)
        case "collocation":
            return CollocationView.fit(documents, config.collocation)
    raise ConfigError(f"unknown view {name!r}: expected one of {', '.join(VIEW_NAMES)}")


def restore_view(
    name: str, tensors: Mapping[str, FloatArray], graph: bytes | None, config: Config, threads: int | None = None
) -> View:
    """A view from what it saved."""
    match name:
        case "semantic":
            from difa.views.semantic import SemanticView

            return SemanticView(graph or b"", config.semantic, threads)
        case "form":
            return FormView(config=config.form, **tensors)
        case "lexical":
            return LexicalView.restore(config.lexical, tensors)
        case "neighbour":
            return NeighbourView.restore(config.neighbour, tensors, threads)
        case "collocation":
            return CollocationView.restore(config.collocation, tensors)
    raise ConfigError(f"unknown view {name!r}: expected one of {', '.join(VIEW_NAMES)}")
