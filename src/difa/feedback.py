"""What the user says is normal -> a fitted detector that knows it: words that are allowed, and further normal documents."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Self

import numpy as np

from difa.corpus.allow import AllowList
from difa.corpus.sample import sample_documents
from difa.detector import Detector
from difa.errors import InputError, NotFittedError
from difa.fitting import LEAST_DOCUMENTS
from difa.fitting.update import check_updatable, new_documents, update
from difa.words import as_documents

_UPDATING = 3  # beside the seed: these draws are no others


class Feedback:
    """What an estimator inherits, so that its fitted state can be corrected."""

    detector_: Detector
    max_words: int

    @property
    def allowed_(self) -> tuple[str, ...]:
        """Words and phrases that are allowed for good, in alphabetical order."""
        return self._fitted().allow.entries

    def allow(self, words: Iterable[str]) -> Self:
        """Call words, or phrases of several words, normal for good; `save` keeps them.

        Such a word is never flagged and has the score 0; the score of its document is computed without it. Capitals make no
        difference.
        """
        self.detector_ = self._fitted(words)
        return self

    def allowing(self, words: Iterable[str]) -> Self:
        """The same model with more words allowed; this one stays as it is."""
        other = object.__new__(type(self))  # `copy` would go by way of the stored form
        other.__dict__.update(self.__dict__)
        return other.allow(words)

    def disallow(self, words: Iterable[str]) -> Self:
        """Take back what `allow` said of these words."""
        fitted = self._fitted()
        self.detector_ = replace(fitted, allow=fitted.allow.minus(words))
        return self

    def update(self, texts: Iterable[Any]) -> Self:
        """Take over further normal documents without training anew; `save` keeps them.

        Their scores enter the references of p-values, and their words the counts and the neighbour bank, so that they and
        documents like them score lower. They must be new: not those that the model was fitted on. Documents with a word that is
        labelled as an anomaly are left out, and so are those of earlier updates.

        Args:
            texts: strings, word lists or `Document`s; any iterable, read once.
        """
        fitted = self._fitted()
        check_updatable(fitted)
        rng = np.random.default_rng([fitted.seed, _UPDATING, fitted.updates.times])
        sample = sample_documents(as_documents(texts), self.max_words, rng)
        normal = [document for document in sample.documents if document.words and not any(document.labels or ())]
        if len(sample.documents) < sample.seen_documents:
            warnings.warn(
                f"{len(sample.documents)} of {sample.seen_documents} documents were taken, of {self.max_words} words at most: "
                "a larger max_words takes more",
                stacklevel=2,
            )
        if not normal:
            raise InputError(f"expected normal documents with words, got none of {sample.seen_documents}: add normal text")
        new = new_documents(fitted, normal)
        if len(new) < len(normal):
            warnings.warn(
                f"{len(normal) - len(new)} of {len(normal)} documents are there already and were left out", stacklevel=2
            )
        if new:
            now = datetime.now(UTC).isoformat(timespec="seconds")
            self.detector_ = update(fitted, new, max(self.max_words, LEAST_DOCUMENTS), now, rng)
        return self

    def _fitted(self, allow: Iterable[str] = ()) -> Detector:
        """The fitted detector, with further words allowed."""
        try:
            fitted = self.detector_
        except AttributeError:
            raise NotFittedError("expected a fitted detector: call fit(texts) or DiFA.load(folder) first") from None
        more = AllowList.of(allow)
        return replace(fitted, allow=fitted.allow.plus(more.entries)) if more else fitted

    def _warn_if_too_small(self, rate: float) -> None:
        if why := self._fitted().document_reference.why_too_small(rate):
            warnings.warn(why, stacklevel=3)
