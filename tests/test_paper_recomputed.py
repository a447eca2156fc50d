"""The preset `paper`, computed once more: 60 documents from the files of a model folder alone, by the paper's formulas.

Nothing of the package is used but the model that was fitted and the scores that are compared. Equations are those of the paper.
"""

import json
import math
from collections import Counter
from itertools import groupby

import numpy as np
import onnx
import onnxruntime
import pytest
from safetensors.numpy import load_file
from tokenizers import Tokenizer

pytestmark = pytest.mark.slow  # fits networks

VOWELS = set("aeiouyàáâãäåæèéêëìíîïòóôõöøùúûüýœ")


@pytest.fixture(scope="module")
def folder(make_once, quick, corpus):
    return make_once("paper-recomputed", lambda path: quick(preset="paper").fit(corpus[:80]).save(path))


@pytest.fixture(scope="module")
def texts(corpus):
    """60 documents that the model has not seen, each within one window of encoder and semantic view."""
    found = [text for text in dict.fromkeys(corpus[80:]) if text not in corpus[:80] and 2 < len(text) < 90]
    return found[:60]


class Recomputed:
    def __init__(self, folder):
        self.settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))["stages"]
        self.tensors = {name: np.float64(value) for name, value in load_file(folder / "weights.safetensors").items()}
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.encoder = onnxruntime.InferenceSession(folder / "encoder.onnx")
        self.semantic = onnxruntime.InferenceSession(folder / "semantic.onnx")
        initializers = onnx.load(folder / "semantic.onnx").graph.initializer
        self.weights = {each.name: np.float64(onnx.numpy_helper.to_array(each)) for each in initializers}

    def vectors(self, words):
        """H: the maximum over the hidden states of a word's subwords."""
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        encoding = self.tokenizer.encode(words, is_pretokenized=True)
        ids, mask = padded(np.array(encoding.ids, np.int64)), padded(np.ones(len(encoding.ids), np.int64))
        hidden = self.encoder.run(None, {"input_ids": ids[None], "attention_mask": mask[None]})[0][0]
        owners = np.array([-1 if owner is None else owner for owner in encoding.word_ids])
        return np.stack([hidden[: len(owners)][owners == word].max(axis=0) for word in range(len(words))])

    def s_sem(self, vectors):
        """d(ĥ_T, h) + d(ĥ_S, ĥ_T), by the graph, in the precision that scores have."""
        mask = padded(np.ones(len(vectors), np.int64))
        terms = self.semantic.run(None, {"vectors": padded(vectors)[None], "mask": mask[None]})
        return np.float64(terms[0][0, : len(vectors)]) + np.float64(terms[1][0, : len(vectors)])

    def s_sem_by_hand(self, vectors):
        """The same from the weights: Z = f(H), Ĥ_T = g_T(Z), Ĥ_S = g_S(Z)."""
        w, heads = self.weights, max(h for h in range(1, 7) if vectors.shape[1] % h == 0)
        x = (vectors - w["normal_mean"]) / w["normal_scale"]
        z = block(x + w["position_signals"][: len(x)], w, "encoder.0.", heads)
        teacher = block(z, w, "teacher.0.", heads)
        student = feed_forward(z, w, "student.")
        return distance(teacher, x) + distance(student, teacher)

    def s_form(self, words, vectors):
        """The Mahalanobis distance of 16 numbers; what does not exist stands at the mean."""
        d = np.concatenate([np.array([surface(word) for word in words]), context(np.float64(vectors))], axis=1)
        mean, scale, precision = (self.tensors[f"view.form.{name}"] for name in ("mean", "scale", "precision"))
        standard = np.where(np.isnan(d), 0.0, d - mean) / scale
        return np.sqrt([row @ precision @ row for row in standard])

    def evidence(self, scores, view):
        """−log(p + ε), p = (1 + #{r ∈ R : r ≥ s}) / (1 + |R|)."""
        reference = self.tensors[f"reference.{view}"]
        p = np.array([(1 + (reference >= score).sum()) / (1 + len(reference)) for score in scores])
        return np.maximum(-np.log(p + self.settings["calibration"]["epsilon"]), 0)

    def s(self, e_sem, e_form):
        """α·e_sem + (1 − α)·e_form + β·√(e_sem·e_form)."""
        agreement = np.sqrt(e_sem * e_form + 1e-12)
        highest = np.maximum(e_sem, e_form)
        u = np.stack([np.log1p(e_sem), np.log1p(e_form), (e_sem - e_form) / 5, agreement / 5, highest / 5], axis=1)
        alpha, beta = (1 / (1 + np.exp(-self.network(u, "fusion")))).T
        return alpha * e_sem + (1 - alpha) * e_form + beta * agreement

    def document_score(self, s):
        """Σ π_m S_m, π = softmax(r(a))."""
        length, settings = len(s), self.settings["aggregation"]
        sharp = np.exp(np.exp(self.tensors["aggregation.log_sharpness"]) * s)
        s_m = np.array(
            [
                s.max(),
                np.sort(s)[::-1][: settings["top_k"]].mean(),
                np.log(np.exp(s).mean()),
                (sharp * s).sum() / sharp.sum(),
            ]
        )
        support = (s > -math.log(settings["support_p"])).mean()
        geometry = s.sum() ** 2 / (length * (s**2).sum() + 1e-12)
        a = np.array([*s_m / 5, s.mean() / 5, 0.5 * s.max() / (s.mean() + 1), support, geometry, math.log1p(length) / 5])
        pi = np.exp(self.network(a, "aggregation"))
        return float(pi @ s_m / pi.sum())

    def network(self, inputs, part):
        w1, b1, w2, b2 = (self.tensors[f"{part}.{name}"] for name in ("w1", "b1", "w2", "b2"))
        return np.tanh(inputs @ w1 + b1) @ w2 + b2


