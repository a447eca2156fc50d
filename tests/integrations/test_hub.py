"""Models on the hub: the hub's own client reads a cache made by hand, and uploads go to a folder that stands in for the hub."""

import os
import shutil
from types import SimpleNamespace

import pytest

from difa import DiFA
from difa.errors import ModelError

huggingface_hub = pytest.importorskip("huggingface_hub")
constants = pytest.importorskip("huggingface_hub.constants")

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TEXTS = ["Where is my xkcdqwrtplk order?", "Thank you."]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache of the hub's client."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


@pytest.fixture
def hub(cache, monkeypatch):
    """What stands in for the hub: an upload lies in the cache as if it had been downloaded."""
    calls = []

    class Api:
        def __init__(self, token=None):
            calls.append(("token", token))

        def create_repo(self, repo_id, **options):
            calls.append((repo_id, options))

        def upload_folder(self, *, repo_id, folder_path, **options):
            calls.append((repo_id, options))
            put(cache, repo_id, folder_path)
            return SimpleNamespace(commit_url=f"https://hub.example/{repo_id}/commit/{COMMIT}")

    monkeypatch.setattr(huggingface_hub, "HfApi", Api)
    return calls


def put(cache, repository, folder):
    """Lay files into the cache as the client does: blobs, and a snapshot of links to them."""
    root = cache / f"models--{repository.replace('/', '--')}"
    (root / "refs").mkdir(parents=True)
    (root / "refs" / "main").write_text(COMMIT)
    (root / "blobs").mkdir()
    snapshot = root / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    for number, path in enumerate(sorted(os.scandir(folder), key=lambda entry: entry.name)):
        shutil.copyfile(path.path, root / "blobs" / str(number))
        (snapshot / path.name).symlink_to(f"../../blobs/{number}")
    return snapshot


def test_there_and_back(fast_model, hub, cache):
    address = fast_model.save_to_hub("me/support", token="secret")
    assert address.endswith(f"me/support/commit/{COMMIT}")
    assert hub[:2] == [("token", "secret"), ("me/support", {"private": True, "exist_ok": True})]
    for revision in (None, COMMIT):
        model = DiFA.from_hub("me/support", revision=revision)
        assert model.score(TEXTS) == fast_model.score(TEXTS)
    card = next(cache.glob("*/snapshots/*/README.md")).read_text()
    assert card.startswith("---\nlibrary_name: difa\n")
    assert "language: en\n" in card.split("---")[1]
    assert "# A DiFA model" in card


def test_what_the_hub_does_not_have_is_one_line(cache):
    with pytest.raises(ModelError, match="me/nothing: the Hugging Face hub could not deliver the model") as error:
        DiFA.from_hub("me/nothing")
    assert "\n" not in str(error.value)


def test_without_a_connection_an_upload_is_one_line(fast_model):
    with pytest.raises(ModelError, match="me/support: the Hugging Face hub did not take the model") as error:
        fast_model.save_to_hub("me/support", token="hf_none")
    assert "\n" not in str(error.value)


def test_a_model_from_the_hub_is_a_strangers(fast_model, cache, tmp_path):
    fast_model.save(tmp_path / "model")
    snapshot = put(cache, "me/changed", tmp_path / "model")
    weights = (snapshot / "weights.safetensors").resolve()
    weights.write_bytes(weights.read_bytes()[:-1])
    with pytest.raises(ModelError, match="changed or cut short"):
        DiFA.from_hub("me/changed")
    (tmp_path / "secret").write_text("mine")
    (snapshot / "weights.safetensors").unlink()
    (snapshot / "weights.safetensors").symlink_to(tmp_path / "secret")
    with pytest.raises(ModelError, match="a link to elsewhere"):
        DiFA.from_hub("me/changed")
