import json
from types import SimpleNamespace

import numpy as np
import pytest

from difa.bench import data
from difa.bench.data import digest_of, load_sets, split
from difa.errors import InputError
from difa.words import from_tokens


def test_benchmark_folders(tiny_data):
    sets = load_sets(tiny_data, ("spam",))
    assert [(item.name, item.form) for item in sets] == [("spam", "original"), ("spam", "clean")]
    assert sets[0].digest == sets[1].digest
    assert load_sets(tiny_data / "tokenad", ("review",), ("clean",))[0].digest != sets[0].digest


def test_a_folder_of_ones_own(tmp_path, monkeypatch):
    line = json.dumps({"tokens": ["a", "b"], "labels": [0, 1]})
    (tmp_path / "mine.jsonl").write_text(line + "\n")
    task = {"data": {"text": "good bad"}, "annotations": [{"result": [{"value": {"start": 5, "end": 8, "labels": ["x"]}}]}]}
    (tmp_path / "theirs.json").write_text(json.dumps([task]))
    monkeypatch.setenv("DIFA_DATA", str(tmp_path))
    sets = load_sets(None)
    assert [(item.name, item.form) for item in sets] == [("mine", "own"), ("theirs", "own")]
    assert sets[1].documents[0].labels == (0, 1)
    with pytest.raises(InputError, match="expected one of mine, theirs, got other"):
        load_sets(tmp_path, ("other",))


@pytest.mark.parametrize(
    ("content", "message"),
    [({}, "found none"), ({"a.jsonl": '{"text": "no labels"}'}, "a.jsonl: expected labels"), ({"a.jsonl": ""}, "got none")],
)
def test_folders_that_will_not_do(tmp_path, content, message):
    for name, text in content.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        load_sets(tmp_path)


def test_mistakes(tiny_data, tmp_path):
    with pytest.raises(InputError, match="expected a folder with the data"):
        load_sets(tmp_path / "no")
    with pytest.raises(InputError, match="form: expected original or clean, got raw"):
        load_sets(tiny_data, forms=("raw",))
    with pytest.raises(InputError, match="set: expected one of spam, review, grammar, got ham"):
        load_sets(tiny_data, ("ham",))


def test_without_folder_and_hub_one_line(tmp_path, monkeypatch):
    monkeypatch.delenv("DIFA_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"no data: expected a folder with tokenad/ .*Charles-Cao/pytextad"):
        load_sets(None, forms=("clean",))
    with pytest.raises(InputError, match="as revision a commit of Charles-Cao/TokenAD"):
        load_sets(None, forms=("original",))


@pytest.fixture
def fake_hub(tmp_path, monkeypatch):
    """A hub that hands out one file and remembers what it was asked for."""
    path, asked = tmp_path / "file.jsonl", []
    path.write_text(json.dumps({"tokens": ["a", "b"], "labels": [0, 1]}) + "\n")

    def download(repo_id, filename, repo_type, revision):
        asked.append((repo_id, filename, repo_type, revision))
        return str(path)

    listing = ["README.md", "data/spam_labelled.jsonl"]
    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    monkeypatch.setattr("huggingface_hub.list_repo_files", lambda **asked: listing)
    return SimpleNamespace(path=path, asked=asked)


def test_hub_files_are_pinned_and_checked(fake_hub, monkeypatch):
    with pytest.raises(InputError, match="expected sha256 e315a7c1"):
        data.fetch("spam", "clean")
    assert fake_hub.asked == [
        ("Charles-Cao/pytextad", "data/sms_spam.jsonl", "dataset", "331ef3b8f4a2c4a60bedf293ccf17f7e717c7643")
    ]
    monkeypatch.setitem(data.CLEAN, "spam", ("p", data.sha256_of(fake_hub.path)))
    assert data.fetch("spam", "clean")[0].labels == (0, 1)


def test_the_original_form_needs_a_revision_and_is_checked_by_content(fake_hub, monkeypatch):
    with pytest.raises(InputError, match="expected the words and labels of the original spam set"):
        data.fetch("spam", "original", "abc")
    assert fake_hub.asked[-1][1:] == ("data/spam_labelled.jsonl", "dataset", "abc")
    with pytest.raises(InputError, match=r"expected a \.jsonl file for review"):
        data.fetch("review", "original", "abc")
    monkeypatch.setitem(data.ORIGINAL, "spam", digest_of([from_tokens(["a", "b"], labels=[0, 1])]))
    assert len(data.fetch("spam", "original", "abc")) == 1


def test_the_published_split():
    documents = [from_tokens([str(index)], labels=[int(index % 5 == 0)]) for index in range(50)]
    halves = split(documents, 42)
    np.random.seed(42)
    normal = [index for index in range(50) if index % 5]
    expected = sorted(np.random.choice(normal, 20, replace=False).tolist())
    assert [int(document.text) for document in halves.training] == expected
    assert len(halves.test) == 30
    assert not any(any(document.labels) for document in halves.training)
    assert sum(any(document.labels) for document in halves.test) == 10
    with pytest.raises(InputError, match="expected normal and anomalous documents"):
        split(documents[1:5], 42)
