"""`DiFA`: the detector in the habits of scikit-learn and PyOD.

The constructor stores its parameters untouched; fitted state ends in an underscore. Higher scores are more anomalous.
`fpr` and `fdr` are read when a decision is made: changing them needs no new fit.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import KW_ONLY, asdict, dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from difa.calibrate import check_rate
from difa.config import Config
from difa.config.checks import check_seed
from difa.corpus.allow import AllowList
from difa.corpus.ignore import noise_of
from difa.corpus.sample import enough_documents, sample_documents
from difa.corpus.verdicts import read_verdicts
from difa.decide import Rule, flag, flag_columns, rank
from difa.decide.confidence import say_bound
from difa.detector import C, Detector
from difa.document import Document, Explanation, FloatArray, Result, Scored
from difa.encoders import load_encoder
from difa.errors import ConfigError, InputError, ModelError, NotFittedError
from difa.feed import NewText, choose
from difa.views import check_views
from difa.words import as_document, as_documents

if TYPE_CHECKING:
    from difa.fitting.cross_fit import Report

_SAMPLING, _UPDATING, _FEEDING = 1, 3, 4
"""Beside the seed, for samples of normal documents, updates and feeds: none must follow the draws of anything else."""


class _NoNumber(list[Result]):
    """Results for one who also gives `y`, as scikit-learn's scorers do: its error about them becomes one line that helps."""

    def __repr__(self) -> str:
        return 'a list of results; name a scorer, such as scoring="roc_auc", which ranks by decision_function'


