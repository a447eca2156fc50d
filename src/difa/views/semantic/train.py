"""Normal vectors -> a trained semantic network, as an ONNX graph.

Two steps, as in the paper: f and g_T learn to reconstruct normal vectors, each at least once; then both are frozen and g_S
learns to imitate g_T until it has reached a plateau. The architecture is exported once and kept in the cache folder; a
training only fills in its weights.
"""

from __future__ import annotations

import hashlib
import json
import math
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import cache
from itertools import chain

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor

from difa.atomic import fresh_file
from difa.config import SemanticConfig
from difa.document import Encoded, FloatArray
from difa.errors import EncoderError
from difa.runtime.onnx_export import cache_folder, export_graph
from difa.runtime.threads import one_torch_thread
from difa.runtime.windows import plan_windows
from difa.views.semantic.network import SemanticNetwork, attention_bias

STUDENT_ROUND = 100
"""Steps of the student between two looks at how far it still is from the teacher."""
PLATEAUS = 3
"""Rounds without progress after which the student has learned; after each of them but the last it goes on more slowly."""
SLOWER = 4
"""What its rate is divided by then: at the first rate the distance stops falling at the noise of the steps."""
_ONE_AT_A_TIME = threading.Lock()  # torch's random state belongs to all threads


def train(documents: Sequence[Encoded], config: SemanticConfig, seed: int) -> bytes:
    """Train on normal documents and return the network as an ONNX graph."""
    return to_graph(train_network(documents, config, seed), config)


def train_network(documents: Sequence[Encoded], config: SemanticConfig, seed: int) -> SemanticNetwork:
    """The two training steps; the same seed and documents give the same network, bit for bit."""
    words = np.concatenate([document.vectors for document in documents]).astype(np.float64)
    mean = words.mean(axis=0)
    scale = max(float(np.sqrt(((words - mean) ** 2).mean())), 1e-6)
    with _ONE_AT_A_TIME, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = SemanticNetwork(torch.tensor(mean, dtype=torch.float32), scale, config)
    pieces = [
        document.vectors[window.start : window.end]
        for document in documents
        for window in plan_windows(len(document), config.window)
    ]
    rng = np.random.default_rng(seed)
    with one_torch_thread():
        _train_teacher(network, pieces, config, rng)
        _train_student(network, pieces, config, rng)
    return network.eval()


def teacher_steps(batches: int, config: SemanticConfig) -> int:
    """Steps of the teacher, given the batches of one pass: `epochs` passes within the bounds, but at least one whole pass."""
    return max(batches, min(config.epochs * batches, config.max_steps), config.min_steps)


def _train_teacher(network: SemanticNetwork, pieces: Sequence[FloatArray], config: SemanticConfig, rng: Generator) -> None:
    """Let f and g_T learn to reconstruct normal vectors."""
    parameters = [*network.encoder.parameters(), *network.teacher.parameters()]
    first = list(_batches(pieces, config.batch_words, rng))
    batches = chain(first, _endless_batches(pieces, config.batch_words, rng))
    steps = teacher_steps(len(first), config)
    warm = max(1, steps // 10)

    def loss() -> Tensor:
        vectors, mask = _pad(next(batches))
        x, bias = network.standardise(vectors), attention_bias(mask)
        return network.distance(network.decode(network.encode(x, bias), bias), x)[mask > 0].mean()

    optimiser = torch.optim.AdamW(parameters, lr=config.learning_rate)
    for step in range(steps):
        share = min(1.0, (step + 1) / warm) * 0.5 * (1 + math.cos(math.pi * step / steps))
        _step(optimiser, loss(), share * config.learning_rate)
    for parameter in parameters:
        parameter.requires_grad_(False)


def _train_student(network: SemanticNetwork, pieces: Sequence[FloatArray], config: SemanticConfig, rng: Generator) -> None:
    """Let g_S learn to imitate the frozen g_T, until slower steps do not bring the two closer either.

    It sees words one by one, so their codes are computed once. After each round the discrepancy is measured on all of them.
    """
    codes, targets = [], []
    with torch.no_grad():
        for batch in _batches(pieces, 4 * config.batch_words, rng):
            vectors, mask = _pad(batch)
            bias = attention_bias(mask)
            z = network.encode(network.standardise(vectors), bias)
            codes.append(z[mask > 0])
            targets.append(network.decode(z, bias)[mask > 0])
    code, target = torch.cat(codes), torch.cat(targets)
    optimiser = torch.optim.AdamW(network.student.parameters(), lr=config.learning_rate)
    best, plateaus = _discrepancy(network, code, target), 0
    for _ in range(config.student_rounds):
        rate = config.learning_rate / SLOWER**plateaus
        for _ in range(STUDENT_ROUND):
            picked = torch.from_numpy(rng.integers(len(code), size=config.batch_words))
            _step(optimiser, network.distance(network.student(code[picked]), target[picked]).mean(), rate)
        found = _discrepancy(network, code, target)
        plateaus += found > (1 - config.plateau) * best
        best = min(best, found)
        if plateaus == PLATEAUS:
            break


def _discrepancy(network: SemanticNetwork, code: Tensor, target: Tensor) -> float:
    """Mean distance of student and teacher over all words."""
    with torch.no_grad():
        return float(network.distance(network.student(code), target).mean())


def _step(optimiser: torch.optim.Optimizer, loss: Tensor, rate: float) -> None:
    for group in optimiser.param_groups:
        group["lr"] = rate
    optimiser.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()


def _batches(pieces: Sequence[FloatArray], words: int, rng: Generator) -> Iterator[list[FloatArray]]:
    """All pieces once, in batches of about `words` words and of similar lengths, in random order."""
    lengths = np.array([len(piece) for piece in pieces])
    batches: list[list[FloatArray]] = [[]]
    for index in np.argsort(lengths + rng.uniform(0, 4, len(pieces)), kind="stable"):
        if batches[-1] and (len(batches[-1]) + 1) * lengths[index] > words:
            batches.append([])
        batches[-1].append(pieces[index])
    for index in rng.permutation(len(batches)):
        yield batches[index]


def _endless_batches(pieces: Sequence[FloatArray], words: int, rng: Generator) -> Iterator[list[FloatArray]]:
    while True:
        yield from _batches(pieces, words, rng)


def _pad(batch: Sequence[FloatArray]) -> tuple[Tensor, Tensor]:
    longest = max(map(len, batch))
    vectors = torch.zeros(len(batch), longest, batch[0].shape[1])
    mask = torch.zeros(len(batch), longest, dtype=torch.int64)
    for row, piece in enumerate(batch):
        vectors[row, : len(piece)] = torch.from_numpy(np.ascontiguousarray(piece, dtype=np.float32))
        mask[row, : len(piece)] = 1
    return vectors, mask


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
    shape = {"width": width, "torch": torch.__version__, "version": 1, **asdict(config)}
    key = hashlib.sha256(json.dumps(shape, sort_keys=True).encode()).hexdigest()[:16]
    path = cache_folder() / f"semantic-{key}.onnx"
    try:
        return path.read_bytes()
    except OSError:
        pass  # not kept yet: exported below
    inputs = {"vectors": torch.zeros(2, 9, width), "mask": torch.ones(2, 9, dtype=torch.int64)}
    with torch.random.fork_rng(devices=[]):
        network = SemanticNetwork(torch.zeros(width), 1.0, config).eval()
    graph = export_graph(network, inputs, ["reconstruction", "discrepancy"], config.window, optimize=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with fresh_file(path) as partial:
            partial.write_bytes(graph)
    except OSError:
        pass  # a cache that cannot be written only costs the next process its export
    return graph
