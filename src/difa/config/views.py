"""Settings of what looks at single words: the encoder and the views."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from difa.config.checks import check, check_threads, compile_pattern, number, whole

DEFAULT_ENCODER = "minilm"
NO_ENCODER = "none"
"""In the place of an encoder's name: words are read as strings alone."""

VIEW_NAMES = ("language", "phrase", "tone", "critic", "form", "faults", "neighbour", "semantic")
"""All views there are: each is the module of that name in `difa.views`."""
FULL_VIEWS = ("language", "phrase", "tone", "critic", "form", "faults", "neighbour")
PAPER_VIEWS = ("semantic", "form")
FAST_VIEWS = ("language", "phrase", "tone", "critic", "form", "faults")

NOISE_KINDS = ("url", "email", "number", "path", "hash", "handle", "code")
"""What can be ignored by name: each has its pattern in `difa.corpus.ignore`."""

Letters = Literal["share", "changes"]


@dataclass(frozen=True)
class EncoderConfig:
    """Words -> vectors.

    The same in the presets `full` and `paper`: neither has the paper's encoder, which is bert-base-uncased at its last layer.
    """

    name: str = DEFAULT_ENCODER
    """`minilm` (embedded), a Hugging Face hub name, a local folder, or `none` for words without vectors, as in the preset
    `fast`. The paper's own is `bert-base-uncased`."""
    layer: int | None = None
    """Hidden layer to read: 0 is the embedding, negative counts from the end; None is 4 for `minilm`, where the last
    layer is bad for words, and the last layer, as in the paper, for any other encoder."""
    batch_tokens: int = 1024
    """Subwords per batch, a thread each: enough to keep a core busy, small enough for its cache."""
    threads: int | None = None
    """Threads of the engine; None takes all cores."""

    def __post_init__(self) -> None:
        check(isinstance(self.name, str) and bool(self.name.strip()), self, "name", "an encoder's name or folder")
        if self.layer is not None:
            check(isinstance(self.layer, int) and not isinstance(self.layer, bool), self, "layer", "a whole number or None")
        whole(self, "batch_tokens", 1, 1 << 20)
        check_threads(self.threads)


@dataclass(frozen=True)
class ViewsConfig:
    """Which views look at the words."""

    names: tuple[str, ...] = FULL_VIEWS
    """In this order in results."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        known = bool(self.names) and set(self.names) <= set(VIEW_NAMES) and len(set(self.names)) == len(self.names)
        check(known, self, "names", f"some of {', '.join(VIEW_NAMES)}, each once")


@dataclass(frozen=True)
class FormConfig:
    """Form-structural view: 10 surface and 6 context statistics, Gaussian reference."""

    window: int = 2
    """Neighbours on each side, as in the paper."""
    shrinkage: float = 1e-3
    """Share of the identity mixed into the correlation matrix, so that collinear entries stay invertible. The same in all
    presets; the paper has none."""
    letters: Letters = "share"
    """The third entry: the `share` of letters among the word's characters or, as in the preset `paper`, the number of `changes`
    between small letters, capitals, digits and marks. Shares of letters, digits and punctuation sum to one in normal words: Σ is
    singular, and the shrinkage decides what a space in a word is worth. The others imply the share of letters, so changes lose
    nothing. The presets `full` and `fast` were settled with the share and keep it."""
    min_scale: float = 1e-2
    """Least standard deviation of an entry, so that one that is constant in normal text counts, but not without bound."""

    def __post_init__(self) -> None:
        whole(self, "window", 1, 64)
        check(self.letters in get_args(Letters), self, "letters", f"one of {', '.join(get_args(Letters))}")
        number(self, "shrinkage", 0, 0.99, above=True)
        number(self, "min_scale", 0, above=True)


@dataclass(frozen=True)
class SemanticConfig:
    """Semantic view, of the preset `paper` alone: Transformer encoder f, teacher decoder g_T, student decoder g_S.

    The paper gives neither sizes nor lengths of training; all of these are ours.
    """

    layers: int = 1
    """Transformer blocks in f and in g_T each; one reconstructs well and costs a quarter of the text encoder."""
    heads: int = 6
    """Attention heads; lowered to a divisor of the width where needed."""
    distance_weight: float = 1000.0
    """λ of the distance ‖a−b‖² + λ(1−cos(a,b)), where the square is a mean over the dimensions of vectors with one global scale.
    Chosen among 1/384, 1, 10, 100 and 1000 on pseudo anomalies in held-out documents (docs/paper.md): the more the angle counts,
    the better they are found. At 1000 the square hardly counts."""
    student_weight: float = 1.0
    """Weight of the teacher–student term; 1 in the paper, 0 leaves the reconstruction error alone."""
    held_out: float = 0.1
    """Share of the normal documents by which training sees that it may end: nothing is learned from them."""
    plateau: float = 0.05
    """A round of 100 steps has brought nothing if it lowers the loss on held-out documents by less than this share. The rate is
    then divided by four; at the third such round training ends, with the best weights so far. Encoder and teacher first, then
    the student: the same rule for both."""
    teacher_rounds: int = 16
    """Rounds of encoder and teacher at most: a bound of time, so that Spam's 37,000 words take minutes, not hours."""
    student_rounds: int = 12
    """Rounds of the student at most."""
    batch_words: int = 128
    """Words per step of encoder and teacher, about. 512 cost three times as much and lower the error less for the time."""
    student_batch_words: int = 512
    """Words per step of the student, whose steps cost little."""
    learning_rate: float = 1e-3
    """Twice as much learns faster at first, but single batches throw it back, and it ends higher on held-out documents."""
    window: int = 256
    """Words that attend to each other; longer documents are read in overlapping windows."""

    def __post_init__(self) -> None:
        for name in ("layers", "heads", "teacher_rounds", "student_rounds", "batch_words", "student_batch_words"):
            whole(self, name, 1)
        number(self, "held_out", 0, 0.5, above=True)
        number(self, "plateau", 0, 1)
        whole(self, "window", 8, 1 << 16)
        number(self, "distance_weight", 0)
        number(self, "student_weight", 0)
        number(self, "learning_rate", 0, above=True)


