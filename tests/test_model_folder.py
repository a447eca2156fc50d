"""Model folders that were changed, cut short, or made by strangers: one line that says so, or the same results."""

import json
import os
import shutil
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from difa import DiFA
from difa.errors import DifaError, ModelError
from difa.storage.model_folder import (
    config_json,
    digest_of,
    parse_json,
    read_config,
    read_files,
    read_regular,
    unique_keys,
    write_config,
)
from difa.storage.persist import Stored

TEXTS = ["Where is my xkcdqwrtplk order?", "Thank you.", ""]
ODD = [None, True, -1, 0, 10**30, 1.5, "", "x" * 3000, "../../etc", "\x1b[31m\n\x00", [], [[]], {}, {"a": 1}, [1, "a", None]]


@pytest.fixture(scope="module")
def original(fast_model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("stranger") / "model"
    fast_model.save(folder)
    return folder


@pytest.fixture
def saved(original, tmp_path):
    return shutil.copytree(original, tmp_path / "model")


@pytest.fixture
def config(saved):
    return json.loads((saved / "config.json").read_text())


def refused(folder, match="."):
    """Loading fails with one printable line of bounded length."""
    with pytest.raises(DifaError, match=match) as error:
        DiFA.load(folder)
    line = str(error.value)
    assert line.isprintable()
    assert len(line) < 1000


def places(value, path=()):
    """Where all values of a nested object are."""
    if path:
        yield path
    for key, inner in value.items() if isinstance(value, dict) else ():
        yield from places(inner, (*path, key))


def changed(config, path, value):
    copy = json.loads(json.dumps(config))
    inner = copy
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return copy


# Settings


@settings(max_examples=300)
@given(st.data())
def test_a_flipped_character_is_refused_or_changes_nothing(original, tmp_path, data):
    content = (original / "config.json").read_text()
    at = data.draw(st.integers(0, len(content) - 1))
    flipped = content[:at] + data.draw(st.sampled_from('0123456789abcxyz"{}[],:. \n-\x00é')) + content[at + 1 :]
    (tmp_path / "config.json").write_text(flipped)
    before = json.loads(content)
    try:
        after = read_config(tmp_path)
    except ModelError:
        return
    assert {key: value for key, value in after.items() if key in before and key != "checksum"} == {
        key: value for key, value in before.items() if key != "checksum"
    }


def test_every_digit_of_the_settings_is_checked(original, tmp_path):
    content = (original / "config.json").read_text()
    for at, character in enumerate(content):
        if character.isdigit():
            (tmp_path / "config.json").write_text(content[:at] + str((int(character) + 1) % 10) + content[at + 1 :])
            with pytest.raises(ModelError, match=r"config\.json"):
                read_config(tmp_path)


def test_a_folder_without_a_checksum_still_loads(saved, config, fast_model):
    del config["checksum"]
    (saved / "config.json").write_text(json.dumps(config))
    assert DiFA.load(saved).score(TEXTS) == fast_model.score(TEXTS)


def test_changed_settings_get_a_new_checksum(saved):
    from difa.storage.persist import set_rate

    set_rate(saved, 0.02)
    assert DiFA.load(saved).fpr == 0.02
    assert {path.name for path in saved.iterdir()} == {"README.md", "config.json", "weights.safetensors"}


def test_odd_values_at_any_place_are_refused_or_mean_the_same(config, tmp_path):
    """A stranger's checksum fits, so every value must be checked by itself."""
    tried = 0
    for path in places(config):
        for odd in ODD:
            entries = changed(config, path, odd)
            (tmp_path / "config.json").write_text(config_json(entries))
            tried += 1
            try:
                stored = Stored.of(read_config(tmp_path))
                read_files(tmp_path, entries["files"])
            except (DifaError, ValueError, TypeError, KeyError):
                continue
            assert isinstance(stored.parameters["fpr"], float)
    assert tried > 1000


@pytest.mark.parametrize(
    "path", [("seed",), ("language",), ("encoder",), ("parameters", "fpr"), ("training", "words"), ("stages",)]
)
@pytest.mark.parametrize("odd", [{"a": 1}, -1, "\x1b[31m\n"])
def test_odd_values_are_one_line(saved, config, path, odd):
    write_config(saved, changed(config, path, odd))
    refused(saved, "damaged or incomplete model")


def test_text_that_no_file_can_hold_is_refused_before_the_model_is_saved_again(saved, config):
    updates = {"times": 1, "documents": 1, "words": 1, "last": "\ud800"}
    for odd in (changed(config, ("encoder", "name"), "\ud800"), config | {"updates": updates}):
        write_config(saved, odd)
        refused(saved, "half a surrogate pair")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "readable JSON"),
        (b"\xff\xfe", "readable JSON"),
        (b"[" * 200_000, "readable JSON"),
        (b'{"a": 1, "a": 2}', "the key 'a' twice"),
        (b'{"a": NaN}', "NaN in the place of a number"),
        (b'{"a": ' + b"9" * 10_000 + b"}", "readable JSON"),
        (b"[]", "expected a JSON object, got list"),
        (b"{}", "expected model format 8, got None"),
        (b'{"difa_format": true}', "expected model format 8, got True"),
    ],
)
def test_settings_that_are_none(saved, content, message):
    (saved / "config.json").write_bytes(content)
    refused(saved, message)


