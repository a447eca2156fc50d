"""A spaCy component: `nlp.add_pipe("difa", config={"model": "path/to/model"})`.

`doc._.difa` has the fields of a result, `token._.difa` those of the word that the token belongs to, and `doc.spans["difa"]` the
flagged words. Words are DiFA's own, since the model was fitted on them; spaCy's tokens are matched to them by their offsets.
Everything is kept as plain values, so that documents can be stored and passed between processes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from difa.errors import InputError, MissingExtraError
from difa.estimator import DiFA

try:
    from spacy.language import Language
    from spacy.tokens import Doc, Token
except ImportError:
    raise MissingExtraError("spacy", "spacy", "the spaCy component") from None

LABEL = "ANOMALY"


class DifaComponent:
    """Scores documents as they pass."""

    def __init__(self, model: DiFA, fpr: float | None = None, spans_key: str = "difa") -> None:
        self._model, self._fpr, self._key = model, fpr, spans_key
        for kind in (Doc, Token):
            if not kind.has_extension("difa"):
                kind.set_extension("difa", **({"default": None} if kind is Doc else {"getter": word_of}))

    def __call__(self, doc: Doc) -> Doc:
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Documents with their results, scored in batches."""
        docs = iter(stream)
        while batch := list(islice(docs, batch_size)):
            results = self._model.score([doc.text for doc in batch], fpr=self._fpr)
            for doc, result in zip(batch, results, strict=True):
                record = result.to_dict()
                del record["text"], record["id"]
                doc._.difa = record
                flagged = [word for word in result.words if word.is_anomaly]
                spans = (doc.char_span(word.start, word.end, label=LABEL, alignment_mode="expand") for word in flagged)
                doc.spans[self._key] = [span for span in spans if span is not None]
                yield doc


@Language.factory("difa", default_config={"model": "", "fpr": None, "spans_key": "difa"})  # type: ignore[untyped-decorator]
def make_difa(nlp: Language, name: str, model: str, fpr: float | None, spans_key: str) -> DifaComponent:
    """The component, with the model in a folder."""
    if not model:
        raise InputError('expected a model folder: nlp.add_pipe("difa", config={"model": "path/to/model"})')
    return DifaComponent(DiFA.load(model), fpr, spans_key)


def word_of(token: Token) -> dict[str, Any] | None:
    """The scored word that a token begins in; None for white space, and before the component has run."""
    record = token.doc._.difa
    if record is None:
        return None
    words = record["words"]
    at = bisect_right(words, token.idx, key=lambda word: word["start"]) - 1
    return words[at] if at >= 0 and token.idx < words[at]["end"] else None
