"""The tutorial notebook runs from top to bottom, and its page shows what it says."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("notebook", ROOT / "tools" / "notebook.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_notebook_says(tool):
    assert tool.PAGE.read_text(encoding="utf-8") == tool.page(tool.load()), "run make notebook"


@pytest.mark.slow
def test_the_notebook_runs_and_shows_what_it_did(tool):
    kept, again = tool.load(), tool.load()
    names = tool.run(again)
    assert 10 < names["scored"]["is_anomaly"].sum() < 40
    assert "refnud" in names["model"].explain("my refnud").to_html()
    assert not names["normal_message"].is_anomaly
    assert [word.text for word in names["normal_message"].words if word.is_anomaly] == ["cordless"]
    assert names["report"].is_file()
    assert names["figures"].document.auroc > 0.8
    kinds = [[[output["output_type"] for output in cell["outputs"]] for cell in tool.code_cells(one)] for one in (kept, again)]
    assert kinds[0] == kinds[1]
