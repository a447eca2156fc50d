"""The view that CONTRIBUTING shows can be added as it says: one file, and one name."""

import re

import difa.views
from difa import DiFA
from difa.config import VIEW_NAMES
from difa.config.checks import kinds_of
from difa.document import WordScore
from difa.feed import Finding
from difa.monitor.batch import in_plain_words
from difa.report.sentences import word_sentence
from tests.conftest import ROOT


def test_the_view_in_contributing_works(corpus, tmp_path, monkeypatch):
    section = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Add a view")[2]
    (tmp_path / "alphabet.py").write_text(re.search(r"```python\n(.*?)```", section, re.DOTALL)[1], encoding="utf-8")
    monkeypatch.setattr(difa.views, "__path__", [*difa.views.__path__, str(tmp_path)])
    for module in ("difa.config", "difa.views", "difa.fuse"):
        monkeypatch.setattr(f"{module}.VIEW_NAMES", (*VIEW_NAMES, "alphabet"))
    monkeypatch.setattr("difa.config.checks.kinds_of", kinds_of.__wrapped__)  # which remembers the names from before

    stages = {"views": {"names": ["language", "form", "alphabet"]}}
    fitted = DiFA("fast", seed=1, stages=stages, fpr=0.05).fit(corpus[:60])
    fitted.save(tmp_path / "model")
    loaded = DiFA.load(tmp_path / "model")

    text = "Where is my xzqx order?"
    [result], [again] = fitted.score([text]), loaded.score([text])
    assert again == result
    evidence = [word.evidence["alphabet"] for word in result.words]
    assert evidence.index(max(evidence)) == 3
    [reason] = loaded.explain(text).reasons[3]["alphabet"]
    assert reason.values["letter"] in "qzx"
    assert reason.text == f"has the rare letter {reason.values['letter']!r}"
    said = WordScore("xzqx", 0, 4, 5.0, 0.001, True, {"alphabet": 6.0})
    assert word_sentence(said, {"alphabet": [reason]}).startswith("'xzqx' is written with a rare letter (")
    assert word_sentence(said).startswith("'xzqx' has rare letters (")
    assert in_plain_words("alphabet") == Finding("alphabet", 2.0, ()).subject == "words with rare letters"
