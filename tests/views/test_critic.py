import numpy as np
import pytest

from difa.config import Config
from difa.document import Encoded
from difa.views import SavedView
from difa.views.critic import CriticView, Networks, train
from difa.views.critic.counts import CorpusCounts, shape_of
from difa.views.critic.statistics import STATISTICS, Statistics, spelling_of
from tests.views import training

TEXTS = ["the parcel came on friday", "the parcel was late", "the brattice is on the left", "we like the parcel"]


def document(text):
    words = tuple(text.split())
    return Encoded(words, np.zeros((len(words), 2), np.float32), np.ones(len(words), int))


def count(documents):
    return Statistics(CorpusCounts.of(training(documents, "en")), "en")


@pytest.fixture(scope="module")
def statistics():
    return count([document(text) for text in TEXTS])


def column(table, name):
    return table[:, STATISTICS.index(name)]


def test_rarity_by_hand(statistics):
    table = statistics.describe([document("parcel xkcdq")])
    total = sum(len(text.split()) for text in TEXTS)
    assert column(table, "often seen here") == pytest.approx([np.log1p(3), 0])
    assert column(table, "rare here and in the language")[1] == pytest.approx(-np.log(0.1 * 1e-9))
    assert 0 < column(table, "rare here and in the language")[0] < -np.log(0.9 * 3 / total) + 1e-9


def test_a_counted_document_is_described_as_if_it_were_new():
    documents = [document(text) for text in TEXTS]
    whole = count(documents)
    without = count(documents[1:])
    seen, unseen = whole.describe(documents[:1], documents[:1]), without.describe(documents[:1])
    exact = [at for at, name in enumerate(STATISTICS) if "the word" not in name]  # smoothing knows a different vocabulary
    assert seen[:, exact] == pytest.approx(unseen[:, exact])
    assert (np.abs(seen - unseen) < 0.5).all()


def test_slips_joins_and_repetitions_show(statistics):
    table = statistics.describe([document("the the parcle traveledabout k nee bratice")])
    assert column(table, "repeats the word before it").tolist() == [0, 1, 0, 0, 0, 0, 0]
    assert column(table, "a common word is one letter away")[[2, 6]].min() > 3
    assert column(table, "two words run together")[3] > 3
    assert column(table, "part of a word torn apart")[[4, 5]].min() > 0


_PLAIN_SLIPS = {"refnud": "refund", "brokn": "broken", "worng": "wrong", "plian": "plain", "theoriginal": "the original"}
_NO_SLIPS = "pid fds gibt doit elit leider utiliza versión dolor textfile getitem strngth"


@pytest.mark.parametrize(
    ("text", "place", "meant"),
    [
        ("the Parcle came", 1, "Parcel"),
        ("the bratice is here", 1, "brattice"),  # known from the corpus alone
        ("it traveledabout the house", 1, "traveled about"),
        ("i recieved it", 1, "received"),
        ("i recieve it", 1, "receive"),  # in lists of running text, but in no dictionary
        ("wait untill then", 1, "until"),
        ("the hotkey came", 1, None),
        ("the parcel came", 1, None),
        ("that brainless moron again", 1, None),  # real words, however rare here, are not slips
        ("that brainless moron again", 2, None),
        ("i am sick of it", 2, None),
        ("the xkcdqwrtplk came", 1, None),
        ("order 0932 came", 1, None),
        ("the PARCLE came", 1, None),  # abbreviations, names and terms are not slips either
        ("the ParcelHub came", 1, None),
        ("the parcelhub came", 1, None),
        ("the cparcel came", 1, None),
        ("two moraines here", 1, None),
        ("Tihs is here", 0, "This"),
        ("it is fien so", 2, "fine"),
        *((f"it is {wrong} here", 2, meant) for wrong, meant in _PLAIN_SLIPS.items()),
        *((f"the {word} is here", 1, None) for word in _NO_SLIPS.split()),
        ("the Raqm is here", 1, None),
    ],
)
def test_suggestions(statistics, text, place, meant):
    assert statistics.suggest(text.split(), place) == meant


def test_the_spelling_of_a_language_is_learned_once():
    assert spelling_of("en") is spelling_of("en")


def test_shapes():
    assert [shape_of(word) for word in ("Mar-2024", "USA", "hello", "")] == ["Xx-0", "X", "x", ""]


def test_a_network_learns_what_no_line_can_tell_apart():
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(4000, 2))
    labels = (inputs[:, 0] * inputs[:, 1] > 0).astype(float)
    network = train(inputs, labels, normal=4000, scale=np.ones(2), hidden=16, epochs=20, rate=0.01, seed=1)
    assert ((network.logits(inputs) > 0) == labels).mean() > 0.95
    again = train(inputs, labels, normal=4000, scale=np.ones(2), hidden=16, epochs=20, rate=0.01, seed=1)
    assert (again.w1 == network.w1).all()
    assert network.logits(inputs[:3]) == pytest.approx(network.logits(inputs)[:3], abs=1e-12)


def some_network(seed):
    rng = np.random.default_rng(seed)
    inputs = len(STATISTICS)
    return Networks(
        mean=rng.normal(size=(1, inputs)),
        scale=np.ones((1, inputs)),
        w1=rng.normal(size=(1, inputs, 4)),
        b1=np.zeros((1, 4)),
        w2=rng.normal(size=(1, 4)),
        b2=np.array([0.1]),
    )


def test_a_logit_by_hand_and_inputs_that_are_cut():
    network = Networks(*map(np.array, ([[1.0]], [[2.0]], [[[3.0, -3.0]]], [[0.5, 0.0]], [[1.0, 2.0]], [0.25])))
    # Standardised: 1, -1, and 49.5, which is cut at 6. Hidden units: (3.5, 0), (0, 3) and (18.5, 0).
    assert network.logits(np.array([[3.0], [-1.0], [100.0]])) == pytest.approx([3.75, 6.25, 18.75])


def test_several_networks_say_the_mean_and_are_saved_together(statistics):
    networks = [some_network(seed) for seed in range(3)]
    documents = [document("the parcle came"), document("xkcdq")]
    critic = CriticView(statistics, {"plain": Networks.join(networks)})
    logits = np.mean([network.logits(statistics.describe(documents)) for network in networks], axis=0)
    assert critic.raw(documents) == pytest.approx(np.logaddexp(0, logits), abs=1e-8)
    restored = CriticView.restore(SavedView(critic.tensors(), None, Config(), "en"))
    assert len(restored.networks["plain"]) == 3
    assert restored.raw(documents).tolist() == critic.raw(documents).tolist()


def test_networks_of_different_number_are_refused():
    tensors = vars(Networks.join([some_network(0), some_network(1)]))
    with pytest.raises(ValueError, match="as many of each weight"):
        Networks.restore(tensors | {"b1": tensors["b1"][:1]})


def test_the_critic_of_all_documents_has_the_networks_of_the_folds(fast_model):
    critic = next(view for view in fast_model.detector_.views if view.name == "critic")
    assert len(critic.networks["plain"]) == fast_model.detector_.config.calibration.folds
