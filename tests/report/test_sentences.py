"""What is said of words and documents."""

from dataclasses import replace

import pytest

from difa.config import VIEW_NAMES
from difa.document import Reason, ReasonKind, Result, WordScore
from difa.report.sentences import document_sentence, rarity, word_sentence
from difa.views import view_kind


def word(text="Pleese", p_value=0.0005, flagged=True, suggestion=None, **evidence):
    return WordScore(text, 0, len(text), 5.0, p_value, flagged, evidence, suggestion)


def test_the_sentence_of_a_slip():
    reasons = {
        "language": (
            Reason(ReasonKind("spelling", "unusual spelling: {letters!r}", "is spelt oddly", 30), {"letters": "ees"}, 0.3),
            Reason(ReasonKind("unseen", "never seen", "never occurs in your normal text", 10), {}, 0.6),
            Reason(ReasonKind("slight", "slight", "is not worth saying", 0), {}, 0.1),
            Reason(ReasonKind("numbers alone", "falls into 3 pieces"), {}, 0.9),
        ),
        "critic": (Reason(ReasonKind("slip", "one letter from {word!r}", "looks like an error", 91), {"word": "please"}, 0.9),),
        "form": (Reason(ReasonKind("long", "high length", "is unusually long", 0), {}, 0.9),),
    }
    slip = word(suggestion="please", language=7.0, critic=8.0, form=1.0)
    assert word_sentence(slip, reasons) == (
        "'Pleese' never occurs in your normal text and is spelt oddly (rarer than 1 word in 1,000). Did you mean 'please'?"
    )


def fault(plain, **values):
    return {"faults": (Reason(ReasonKind("fault", "fault{meant}", plain, 1), values, 1.0),)}


def test_what_was_meant_is_said_once():
    reasons = fault("looks misspelt{meant}", meant=": probably 'please'")
    assert word_sentence(word(faults=7.0), reasons) == "'Pleese' looks misspelt: probably 'please' (rarer than 1 word in 1,000)."
    assert word_sentence(word(suggestion="Please", faults=7.0), reasons) == (
        "'Pleese' looks misspelt (rarer than 1 word in 1,000). Did you mean 'Please'?"
    )


def test_a_sentence_about_a_piece_names_the_whole():
    reasons = fault("is a placeholder{meant}", meant="", span="{{ name }}") | {
        "phrase": (Reason(ReasonKind("repeats", "repeats", "repeats the word before it", 0), {}, 1.0),)
    }
    assert (
        word_sentence(word("}}", faults=7.0, phrase=7.0), reasons)
        == "'{{ name }}' is a placeholder (rarer than 1 word in 1,000)."
    )
    long = fault("is filler text{meant}", meant="", span="lorem " * 50)
    assert len(word_sentence(word("lorem", faults=7.0), long)) < 130


def test_the_fault_of_a_word_is_named_without_reasons():
    doubled = replace(word("lazy", faults=7.0, tone=4.0), fault="doubled word")
    assert word_sentence(doubled) == "'lazy' stands twice and stands out in tone (rarer than 1 word in 1,000)."
    assert "has a hidden character" in word_sentence(replace(word(language=7.0), fault="hidden character"))
    assert "belongs to a fault" in word_sentence(replace(word(faults=7.0), fault="of a later version"))


def test_what_is_not_rare_is_left_out():
    assert "form" not in word_sentence(word(language=7.0, form=2.9))
    assert "has an unusual form" in word_sentence(word(language=7.0, form=3.1))
    assert word_sentence(word(language=1.0)) == "'Pleese' is unusual by many small signs (rarer than 1 word in 1,000)."
    assert word_sentence(word(p_value=0.9, flagged=False)) == "'Pleese' is nothing unusual."


@pytest.mark.parametrize(
    ("p_value", "words"),
    [
        (0.0002, "rarer than 1 word in 1,000"),
        (0.001, "as rare as 1 word in 1,000"),
        (0.004, "as rare as 1 word in 250"),
        (0.03, "as rare as 1 word in 33"),
        (0.9, "as most words are"),
    ],
)
def test_rarity_in_words(p_value, words):
    assert rarity(p_value) == words


def test_documents():
    one, other = word(language=5.0), word("ordre", p_value=0.002, language=5.0)
    both = Result("Pleese ordre", 3.0, 0.01, True, (one, other))
    assert document_sentence(both) == "'Pleese' is rare (rarer than 1 word in 1,000). Also flagged: 'ordre'."
    again = Result("Pleese Pleese ordre", 3.0, 0.01, True, (one, one, other))
    assert document_sentence(again) == document_sentence(both), "what was named is not named again"
    fault = Reason(ReasonKind("HTML", "HTML", "is left-over HTML"), {"span": "<br/>"}, 1.0)
    pieces = tuple(word(text, language=5.0, faults=7.0) for text in ("<", "br", "/>"))
    markup = Result("<br/> ordre", 3.0, 0.01, True, (*pieces, other))
    said = document_sentence(markup, [{"faults": (fault,)}] * 3 + [{}])
    assert said == "'<br/>' is left-over HTML (rarer than 1 word in 1,000). Also flagged: 'ordre'."
    alone = Result("Pleese", 1.0, 0.3, False, (one,))
    assert document_sentence(alone).endswith(
        "The text itself is not flagged: texts with such a word are not rare among your normal ones."
    )
    whole = Result("a b", 3.0, 0.01, True, (word("a", 0.4, False),), evidence={"tone: highest": 4.0, "words: highest": 1.0})
    assert document_sentence(whole).endswith("the text as a whole is unlike your normal texts: its tone is unlike theirs.")
    assert document_sentence(Result("a", 0.0, 1.0, False, ())).startswith("Nothing stands out")
    unflagged = Result("a", 0.0, 0.2, False, (word("a", 0.03, False, tone=4.0),))
    assert document_sentence(unflagged) == "Nothing is flagged. 'a' stands out in tone (as rare as 1 word in 33)."


def test_control_characters_are_made_visible():
    assert "\x1b" not in word_sentence(word("a\x1b[2J", suggestion="b\x1b", language=5.0))


def test_what_is_implied_is_said_only_where_there_is_nothing_else():
    reasons = {"critic": (Reason(ReasonKind("slip", "one letter from {word!r}", "looks like an error", 91), {"word": "a"}, 0.9),)}
    assert word_sentence(word(critic=8.0), reasons).startswith("'Pleese' looks like an error (")
    assert word_sentence(word(critic=8.0, form=5.0), reasons).startswith("'Pleese' has an unusual form (")


def test_values_stay_what_they_are():
    reason = Reason(ReasonKind("after", "unusual after {word!r}", "is unusual after {word!r}"), {"word": "{0} {word}\x1b"}, 0.5)
    assert reason.text == "unusual after '{0} {word}\\x1b'"
    assert reason.to_dict() == {"kind": "after", "text": reason.text, "values": {"word": "{0} {word}\x1b"}, "weight": 0.5}


@pytest.mark.parametrize("name", VIEW_NAMES)
def test_every_view_has_its_own_words(name):
    assert view_kind(name).wording is not None


def test_a_view_without_words_of_its_own():
    assert word_sentence(word(sound=5.0)).startswith("'Pleese' stands out by sound (")
