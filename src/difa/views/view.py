"""What a view is: the protocol of a fitted one, what it is fitted on and restored from, and how its module declares it.

A view is fitted on normal documents and then frozen. It gives one non-negative number per word, higher where the word is
more unusual in its own way, and can say why in words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from difa.config import Config
from difa.document import Encoded, FloatArray, IntArray, Reason, ReasonKind
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

    def without(self, left_out: Sequence[bool]) -> TrainingData:
        """The same without some of the documents, and without what was made of them."""
        new_index: dict[int, int] = {}
        for index, is_out in enumerate(left_out):
            if not is_out:
                new_index[index] = len(new_index)
        pseudos = [replace(pseudo, source=new_index[pseudo.source]) for pseudo in self.pseudos if pseudo.source in new_index]
        return replace(self, documents=[self.documents[index] for index in new_index], pseudos=pseudos)


@dataclass(frozen=True)
class AddedDocuments:
    """Normal documents that a fitted view learns later, and how many words it has learned from before."""

    documents: Sequence[Encoded]
    seen: int
    config: Config
    language: str | None


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
    extend: Callable[[Any, AddedDocuments], View] | None = None
    """The view with further documents; None where it would have to be trained anew."""
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
