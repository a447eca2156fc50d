"""Critic view: does the word look like an error?

Two small networks are taught to find the errors that were made on purpose in the corpus' own documents (`difa.perturb`). One
sees plain statistics of a word (`statistics`) and carries over to errors of any kind; the other sees its vector as well, and
so its meaning. The mean of their logits is the evidence. Both are blind to what they were not taught. Without vectors there is
the first alone.

The critic of all documents has the networks of the folds, and takes the mean of what they say, with counts of all documents. One
network taught by all documents is surer of itself, on new text too, than those that p-values come from, and raised more false
alarms than promised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from difa.config import CriticConfig
from difa.document import IMPLIED, Encoded, FloatArray, IntArray, Reason, ReasonKind, split_by
from difa.perturb import Pseudo
from difa.views.critic.counts import DocumentCounts
from difa.views.critic.network import Network, mean_logits, network_tensors, restore_networks, train
from difa.views.critic.statistics import STATISTICS, Statistics
from difa.views.view import TrainingData, ViewKind, Wording

_NETWORKS = ("plain", "vector")
_ERROR = "looks like an error"
_PLAIN = {
    "repeats the word before it": ("repeats the word before it", 0),
    "part of a word torn apart": ("looks like part of a word torn apart", 21),
    **dict.fromkeys(("odd letters", "oddest letter"), ("is spelt oddly", 30)),
    **dict.fromkeys(
        (
            *("odd capitals, digits or marks", "a capital within a sentence", "all capitals", "has digits", "only marks"),
            "letters with other characters",
        ),
        ("has odd capitals, digits or marks", 31),
    ),
    **dict.fromkeys(("rare after the word before it", "rare before the word after it"), ("is unusual beside its neighbours", 43)),
    "length": ("is unusually long", 57),
}
_KINDS = tuple(ReasonKind(name, f"{_ERROR}: {name}", *_PLAIN.get(name, (_ERROR, IMPLIED + 1))) for name in STATISTICS)
_SLIP = ReasonKind("slip", "one letter from {word!r}", _ERROR, IMPLIED + 1)
_RUN_TOGETHER = ReasonKind(
    "run together", "perhaps {first!r} and {second!r} run together", "looks like two words run together", 20
)
_NO_REASON = Reason(ReasonKind("no error", "looks like no error"), {}, 0.0)


@dataclass(frozen=True)
class CriticView:
    """Counts of normal text, and the networks that read them, one or more of each kind."""

    statistics: Statistics
    networks: Mapping[str, tuple[Network, ...]]

    name = "critic"

    @classmethod
    def fit(
        cls,
        documents: Sequence[Encoded],
        pseudos: Sequence[Pseudo],
        config: CriticConfig,
        language: str | None,
        seed: int,
        min_documents: int = 1,
    ) -> CriticView:
        """Teach the networks on normal documents and on errors made in them; `source` of an error is a document's position.

        What fewer than `min_documents` have cannot be read from what is saved.
        """
        rng = np.random.default_rng(seed)
        statistics = Statistics.count(documents, config.vocabulary, config.pairs, language, min_documents)
        shown = _draw_documents([len(document) for document in documents], config.words, rng)
        normal = [documents[index] for index in shown]
        wanted = {*shown, *(pseudo.source for pseudo in pseudos)}
        own = {index: DocumentCounts(documents[index]) for index in wanted}
        plain = statistics.describe(
            [*normal, *(pseudo.document for pseudo in pseudos)],
            [own[index] for index in (*shown, *(pseudo.source for pseudo in pseudos))],
        )
        vectors = np.concatenate([*(d.vectors for d in normal), *(pseudo.document.vectors for pseudo in pseudos)])
        words = sum(map(len, normal))
        labels = np.concatenate([np.zeros(words), *(pseudo.labels for pseudo in pseudos)])
        plain_scale = plain[:words].std(axis=0) + 1e-6
        teach = partial(train, labels=labels, normal=words, rate=config.rate, seed=seed)
        networks = {"plain": (teach(plain, scale=plain_scale, hidden=config.plain_hidden, epochs=config.plain_epochs),)}
        if vectors.shape[1]:
            vector_scale = np.full(vectors.shape[1], max(float(vectors[:words].std()), 1e-6))
            vector = teach(
                np.concatenate([plain, vectors], axis=1, dtype=np.float32),
                scale=np.concatenate([plain_scale, vector_scale]),
                hidden=config.vector_hidden,
                epochs=config.vector_epochs,
            )
            networks["vector"] = (vector,)
        return cls(statistics, networks)

    @classmethod
    def join(cls, data: TrainingData, parts: Sequence[CriticView]) -> CriticView:
        """The networks of critics that were taught by parts of the documents, beside counts of all documents."""
        networks = {kind: tuple(network for part in parts for network in part.networks[kind]) for kind in parts[0].networks}
        config, min_documents = data.config.critic, data.config.privacy.least_documents
        return cls(Statistics.count(data.documents, config.vocabulary, config.pairs, data.language, min_documents), networks)

    def extended(self, documents: Sequence[Encoded], config: CriticConfig, min_documents: int = 1) -> CriticView:
        """The same networks, beside counts that know further documents."""
        return CriticView(self.statistics.extended(documents, config.vocabulary, min_documents), self.networks)

    @classmethod
    def restore(cls, tensors: Mapping[str, FloatArray], language: str | None) -> CriticView:
        networks = {}
        for kind in _NETWORKS:
            prefix = f"{kind}."
            if weights := {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}:
                networks[kind] = restore_networks(weights)
        return cls(Statistics.restore(tensors, language), networks)

    def raw(self, documents: Sequence[Encoded]) -> list[FloatArray]:
        """The softplus of the networks' mean logit."""
        return self.judge(documents, self.statistics.describe(documents)) if documents else []

    def judge(self, documents: Sequence[Encoded], plain: FloatArray) -> list[FloatArray]:
        """The same from the plain statistics of all words, where they are known already: (T, 25)."""
        logits = mean_logits(self.networks["plain"], plain)
        if "vector" in self.networks:
            vectors = np.concatenate([document.vectors for document in documents])
            logits = (logits + mean_logits(self.networks["vector"], np.concatenate([plain, vectors], axis=1))) / 2
        return split_by(map(len, documents), np.logaddexp(0.0, logits).round(9))

    def explain(self, document: Encoded) -> list[list[Reason]]:
        """What the word may have been, and which statistics speak against it."""
        plain = self.statistics.describe([document])
        networks = self.networks["plain"]
        usual = np.mean([network.mean for network in networks], axis=0)
        rows = []
        for at, word in enumerate(document.words):
            # How much the logit falls when a statistic is put at its normal mean.
            changed = np.repeat(plain[at : at + 1], len(STATISTICS) + 1, axis=0)
            np.fill_diagonal(changed, usual)
            logits = mean_logits(networks, changed)
            falls = np.maximum(logits[-1] - logits[:-1], 0.0)
            shares = falls / max(float(falls.sum()), 1e-9)
            order = np.argsort(-shares, kind="stable")[:3]
            rows.append([self._reason(int(i), word, float(shares[i])) for i in order if shares[i] > 0] or [_NO_REASON])
        return rows

    def tensors(self) -> Mapping[str, FloatArray | IntArray]:
        of_networks = {
            f"{kind}.{key}": value for kind, networks in self.networks.items() for key, value in network_tensors(networks).items()
        }
        return {**self.statistics.tensors(), **of_networks}

    def graph(self) -> bytes | None:
        return None

    def _reason(self, statistic: int, word: str, share: float) -> Reason:
        name = STATISTICS[statistic]
        if name == "a common word is one letter away" and (slip := self.statistics.slip_of(word)):
            return Reason(_SLIP, {"word": slip}, share)
        if name == "two words run together" and (halves := self.statistics.halves_of(word)):
            return Reason(_RUN_TOGETHER, {"first": halves[0], "second": halves[1]}, share)
        return Reason(_KINDS[statistic], {}, share)


def _draw_documents(lengths: Sequence[int], most: int, rng: np.random.Generator) -> list[int]:
    """Documents, drawn at random, up to a total number of words; at least one."""
    chosen: list[int] = []
    words = 0
    for index in rng.permutation(len(lengths)).tolist():
        if chosen and words + lengths[index] > most:
            continue
        chosen.append(index)
        words += lengths[index]
    return sorted(chosen)


def _fit(data: TrainingData) -> CriticView:
    config, language = data.config, data.language
    min_documents = config.privacy.least_documents
    return CriticView.fit(data.documents, data.pseudos, config.critic, language, data.seed, min_documents)


VIEW = ViewKind(
    fit=_fit,
    restore=lambda saved: CriticView.restore(saved.tensors, saved.language),
    join=CriticView.join,
    extend=lambda view, added: view.extended(added.documents, added.config.critic, added.config.privacy.least_documents),
    knowledge=("words", "trigrams"),
    learnt_from=("valence",),
    needs_errors=True,
    wording=Wording("words that look like errors", _ERROR, "it reads as if it had errors", IMPLIED + 1),
)
