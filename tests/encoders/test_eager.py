"""An encoder that torch's exporter cannot handle: it branches on the values of its input."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModel, BertConfig, BertModel

from difa import DiFA
from difa.config import EncoderConfig
from difa.encoders import load_encoder
from difa.errors import EncoderError
from difa.words import from_text

pytestmark = pytest.mark.slow


class BranchingConfig(BertConfig):
    model_type = "branching-bert"


class BranchingModel(BertModel):
    config_class = BranchingConfig

    def forward(self, input_ids=None, attention_mask=None, **more):
        for _ in range(int(input_ids.max()) % 2 + 1):
            states = super().forward(input_ids=input_ids, attention_mask=attention_mask, **more)
        return states


@pytest.fixture(scope="module")
def branching_folder(tiny_folder, tmp_path_factory):
    AutoConfig.register("branching-bert", BranchingConfig, exist_ok=True)
    AutoModel.register(BranchingConfig, BranchingModel, exist_ok=True)
    folder = tmp_path_factory.mktemp("encoders") / "branching"
    torch.manual_seed(0)
    settings = BertConfig.from_pretrained(tiny_folder).to_dict() | {"model_type": "branching-bert"}
    BranchingModel(BranchingConfig(**settings)).save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_bytes((tiny_folder / name).read_bytes())
    return folder


@pytest.fixture(scope="module")
def branching_model(branching_folder, quick, corpus):
    with pytest.warns(UserWarning, match=r"branching cannot be exported to ONNX .*need difa\[fit\] and /") as caught:
        model = quick(encoder=str(branching_folder), stages={"views": {"names": ["form", "neighbour"]}}).fit(corpus[:40])
    assert "\n" not in str(caught[0].message)
    return model


def test_the_same_vectors_alone_or_in_any_batch(branching_folder, corpus):
    with pytest.warns(UserWarning, match="cannot be exported"):
        encoder = load_encoder(EncoderConfig(name=str(branching_folder)))
    documents = [from_text(text) for text in corpus[:20]]
    for document, encoded in zip(documents, encoder.encode(documents), strict=True):
        assert (encoder.encode([document])[0].vectors == encoded.vectors).all()
    assert not np.allclose(encoded.vectors[0], encoded.vectors[1])


def test_a_model_without_a_graph_finds_its_encoder_again(branching_model, branching_folder, corpus, tmp_path):
    branching_model.save(tmp_path / "model")
    assert not (tmp_path / "model" / "encoder.onnx").exists()
    loaded = DiFA.load(tmp_path / "model")
    assert loaded.decision_function(corpus[:5]).tolist() == branching_model.decision_function(corpus[:5]).tolist()
    # And does not take another in its place.
    changed = branching_folder / "config.json"
    before = changed.read_text()
    changed.write_text(before + " ")
    try:
        with pytest.raises(EncoderError, match="expected the files that the model was fitted with"):
            DiFA.load(tmp_path / "model")
    finally:
        changed.write_text(before)


def test_without_torch_it_says_what_is_missing(branching_model, tmp_path):
    branching_model.save(tmp_path / "model")
    (tmp_path / "text.txt").write_text("Where is my order?\n")
    code = "import sys; sys.modules['torch'] = None; from difa.cli import main; main()"
    command = [sys.executable, "-c", code, "score", str(tmp_path / "model"), str(tmp_path / "text.txt")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert 'pip install "difa[fit]"' in done.stderr
