"""What documents cost, worked out by hand, and how that bounds what an encoder reads."""

import pytest

from difa.document import Document, Words
from difa.encoders import LONGEST_WORD
from difa.serve.models import cost_of, learn_pace
from difa.words import from_text, from_tokens


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("", 1),
        ("Where is my order?", 5),
        ("internationalisation", 4),  # 20 letters, six at a time
        ("für", 3),  # not ASCII: a piece may be a single character
        ("!!!", 3),
        ("我的订单", 4),
        ("a" * 60, 10),
        ("." * 20_000, LONGEST_WORD),
        ("." * 20_000 + " " + "," * 20_000, 2 * LONGEST_WORD),
        (" " * 4000, 100),  # nothing to read, but something to hold
    ],
)
def test_costs_by_hand(text, cost):
    assert cost_of(from_text(text)) == cost


ODD = [
    "wpdlkrt xkcdqwrtplk",
    "https://a.example/?id=9981&x=1",
    "48213 LK-48213 1,234.50",
    "größere Änderungen",
    "e\u0301" * 40,
    "." * 3000,
]


@pytest.mark.parametrize("text", ODD)
def test_an_encoder_reads_at_most_six_pieces_for_each_word_counted(tiny_encoder, text):
    document = from_text(text)
    assert tiny_encoder.encode([document])[0].pieces.sum() <= 6 * cost_of(document)


def test_of_an_endless_word_the_encoder_reads_the_beginning(tiny_encoder):
    endless, cut = (tiny_encoder.encode([from_tokens(["a", "." * count, "b"])])[0] for count in (50_000, LONGEST_WORD))
    assert endless.words[1] == "." * 50_000
    assert endless.pieces.tolist() == [1, LONGEST_WORD, 1]
    assert (endless.vectors == cut.vectors).all()


def test_an_endless_word_has_a_score(fast_model):
    result = fast_model.score(["Where is my order " + "." * 20_000])[0]
    assert len(result.words) == 5
    assert result.words[4].score > 0


def test_one_odd_batch_moves_the_estimate_by_a_fifth():
    pace = learn_pace(0.001, 1, 1000.0)
    assert pace == pytest.approx(0.0012)
    assert learn_pace(pace, 1_000_000, 0.0) == pytest.approx(0.0012 * 0.9)


def test_the_estimate_follows_many_batches():
    pace = 0.001
    for _ in range(100):
        pace = learn_pace(pace, 10, 0.1)
    assert pace == pytest.approx(0.01)


class Wary(tuple):
    """Words that may be looked at one by one or in part, but not all together."""

    def __iter__(self):
        raise AssertionError("all words of a document were looked at")


def test_a_suggestion_looks_at_the_neighbours_alone(fast_model):
    document = from_text("well " * 500 + "I recieved it yesterday " + "well " * 500)
    assert document.words.texts.index("recieved") == 501
    wary = Document(document.text, Words(Wary(document.words.texts), document.words.starts))
    assert fast_model.detector_.suggest(wary, 501) == "received"