def padded(rows):
    """Zeros behind the rows, up to a multiple of four: what follows then rounds as it does in the package."""
    return np.concatenate([rows, np.zeros((-len(rows) % 4, *rows.shape[1:]), rows.dtype)])


def norm(x, w, name):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5) * w[f"{name}.weight"] + w[f"{name}.bias"]


def linear(x, w, name):
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def feed_forward(x, w, part):
    added = linear(np.maximum(linear(x, w, f"{part}widen"), 0), w, f"{part}narrow")
    return norm(x + added, w, f"{part}norm")


def block(x, w, part, heads):
    size = x.shape[1] // heads
    query, key, value = np.split(linear(x, w, f"{part}attend"), 3, axis=1)
    mixed = []
    for head in range(heads):
        at = slice(head * size, (head + 1) * size)
        weights = np.exp(query[:, at] @ key[:, at].T / math.sqrt(size))
        mixed.append(weights @ value[:, at] / weights.sum(axis=1, keepdims=True))
    x = norm(x + linear(np.concatenate(mixed, axis=1), w, f"{part}attended"), w, f"{part}norm")
    return feed_forward(x, w, f"{part}feed_forward.")


def distance(a, b):
    """‖a − b‖² / d + λ(1 − cos), λ = 1000."""
    return ((a - b) ** 2).mean(axis=1) + 1000 * (1 - cosines(a, b))


def cosines(a, b):
    return (a * b).sum(axis=-1) / (np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1))


def character_kind(character):
    for kind in (str.isupper, str.isalpha, str.isdigit, str.isspace):
        if kind(character):
            return kind.__name__
    return "mark"


def surface(word):
    n, low = len(word), word.lower()
    letters, digits, spaces = (sum(map(kind, word)) for kind in (str.isalpha, str.isdigit, str.isspace))
    shares = np.array(list(Counter(low).values())) / len(low)
    consonants = [len(list(run)) for is_one, run in groupby(c.isalpha() and c not in VOWELS for c in low) if is_one]
    return [
        *(n, digits / n, len(list(groupby(word, character_kind))) - 1),
        *(sum(map(str.isupper, word)) / n, (n - letters - digits - spaces) / n),
        max(len(list(run)) for _, run in groupby(word)) / n if n > 1 else 0,
        len(set(low)) / n,
        -(shares * np.log2(shares)).sum(),
        sum(c in VOWELS for c in low) / letters if letters else 0,
        max(consonants, default=0),
    ]


def context(h):
    rows = []
    for t, own in enumerate(h):
        left, right = h[max(0, t - 2) : t], h[t + 1 : t + 3]
        around = np.concatenate([left, right])
        similar = cosines(around, own)
        rows.append(
            [
                cosines(own, around.sum(axis=0)),
                np.linalg.norm(around - own, axis=1).mean(),
                math.log(np.linalg.norm(own) / np.linalg.norm(around, axis=1).mean()),
                cosines(left.sum(axis=0), right.sum(axis=0)) if len(left) and len(right) else math.nan,
                similar.max(),
                similar.std(),
            ]
        )
    return np.array(rows)


def test_sixty_documents_agree(folder, texts):
    from difa import DiFA

    again, results = Recomputed(folder), DiFA.load(folder).score(texts)
    assert len(results) == 60
    for result in results:
        words = [word.text for word in result.words]
        vectors = again.vectors(words)
        raw = again.s_sem(vectors)
        assert again.s_sem_by_hand(np.float64(vectors)) == pytest.approx(raw, rel=1e-3, abs=1e-4)
        e_sem, e_form = again.evidence(raw, "semantic"), again.evidence(again.s_form(words, vectors), "form")
        assert e_sem == pytest.approx([word.evidence["semantic"] for word in result.words], abs=1e-6)
        assert e_form == pytest.approx([word.evidence["form"] for word in result.words], abs=1e-6)
        scores = again.s(e_sem, e_form)
        assert scores == pytest.approx([word.score for word in result.words], abs=1e-6)
        assert again.document_score(scores) == pytest.approx(result.score, abs=1e-6)
