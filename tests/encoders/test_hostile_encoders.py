"""Encoders whose files a stranger made."""

import json
import os
import shutil
from pathlib import Path

import pytest

from difa import DiFA
from difa.config import EncoderConfig
from difa.encoders import load_encoder
from difa.encoders.convert import find
from difa.errors import EncoderError, ModelError
from difa.storage.model_folder import read_config, write_config
from difa.words import from_text

CODE = """
from pathlib import Path
from transformers import PretrainedConfig

Path({marker!r}).touch()


class Config(PretrainedConfig):
    model_type = "strange"
"""


@pytest.fixture
def encoder_files(tmp_path):
    """A folder that looks like an encoder, as far as it is read before transformers reads it."""
    folder = tmp_path / "encoder"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"num_hidden_layers": 2, "hidden_size": 8, "model_type": "bert"}))
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


def put_code(folder, marker):
    """Code that makes a file when it runs."""
    settings = {"num_hidden_layers": 2, "model_type": "strange", "auto_map": {"AutoConfig": "strange.Config"}}
    (folder / "config.json").write_text(json.dumps(settings))
    (folder / "strange.py").write_text(CODE.format(marker=str(marker)))


def found(folder):
    return find(EncoderConfig(name=str(folder)))


@pytest.mark.parametrize("shard", ["/dev/zero", "../config.json", "missing.safetensors", ""])
def test_shards_are_files_beside_their_list(encoder_files, shard):
    (encoder_files / "model.safetensors").unlink()
    (encoder_files / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": shard}}))
    with pytest.raises(EncoderError, match="expected names of files beside it"):
        found(encoder_files)


def test_a_folder_that_names_its_encoder_is_refused(fast_model, encoder_files, tmp_path):
    """As models of earlier versions could: whoever made the folder chose the name, and code may lie behind it."""
    put_code(encoder_files, tmp_path / "ran")
    fast_model.save(tmp_path / "model")
    config = read_config(tmp_path / "model")
    write_config(tmp_path / "model", config | {"encoder_origin": str(encoder_files)})
    with pytest.raises(ModelError, match="expected a model that holds its encoder"):
        DiFA.load(tmp_path / "model")
    assert not (tmp_path / "ran").exists()


class Payload:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


@pytest.fixture
def old_format(tiny_folder, tmp_path, monkeypatch):
    """The tiny encoder in PyTorch's old format."""
    import torch
    from safetensors.torch import load_file

    monkeypatch.setenv("DIFA_CACHE", str(tmp_path / "cache"))
    folder = Path(shutil.copytree(tiny_folder, tmp_path / "old"))
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    return folder


@pytest.mark.slow
def test_a_user_may_fit_with_the_old_format(old_format, tiny_encoder):
    document = from_text("Where is my order?")
    got = load_encoder(EncoderConfig(name=str(old_format))).encode([document])[0]
    assert (got.vectors == tiny_encoder.encode([document])[0].vectors).all()


@pytest.mark.slow
def test_a_pickle_in_the_old_format_runs_nothing(old_format, tmp_path):
    import torch

    torch.save({"weights": Payload(tmp_path / "ran")}, old_format / "pytorch_model.bin")
    with pytest.raises(EncoderError, match="expected weights that are numbers alone"):
        load_encoder(EncoderConfig(name=str(old_format)))
    assert not (tmp_path / "ran").exists()


@pytest.mark.slow
def test_fitting_runs_no_code_of_an_encoder(encoder_files, tmp_path, monkeypatch):
    monkeypatch.setattr("builtins.input", lambda *question: "y")
    put_code(encoder_files, tmp_path / "ran")
    with pytest.raises(EncoderError, match="contains custom code"):
        DiFA(encoder=str(encoder_files)).fit(["Where is my order?"] * 30)
    assert not (tmp_path / "ran").exists()
