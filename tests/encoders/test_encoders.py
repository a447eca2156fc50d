import shutil

import numpy as np
import pytest

from difa.config import EncoderConfig
from difa.encoders import CachedEncoder, convert, encoder_files, load_encoder
from difa.errors import EncoderError
from difa.words import from_text, from_tokens


def reference_vectors(folder, layer, words):
    """Max-pooled hidden states by transformers itself."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    batch = tokenizer(words, is_split_into_words=True, return_tensors="pt")
    with torch.no_grad():
        hidden = model(**batch, output_hidden_states=True).hidden_states[layer][0].numpy()
    owners = batch.word_ids()
    return np.stack([hidden[[i for i, owner in enumerate(owners) if owner == word]].max(axis=0) for word in range(len(words))])


WORDS = ["Could", "you", "please", "check", "the", "oeidjhksiwewiwj", "delivery", "of", "LK-48213", "?"]


def test_vectors_agree_with_the_reference_implementation(encoder):
    folder = convert.find(EncoderConfig()).folder
    got = encoder.encode([from_tokens(WORDS)])[0].vectors
    assert got.shape == (len(WORDS), 384)
    assert np.abs(got - reference_vectors(folder, 4, WORDS)).max() < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize(("layer", "meant"), [(None, 2), (-1, 2), (-3, 0), (0, 0), (1, 1)])
def test_any_local_encoder_at_any_layer(tiny_folder, layer, meant):
    encoder = load_encoder(EncoderConfig(name=str(tiny_folder), layer=layer))
    assert encoder.spec.layer == meant
    got = encoder.encode([from_tokens(WORDS)])[0].vectors
    assert np.abs(got - reference_vectors(tiny_folder, meant, WORDS)).max() < 1e-4


def test_the_same_vectors_alone_or_in_any_batch(encoder, corpus):
    documents = [from_text(text) for text in corpus[:60]]
    together = encoder.encode(documents)
    shuffled = encoder.encode(documents[::-1])[::-1]
    for document, one, other in zip(documents, together, shuffled, strict=True):
        assert (one.vectors == other.vectors).all()
        assert (one.vectors == encoder.encode([document])[0].vectors).all()


def test_long_documents_are_read_whole(tiny_encoder):
    # Words of one subword each, so that a window of 64 holds 62 of them.
    words = ["the", "my", "you", "is", "it", "order", "and", "to"] * 400
    encoded = tiny_encoder.encode([from_tokens(words)])[0]
    assert encoded.vectors.shape == (3200, 32)
    # Both ends are read with as much of the text as a window holds.
    head, tail = tiny_encoder.encode([from_tokens(words[:62]), from_tokens(words[-62:])])
    assert (encoded.vectors[:31] == head.vectors[:31]).all()
    assert (encoded.vectors[-31:] == tail.vectors[-31:]).all()


def test_a_word_longer_than_the_window(tiny_encoder):
    encoded = tiny_encoder.encode([from_tokens(["before", "x7" * 500, "after"])])[0]
    assert encoded.vectors.shape == (3, 32)
    assert np.isfinite(encoded.vectors).all()


def test_words_without_subwords_still_get_a_vector(encoder):
    encoded = encoder.encode([from_tokens(["a", " ", "\u200b", "", "\x00", "b"]), from_tokens([])])
    assert encoded[0].vectors.shape == (6, 384)
    assert np.isfinite(encoded[0].vectors).all()
    assert (encoded[0].vectors[1] != encoded[0].vectors[0]).any()
    assert encoded[1].vectors.shape == (0, 384)


def test_damaged_embedded_weights_are_refused(tmp_path, monkeypatch):
    folder = convert.find(EncoderConfig()).folder
    for file in ("config.json", "tokenizer.json"):
        shutil.copy(folder / file, tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"something else")
    monkeypatch.setattr(convert, "_embedded_folder", lambda: tmp_path)
    with pytest.raises(EncoderError, match="expected sha256 53aa51172d14"):
        load_encoder(EncoderConfig())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no-such/encoder", "Hugging Face hub could not deliver it"),
        ("./no-such-folder", "expected a folder with config.json and weights"),
    ],
)
def test_encoders_that_cannot_be_had(name, message):
    with pytest.raises(EncoderError, match=message) as error:
        load_encoder(EncoderConfig(name=name))
    assert "\n" not in str(error.value)


def test_folders_that_are_no_encoders(tmp_path, tiny_folder):
    with pytest.raises(EncoderError, match=r"expected one of model\.safetensors"):
        load_encoder(EncoderConfig(name=str(tmp_path)))
    with pytest.raises(EncoderError, match=r"expected 0 to 2 .* got 3"):
        load_encoder(EncoderConfig(name=str(tiny_folder), layer=3))


@pytest.mark.slow
def test_cache_is_used_and_keyed_by_layer_and_text(tiny_folder, tmp_path, monkeypatch):
    documents = [from_text("one text"), from_text("another text"), from_text("one text")]
    first = load_encoder(EncoderConfig(name=str(tiny_folder), layer=1), tmp_path)
    expected = first.encode(documents)
    assert len(list(tmp_path.rglob("*.npz"))) == 2
    other_layer = load_encoder(EncoderConfig(name=str(tiny_folder), layer=2), tmp_path)
    assert (other_layer.encode(documents)[0].vectors != expected[0].vectors).any()
    again = load_encoder(EncoderConfig(name=str(tiny_folder), layer=1), tmp_path)
    assert isinstance(again, CachedEncoder)
    asked = []
    monkeypatch.setattr(again.inner, "encode", lambda missing, progress=None: asked.extend(missing) or [])
    assert all((a.vectors == b.vectors).all() for a, b in zip(again.encode(documents), expected, strict=True))
    assert asked == []


def test_an_exported_encoder_says_nothing_of_the_machine(tiny_folder):
    graph = encoder_files(load_encoder(EncoderConfig(name=str(tiny_folder))))[convert.GRAPH]
    assert b".py" not in graph
    assert b"site-packages" not in graph


def test_damaged_cache_files_are_computed_again(tiny_folder, tmp_path):
    encoder = load_encoder(EncoderConfig(name=str(tiny_folder)), tmp_path)
    expected = encoder.encode([from_text("one text")])[0].vectors
    next(tmp_path.rglob("*.npz")).write_bytes(b"\x93NUMPY broken")
    assert (encoder.encode([from_text("one text")])[0].vectors == expected).all()


@pytest.mark.slow
def test_a_graph_that_could_not_be_loaded_again_is_not_used(tiny_folder, tmp_path, monkeypatch):
    from difa.encoders import convert

    monkeypatch.setenv("DIFA_CACHE", str(tmp_path))
    with_function = b"\xca\x01\x06\x0a\x01f\x52\x01d"  # a function `f` that nothing calls
    as_before = convert.export_graph
    monkeypatch.setattr(convert, "export_graph", lambda *arguments: as_before(*arguments) + with_function)
    with pytest.raises(
        EncoderError, match=r"can be exported to ONNX, got .*field 25 of type 2 in a model.*choose another encoder"
    ) as caught:
        load_encoder(EncoderConfig(name=str(tiny_folder)))
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.glob("encoder-*"))
