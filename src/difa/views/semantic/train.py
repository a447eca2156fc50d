"""Normal vectors -> a trained semantic network, as an ONNX graph: encoder f, teacher decoder g_T, student decoder g_S.

    Z = f(H),  Ĥ_T = g_T(Z),  Ĥ_S = g_S(Z),  s_sem = dist(ĥ_T, h) + dist(ĥ_S, ĥ_T)

Blocks end in a LayerNorm, as those of the text encoder do: the decoders can only give vectors that look like a normal
word's. A vector that does not, such as one max-pooled over the many subwords of gibberish, cannot be reconstructed
however well they are trained, which keeps full width safe (a narrow bottleneck is worse than chance on gibberish).

Two steps, as in the paper: f and g_T learn to reconstruct normal vectors; then both are frozen and g_S learns to imitate g_T.
Both steps end by one rule, which looks at normal text alone: when the loss on held-out normal documents no longer falls. The
architecture is exported once and kept in the cache folder; a training only fills in its weights.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import cache
from itertools import chain, count

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from difa.config import SemanticConfig
from difa.document import Encoded, FloatArray
from difa.errors import EncoderError
from difa.runtime.graphs import export_graph
from difa.runtime.parallel import one_torch_thread
from difa.runtime.windows import plan_windows
from difa.storage.atomic import kept

LOG = logging.getLogger(__name__)  # told of the loss after each round, of encoder and teacher first, then of the student
ROUND = 100  # steps between two looks at the held-out documents
PLATEAUS = 3  # rounds without progress after which training ends; after each of them but the last it goes on more slowly
SLOWER = 4  # what the rate is divided by then: at the first rate the loss stops falling at the noise of the steps
WARM = 100  # steps in which the rate rises from 0: the first ones of Adam know little of the gradients' size
MEMORY = (0.9, 0.95)  # decay of Adam's means: with its usual .999 single batches throw it back, which looks like a plateau
_PADDING_BIAS = -1e4  # added to the attention scores of padding
_HELD_BATCH = 2048  # words per batch where nothing is learned
_ONE_AT_A_TIME = threading.Lock()  # torch's random state belongs to all threads

Progress = Callable[[float], None]  # called with the share of the work that is done
Pieces = Sequence[FloatArray]  # vectors of documents, at most a window of each: (T, d)
Batch = tuple[Tensor, Tensor]  # vectors (B, T, d), mask (B, T)


class FeedForward(nn.Module):
    """What happens to each word by itself: the second half of a Transformer block, and all of the student."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.widen = nn.Linear(width, width)
        self.narrow = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:  # (B, T, d)
        return self.norm(x + self.narrow(torch.relu(self.widen(x))))  # type: ignore[no-any-return]


