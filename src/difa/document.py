"""What flows through the pipeline: words, documents, vectors, and what is said of them.

A chunk's scores travel as columns, in `Scored`. `Result` and `WordScore` are views of it, made when somebody asks for one.
Everything here is frozen. Offsets count Unicode code points, and `text[start:end] == word.text` holds for every word.
Higher scores are always more anomalous; p-values are small where scores are high.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache, partial
from itertools import accumulate, chain, groupby, pairwise, repeat
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]
BoolArray = NDArray[np.bool_]
IMPLIED = 90  # rank of what other reasons imply
WORD_COLUMNS = ("evidence", "word_scores", "allowed", "word_p", "word_flags")  # the arrays of `Scored`
DOCUMENT_COLUMNS = ("document_evidence", "document_scores", "document_p", "document_flags")
_SHOWN = 60  # characters of the text in the one line that stands for a result
_NAMED = 5  # words that a summary names at most


class Word(NamedTuple):
    """A word and its place in the text."""

    text: str
    start: int
    end: int


class Words(Sequence[Word]):
    """The words of a document as columns: their strings, and where they begin; a `Word` is made when somebody asks for it."""

    __slots__ = ("_places", "texts")

    def __init__(self, texts: tuple[str, ...], places: str | Sequence[int]) -> None:
        """Take them over.

        Args:
            texts: the words.
            places: where each begins, or the text that is made of these words and white space.
        """
        self.texts, self._places = texts, places

    @classmethod
    def of(cls, words: Iterable[Word | WordScore]) -> Words:
        """The same words."""
        each = tuple(words)
        return cls(tuple([word.text for word in each]), [word.start for word in each])

    @property
    def starts(self) -> Sequence[int]:
        """Where each word begins in the text, found when it is first asked for."""
        if isinstance(self._places, str):
            self._places = find_in_order(self.texts, self._places) or ()
        return self._places

    @property
    def ends(self) -> list[int]:
        """Where each word ends in the text."""
        return list(map(add, self.starts, map(len, self.texts)))

    def take(self, chosen: Iterable[int]) -> Words:
        """Some of them."""
        at = list(chosen)
        return Words(tuple([self.texts[each] for each in at]), [self.starts[each] for each in at])

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self) -> Iterator[Word]:
        # `Word` itself would be a call of Python for each word.
        return map(partial(tuple.__new__, Word), zip(self.texts, self.starts, self.ends, strict=True))

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return tuple(self)[at]
        text, start = self.texts[at], self.starts[at]
        return Word(text, start, start + len(text))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __repr__(self) -> str:
        return repr(tuple(self))


def find_in_order(words: Sequence[str], text: str) -> list[int] | None:
    """Where words begin in a text that has them one after the other, and only white space between them; None for other texts."""
    starts, end = [], 0
    for word in words:
        start = text.find(word, end)
        if start != end and (start < 0 or not text[end:start].isspace()):
            return None
        starts.append(start)
        end = start + len(word)
    return starts


@dataclass(frozen=True, slots=True)
class Document:
    """A text and its words; `labels` (0/1 per word) only where someone marked them."""

    text: str
    words: Words
    """Any sequence of `Word` is taken over."""
    id: str | None = None
    labels: tuple[int, ...] | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    """What else stands in its row, by column: kept in the results, never scored."""
    odd: bool | None = None
    """Whether someone called the whole document odd; None where nobody judged it as a whole."""

    def __post_init__(self) -> None:
        if not isinstance(self.words, Words):
            object.__setattr__(self, "words", Words.of(self.words))


@dataclass(frozen=True, slots=True)
class Encoded:
    """The words of a document as strings, with one vector each: (T, d), and the number of subwords each was read in: (T,)."""

    words: tuple[str, ...]
    vectors: FloatArray
    pieces: IntArray
    gaps: frozenset[int] = frozenset()
    """Positions of words that are no neighbours of the word before: ignored ones stand between them."""

    @classmethod
    def of_words(cls, words: tuple[str, ...], gaps: frozenset[int] = frozenset()) -> Encoded:
        """Words alone: vectors of no numbers, and each word one piece."""
        return cls(words, *_nothing_of(len(words)), gaps)

    def __len__(self) -> int:
        return len(self.words)


@lru_cache(maxsize=1024)
def _nothing_of(words: int) -> tuple[FloatArray, IntArray]:
    """The vectors and pieces of so many words without an encoder: documents of one length share them."""
    vectors, pieces = np.empty((words, 0), np.float32), np.ones(words, np.int64)
    pieces.setflags(write=False)
    return vectors, pieces


def all_words(documents: Iterable[Encoded]) -> list[str]:
    """The words of all documents, one document behind the other."""
    return list(chain.from_iterable([document.words for document in documents]))


@dataclass(frozen=True, slots=True)
class WordScore:
    """One scored word: fused score, p-value among normal words, flag, and the tail evidence of each view."""

    text: str
    start: int
    end: int
    score: float
    p_value: float
    is_anomaly: bool
    evidence: Mapping[str, float] = field(default_factory=dict)
    suggestion: str | None = None
    """What an unusual word may have been meant to be, if it looks like a slip."""
    allowed: bool = False
    """Whether someone said that it is normal: its score is then 0, and it plays no part in that of its document."""
    fault: str | None = None
    """The fault that an unusual word belongs to, if that has a name: "placeholder"."""


@dataclass(frozen=True)
class Result:
    """One scored document and its words; `evidence` says how far each trait of the document lies in the normal tail."""

    text: str
    score: float
    p_value: float
    is_anomaly: bool
    words: tuple[WordScore, ...]
    id: str | None = None
    evidence: Mapping[str, float] = field(default_factory=dict)
    columns: Mapping[str, Any] = field(default_factory=dict)
    """What else stands in the document's row, by column."""
    judged_by: str | None = None
    """`screen` or `model`, where two models read in a row."""
    rule: str | None = None
    """Which rate decided its flags, `fpr` or `fdr`; None before flags are set."""
    rate: float | None = None
    """That rate."""

    @classmethod
    def _view(cls, scored: Scored, at: int, score: float, p_value: float, is_anomaly: bool) -> Result:
        """The result of a document among columns; words and evidence are made when they are asked for."""
        result, document = object.__new__(cls), scored.documents[at]
        vars(result).update(text=document.text, score=score, p_value=p_value, is_anomaly=is_anomaly, id=document.id)
        vars(result).update(columns=document.columns, judged_by=scored.judged_by, rule=scored.rule, rate=scored.rate)
        vars(result)["_place"] = scored, at
        return result

    if not TYPE_CHECKING:  # which would take any name for an attribute

        def __getattr__(self, name: str) -> Any:
            """The words and the evidence of a view, the first time they are asked for."""
            if name not in ("words", "evidence") or "_place" not in vars(self):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            scored, at = self._place
            made = scored.words(at) if name == "words" else scored.traits_of(at)
            return vars(self).setdefault(name, made)

    def __repr__(self) -> str:
        """One line: what is asked of a result most often."""
        text = self.text if len(self.text) <= _SHOWN else f"{self.text[:_SHOWN]}…"
        odd = [word.text for word in self.words if word.is_anomaly]
        said = f"score={self.score:.3g}, p_value={self.p_value:.2g}, is_anomaly={self.is_anomaly}, flagged={odd!r}"
        return f"Result({text!r}, {said})"

    def __getstate__(self) -> dict[str, Any]:
        """Its own fields, and not the columns that it is a view of."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}

    @property
    def place(self) -> tuple[Scored, int]:
        """The columns that hold it, and its position there."""
        place: tuple[Scored, int] | None = vars(self).get("_place")
        return place or (Scored.of(self), 0)

    @property
    def summary(self) -> str:
        """What a flagged document is flagged for: its words, or the text as a whole; empty if it is not flagged."""
        scored, at = self.place
        return scored.summary(at)

    def to_html(self) -> str:
        """The text with its unusual words shaded, and one sentence: HTML that stands by itself."""
        from difa.report.html import result_html

        return result_html(self)

    _repr_html_ = to_html  # what notebooks show

    def to_dict(self) -> dict[str, Any]:
        """The fields of the command line's JSON, in its order; what there is not, such as `columns`, is left out."""
        scored, at = self.place
        return scored.record(at)


