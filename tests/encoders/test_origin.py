"""Encoders that a stranger's model folder names, and encoders whose files a stranger made."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from difa import DiFA
from difa.config import EncoderConfig
from difa.encoders import load_encoder
from difa.encoders.origin import check_files, check_origin
from difa.encoders.source import find
from difa.errors import EncoderError, ModelError
from difa.model_folder import read_config, write_config
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
    return find(EncoderConfig(name=str(folder)), download=False)


@pytest.mark.parametrize("origin", ["minilm", "bert-base-uncased", "someone/encoder_v1.5"])
def test_hub_names_and_full_paths_elsewhere_may_be_named(origin, tmp_path):
    check_origin(origin, tmp_path / "model")
    check_origin(str(tmp_path / "encoder"), tmp_path / "model")


@pytest.mark.parametrize(
    "origin",
    ["model/encoder", "encoder", "./encoder", "../encoder", "~/encoder", "a/b/c", "//server/share", "\\\\server\\share", "a\n"],
)
def test_paths_that_depend_on_where_the_reader_is_are_refused(origin, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("model/encoder", "encoder"):
        Path(folder).mkdir(parents=True)
    with pytest.raises(ModelError, match="not safe to load; fit again"):
        check_origin(origin, Path("model"))


def test_a_folder_cannot_name_files_of_its_own(tmp_path):
    (tmp_path / "model" / "encoder").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "model")
    for origin in ("model/encoder", "model", "link/encoder", "other/../model/encoder"):
        with pytest.raises(ModelError, match="outside the model"):
            check_origin(str(tmp_path / origin), tmp_path / "model")


def test_weights_that_are_pickles_are_not_run_for_a_folder(encoder_files):
    check_files(found(encoder_files))
    (encoder_files / "model.safetensors").rename(encoder_files / "pytorch_model.bin")
    with pytest.raises(EncoderError, match=r"expected weights in model\.safetensors"):
        check_files(found(encoder_files))


@pytest.mark.parametrize("setting", ["quantization_config", "transformers_weights", "experts_implementation"])
def test_settings_that_lead_elsewhere_are_refused_at_any_depth(encoder_files, setting):
    config = json.loads((encoder_files / "config.json").read_text())
    for more in ({setting: "x"}, {"text_config": {setting: "x"}}):
        (encoder_files / "config.json").write_text(json.dumps(config | more))
        with pytest.raises(EncoderError, match=f"without {setting}"):
            check_files(found(encoder_files))


def test_adapters_are_refused(encoder_files):
    (encoder_files / "adapter_config.json").write_text("{}")
    with pytest.raises(EncoderError, match="got an adapter"):
        check_files(found(encoder_files))


@pytest.mark.parametrize("shard", ["/dev/zero", "../config.json", "missing.safetensors", ""])
def test_shards_are_files_beside_their_list(encoder_files, shard):
    (encoder_files / "model.safetensors").unlink()
    (encoder_files / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": shard}}))
    with pytest.raises(EncoderError, match="expected names of files beside it"):
        found(encoder_files)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["elsewhere", "inside"])
def test_loading_runs_no_code_of_an_encoder_and_asks_nothing(quick_model, encoder_files, tmp_path, place):
    """transformers would ask on standard input whether to run the code, and there are the documents."""
    model, marker = tmp_path / "model", tmp_path / "ran"
    quick_model.save(model)
    put_code(encoder_files, marker)
    if place == "inside":
        encoder_files = Path(shutil.move(encoder_files, model))
    config, source = read_config(model), found(encoder_files)
    config["encoder_origin"] = "model/encoder" if place == "inside" else str(encoder_files)
    config["encoder"] |= {"fingerprint": source.fingerprint, "layer": source.layer}
    del config["files"]["encoder.onnx"]
    write_config(model, config)
    command = [sys.executable, "-m", "difa", "score", "model", "-"]
    done = subprocess.run(command, input="y\n" * 5, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=300)
    assert not marker.exists()
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert ("not safe to load" if place == "inside" else "contains custom code") in done.stderr


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