@dataclass(frozen=True)
class LanguageConfig:
    """Language view: how rare a word is, here and in its language, and how oddly it is spelt."""

    order: int = 4
    """Longest run of characters in the model, the predicted one included; 3 and 5 do as well."""
    spelling_weight: float = 0.5
    """Raw evidence for each nat of surprise at a word's letters, per square root of its length."""
    piece_weight: float = 0.5
    """Raw evidence for each subword beyond the first: the encoder's own vocabulary knows what is a word."""
    vocabulary: int = 50_000
    """Distinct words at most."""

    def __post_init__(self) -> None:
        whole(self, "order", 1, 16)
        number(self, "spelling_weight", 0)
        number(self, "piece_weight", 0)
        whole(self, "vocabulary", 1)


@dataclass(frozen=True)
class CriticConfig:
    """Critic view: two small networks that were taught errors."""

    plain_hidden: int = 32
    """Hidden units of the network that sees plain statistics."""
    vector_hidden: int = 128
    """Hidden units of the network that sees the word's vector as well."""
    plain_epochs: int = 8
    vector_epochs: int = 4
    rate: float = 3e-3
    """Highest learning rate."""
    words: int = 40_000
    """Normal words that it is taught with at most, beside those of the pseudo anomalies."""
    vocabulary: int = 50_000
    """Distinct words counted at most."""
    pairs: int = 500_000
    """Distinct pairs of neighbours counted at most."""

    def __post_init__(self) -> None:
        for name in ("plain_hidden", "vector_hidden", "plain_epochs", "vector_epochs", "words", "vocabulary", "pairs"):
            whole(self, name, 1)
        number(self, "rate", 0, above=True)


@dataclass(frozen=True)
class NeighbourConfig:
    """Neighbour view: distance to the nearest normal word vector."""

    bank: int = 4096
    """Normal word vectors kept at most: bounds size and cost, whatever the corpus. Twice as many find a little more and cost
    another twelfth of the encoder's time."""

    def __post_init__(self) -> None:
        whole(self, "bank", 1)


@dataclass(frozen=True)
class IgnoreConfig:
    """Noise that is left out of all texts, when fitting and when scoring: its words have the score 0."""

    kinds: tuple[str, ...] = ()
    """Some of url, email, number, path, hash, handle and code."""
    patterns: tuple[str, ...] = ()
    """Regular expressions in the syntax of RE2, looked for in each run of characters between blanks. A word within a match is
    ignored."""

    def __post_init__(self) -> None:
        for name in ("kinds", "patterns"):
            given = getattr(self, name)
            is_list = isinstance(given, (list, tuple)) and all(isinstance(item, str) for item in given)
            check(is_list, self, name, "a list of strings")
            object.__setattr__(self, name, tuple(dict.fromkeys(given)))
        check(set(self.kinds) <= set(NOISE_KINDS), self, "kinds", f"some of {', '.join(NOISE_KINDS)}")
        for pattern in self.patterns:
            compile_pattern(pattern)

    def __str__(self) -> str:
        return ", ".join((*self.kinds, *(f"`{pattern}`" for pattern in self.patterns)))


@dataclass(frozen=True)
class PrivacyConfig:
    """What a saved model tells of the training text."""

    least_documents: int = 2
    """Training documents that must have a word, or a pair of neighbours, for it to be readable in the saved model. Words that the
    language's list knows are always readable; other words are kept as checksums, other pairs not at all. 1 keeps everything
    readable. 2 changes scores little (docs/models.md)."""

    def __post_init__(self) -> None:
        whole(self, "least_documents", 1)