class Block(nn.Module):
    """A Transformer block with LayerNorm behind each half."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.attend = nn.Linear(width, 3 * width)
        self.attended = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.feed_forward = FeedForward(width)
        _start_near_identity(self.attended, self.feed_forward.narrow)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:  # (B, T, d), (B, 1, 1, T)
        batch, length, width = x.shape
        parts = self.attend(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        query, key, value = parts[0], parts[1], parts[2]  # (B, heads, T, d/heads)
        scores = query @ key.transpose(-1, -2) / math.sqrt(width / self.heads) + bias
        mixed = (scores.softmax(dim=-1) @ value).transpose(1, 2).reshape(batch, length, width)
        return self.feed_forward(self.norm(x + self.attended(mixed)))  # type: ignore[no-any-return]


def _start_near_identity(*layers: nn.Linear) -> None:
    """Let what is added to a word be little at first: a network that had to learn the identity could not from few words."""
    for layer in layers:
        nn.init.normal_(layer.weight, std=0.02)
        nn.init.zeros_(layer.bias)


class SemanticNetwork(nn.Module):
    """f, g_T and g_S on standardised vectors, and the two distances of the score.

    `mean` and `scale` are one centre and one global scale: the vectors keep their shape.
    """

    def __init__(self, mean: Tensor, scale: float, config: SemanticConfig) -> None:
        super().__init__()
        width = len(mean)
        heads = max(h for h in range(1, config.heads + 1) if width % h == 0)
        self.config = config
        self.encoder = nn.ModuleList(Block(width, heads) for _ in range(config.layers))  # f
        self.teacher = nn.ModuleList(Block(width, heads) for _ in range(config.layers))  # g_T
        self.student = FeedForward(width)  # g_S, which sees each word's code alone
        _start_near_identity(self.student.narrow)
        self.register_buffer("normal_mean", mean)
        self.register_buffer("normal_scale", torch.tensor(scale))
        self.register_buffer("position_signals", sinusoids(config.window, width))

    def standardise(self, vectors: Tensor) -> Tensor:
        """H: vectors of mean square norm 1 around the centre of normal ones: (B, T, d)."""
        return (vectors - self.normal_mean) / self.normal_scale  # type: ignore[operator]

    def encode(self, h: Tensor, bias: Tensor) -> Tensor:
        """Z = f(H)."""
        return _through(self.encoder, h + self.position_signals[: h.shape[1]], bias)  # type: ignore[index]

    def decode(self, z: Tensor, bias: Tensor) -> Tensor:
        """Ĥ_T = g_T(Z)."""
        return _through(self.teacher, z, bias)

    def distance(self, a: Tensor, b: Tensor) -> Tensor:
        """dist(a, b) = ‖a−b‖² + λ(1−cos(a,b)) per word, where the square is a mean over the dimensions."""
        cosine = (a * b).sum(-1) / ((a * a).sum(-1) * (b * b).sum(-1)).clamp_min(1e-12).sqrt()
        return ((a - b) ** 2).mean(-1) + self.config.distance_weight * (1 - cosine)

    def forward(self, vectors: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """The two terms of s_sem, dist(ĥ_T, h) and dist(ĥ_S, ĥ_T): (B, T) each."""
        h, bias = self.standardise(vectors), attention_bias(mask)
        z = self.encode(h, bias)
        teacher, student = self.decode(z, bias), self.student(z)
        return self.distance(teacher, h), self.distance(student, teacher)


def _through(blocks: nn.ModuleList, x: Tensor, bias: Tensor) -> Tensor:
    for block in blocks:
        x = block(x, bias)
    return x


def attention_bias(mask: Tensor) -> Tensor:
    """(B, T) of ones and zeros -> (B, 1, 1, T), far below zero at padding."""
    return ((1.0 - mask.to(torch.float32)) * _PADDING_BIAS)[:, None, None, :]


def sinusoids(length: int, width: int) -> Tensor:
    """Weak position signals, (length, width): words are told apart by content first."""
    angles = torch.arange(length)[:, None] * torch.exp(torch.arange(0, width, 2) * (-math.log(1e4) / width))
    return 0.1 * torch.stack([angles.sin(), angles.cos()], dim=-1).reshape(length, -1)[:, :width]


def train_network(
    documents: Sequence[Encoded], config: SemanticConfig, seed: int, progress: Progress = lambda share: None
) -> SemanticNetwork:
    """The two training steps; the same seed and documents give the same network, bit for bit."""
    words = np.concatenate([document.vectors for document in documents]).astype(np.float64)
    mean = words.mean(axis=0)
    scale = max(float(np.sqrt(((words - mean) ** 2).mean())), 1e-6)
    with _ONE_AT_A_TIME, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = SemanticNetwork(torch.tensor(mean, dtype=torch.float32), scale, config)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(documents)).tolist()
    held_count = max(1, round(config.held_out * len(documents)))
    pieces = _cut([documents[index] for index in order[held_count:]], config.window)
    held = _cut([documents[index] for index in order[:held_count]], config.window)
    with one_torch_thread():
        _train_teacher(network, pieces, held, rng, lambda share: progress(0.8 * share))
        _train_student(network, pieces, held, rng, lambda share: progress(0.8 + 0.2 * share))
    return network.eval()


def _cut(documents: Sequence[Encoded], longest: int) -> Pieces:
    return [item.vectors[window.start : window.end] for item in documents for window in plan_windows(len(item), longest)]


def _train_teacher(network: SemanticNetwork, pieces: Pieces, held: Pieces, rng: Generator, progress: Progress) -> None:
    """Let f and g_T learn to reconstruct normal vectors."""
    config = network.config
    batches = chain.from_iterable(_batches(pieces, config.batch_words, rng) for _ in count())
    held_batches = [_pad(batch) for batch in _batches(held, _HELD_BATCH, rng)]

    def errors(batch: Batch) -> Tensor:
        vectors, mask = batch
        h, bias = network.standardise(vectors), attention_bias(mask)
        return network.distance(network.decode(network.encode(h, bias), bias), h)[mask > 0]  # (words,)

    def held_loss() -> Tensor:
        return torch.cat([errors(batch) for batch in held_batches]).mean()

    modules = nn.ModuleList([network.encoder, network.teacher])
    losses = (errors(_pad(batch)).mean() for batch in batches)
    _train_to_plateau(modules, losses, held_loss, config, config.teacher_rounds, progress)
    modules.requires_grad_(False)


def _train_student(network: SemanticNetwork, pieces: Pieces, held: Pieces, rng: Generator, progress: Progress) -> None:
    """Let g_S learn to imitate the frozen g_T. It sees words one by one, so their codes are computed once."""
    config = network.config

    def codes(some: Pieces) -> tuple[Tensor, Tensor]:
        pairs = []
        for batch in _batches(some, _HELD_BATCH, rng):
            vectors, mask = _pad(batch)
            bias = attention_bias(mask)
            z = network.encode(network.standardise(vectors), bias)
            pairs.append((z[mask > 0], network.decode(z, bias)[mask > 0]))  # (words, d) each
        return torch.cat([code for code, _ in pairs]), torch.cat([target for _, target in pairs])

    with torch.no_grad():
        (code, target), (held_code, held_target) = codes(pieces), codes(held)

    def losses() -> Iterator[Tensor]:
        while True:
            picked = torch.from_numpy(rng.integers(len(code), size=config.student_batch_words))
            yield network.distance(network.student(code[picked]), target[picked]).mean()

    def held_loss() -> Tensor:
        return network.distance(network.student(held_code), held_target).mean()

    _train_to_plateau(network.student, losses(), held_loss, config, config.student_rounds, progress)


def _train_to_plateau(
    module: nn.Module,
    losses: Iterator[Tensor],
    held_loss: Callable[[], Tensor],
    config: SemanticConfig,
    rounds: int,
    progress: Progress,
) -> None:
    """Train, a step for each loss, until slower steps do not lower the held-out loss either; the best weights are kept."""
    optimiser = torch.optim.AdamW(module.parameters(), lr=config.learning_rate, betas=MEMORY)
    best, plateaus, weights = float("inf"), 0, module.state_dict()
    for number in range(rounds):
        for step in range(ROUND):
            warm = min(1.0, (number * ROUND + step + 1) / WARM)
            for group in optimiser.param_groups:
                group["lr"] = warm * config.learning_rate / SLOWER**plateaus
            optimiser.zero_grad()
            next(losses).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        with torch.no_grad():
            found = float(held_loss())
        LOG.info("round %d: loss on held-out documents %.4f", number + 1, found)
        plateaus += found > (1 - config.plateau) * best
        if found < best:
            best, weights = found, {name: tensor.clone() for name, tensor in module.state_dict().items()}
        progress((number + 1) / rounds)
        if plateaus == PLATEAUS:
            break
    module.load_state_dict(weights)
    progress(1.0)


def _batches(pieces: Pieces, words: int, rng: Generator) -> Iterator[list[FloatArray]]:
    """All pieces once, in batches of about `words` words and of similar lengths, in random order."""
    lengths = np.array([len(piece) for piece in pieces])
    batches: list[list[FloatArray]] = [[]]
    for index in np.argsort(lengths + rng.uniform(0, 4, len(pieces)), kind="stable"):
        if batches[-1] and (len(batches[-1]) + 1) * lengths[index] > words:
            batches.append([])
        batches[-1].append(pieces[index])
    for index in rng.permutation(len(batches)):
        yield batches[index]


def _pad(batch: Pieces) -> Batch:
    vectors = [torch.from_numpy(np.ascontiguousarray(piece, dtype=np.float32)) for piece in batch]
    masks = [torch.ones(len(piece), dtype=torch.int64) for piece in batch]
    return pad_sequence(vectors, batch_first=True), pad_sequence(masks, batch_first=True)


def to_graph(network: SemanticNetwork, config: SemanticConfig) -> bytes:
    """The network as ONNX: the architecture's graph with this network's weights."""
    import onnx

    state = {name: tensor.detach().numpy() for name, tensor in network.state_dict().items()}
    model = onnx.load_model_from_string(architecture(len(state["normal_mean"]), config))
    slots = {initializer.name: initializer for initializer in model.graph.initializer}
    if missing := set(state) - set(slots):
        raise EncoderError(f"export to ONNX: torch {torch.__version__} leaves no place for {min(missing)}: use another version")
    for name, value in state.items():
        slots[name].CopyFrom(onnx.numpy_helper.from_array(value, name))
    return bytes(model.SerializeToString())


@cache
def architecture(width: int, config: SemanticConfig) -> bytes:
    """The graph of an untrained network, exported once and kept in the cache folder.

    torch's exporter must not run beside other work of torch: call this before fitting in several threads.
    """
    shape = {"width": width, "torch": torch.__version__, "version": 5, **asdict(config)}
    key = hashlib.sha256(json.dumps(shape, sort_keys=True).encode()).hexdigest()[:16]

    def export() -> bytes:
        inputs = {"vectors": torch.zeros(2, 9, width), "mask": torch.ones(2, 9, dtype=torch.int64)}
        with torch.random.fork_rng(devices=[]):
            network = SemanticNetwork(torch.zeros(width), 1.0, config).eval()
        return export_graph(network, inputs, ["reconstruction", "discrepancy"], config.window, optimize=False)

    return kept(f"semantic-{key}.onnx", export, bytes)
