"""One fit from three sources: normal documents, new text that nobody labelled, verdicts."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from difa import DiFA
from difa.config import FeedConfig
from difa.corpus.verdicts import Verdict, read_verdicts
from difa.document import Encoded
from difa.errors import ConfigError, InputError
from difa.feed import FeedSummary, Finding, choose, find_differences
from difa.head import WordTable
from difa.words import as_document, from_text

STRAY = ("cat", "river", "song", "moon")
"""Common words that do not belong in messages to a shop."""


def strayed(text, number):
    """The text with such a word in its middle."""
    words = text.split()
    return " ".join([*words[: len(words) // 2], STRAY[number % len(STRAY)], *words[len(words) // 2 :]])


@pytest.fixture(scope="module")
def normal(corpus):
    return corpus[:250]


@pytest.fixture(scope="module")
def new(corpus):
    """Further messages, one in five of them with a stray word; the first thirty are the odd ones."""
    return [strayed(text, at) if at < 30 else text for at, text in enumerate(corpus[250:400])]


@pytest.fixture(scope="module")
def plain(fitted, normal):
    return fitted("feed-plain", DiFA("fast", fpr=0.05, seed=1), normal)


@pytest.fixture(scope="module")
def few(fitted, corpus):
    """A model of few documents."""
    return fitted("feed-few", DiFA("fast", fpr=0.05, seed=1), corpus[:60])


@pytest.fixture(scope="module")
def taught(fitted, normal, new):
    return fitted("feed-taught", DiFA("fast", fpr=0.05, seed=1), normal, feed=new)


RATE = 0.15
"""What 120 normal documents keep within at a rate of 5 %: four standard errors of them and of 250 references."""


def found(model, texts):
    return np.mean([result.is_anomaly for result in model.score(texts)])


def test_a_feed_finds_more_of_what_it_holds_at_the_same_rate(plain, taught, new):
    assert found(taught, new[:30]) > found(plain, new[:30]) + 0.5
    assert found(taught, new[30:]) <= RATE


def test_it_says_what_it_taught(taught, plain):
    summary = taught.detector_.feed_summary
    assert set(summary.findings[0].words) >= set(STRAY)
    assert summary.sentences()[0].startswith("In the new text, words of a new kind stand out: ")
    assert (summary.documents, summary.given, summary.reviewed) == (150, 150, 0)
    assert plain.detector_.feed_summary is None


def test_a_taught_model_is_a_model_like_any_other(taught, new, tmp_path):
    taught.save(tmp_path / "model")
    again = DiFA.load(tmp_path / "model")
    together = taught.score(new)
    assert again.score(new) == together
    assert [again.score([text])[0] for text in new[:5]] == together[:5]  # alone as in a batch
    assert "feed" in together[0].words[0].evidence
    assert again.detector_.feed_summary == taught.detector_.feed_summary
    assert "learned from | 150 documents of a feed" in (tmp_path / "model" / "README.md").read_text(encoding="utf-8")


def test_the_same_inputs_and_seed_give_the_same_bytes(taught, normal, new, tmp_path):
    taught.save(tmp_path / "one")
    DiFA("fast", fpr=0.05, seed=1).fit(normal, feed=iter(new)).save(tmp_path / "two")  # and no warning, which would be an error
    assert (tmp_path / "one" / "weights.safetensors").read_bytes() == (tmp_path / "two" / "weights.safetensors").read_bytes()


def test_words_that_few_documents_have_cannot_be_read_in_the_model(normal, new, tmp_path):
    secret = [f"{text} zyxwvut{chr(97 + at // 26)}{chr(97 + at % 26)}" for at, text in enumerate(new)]
    DiFA("fast", seed=1).fit(normal, feed=[*secret[:60], *(f"{text} qwortzl" for text in new[60:])]).save(tmp_path / "model")
    stored = b"".join(path.read_bytes() for path in (tmp_path / "model").iterdir())
    assert b"zyxwvut" not in stored
    assert b"qwortzl" in stored  # ninety documents have it: it is no secret, and carries the finding


def test_a_feed_of_normal_text_teaches_nothing_and_costs_nothing(plain, corpus, normal):
    null = DiFA("fast", fpr=0.05, seed=1).fit(normal, feed=corpus[250:])
    assert null.detector_.feed_summary.sentences() == ["In the new text nothing stands out that normal text does not have."]
    assert found(null, corpus[250:]) <= RATE


@pytest.mark.parametrize(
    ("feed", "reason"),
    [
        (lambda normal, new: new[:20], "at least 50 different documents, got 20 of 20;"),
        (lambda normal, new: normal, r"got 0 of 60 \(60 stand among the normal ones\)"),
        (lambda normal, new: [*new[:10], *[new[11]] * 500], r"got 11 of 510 \(499 are copies of others\)"),
        (lambda normal, new: [f"{new[11]} {n}!" for n in range(100, 400)], r"got 1 of 300 \(299 are copies of others\)"),
        (lambda normal, new: [], "it has no documents"),
    ],
)
def test_a_feed_that_cannot_teach_is_said_so_in_one_line(corpus, few, new, feed, reason):
    with pytest.warns(UserWarning, match=reason) as said:
        model = DiFA("fast", fpr=0.05, seed=1).fit(corpus[:60], feed=feed(corpus[:60], new))
    assert len(said) == 1
    assert model.score(new) == few.score(new)
    assert model.detector_.feed_summary is None


def test_one_message_repeated_does_not_raise_the_rate(normal, corpus):
    spam = [f"Buy cheap watches at www.watches{n}.example now, idiot!" for n in range(500)]
    flooded = DiFA("fast", fpr=0.05, seed=1).fit(normal, feed=[*corpus[250:350], *spam])
    assert found(flooded, corpus[250:]) <= RATE
    assert flooded.detector_.feed_summary.documents < 130


def test_verdicts_teach(normal, new, taught, plain):
    reviewed = [replace(as_document(text), odd=at < 15) for at, text in enumerate(new[:15])]
    reviewed += [replace(as_document(text), odd=False) for text in new[30:40]]
    judged = DiFA("fast", fpr=0.05, seed=1).fit(normal, verdicts=reviewed)
    assert found(judged, new[15:30]) > found(plain, new[15:30])
    assert found(judged, new[40:]) <= RATE
    assert judged.detector_.feed_summary.extent == "25 reviewed documents, 15 of them odd"


def test_marked_words_are_what_is_learned(normal, new, plain):
    odd = [from_text(text) for text in new[:20]]
    marked = [replace(d, labels=tuple(int(w.text in STRAY) for w in d.words)) for d in odd]
    model = DiFA("fast", fpr=0.05, seed=1).fit(normal, feed=new[20:], verdicts=marked)
    assert found(model, new[20:30]) > found(plain, new[20:30]) + 0.3
    assert model.detector_.feed_summary.reviewed == 20


def test_bad_verdicts_are_refused_before_anything_is_learned(normal, new):
    with pytest.raises(InputError, match="all normal"):
        DiFA("fast").fit(normal, verdicts=[replace(as_document(new[40]), odd=False)])
    model = DiFA("fast")
    with pytest.raises(InputError, match="expected a verdict"):
        model.fit(normal, verdicts=new[:3])
    assert not hasattr(model, "detector_")


def test_the_paper_learns_from_pseudo_anomalies_alone(quick, corpus):
    with pytest.raises(ConfigError, match="full or fast beside a feed"):
        quick(preset="paper").fit(corpus[:40], feed=corpus[40:120])


def test_vectors_teach_too(quick, corpus, tmp_path):
    new = [from_text(strayed(text, at) if at < 30 else text) for at, text in enumerate(corpus[100:220])]
    marked = [replace(d, labels=tuple(int(w.text in STRAY) for w in d.words)) for d in new[:20]]
    model = quick().fit(corpus[:100], feed=new[20:], verdicts=marked)
    model.save(tmp_path / "model")
    assert DiFA.load(tmp_path / "model").score(new[:20]) == model.score(new)[:20]
    assert model.detector_.feed_fusion.head is not None


def test_what_is_allowed_stays_allowed(taught, new):
    (result,) = taught.score([new[0]], allow=["cat"])
    word = next(word for word in result.words if word.text == "cat")
    assert word.allowed
    assert word.score == 0


def test_updates_and_explanations_know_the_feed(taught, corpus, new, tmp_path):
    taught.save(tmp_path / "model")
    model = DiFA.load(tmp_path / "model").update(corpus[400:])
    assert len(model.score(new)) == len(new)
    explained = model.explain(new[0])
    assert "feed" in explained.reasons[0]


def test_copies_and_reviewed_documents_are_left_out_of_the_feed():
    one, other = from_text("A parcel came."), from_text("Another parcel did not.")
    normal = [from_text("all is well")]
    verdicts = [Verdict(other, True, None)]
    chosen, why = choose(normal, [one, one, other, from_text("All is well!")], verdicts, FeedConfig(least_documents=1))
    assert not why
    assert (chosen.feed, chosen.copies, chosen.known) == (1, 1, 1)
    assert chosen.document_counts(FeedConfig()).tolist() == [1.0, 5.0]


def test_trust_by_hand():
    config = FeedConfig(verdict_weight=5)
    one, two, three = from_text("a b"), from_text("c d"), from_text("e f")
    verdicts = read_verdicts([replace(two, labels=(0, 1)), replace(three, odd=True)])
    chosen, _ = choose([], [one], verdicts, FeedConfig(least_documents=1))
    trust = chosen.trust(config)
    assert trust.weight.tolist() == [1, 1, 0, 5, 5, 5]
    assert trust.certain.tolist() == [False, False, False, True, False, False]
    assert trust.counts.tolist() == [1, 1, 0, 5, 1, 1]  # which word of the third is odd, nobody said


def side(words, evidence, documents):
    size = len(words) // documents
    parts = [tuple(words[at : at + size]) for at in range(0, len(words), size)]
    encoded = [Encoded(part, np.empty((len(part), 0)), np.ones(len(part), dtype=int)) for part in parts]
    evidence = np.array(evidence)[:, None]
    return WordTable(encoded, evidence, evidence[:, :0], np.zeros(documents, dtype=int))


def test_findings_by_hand():
    normal = side(["word"] * 1000, -np.log((np.arange(1000) + 1) / 1000), 100)
    odd = ["odd"] * 40 + ["word"] * 960
    feed = side(odd, [np.log(1000)] * 40 + [0.0] * 960, 500)
    (finding,) = find_differences(normal, feed, ["tone"], 2, None)
    assert finding == Finding("tone", 40.0, ("odd",))  # forty words in a thousand reach what one normal word in a thousand does
    assert find_differences(normal, normal, ["tone"], 2, None) == ()
    often = side(["the"] * 40 + ["word"] * 960, [np.log(1000)] * 40 + [0.0] * 960, 500)
    assert find_differences(normal, often, ["tone"], 2, "en") == (Finding("tone", 40.0, ()),)  # "the" is no example of anything


def test_summary_of_strangers_are_checked():
    summary = FeedSummary(60, 600, 70, 5, 5, findings=(Finding("tone", 3.0, ("a",)),))
    record = json.loads(json.dumps(asdict(summary)))
    assert FeedSummary.from_dict(record) == summary
    with pytest.raises(ValueError, match="whole numbers"):
        FeedSummary.from_dict(record | {"documents": -1})
    with pytest.raises(ValueError, match="name a view"):
        FeedSummary.from_dict(record | {"findings": [{"view": "a b", "times": 1.0, "words": []}]})


def test_foreign_text_is_found_without_an_encoder(plain):
    foreign = [
        "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore.",
        "Könnten Sie mir bitte sagen, wann meine Bestellung ankommt und ob ich sie noch ändern kann?",
    ]
    assert [result.is_anomaly for result in plain.score(foreign)] == [True, True]
