import numpy as np
import pytest

from difa import DiFA
from difa.corpus.copies import group_copies, made_of_templates
from difa.words import split_words

LETTER = "Dear {}, thank you for your order {}. We sent it on {} and it will reach you soon. Your team of the garden shop."


def words(text):
    return [word.text for word in split_words(text)]


def test_copies_differ_in_capitals_marks_and_numbers():
    documents = [
        "Your parcel 4711 was sent.",
        "your PARCEL 0815 was sent",
        "Your parcel was late.",
        "your parcel 4711 was sent !",
    ]
    assert group_copies(list(map(words, documents))).tolist() == [0, 0, 2, 0]


def test_letters_with_other_names_are_near_copies():
    documents = [LETTER.format("Anna", 17, "Monday"), "Is the garden bench in stock, and can you send it to my neighbour?"]
    documents += [LETTER.format("Mr Brown", 2048, "5 May")]
    assert group_copies(list(map(words, documents))).tolist() == [0, 1, 0]


def test_short_texts_with_something_else_in_one_place_are_near_copies():
    documents = [
        "Call Anna back today.",
        "call mr Brown back",
        "Call PETER back today!",
        "Call back today.",
        "Call Peter back now.",
    ]
    assert group_copies(list(map(words, documents))).tolist() == [0, 1, 0, 3, 4]


def test_short_texts_do_not_chain():
    chain = ["the food is good", "the food is great", "the tea is great", "the tea was great"]
    assert group_copies([text.split() for text in chain]).tolist() == [0, 0, 2, 2]


def test_two_words_are_too_few_for_a_template():
    assert group_copies([["thank", "you"], ["love", "you"], ["Thank", "you", "!"]]).tolist() == [0, 1, 0]


def test_texts_of_marks_are_told_apart():
    assert group_copies([["!!!"], ["?"], ["!!!"], []]).tolist() == [0, 1, 0, 3]


def test_few_contents_or_many_copies_of_each_are_templates():
    assert made_of_templates(np.repeat(np.arange(0, 50, 10), 10))  # 5 contents
    assert made_of_templates(np.repeat(np.arange(0, 1000, 20), 20))  # 20 documents of each content
    assert not made_of_templates(np.repeat(np.arange(0, 100, 2), 2))
    assert not made_of_templates(np.arange(12))


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(5)
    nouns = ["door", "lamp", "chair", "roof", "book", "cat", "garden", "kitchen", "cellar", "office", "street", "school", "river"]
    others = [
        "is",
        "was",
        "near",
        "behind",
        "under",
        "looks",
        "belongs",
        "old",
        "new",
        "red",
        "small",
        "today",
        "again",
        "always",
    ]
    return [" ".join(rng.choice(nouns if at % 2 else others) for at in range(rng.integers(8, 20))) + "." for _ in range(240)]


def test_copies_do_not_break_the_rate(texts):
    normal, new = texts[:120], texts[120:]
    thrice = [copy for text in normal for copy in (text, text + " !", text.replace(".", ""))]
    with pytest.warns(UserWarning, match="no document can be flagged"):
        once, copied = (DiFA("fast", fpr=0.005).fit(documents) for documents in (normal, thrice))
    assert len(copied.detector_.document_reference.values) == len(once.detector_.document_reference.values)
    assert copied.detector_.copies == once.detector_.copies + 240
    assert f"fitted on 360 documents ({copied.detector_.copies} of them copies), " in repr(copied)
    p_values = [[result.p_value for result in model.score_unflagged(new)] for model in (once, copied)]
    assert p_values[0] == p_values[1]
    scores = copied.decision_scores_
    assert len(scores) == 360
    assert (scores[0::3] == scores[1::3]).all()
    assert (scores[0::3] == scores[2::3]).all()


def test_fifty_identical_documents_are_normal():
    model = DiFA("fast", fpr=0.05).fit(["The parcel was sent on Monday."] * 50)
    same, other = model.score(["The parcel was sent on Monday.", "zxqv wpdlkrt jjqx"])
    assert same.p_value == 1.0
    assert other.is_anomaly