@dataclass(eq=False, repr=False)
class DiFA:
    """Detector of anomalous words and documents, learned from normal documents alone.

    Args:
        preset: `full` (default), `fast` (no encoder) or `paper`.
        encoder: `minilm` (embedded), a Hugging Face hub name or a local folder.
        layer: hidden layer to read; None uses the encoder's default.
        fpr: share of normal documents, and of normal words, that may be flagged.
        fdr: if given, flags are set over each scored batch by Benjamini–Hochberg at this rate instead.
        seed: the same seed and data give the same model on the same machine.
        cache: folder for word vectors, shared between fits and scorings.
        threads: threads of the encoder; None uses all cores.
        max_words: maximum words to fit on; a larger corpus is sampled uniformly by documents.
        stages: settings of single stages, as in `Config`: `{"semantic": {"teacher_rounds": 3}}`.
    """

    # scikit-learn's contract, which a dataclass keeps: parameters are stored untouched, and nothing is checked before `fit`.
    preset: str = "full"
    _: KW_ONLY
    encoder: str | None = None
    layer: int | None = None
    fpr: float = 0.01
    fdr: float | None = None
    seed: int = 0
    cache: str | Path | None = None
    threads: int | None = None
    stages: dict[str, Any] | None = None
    max_words: int = 200_000

    # Fitting

    def fit(
        self,
        texts: Iterable[Any],
        y: object = None,
        *,
        feed: Iterable[Any] | None = None,
        verdicts: Iterable[Any] | None = None,
        report: Report | None = None,
    ) -> DiFA:
        """Learn what is normal, and from new text what to look for.

        Args:
            texts: normal documents: strings, word lists or `Document`s; any iterable, read once.
            y: ignored; here for pipelines.
            feed: new documents that nobody has labelled, anomalies among them. They say which evidence matters; what they say is
                used without raising the share of normal documents that is flagged.
            verdicts: reviewed documents: `Document`s with `labels`, with `odd`, or with a column `verdict` (odd or normal).
            report: called with the stage under way and the share of it that is done.
        """
        from difa import fitting  # scoring needs none of it

        config = self.config()
        check_rate("fpr", self.fpr)
        if self.fdr is not None:
            check_rate("fdr", self.fdr)
        seed, normal = check_seed(self.seed), noise_of(config.ignore).strip(as_documents(texts))
        sample = enough_documents(normal, self.max_words, fitting.MIN_DOCUMENTS, np.random.default_rng([seed, _SAMPLING]))
        new = self._new_text(sample.documents, feed, verdicts, config)
        encoder = load_encoder(config.encoder, self.cache)
        fitted = fitting.fit(sample.documents, config, seed, encoder, report or (lambda stage, share: None), new)
        self.detector_ = replace(fitted, seen_documents=sample.seen_documents, seen_words=sample.seen_words)
        self._warn_if_too_small(self.fpr)
        if fitted.left_out:
            warnings.warn(
                f"{fitted.left_out} of {len(fitted.training_scores)} training documents do not belong among the others and were "
                "left out: look at those with the highest decision_scores_, or keep all with "
                "calibration.leave_out_outliers=false",
                stacklevel=2,
            )
        return self

    def _new_text(
        self, normal: Sequence[Document], feed: Iterable[Any] | None, verdicts: Iterable[Any] | None, config: Config
    ) -> NewText | None:
        """What may be learned from, if there is anything; a feed that cannot teach is said so in a warning."""
        if feed is None and verdicts is None:
            return None
        if config.fusion.rule == "gates" or config.calibration.reference == "in-sample":
            raise ConfigError(
                "expected the preset full or fast beside a feed or verdicts, got settings of the preset paper, whose gates learn "
                "from pseudo anomalies: leave out the feed, or choose another preset"
            )
        strip = noise_of(config.ignore).strip
        judged = [] if verdicts is None else read_verdicts(strip(as_documents(verdicts)))
        rng = np.random.default_rng([check_seed(self.seed), _FEEDING])
        sample = sample_documents(strip(as_documents(() if feed is None else feed)), self.max_words, rng)
        new, why = choose(normal, sample.documents, judged, config.feed)
        if feed is not None and not sample.seen_documents:
            why = "nothing was learned from the feed: it has no documents"
        if why:
            warnings.warn(why, stacklevel=3)
        return new

    def config(self) -> Config:
        """The settings of all stages: the preset's, with the constructor's changes."""
        config = Config.preset(self.preset).changed(self.stages or {})
        given: dict[str, Any] = {"name": self.encoder, "layer": self.layer, "threads": self.threads}
        encoder = replace(config.encoder, **{key: value for key, value in given.items() if value is not None})
        return check_views(replace(config, encoder=encoder))

    # Scoring

    def score(
        self,
        texts: Iterable[Any],
        y: object = None,
        *,
        fpr: float | None = None,
        fdr: float | None = None,
        allow: Iterable[str] = (),
    ) -> list[Result]:
        """Score documents and their words.

        Args:
            texts: strings, word lists or `Document`s.
            y: ignored; here for pipelines.
            fpr: false-alarm rate for this call, in place of the constructor's.
            fdr: false-discovery rate over this call's documents, in place of a false-alarm rate.
            allow: words that are normal in this call, beside those that the model allows for good.
        """
        rule = self.rule(fpr, fdr)  # an impossible rate is refused before anything is scored
        parts = flag_columns(self.score_columns(texts, allow=allow), rule)
        results = [result for part in parts for result in part.results()]
        return results if y is None else _NoNumber(results)

    def score_unflagged(self, texts: Iterable[Any], *, allow: Iterable[str] = ()) -> list[Result]:
        """Scores and p-values without flags; `difa.decide.flag` sets flags later, over any batch."""
        return [result for part in self.score_columns(texts, allow=allow) for result in part.results()]

    def score_columns(self, texts: Iterable[Any], *, allow: Iterable[str] = ()) -> list[Scored]:
        """The same as columns, chunk by chunk."""
        fitted = self._fitted(allow)
        return [rank(fitted, scored) for scored in fitted.score(list(as_documents(texts)))]

    def score_chunks(self, chunks: Iterable[C]) -> Generator[tuple[C, Scored]]:
        """Score a stream: each chunk of documents with its columns, without flags, in order and in bounded memory.

        With several threads, a chunk is encoded while the one before is scored.
        """
        fitted = self._fitted()
        with closing(fitted.score_chunks(chunks)) as scored:
            for chunk, columns in scored:
                yield chunk, rank(fitted, columns)

    def rule(self, fpr: float | None = None, fdr: float | None = None, *, warn: bool = True) -> Rule:
        """The rule in force: the rate that is given, or else the model's own.

        Args:
            fpr: false-alarm rate, in place of the constructor's.
            fdr: false-discovery rate, in place of a false-alarm rate.
            warn: say so where the model has too few normal documents for any to be flagged at that rate.
        """
        rule = Rule.in_force(fpr, fdr, own=(self.fpr, self.fdr))
        if warn:
            self._warn_if_too_small(rule.rate)
        return rule

    def score_frame(
        self,
        frame: Any,
        text: Any = None,
        *,
        missing: str = "empty",
        fpr: float | None = None,
        fdr: float | None = None,
        allow: Iterable[str] = (),
    ) -> Any:
        """Score a column of a table; gives the same kind of table with more columns.

        These are `score`, `p_value`, `is_anomaly`, `flagged_words`, `suggestions` and `summary`, with `difa_` before a name that
        is taken.

        Args:
            frame: a pandas or polars DataFrame, a pyarrow Table, a Hugging Face Dataset, or rows: any iterable of dictionaries.
            text: the column that holds the text; the one obvious candidate without it.
            missing: `empty` scores rows without a text as no text and warns how many they are, `error` refuses them.
            fpr: as in `score`.
            fdr: as in `score`.
            allow: as in `score`.
        """
        from difa.integrations.frames import score_frame

        return score_frame(self, frame, text, missing=missing, fpr=fpr, fdr=fdr, allow=allow)

    def decision_function(self, texts: Iterable[Any]) -> FloatArray:
        """Document scores."""
        parts = self._fitted().score(list(as_documents(texts)))
        return np.concatenate([np.empty(0), *(part.document_scores for part in parts)])

    def predict(self, texts: Iterable[Any]) -> NDArray[np.int64]:
        """1 for flagged documents, 0 for the others."""
        return np.array([int(result.is_anomaly) for result in self.score(texts)], dtype=np.int64)

    def fit_predict(self, texts: Iterable[Any], y: object = None) -> NDArray[np.int64]:
        """Fit, and flag the training documents by scores of views that did not see them."""
        fitted = self.fit(texts).detector_
        if len(fitted.training_scores) < fitted.seen_documents:
            raise InputError(
                f"expected at most {self.max_words} words to fit on and flag, got {fitted.seen_words}: raise max_words, or fit "
                "and predict one after the other"
            )
        return self.labels_

    def explain(self, text: Any, *, fpr: float | None = None, allow: Iterable[str] = ()) -> Explanation:
        """Score one document and say, view by view, why each word stands out."""
        rule = self.rule(fpr)
        explained = self.explain_unflagged(text, allow=allow)
        return replace(explained, result=flag([explained.result], rule)[0], rate=rule.rate, rule=rule.name)

    def explain_unflagged(self, text: Any, *, allow: Iterable[str] = ()) -> Explanation:
        """The same without flags."""
        fitted, document = self._fitted(allow), as_document(text)
        encoded = fitted.encode([document])
        learned = tuple(fitted.feed_summary.sentences()) if fitted.feed_summary else ()
        (result,) = rank(fitted, fitted.score_chunk([document], encoded)).results()
        return Explanation(result, fitted.reasons(document, encoded[0]), learned=learned)

    # Fitted state

    @property
    def decision_scores_(self) -> FloatArray:
        """Scores of the training documents by views that did not see them."""
        return self._fitted().training_scores

    @property
    def labels_(self) -> NDArray[np.int64]:
        """Flags of the training documents at `fpr`."""
        return (self.decision_scores_ > self.threshold_).astype(np.int64)

    @property
    def threshold_(self) -> float:
        """The document score above which a document is flagged at `fpr`."""
        return self._fitted().document_reference.threshold(check_rate("fpr", self.fpr))

    # What the user says is normal

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
        from difa.fitting import MIN_DOCUMENTS
        from difa.fitting.update import check_updatable, new_documents, update

        fitted = self._fitted()
        check_updatable(fitted)
        rng = np.random.default_rng([fitted.seed, _UPDATING, fitted.updates.times])
        sample = sample_documents(fitted.noise.strip(as_documents(texts)), self.max_words, rng)
        normal = [document for document in sample.documents if document.words and not any(document.labels or ())]
        taken, seen = len(sample.documents), sample.seen_documents
        if taken < seen:
            said = f"{taken} of {seen} documents were taken, of {self.max_words} words at most: a larger max_words takes more"
            warnings.warn(said, stacklevel=2)
        if not normal:
            raise InputError(f"expected normal documents with words, got none of {seen}: add normal text")
        new = new_documents(fitted, normal)
        if known := len(normal) - len(new):
            warnings.warn(f"{known} of {len(normal)} documents are there already and were left out", stacklevel=2)
        if new:
            self.detector_ = update(fitted, new, max(self.max_words, MIN_DOCUMENTS), rng)
        return self

    def _fitted(self, allow: Iterable[str] = ()) -> Detector:
        """The fitted detector, with further words allowed."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("expected a fitted detector: call fit(texts) or DiFA.load(folder) first")
        fitted, more = self.detector_, AllowList.of(allow)
        return replace(fitted, allow=fitted.allow.plus(more.entries)) if more else fitted

    def _warn_if_too_small(self, rate: float) -> None:
        if why := self._fitted().document_reference.why_too_small(rate):
            warnings.warn(why, stacklevel=3)

    # Habits of Python and scikit-learn

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's parameters."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters; all but `fpr` and `fdr` take effect with the next fit."""
        for name, value in parameters.items():
            if name not in self.get_params():
                raise ConfigError(f"unknown parameter {name!r}: expected one of {', '.join(self.get_params())}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        given = [field.name for field in fields(self) if getattr(self, field.name) != field.default]
        call = f"DiFA({', '.join(f'{name}={getattr(self, name)!r}' for name in given)})"
        if not self.__sklearn_is_fitted__():
            return f"{call}, not fitted"
        fitted = self.detector_
        if self.fdr is not None:
            rate = f"fdr {self.fdr:g}"
        else:
            rate = f"fpr {self.fpr:g} ({say_bound(len(fitted.document_reference.values), self.fpr)})"
        return f"{call}, fitted on {fitted.extent}; flags at {rate}; views {', '.join(fitted.config.views.names)}"

    def __sklearn_tags__(self) -> Any:
        from difa.integrations.sklearn import outlier_tags

        return outlier_tags()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "detector_")

    def __getstate__(self) -> dict[str, Any]:
        from difa.storage.persist import model_files

        files = model_files(self.detector_, self._stored_parameters()) if self.__sklearn_is_fitted__() else None
        return {"parameters": self.get_params(), "files": files}

    def __setstate__(self, state: dict[str, Any]) -> None:
        from difa.integrations.sklearn import thaw

        self.set_params(**state["parameters"])
        if state["files"] is not None:
            self.detector_ = thaw(state["files"], self.cache, self.threads)

    # Model folders

    def save(self, folder: str | Path) -> None:
        """Write the fitted model to a folder, whole or not at all."""
        from difa.storage.persist import save

        save(self._fitted(), Path(folder), self._stored_parameters())

    def _stored_parameters(self) -> dict[str, Any]:
        stages = None if self.stages is None else {k: asdict(v) if is_dataclass(v) else v for k, v in self.stages.items()}  # type: ignore[arg-type]
        return {"preset": self.preset, "fpr": self.fpr, "fdr": self.fdr, "stages": stages, "max_words": self.max_words}

    @classmethod
    def load(cls, folder: str | Path, *, cache: str | Path | None = None, threads: int | None = None) -> DiFA:
        """A model from its folder; needs neither torch nor transformers."""
        from difa.storage.persist import load

        if not isinstance(folder, (str, os.PathLike)):
            raise ModelError(f"expected the folder of a saved model, got {type(folder).__name__}: give its path")
        fitted, parameters = load(Path(folder), cache, threads)
        encoder = fitted.config.encoder
        model = cls(encoder=encoder.name, layer=encoder.layer, seed=fitted.seed, cache=cache, threads=threads, **parameters)
        model.detector_ = fitted
        return model

    def save_to_hub(self, repo_id: str, *, private: bool = True, revision: str | None = None, token: str | None = None) -> str:
        """Put the fitted model, with a card, into a repository of the Hugging Face hub; returns the commit's address.

        Args:
            repo_id: `owner/name`; the repository is made if there is none.
            private: whether a new repository can be seen by its owner alone.
            revision: branch to write to; None takes the main one.
            token: access token; None takes the one that the hub's client has stored.
        """
        from difa.integrations.hub import push

        return push(self, repo_id, private=private, revision=revision, token=token)

    @classmethod
    def from_hub(
        cls,
        repo_id: str,
        *,
        revision: str | None = None,
        token: str | None = None,
        cache: str | Path | None = None,
        threads: int | None = None,
    ) -> DiFA:
        """A model from the Hugging Face hub, checked like any stranger's model folder.

        Args:
            repo_id: `owner/name`.
            revision: commit, tag or branch; a commit makes sure that it is the same model every time.
            token: as in `save_to_hub`.
            cache: as in `load`.
            threads: as in `load`.
        """
        from difa.integrations.hub import fetched

        with fetched(repo_id, revision, token) as folder:
            return cls.load(folder, cache=cache, threads=threads)
