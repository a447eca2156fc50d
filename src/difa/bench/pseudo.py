"""Held-out normal documents -> a test with made-up anomalies, to choose settings without looking at real labels.

The normal training half is cut in two: models are fitted on one part, pseudo anomalies are made from the other. The made
documents carry vectors of their own, which an encoder that only looks them up hands to the detector.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from difa.bench.methods import Workbench
from difa.bench.split import Split
from difa.config import ERROR_KINDS, PerturbConfig
from difa.document import Document, Encoded
from difa.encoders import EncoderSpec, Progress
from difa.knowledge.wordlist import find_language
from difa.perturb import make_pseudo_anomalies
from difa.words import from_tokens


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
