import json

import pytest

from difa.bench.data import split
from difa.bench.methods import PEERS, peer_library, run_peer
from difa.bench.table import run_table, table_markdown
from difa.errors import ConfigError
from tests.bench.conftest import pick

pytestmark = pytest.mark.slow


@pytest.fixture
def quick_peers(monkeypatch):
    """The peers' networks with few steps: what they say does not matter here, only that they are asked and judged."""
    pytextad = peer_library()
    for name, changes in (
        ("CVDD", {"n_epochs": 5}),
        ("DATE", {"n_epochs": 1, "max_len": 16, "hidden": 32, "heads": 2, "layers": 1}),
    ):
        real = getattr(pytextad, name)
        monkeypatch.setattr(pytextad, name, lambda real=real, changes=changes, **given: real(**given, **changes))


@pytest.fixture
def short_documents(tiny_data, tmp_path):
    """Documents of so few words that the peer, which stops at the encoder's window, scores all of them."""
    (tmp_path / "short").mkdir()
    lines = (tiny_data / "tokenad" / "clean" / "spam.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    for record in records:
        at = max(0, (record["labels"] + [1]).index(1) - 3)
        record.update(tokens=record["tokens"][at : at + 6], labels=record["labels"][at : at + 6])
    text = "\n".join(json.dumps(record) for record in records if record["tokens"])
    (tmp_path / "short" / "spam.jsonl").write_text(text, encoding="utf-8")
    return tmp_path / "short"


def test_tokencore_agrees_with_the_peer_and_all_peers_have_a_row(start, quick_peers, short_documents):
    run = start(draws=0, data=short_documents)
    records = {record["method"]: record for record in run_table(run, ("tokencore",), with_peers=True)}
    assert list(records) == ["tokencore", *PEERS]
    for level, rule in (("word", None), ("document", "max"), ("document", "mean")):
        ours, theirs = pick(records["tokencore"], level, rule), pick(records["pytextad-tokencore"], level, rule)
        assert ours["auroc"] == pytest.approx(theirs["auroc"], abs=0.002)
        assert ours["ap"] == pytest.approx(theirs["ap"], abs=0.002)
    for name in ("pytextad-cvdd", "pytextad-date"):
        assert pick(records[name], "document", "own")
        assert pick(records[name], "word", None)
    assert records["pytextad-fate"]["reason"].startswith("needs labelled anomalies")
    text = table_markdown(list(records.values()))
    assert "- FATE (PyTextAD): needs labelled anomalies" in text


def test_a_single_peer_is_chosen_like_any_method(start, short_documents):
    run = start(draws=0, data=short_documents)
    assert [record["method"] for record in run_table(run, ("pytextad-tokencore",))] == ["pytextad-tokencore"]
    both = {record["method"] for record in run_table(run, ("pytextad-fate", "length"))}
    assert both == {"pytextad-tokencore", "length", "pytextad-fate"}  # the first is in the folder already
    with pytest.raises(ConfigError, match=r"expected one of lof, .*pytextad-fate, got pytextad"):
        run_table(run, ("length", "pytextad"))


def test_without_the_library_its_extra_is_named(start, monkeypatch):
    run = start()
    monkeypatch.setitem(__import__("sys").modules, "pytextad", None)
    with pytest.raises(ImportError, match=r'pip install "difa\[peers\]"'):
        run_peer("pytextad-tokencore", split(run.sets[0].documents, 42), 42, run.options)