def test_a_key_that_stands_twice_is_found_in_one_pass():
    hashed = []

    class Key(str):
        def __hash__(self):
            hashed.append(1)
            return super().__hash__()

    keys = [Key(number) for number in range(1000)]
    with pytest.raises(ValueError, match="the key '999' twice"):
        unique_keys([(key, 0) for key in [*keys, keys[-1]]])
    assert len(hashed) < 10 * len(keys)


def test_order_and_space_do_not_count(config, tmp_path):
    shuffled = json.dumps(dict(reversed(config.items())), separators=(",", ":")).encode()
    assert digest_of(parse_json(tmp_path, shuffled)) == config["checksum"]


# Files


@pytest.mark.parametrize(
    "name", ["../weights.safetensors", "/dev/zero", "a/b", "..", "", ".hidden", "config.json", "a\x00b", "C:\\x"]
)
def test_files_are_plain_names_within_the_folder(saved, config, name):
    write_config(saved, config | {"files": {**config["files"], name: "0" * 64}})
    refused(saved, "expected the names of files in the folder")


@pytest.mark.skipif(sys.platform == "win32", reason="no such files there")
@pytest.mark.parametrize("kind", ["link", "fifo", "folder", "device", "sparse"])
@pytest.mark.parametrize("name", ["weights.safetensors", "config.json"])
def test_only_regular_files_are_read(saved, original, kind, name):
    path = saved / name
    path.unlink()
    match kind:
        case "link":
            path.symlink_to(original / name)
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "device":
            path.symlink_to("/dev/zero")
        case "sparse":
            with path.open("wb") as file:
                file.truncate(1 << 40)
    refused(saved, "expected a regular file|expected at most|cannot be read")


@pytest.mark.parametrize("share", [0, 0.001, 0.5, 0.999])
def test_files_that_were_cut_short(saved, config, share):
    path = saved / "weights.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    refused(saved, "changed or cut short")
    write_config(saved, config | {"files": {path.name: read_digest(path)}})
    refused(saved, "damaged or incomplete model")


def read_digest(path):
    from hashlib import sha256

    return sha256(path.read_bytes()).hexdigest()


def test_a_missing_or_unreadable_file_is_named(saved):
    (saved / "weights.safetensors").unlink()
    refused(saved, r"weights\.safetensors: missing from the model folder")
    shutil.rmtree(saved)
    refused(saved, "expected a model folder with config.json, found none")
    saved.write_text("a file")
    refused(saved, "expected a model folder with config.json, found none")


def test_a_header_that_lies_about_sizes(saved, config):
    path = saved / "weights.safetensors"
    huge = json.dumps({"a": {"dtype": "F64", "shape": [1 << 40], "data_offsets": [0, 1 << 43]}}).encode()
    for content in (len(huge).to_bytes(8, "little") + huge, (1 << 60).to_bytes(8, "little") + b"{}"):
        path.write_bytes(content)
        write_config(saved, config | {"files": {path.name: read_digest(path)}})
        refused(saved, "damaged or incomplete model")


def test_bounds_of_a_file(tmp_path):
    (tmp_path / "file").write_bytes(b"12345")
    assert read_regular(tmp_path / "file", 5) == b"12345"
    with pytest.raises(ModelError, match="expected at most 4 bytes, got 5"):
        read_regular(tmp_path / "file", 4)


# Numbers


def with_tensors(folder, config, change):
    path = folder / "weights.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path)
    write_config(folder, config | {"files": {path.name: read_digest(path)}})


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_none_are_refused(saved, config, original, value):
    names = [name for name, values in load_file(original / "weights.safetensors").items() if values.dtype.kind == "f"]
    assert len(names) > 10
    for name in names[:: 1 if value is np.nan else 7]:
        shutil.copyfile(original / "weights.safetensors", saved / "weights.safetensors")
        with_tensors(saved, config, lambda tensors, name=name: np.put(tensors[name], 0, value))
        refused(saved, f"'{name}': expected finite numbers")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["missing", "empty", "shorter", "wider", "huge", "negative", "bytes"])
def test_arrays_that_do_not_fit_together(saved, config, original, kind):
    """Refused when loading or scoring as it was: never anything but a line or finite scores."""
    changes = {
        "empty": lambda values: values[:0],
        "shorter": lambda values: values[:-1],
        "wider": lambda values: np.stack([values, values], axis=-1),
        "huge": lambda values: np.full_like(values, 2**62) if values.dtype == np.int64 else values * 1e300,
        "negative": lambda values: -values if values.dtype.kind in "fi" else values[::-1].copy(),
        "bytes": lambda values: values.astype(np.uint8),
    }
    usual = DiFA.load(original).score(TEXTS)
    for name in load_file(original / "weights.safetensors"):
        shutil.copyfile(original / "weights.safetensors", saved / "weights.safetensors")
        if kind == "missing":
            with_tensors(saved, config, lambda tensors, name=name: tensors.pop(name))
        else:
            with_tensors(saved, config, lambda tensors, name=name: tensors.update({name: changes[kind](tensors[name])}))
        try:
            with np.errstate(all="ignore"):
                results = DiFA.load(saved).score(TEXTS)
        except ModelError:
            continue
        assert [len(result.words) for result in results] == [len(result.words) for result in usual]
        assert all(np.isfinite([result.score, *(word.score for word in result.words)]).all() for result in results)