@dataclass(frozen=True, eq=False)
class Scored:
    """What is said of some documents, as columns: of D documents, and of their T words, one document behind the other."""

    documents: Sequence[Document]
    views: tuple[str, ...]
    """Names of the views, in the order of a word's evidence."""
    traits: tuple[str, ...]
    """Names of the documents' traits, in the order of their evidence."""
    evidence: FloatArray  # (T, views), the feed's own behind the others
    word_scores: FloatArray  # (T,), 0 for words that are allowed
    allowed: BoolArray  # (T,)
    document_evidence: FloatArray  # (D, traits), none for the paper's mixture
    document_scores: FloatArray  # (D,)
    word_p: FloatArray = field(default_factory=lambda: np.empty(0))  # (T,) once ranked
    document_p: FloatArray = field(default_factory=lambda: np.empty(0))  # (D,) once ranked
    suggestions: Mapping[int, str] = field(default_factory=dict)
    """What words may have been meant to be, by their position among all words."""
    faults: Mapping[int, str] = field(default_factory=dict)
    """Faults that words belong to, likewise."""
    word_flags: BoolArray = field(default_factory=lambda: np.empty(0, bool))  # (T,) once ranked
    document_flags: BoolArray = field(default_factory=lambda: np.empty(0, bool))  # (D,) once ranked
    judged_by: str | None = None
    """`screen` or `model`, where two models read in a row."""
    rule: str | None = None
    """Which rate decided the flags, `fpr` or `fdr`; None before flags are set."""
    rate: float | None = None
    """That rate."""

    def __len__(self) -> int:
        return len(self.documents)

    @cached_property
    def starts(self) -> list[int]:
        """Position of each document's first word among all words, and behind them the number of words."""
        return list(accumulate((len(document.words) for document in self.documents), initial=0))

    @classmethod
    def of(cls, result: Result) -> Scored:
        """The columns of one result, all of whose words have evidence of the same views."""
        words = result.words
        document = Document(result.text, Words.of(words), result.id, columns=result.columns)
        views = tuple(words[0].evidence) if words else ()
        return cls(
            [document],
            views,
            tuple(result.evidence),
            np.array([[word.evidence[view] for view in views] for word in words]).reshape(len(words), len(views)),
            np.array([word.score for word in words], dtype=float),
            np.array([word.allowed for word in words], dtype=bool),
            np.array([[*result.evidence.values()]], dtype=float),
            np.array([result.score], dtype=float),
            np.array([word.p_value for word in words], dtype=float),
            np.array([result.p_value], dtype=float),
            {at: word.suggestion for at, word in enumerate(words) if word.suggestion is not None},
            {at: word.fault for at, word in enumerate(words) if word.fault is not None},
            np.array([word.is_anomaly for word in words], dtype=bool),
            np.array([result.is_anomaly], dtype=bool),
            result.judged_by,
            result.rule,
            result.rate,
        )

    def take(self, chosen: Sequence[int]) -> Scored:
        """The same of some of the documents, in the order in which they are named."""
        if list(chosen) == list(range(len(self))):
            return self
        words = np.fromiter(chain.from_iterable(range(*self.starts[at : at + 2]) for at in chosen), np.intp)
        rows = np.array(chosen, dtype=np.intp)
        return replace(
            self,
            documents=[self.documents[at] for at in chosen],
            suggestions={new: meant for new, old in enumerate(words.tolist()) if (meant := self.suggestions.get(old))},
            faults={new: kind for new, old in enumerate(words.tolist()) if (kind := self.faults.get(old))},
            **{name: getattr(self, name)[words] for name in WORD_COLUMNS},
            **{name: getattr(self, name)[rows] for name in DOCUMENT_COLUMNS},
        )

    def results(self) -> list[Result]:
        """A view of each document."""
        numbers = self.document_scores.tolist(), self.document_p.tolist(), self.document_flags.tolist()
        return [Result._view(self, at, *row) for at, row in enumerate(zip(*numbers, strict=True))]

    def words(self, at: int) -> tuple[WordScore, ...]:
        """The scored words of a document."""
        return tuple([WordScore(**word) for word in self._words(at)])

    def traits_of(self, at: int) -> dict[str, float]:
        """The evidence of a document's traits."""
        return dict(zip(self.traits, (self.document_evidence[at] + 0.0).tolist(), strict=True))

    def flagged(self, at: int) -> list[int]:
        """Positions of a document's flagged words among all words, in the order of the text."""
        start, end = self.starts[at : at + 2]
        return (start + np.flatnonzero(self.word_flags[start:end])).tolist()

    def summary(self, at: int) -> str:
        """What a flagged document is flagged for: its words, or the text as a whole; empty if it is not flagged."""
        if not self.document_flags[at]:
            return ""
        start, document = self.starts[at], self.documents[at]
        by_kind: dict[str, list[int]] = {}  # a fault is named before what merely is unusual
        for position in sorted(self.flagged(at), key=lambda position: (position not in self.faults, self.word_p[position])):
            by_kind.setdefault(self.faults.get(position, ""), []).append(position - start)
        parts = []
        for kind, places in by_kind.items():
            of_kind = [place for place in range(len(document.words)) if kind and self.faults.get(start + place) == kind]
            named = dict.fromkeys(_passages(document, of_kind, places) if kind else [document.words.texts[at] for at in places])
            parts.append(f"{kind or 'unusual word' + 's' * (len(named) > 1)}: {', '.join([*named][:_NAMED])}")
        return "; ".join(parts) or "no single word stands out: the text as a whole is unlike the normal ones"

    def records(self) -> Iterator[dict[str, Any]]:
        """The fields of the command line's JSON for each document."""
        return map(self.record, range(len(self)))

    def record(self, at: int) -> dict[str, Any]:
        """The fields of the command line's JSON, in its order; `columns` and `allowed` only where there are some."""
        document, is_anomaly = self.documents[at], bool(self.document_flags[at])
        return {
            "id": document.id,
            "text": document.text,
            **({"columns": dict(document.columns)} if document.columns else {}),
            "score": float(self.document_scores[at]) + 0.0,  # −0.0 is 0.0
            "p_value": float(self.document_p[at]),
            "is_anomaly": is_anomaly,
            **({} if self.rule is None else {"rule": self.rule, "rate": self.rate}),
            "summary": self.summary(at) if is_anomaly else "",
            "evidence": self.traits_of(at),
            **({} if self.judged_by is None else {"judged_by": self.judged_by}),
            "words": self._words(at),
        }

    def _words(self, at: int) -> list[dict[str, Any]]:
        """The fields of the words of a document."""
        start, end = self.starts[at : at + 2]
        words = self.documents[at].words
        numbers = self.word_scores[start:end] + 0.0, self.word_p[start:end], self.word_flags[start:end]
        evidence = map(dict, map(zip, repeat(self.views), (self.evidence[start:end] + 0.0).tolist()))
        rows = zip(words.texts, words.starts, words.ends, *(column.tolist() for column in numbers), evidence, strict=True)
        made: list[dict[str, Any]] = [
            {
                "text": text,
                "start": first,
                "end": last,
                "score": score,
                "p_value": p_value,
                "is_anomaly": is_anomaly,
                "suggestion": None,
                "evidence": of_word,
            }
            for text, first, last, score, p_value, is_anomaly, of_word in rows
        ]
        for position in self._noted[bisect_left(self._noted, start) : bisect_left(self._noted, end)]:
            fields = made[position - start]
            fields["suggestion"] = self.suggestions.get(position)
            if self.allowed[position]:
                fields["allowed"] = True
            if fault := self.faults.get(position):
                fields["fault"] = fault
        return made

    @cached_property
    def _noted(self) -> list[int]:
        """Positions of the words of which there is more to say than numbers."""
        return sorted({*self.suggestions, *self.faults, *np.flatnonzero(self.allowed).tolist()})


