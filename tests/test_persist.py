import json

import pytest

from difa import DiFA, __version__
from difa.errors import ModelError
from difa.storage.model_folder import FORMAT, write_config

TEXTS = ["Where is my xkcdqwrtplk order?", "Thank you.", ""]


@pytest.fixture
def saved(quick_model, tmp_path):
    quick_model.save(tmp_path / "model")
    return tmp_path / "model"


def change(folder, **entries):
    """As a stranger would: with a checksum that fits."""
    write_config(folder, json.loads((folder / "config.json").read_text()) | entries)


def test_saved_and_loaded_gives_the_same_scores(quick_model, saved):
    loaded = DiFA.load(saved)
    assert loaded.score(TEXTS) == quick_model.score(TEXTS)
    assert loaded.threshold_ == quick_model.threshold_
    assert (loaded.decision_scores_ == quick_model.decision_scores_).all()
    assert loaded.get_params()["stages"] == quick_model.get_params()["stages"]


def test_a_loaded_model_can_be_saved_again(saved, tmp_path):
    DiFA.load(saved).save(tmp_path / "copy")
    assert DiFA.load(tmp_path / "copy").score(TEXTS) == DiFA.load(saved).score(TEXTS)


def test_the_folder_says_what_it_is(saved):
    config = json.loads((saved / "config.json").read_text())
    assert config["difa_format"] == FORMAT
    assert config["difa_version"] == __version__
    assert config["encoder"]["layer"] == 2
    assert len(config["encoder"]["sha256"]) == 64
    assert config["seed"] == 1
    assert config["training"]["documents"] == 80
    assert {file.suffix for file in saved.iterdir()} == {".json", ".safetensors", ".onnx", ".md"}
    assert "80 documents" in (saved / "README.md").read_text()


def test_no_half_written_folder_and_no_leftovers(quick_model, tmp_path, monkeypatch):
    from difa.storage import persist

    def fail(fd):
        raise OSError("disk full")

    monkeypatch.setattr(persist.os, "fsync", fail)
    with pytest.raises(ModelError, match="model: cannot be written: disk full"):
        quick_model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_an_older_model_is_replaced_and_other_files_are_not(quick_model, saved, tmp_path):
    quick_model.save(saved)
    assert DiFA.load(saved).score(TEXTS) == quick_model.score(TEXTS)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(ModelError, match="found other files"):
        quick_model.save(tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").exists()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda m: (m / "config.json").unlink(), "expected a model folder with config.json"),
        (lambda m: (m / "config.json").write_text("{"), "expected readable JSON"),
        (lambda m: change(m, difa_format=99), "expected model format 8, got 99"),
        (lambda m: (m / "encoder.onnx").unlink(), r"encoder.onnx: missing"),
        (lambda m: change(m, knowledge={"wordfreq": "0.1"}), "expected wordfreq 0.1, with which the model was fitted"),
        (lambda m: (m / "weights.safetensors").write_bytes(b"x"), r"weights.safetensors: expected sha256"),
        (lambda m: (m / "encoder.onnx").write_bytes((m / "encoder.onnx").read_bytes()[:-1]), "changed or cut short"),
        (lambda m: change(m, stages={"form": {"windw": 1}}), "unknown key of form 'windw'"),
        (lambda m: change(m, files={}), "damaged or incomplete model"),
        (lambda m: change(m, encoder={"name": "x"}), "damaged or incomplete model"),
    ],
)
def test_damage_is_named(saved, damage, message):
    damage(saved)
    with pytest.raises(ModelError, match=message) as error:
        DiFA.load(saved)
    assert "\n" not in str(error.value)
