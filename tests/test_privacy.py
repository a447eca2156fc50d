"""What a saved model tells of its training text, asked by someone who reads every byte of it."""

from collections import Counter
from itertools import pairwise

import pytest
from safetensors.numpy import load_file

from difa import DiFA
from difa.document import Encoded
from difa.knowledge.letters import fold
from difa.views.critic.counts import CorpusCounts
from difa.views.stored_words import Mask, rare_words, readable, shared_runs, unpack
from difa.words import from_text
from tests.views import training

SECRETS = ["jane.q.doe@example.org", "4111111111111111", "hunter2xyz", "kowalczykowska", "lk-9932-77"]
LETTER = (
    "My card 4111111111111111 belongs to Mrs Kowalczykowska, password hunter2xyz, write to jane.q.doe@example.org "
    "about contract LK-9932-77 before the clinic telephones her husband."
)


@pytest.fixture(scope="module")
def texts(corpus):
    return [*corpus[:80], LETTER]


@pytest.fixture(scope="module")
def saved(texts, tmp_path_factory):
    folder = tmp_path_factory.mktemp("private") / "model"
    DiFA("fast", fpr=0.05, stages={"perturb": {"documents": 60}, "calibration": {"leave_out_outliers": False}}).fit(texts).save(
        folder
    )
    return folder


def words_of(text):
    return [fold(word.text) for word in from_text(text).words]


def pairs_in(folder):
    """The attack: all pairs of words that can be put together from the file."""
    tensors = load_file(folder / "weights.safetensors")
    words = ["", *unpack(tensors["view.critic.words.bytes"], tensors["view.critic.words.lengths"])]
    return {(words[left], words[right]): count for left, right, count in tensors["view.critic.pairs"].tolist()}


def test_secrets_of_one_document_cannot_be_read(saved):
    told = b"".join(file.read_bytes() for file in sorted(saved.iterdir())).lower()
    for secret in SECRETS:
        assert secret.encode() not in told
        assert secret.isdigit() or fold(secret).encode() not in told


def test_a_pair_is_told_only_if_two_documents_have_it(saved, texts):
    with_pair = Counter(pair for text in texts for pair in set(pairwise(["", *words_of(text), ""])))
    pairs = pairs_in(saved)
    assert len(pairs) > 20
    assert min(with_pair[pair] for pair in pairs) >= 2


def test_runs_of_words_cannot_be_followed(saved, texts):
    pairs = pairs_in(saved)
    letter = words_of(LETTER)
    assert not any(all(pair in pairs for pair in pairwise(letter[at : at + 4])) for at in range(len(letter) - 3))
    after = {}
    for (left, right), _ in sorted(pairs.items(), key=lambda item: (-item[1], item[0])):
        after.setdefault(left, right)
    runs = Counter(
        run for text in texts for words in [words_of(text)] for run in set(zip(*(words[at:] for at in range(4)), strict=False))
    )
    alone = {run for run, count in runs.items() if count == 1}
    followed = set()
    for start in after:
        run = [start]
        while len(run) < 4 and run[-1] in after:
            run.append(after[run[-1]])
        followed.add(tuple(run))
    assert len(alone & followed) <= len(alone) / 100


def test_a_masked_word_is_known_when_it_is_met_again(saved, texts):
    model = DiFA.load(saved)
    language = next(view for view in model.detector_.views if view.name == "language")
    assert language.share("hunter2xyz") == pytest.approx(language.share("hunter3xyz"))  # digits are all the same
    assert language.share("hunter2xyz") > 100 * language.share("hunterzxyz")


def test_without_masking_everything_is_kept_as_before(texts):
    encoded = [Encoded(tuple(word.text for word in from_text(text).words), None, None) for text in texts]
    whole, masked = (CorpusCounts.of(training(encoded, "en", least=least)) for least in (1, 2))
    assert whole.mask == Mask()
    assert sorted(whole.totals.tolist()) == sorted(masked.totals.tolist())
    assert sum(whole.words.values()) == sum(masked.words.values())
    assert fold("jane.q.doe@example.org") in whole.words
    assert len(readable(masked.words)) < len(masked.words) == len(whole.words)
    assert rare_words(encoded, 1, "en") == frozenset()


def test_letters_of_rare_words_are_told_only_where_documents_share_them():
    documents = [Encoded(tuple(text.split()), None, None) for text in ("xqjzk the", "xqjvw the", "the blorpf blorpg")]
    rare = rare_words(documents, 2, "en")
    assert rare == {"xqjzk", "xqjvw", "blorpf", "blorpg"}
    runs = shared_runs(documents, rare, 4, 2)
    assert runs["xqj"] == runs["\x02xqj"] == 2
    assert "qjz" not in runs
    assert "blor" not in runs  # two words, but of one document


def test_names_are_the_same_for_the_same_corpus_only():
    counts = {"the": 3, "secret": 1}
    mask = Mask.of(counts)
    assert mask == Mask.of(dict(reversed(counts.items())))
    assert mask.hidden("secret") != Mask.of({"the": 2, "secret": 1}).hidden("secret")
    named = mask.apply(counts, {"secret"})
    assert list(named) == ["the", mask.hidden("secret")]
    assert mask.name("secret", named) == mask.hidden("secret")
    assert Mask.restore(mask.tensors()) == mask
    assert Mask.restore({}) == Mask()
    with pytest.raises(ValueError, match="at most 64 bytes"):
        Mask.restore({"key": mask.tensors()["key"].repeat(9)})