def columns_of(results: Iterable[Result]) -> list[Scored]:
    """The columns of results in their order, those beside each other together that are views of the same."""
    places = [result.place for result in results]
    runs = [list(run) for _, run in groupby(places, key=lambda place: id(place[0]))]
    return [run[0][0].take([at for _, at in run]) for run in runs]


def _passages(document: Document, places: Iterable[int], chosen: Iterable[int]) -> Iterator[str]:
    """What stands at places in a row, in the order of the text, cut if it is long; only if a chosen one is among them."""
    for _, run in groupby(enumerate(places), key=lambda item: item[1] - item[0]):
        if not {*chosen}.isdisjoint(row := [place for _, place in run]):
            passage = document.text[document.words[row[0]].start : document.words[row[:_NAMED][-1]].end]
            yield " ".join(passage.split()) + (" …" if len(row) > _NAMED else "")


@dataclass(frozen=True, slots=True)
class ReasonKind:
    """A kind of reason that a view gives, and how it is put into words: templates that the values of a reason fill."""

    name: str
    text: str
    """What was found, with numbers."""
    plain: str = ""
    """What a sentence says of the word; empty where this kind is not worth a sentence."""
    rank: int = 80
    """Sentences begin with the lowest rank. From 90 on (`IMPLIED`) a kind is said only where there is nothing else to say."""


