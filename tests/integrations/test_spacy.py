"""The spaCy component on a blank pipeline."""

import tomllib
from importlib import import_module
from pathlib import Path

import pytest
import spacy
from spacy import displacy
from spacy.tokens import Doc

from difa.errors import InputError

pytestmark = pytest.mark.slow  # spaCy takes seconds to load
import_module("difa.integrations.spacy")  # what the entry point does in an installed package

TEXTS = ["Where isn't my parcel?", "👍 Is the wpdlkrt  zxqvvb bench in stock?", ""]


@pytest.fixture(scope="module")
def folder(quick_model, tmp_path_factory):
    path = tmp_path_factory.mktemp("spacy") / "model"
    quick_model.save(path)
    return path


@pytest.fixture(scope="module")
def nlp(folder):
    nlp = spacy.blank("en")
    nlp.add_pipe("difa", config={"model": str(folder), "fpr": 0.05})
    return nlp


def test_documents_tokens_and_spans(nlp, quick_model):
    docs = list(nlp.pipe(TEXTS))
    for doc, result in zip(docs, quick_model.score(TEXTS, fpr=0.05), strict=True):
        assert doc._.difa["score"] == result.score
        assert doc._.difa["is_anomaly"] is result.is_anomaly
        assert [span.text for span in doc.spans["difa"]] == [word.text for word in result.words if word.is_anomaly]
    words = {token.text: token._.difa for token in docs[1]}
    assert words["wpdlkrt"]["is_anomaly"]
    assert words["wpdlkrt"]["text"] == "wpdlkrt"
    assert {token._.difa["text"] for token in docs[0] if token.text in ("is", "n't")} == {"isn't"}
    assert [token._.difa for token in docs[1] if token.is_space] == [None]
    assert nlp(TEXTS[1])._.difa == docs[1]._.difa


def test_display_and_storage(nlp):
    doc = nlp(TEXTS[1])
    assert "wpdlkrt" in displacy.render(doc, style="span", options={"spans_key": "difa"}, jupyter=False)
    again = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert again._.difa == doc._.difa
    assert [span.label_ for span in again.spans["difa"]] == ["ANOMALY"] * len(doc.spans["difa"])


def test_a_model_is_needed_and_the_entry_point_leads_here():
    with pytest.raises(InputError, match="expected a model folder"):
        spacy.blank("en").add_pipe("difa")
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    module, function = project["entry-points"]["spacy_factories"]["difa"].split(":")
    assert callable(getattr(import_module(module), function))
