import numpy as np
import pytest

from difa.views.phrase import PhraseView
from difa.views.tone import ToneView
from difa.words import from_text
from tests.views import training


@pytest.fixture(scope="module")
def normal(encoder, corpus):
    return encoder.encode([from_text(text) for text in corpus[:150]])


def read(encoder, text):
    return encoder.encode([from_text(text)])[0]


def test_a_doubled_word_stands_out_and_is_named(encoder):
    view, document = PhraseView("en"), read(encoder, "I would like to know if the the warranty covers it")
    raw = view.raw([document])
    assert set(np.argsort(raw)[-2:]) == {6, 7}
    assert view.explain(document)[7][0].text == "repeats the word before it"


def test_insults_stand_out_by_their_tone(encoder, normal):
    view = ToneView.fit(training(normal, "en", encoder=encoder))
    document = read(encoder, "The parcel came on Friday, you stupid idiots")
    raw = view.raw([document])
    assert {document.words[at] for at in np.argsort(raw)[-2:]} == {"stupid", "idiots"}
    assert "more negative than" in view.explain(document)[-1][0].text
    assert raw[document.words.index("idiots")] > 1  # beyond what one normal word in a hundred reaches


def test_other_languages_are_met_with_silence(encoder, normal):
    document = read(encoder, "The parcel came on Friday, you stupid idiots")
    for view in (PhraseView("de"), ToneView.fit(training(normal, "de", encoder=encoder)), PhraseView(None)):
        assert not view.raw([document]).any()
        assert all("silent" in reasons[0].text for reasons in view.explain(document))


def test_directions_are_learned_once(encoder, normal, monkeypatch):
    first = ToneView.fit(training(normal, "en", encoder=encoder))
    monkeypatch.setattr("difa.views.tone.rated_words", None)  # would fail if it were read again
    assert (ToneView.fit(training(normal, "en", encoder=encoder)).directions == first.directions).all()


@pytest.mark.parametrize("preset", ["fast", "full"])
@pytest.mark.parametrize("insult", ["order-bitch", "a*****e", "idiot's", "www.idiot.com", "i d i o t"])
def test_a_hidden_insult_makes_word_and_document_unusual(preset, insult, fast_model, model):
    text = f"Where is my parcel, {insult}? I ordered it last week."
    (result,) = {"fast": fast_model, "full": model}[preset].score([text], fpr=0.05)
    assert result.is_anomaly
    assert any(word.is_anomaly and word.text in insult for word in result.words)
