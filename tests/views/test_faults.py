"""Each kind of fault by its rule, and what the view makes of how rare it is."""

import numpy as np
import pytest

from difa import DiFA
from difa.document import Encoded
from difa.knowledge.word_cache import Batch
from difa.report.sentences import word_sentence
from difa.views.faults import FaultsView
from difa.views.faults.kinds import KINDS
from difa.words import split_words
from tests.views import training


def read(text):
    return Encoded.of_words(split_words(text).texts)


def faults_of(text, language="en"):
    """The faults of a text: kind, words, and what was meant."""
    document, view = read(text), FaultsView(language, np.zeros(len(KINDS) + 1, dtype=np.int64))
    found = view.find(Batch([document])).get(0, {})
    return [(kind, " ".join(document.words[f.first : f.end]), f.meant) for kind, items in found.items() for f in items]


def named(view, words, gaps=frozenset()):
    """The named faults of words."""
    (found,) = view.name_faults([Encoded.of_words(tuple(words), gaps)])
    return found


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("It is the authorâ€™s book.", ("broken encoding", "authorâ € ™s", "author’s")),
        ("We met in a cafÃ© in town.", ("broken encoding", "cafÃ ©", "café")),
        ("He said � and left.", ("broken encoding", "�", None)),
        ("One line <br> another line.", ("HTML", "< br >", None)),
        ("Salt &amp; pepper are here.", ("HTML", "& amp ;", "&")),
        ("This is **very** important.", ("Markdown", "** very **", None)),
        ("It is __very important__ to us.", ("Markdown", "__ very important __", None)),
        ("Dear {{first_name}}, welcome.", ("placeholder", "{{ first_name }}", None)),
        ("You have %s new messages.", ("placeholder", "% s", None)),
        ("Sent to ${EMAIL} today.", ("placeholder", "$ { EMAIL }", None)),
        ("Call [INSERT NUMBER] now.", ("placeholder", "[ INSERT NUMBER ]", None)),
        ("TODO: describe it.", ("placeholder", "TODO", None)),
        ("It is lorem ipsum dolor sit amet.", ("filler text", "lorem ipsum dolor sit amet", None)),
        ("This package provides the", ("cut off", "the", None)),
        ("This package provides tools", ("no end", "tools", None)),
        ("It is in in the garden.", ("doubled word", "in in", None)),
        ("I can't can't find it.", ("doubled word", "can't can't", None)),
        ("We sell gardenfurniture here.", ("unusual compound", "gardenfurniture", "garden furniture")),
        ("It takesthe name of the file.", ("glued words", "takesthe", "takes the")),
        ("We have recieved the temporaray password.", ("misspelling", "temporaray", "temporary")),
        ("He was slipp ed in the rain.", ("torn word", "slipp ed", "slipped")),
        ("PLEASE ANSWER ME NOW or never.", ("capitals", "PLEASE ANSWER ME NOW", None)),
        ("The par\u00adcel is here.", ("hidden character", "\u00ad", None)),
        ("Log in to p\u0430ypal now.", ("look-alike letters", "p\u0430ypal", None)),
        ("Das ist nicht mein Haus, das ist deins.", ("another language", "Das ist nicht mein Haus , das ist deins", None)),
        (
            "It reads a list of names. Die Ergebnisse werden anschließend in einer Datei gespeichert. Then it stops.",
            ("another language", "Ergebnisse werden anschließend in einer Datei gespeichert", None),
        ),
        (f"See {'x' * 60} there.", ("long run", "x" * 60, None)),
        (f"See {'a' * 60} there.", ("long run", "a" * 60, None)),
        ("When will my refnud reach me?", ("misspelling", "refnud", "refund")),
        ("An error occured there.", ("misspelling", "occured", "occurred")),
        ("It is naÃ¯ve to read it.", ("broken encoding", "naÃ ¯ ve", "naïve")),
        ("It is an Ã¤bstraction of it.", ("broken encoding", "Ã ¤ bstraction", "äbstraction")),
        ("It follows rulÃ©s there.", ("broken encoding", "rulÃ © s", "rulés")),
        ("The cafÃ© is open.", ("broken encoding", "cafÃ ©", "café")),
        ("This is a a list.", ("doubled word", "a a", None)),
        ("It takes theoriginal file.", ("glued words", "theoriginal", "the original")),
        ("It is of aparticular kind.", ("glued words", "aparticular", "a particular")),
        ("It stands in a file, whichis new.", ("glued words", "whichis", "which is")),
        ("It RETURNS THE VALUE of a list, if there is one left.", ("capitals", "RETURNS THE VALUE", None)),
        (
            "The functoin returns the valeu of donâ€™t and {{name}}. Die Funktion gibt den Wert zurück.",
            ("another language", "Funktion gibt den Wert zurück", None),
        ),
        (
            "Die Ergebnisse werden anschließend gespeichert und können dort gelesen werden, UNIX timestamp in seconds.",
            ("another language", "Ergebnisse werden anschließend gespeichert und können dort gelesen werden", None),
        ),
    ],
)
def test_a_fault_is_found_and_named(text, fault):
    assert fault in faults_of(text)