@dataclass(frozen=True, slots=True, repr=False)
class Reason:
    """One reason for a word's evidence under a view: its kind, what was found, and its share of the evidence (0 to 1)."""

    kind: ReasonKind
    values: Mapping[str, Any]
    weight: float

    @property
    def text(self) -> str:
        """What was found, in words and numbers."""
        return self.kind.text.format(**self.values)

    @property
    def plain(self) -> str:
        """What a sentence says of the word; empty for what is not worth saying."""
        return self.kind.plain.format(**self.values)

    def to_dict(self) -> dict[str, Any]:
        """The fields of the command line's JSON."""
        return {"kind": self.kind.name, "text": self.text, "values": dict(self.values), "weight": self.weight}

    def __repr__(self) -> str:
        return f"Reason(text={self.text!r}, weight={self.weight!r})"


@dataclass(frozen=True, slots=True)
class Explanation:
    """A scored document and, for each word and view, the reasons for its evidence, strongest first."""

    result: Result
    reasons: tuple[Mapping[str, tuple[Reason, ...]], ...]
    rate: float | None = None
    """The rate by which flags were set."""
    rule: str = "fpr"
    """Which rate that is: `fpr` or `fdr`."""
    learned: tuple[str, ...] = ()
    """What a feed taught the model, one sentence each."""

    def to_html(self) -> str:
        """The text with its unusual words shaded, a sentence for each of them, and the numbers folded away."""
        from difa.report.html import result_html

        return result_html(self.result, self.reasons)

    _repr_html_ = to_html


def split_by(lengths: Iterable[int], values: NDArray[Any]) -> list[NDArray[Any]]:
    """Cut one array over all words back into one array per document."""
    return [values[start:end] for start, end in pairwise(accumulate(lengths, initial=0))]
