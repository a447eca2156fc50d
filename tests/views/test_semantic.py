from itertools import repeat
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from difa.config import SemanticConfig
from difa.document import Encoded
from difa.views.semantic import SemanticView
from difa.views.semantic import train as training
from difa.views.semantic.train import ROUND, SemanticNetwork, attention_bias, to_graph, train_network

pytestmark = pytest.mark.slow  # trains and exports networks

CONFIG = SemanticConfig(window=16, teacher_rounds=2, heads=4, batch_words=32, student_rounds=2)


@pytest.fixture(scope="module")
def documents():
    rng = np.random.default_rng(0)
    basis = rng.normal(size=(3, 16))
    lengths = rng.integers(1, 12, size=40)
    return [Encoded(("w",) * n, (rng.normal(size=(n, 3)) @ basis).astype(np.float32), np.ones(n, int)) for n in lengths]


@pytest.fixture(scope="module")
def network(documents):
    return train_network(documents, CONFIG, seed=0)


def test_distance_by_hand(documents):
    network = SemanticNetwork(torch.zeros(2), 1.0, SemanticConfig(distance_weight=3.0))
    a, b = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 2.0])
    # Mean square norm 1 is d in per-entry units: ‖a−b‖²/d = 5/2, cos = 0.
    assert network.distance(a, b).item() == pytest.approx(5 / 2 + 3.0)
    assert network.distance(a, a).item() == pytest.approx(0, abs=1e-6)


@pytest.mark.slow
def test_exported_graph_agrees_with_the_network(documents, network):
    view = SemanticView(to_graph(network, CONFIG), CONFIG)
    document = max((d for d in documents if len(d) <= 16), key=len)
    vectors = torch.from_numpy(document.vectors)[None]
    with torch.no_grad():
        reconstruction, discrepancy = network(vectors, torch.ones(1, len(document), dtype=torch.int64))
    assert view.raw([document]) == pytest.approx((reconstruction + discrepancy)[0].numpy(), rel=1e-4)
    alone = SemanticConfig(**(CONFIG.__dict__ | {"student_weight": 0.0}))
    assert SemanticView(view.graph(), alone).raw([document]) == pytest.approx(reconstruction[0].numpy(), rel=1e-4)


def test_training_reconstructs_and_imitates(documents, network):
    torch.manual_seed(0)
    untrained = SemanticNetwork(network.normal_mean, float(network.normal_scale), CONFIG)
    vectors = torch.from_numpy(max(documents, key=len).vectors)[None]
    mask = torch.ones(vectors.shape[:2], dtype=torch.int64)
    with torch.no_grad():
        before, after = untrained(vectors, mask), network(vectors, mask)
    assert after[0].mean() < before[0].mean()
    assert after[1].mean() < 0.9 * before[1].mean()


def test_the_student_step_leaves_encoder_and_teacher_alone(documents, monkeypatch):
    kept = {}
    original = training._train_student

    def spy(network, *rest):
        frozen = {k: v.clone() for k, v in network.state_dict().items() if not k.startswith("student")}
        student = {k: v.clone() for k, v in network.state_dict().items() if k.startswith("student")}
        original(network, *rest)
        kept["same"] = all((network.state_dict()[k] == v).all() for k, v in frozen.items())
        kept["moved"] = any((network.state_dict()[k] != v).any() for k, v in student.items())

    monkeypatch.setattr(training, "_train_student", spy)
    train_network(documents, CONFIG, seed=0)
    assert kept == {"same": True, "moved": True}


def test_nothing_is_learned_from_held_out_documents(documents, monkeypatch):
    """All other documents are read; those by which training sees that it may end have no part in a step."""
    read, held = [], []

    def spy(network, pieces, held_pieces, *rest):
        read.extend(pieces)
        held.extend(held_pieces)

    monkeypatch.setattr(training, "_train_teacher", spy)
    monkeypatch.setattr(training, "_train_student", lambda *rest: None)
    train_network(documents, SemanticConfig(**(CONFIG.__dict__ | {"held_out": 0.25})), seed=0)
    assert sorted(map(len, [*read, *held])) == sorted(map(len, documents))
    assert len(held) == 10