@pytest.mark.parametrize(
    "text",
    [
        "A discount of 5 % is fine, isn’t it? “Yes” – of course…",
        "The naïve résumé of the café was read twice.",
        "I know that that is true, and he had had enough.",
        "See https://example.org/a/very/long/path/to/some/page/that/goes/on for more.",
        "NASA and ESA met in Paris (France) [today].",
        "If a < b and b > c, stop. R&D; that is all.",
        "A semilattice is hashable, and so are its __init__ and its ctypes.",
        "It supports [ASGI] and preorders; eigenvectors are given, too.",
        "It uses NASA JSON HTML for all of the lists that are left here.",
        "The grades are A a and b b, and x is 1.",
        "It was fixed in da39a3ee5e6b4b0d3255bfef95601890afd80709 by me.",
        "A meshgrid calls getitem, setstate and returncode of its threadlocal keyname.",
        "The formatters print tracebacks of all timesteps, and it prepends a line.",
    ],
)
def test_ordinary_text_has_no_faults(text):
    assert faults_of(text) == []


def test_no_rule_needs_a_language():
    assert faults_of("gardenfurniture is in in {{place}}.", None) == [
        ("placeholder", "{{ place }}", None),
        ("doubled word", "in in", None),
    ]
    assert faults_of("") == []


def test_a_fault_counts_as_far_as_it_is_rare():
    plain, marked = [read("A plain text.")] * 90, [read("A <br> text.")] * 10
    rare, common = FaultsView.fit(training([*plain, *marked[:1]], "en")), FaultsView.fit(training(marked, "en"))
    raw = rare.raw([read("Another <br> text.")])
    assert raw.tolist() == pytest.approx([0, *[np.log(92 / 1.5)] * 3, 0, 0])
    assert common.raw([read("Another <br> text.")]).max() < 0.1, "a corpus of HTML has no HTML fault"
    assert named(common, ["<", "br", ">"]) == {}
    assert named(rare, ["A", "<", "br", ">"]) == dict.fromkeys([1, 2, 3], ("HTML", 1))
    reasons = rare.explain(read("The authorâ€™s <br>"))
    assert reasons[1][0].plain == "has a broken encoding: probably 'author’s'"
    assert reasons[0][0].weight == 0.0


def test_misspellings_are_those_of_the_corpus_language():
    assert ("misspelling", "bschädigt", "beschädigt") in faults_of("Das Paket ist bschädigt worden.", "de")


def test_a_string_of_several_normal_documents_is_a_term():
    texts = ["The stacktrace is short.", "A stacktrace is here.", "The textfile is new.", *["It is plain."] * 47]
    view = FaultsView.fit(training([read(text) for text in texts], "en"))
    assert view.terms == {"stacktrace"}
    assert view.is_term("Stacktraces")
    assert not view.is_term("textfile")
    assert named(view, ["My", "stacktrace", "and", "textfile", "."]) == {3: ("unusual compound", 3)}
    assert dict(zip(KINDS, view.counts, strict=False))["unusual compound"] == 1, "the document of a term has no fault"
    assert FaultsView.fit(training([read(text) for text in texts], "en", least=3)).terms == frozenset()
    later = view.extended(training([read("One textfile here."), read("Another textfile there.")]), 0)
    assert later.terms == {"stacktrace", "textfile"}


def test_the_plural_of_a_term_is_a_term():
    view = FaultsView.fit(
        training([read("The textfile is short."), read("A list and a textfile."), read("Lists are here.")], "en")
    )
    assert named(view, ["Textfiles", "and", "textfile"]) == {}