def course_of(monkeypatch, course, rounds=20):
    """The learning rate of each round if the loss on held-out documents takes a given course, and whose weights are kept."""
    rates, given, module = [], iter(course), torch.nn.Linear(1, 1)

    class Optimiser:
        def __init__(self, parameters, **settings):
            self.param_groups = [{}]

        def zero_grad(self):
            pass

        def step(self):
            rates.append(self.param_groups[0]["lr"])
            with torch.no_grad():
                module.bias.fill_(-(-len(rates) // ROUND))

    monkeypatch.setattr(torch.optim, "AdamW", Optimiser)
    monkeypatch.setattr(training, "WARM", 1)
    config = SemanticConfig(learning_rate=0.16, plateau=0.1)
    reported, losses = [], repeat(SimpleNamespace(backward=lambda: None))
    training._train_to_plateau(module, losses, lambda: torch.tensor(next(given)), config, rounds, reported.append)
    assert all(len(set(rates[at : at + ROUND])) == 1 for at in range(0, len(rates), ROUND))
    assert reported[-1] == 1
    assert reported == sorted(reported)
    return [round(rate, 6) for rate in rates[::ROUND]], int(module.bias.item())


def test_training_ends_when_the_held_out_loss_no_longer_falls(monkeypatch):
    course = [2.0, 1.0, 0.5, 0.49, 0.3, 0.31, 0.29, 0.1]
    assert course_of(monkeypatch, course) == ([0.16, 0.16, 0.16, 0.16, 0.04, 0.04, 0.01], 7)


def test_the_best_weights_are_kept(monkeypatch):
    assert course_of(monkeypatch, [2.0, 1.0, 2.5, 3.0, 4.0]) == ([0.16, 0.16, 0.16, 0.04, 0.01], 2)


def test_training_is_bounded(monkeypatch):
    assert len(course_of(monkeypatch, [0.5**at for at in range(9)], rounds=4)[0]) == 4


def test_same_seed_same_graph_bit_for_bit(documents):
    state = torch.random.get_rng_state()
    one, again, other = (to_graph(train_network(documents, CONFIG, seed=seed), CONFIG) for seed in (3, 3, 4))
    assert one == again
    assert one != other
    assert (torch.random.get_rng_state() == state).all()


def test_a_graph_says_nothing_of_the_machine_it_was_made_on(network):
    graph = to_graph(network, CONFIG)
    assert b".py" not in graph
    assert str(Path.cwd()).encode() not in graph


def test_padding_is_not_attended_to(network):
    vectors = torch.randn(1, 6, 16, generator=torch.Generator().manual_seed(0))
    mask = torch.tensor([[1, 1, 1, 1, 0, 0]])
    with torch.no_grad():
        padded = network(vectors, mask)[0][:, :4]
        bare = network(vectors[:, :4], mask[:, :4])[0]
    assert padded.numpy() == pytest.approx(bare.numpy(), abs=1e-5)
    assert attention_bias(mask)[0, 0, 0].tolist()[:4] == [0, 0, 0, 0]


def test_documents_longer_than_the_window_are_scored_whole(network):
    view = SemanticView(to_graph(network, CONFIG), CONFIG)
    vectors = np.random.default_rng(1).normal(size=(500, 16)).astype(np.float32)
    scores = view.raw([Encoded(("w",) * 500, vectors, np.ones(500, int))])
    assert scores.shape == (500,)
    assert (scores > 0).all()


def test_explanation_splits_the_score(documents, network):
    view = SemanticView(to_graph(network, CONFIG), CONFIG)
    for reasons in view.explain(documents[0]):
        assert sum(reason.weight for reason in reasons) == pytest.approx(1)
        assert reasons[0].weight >= reasons[1].weight