def test_faults_within_a_passage_of_another_language_keep_their_names():
    view = FaultsView.fit(training([read("It is plain.")] * 50, "en"))
    words = read("Die Ergebnisse werden anschließend in {{datei}} einer Datei gespeichert und <br> dort gelesen.").words
    found = named(view, words)
    assert {words[at] for at, (kind, _) in found.items() if kind == "placeholder"} == {"{{", "datei", "}}"}
    assert {words[at] for at, (kind, _) in found.items() if kind == "HTML"} == {"<", "br", ">"}
    assert {"Ergebnisse", "gespeichert"} <= {words[at] for at, (kind, _) in found.items() if kind == "another language"}
    assert "misspelling" not in found.values(), "words of another language are no slips"


def test_words_with_ignored_ones_between_them_are_no_neighbours():
    view = FaultsView.fit(training([read("It is plain.")] * 50, "en"))
    words = ["The", "name", "of", "of", "a", "neighb", "our", "."]
    doubled, torn = ("doubled word", 2), ("torn word", 5)
    assert named(view, words) == {2: doubled, 3: doubled, 5: torn, 6: torn}
    assert named(view, words, frozenset({3, 6})) == {}
    assert not view.raw([Encoded(tuple(words), np.zeros((8, 0)), np.ones(8, dtype=np.int64), frozenset({3, 6}))]).any()


@pytest.mark.parametrize("preset", ["fast", "full"])
def test_a_document_with_a_rare_fault_is_flagged_and_the_fault_is_named(preset, fast_model, model):
    fitted: DiFA = {"fast": fast_model, "full": model}[preset]
    (result,) = fitted.score(["Dear {{customer_name}}, thank you for the quick reply to my question."], fpr=0.05)
    assert result.is_anomaly
    assert {word.fault for word in result.words if word.is_anomaly} >= {"placeholder"}
    assert "placeholder: {{" in result.summary
    assert result.to_dict()["words"][1]["fault"] == "placeholder"


def test_pieces_of_a_broken_encoding_get_no_suggestion(fast_model):
    (result,) = fast_model.score(["Where is the customerâ€™s parcel? I ordered it last week."], fpr=0.05)
    broken = [word for word in result.words if word.fault == "broken encoding"]
    assert broken
    assert not any(word.suggestion for word in broken)


@pytest.mark.parametrize(
    "text",
    [
        "Where is my parcel? Leider habe ich das Paket noch nicht bekommen, es gibt keine Nachricht.",
        "Where is my parcel? Lorem ipsum dolor sit amet, consectetur adipiscing elit.",
    ],
)
def test_words_of_another_language_and_of_filler_text_get_no_suggestion(text, fast_model):
    (result,) = fast_model.score([text], fpr=0.05)
    assert {word.fault for word in result.words} & {"another language", "filler text"}
    assert [word.text for word in result.words if word.suggestion] == []


@pytest.mark.parametrize(
    ("wrong", "kind", "meant"),
    [("refnud", "misspelling", "refund"), ("worng", "misspelling", "wrong"), ("whichis", "glued words", "which is")],
)
def test_what_has_a_suggestion_is_called_by_its_name(wrong, kind, meant, fast_model):
    (result,) = fast_model.score([f"Please look at the {wrong} for my last order."], fpr=0.05)
    found = result.words[4]
    assert (found.text, found.fault, found.suggestion) == (wrong, kind, meant)


def test_a_sentence_names_all_of_a_fault(fast_model):
    explained = fast_model.explain("Dear {{ customer_name }}, where is the customerâ€™s parcel? It came came late.", fpr=0.05)
    said = {word_sentence(word, why) for word, why in zip(explained.result.words, explained.reasons, strict=True)}
    whole = {sentence.partition(" (")[0] for sentence in said}
    assert "'{{ customer_name }}' is a placeholder" in whole
    assert "'customerâ€™s' has a broken encoding: probably 'customer’s'" in whole
    assert not any("and stands twice" in sentence for sentence in said)


def test_a_summary_names_faults_whole_and_in_the_order_of_the_text(fast_model):
    (result,) = fast_model.score(["\U0001f600 Where is my <br/> order? <i>Thank</i> you."], fpr=0.5)
    assert result.summary.startswith("HTML: <br/>, <i>, </i>")
