"""Shared fixtures: no network, a private cache, a tiny encoder made on the spot, one model fitted with the real one.

What takes long is made once, however many processes the tests run in: whoever needs it first makes it, the others wait and load.
"""

from __future__ import annotations

import fcntl
import importlib
import os
import re
import socket
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from difa import DiFA

# The same examples in every run, however slow the machine is; `make fuzz` draws new ones.
settings.register_profile(
    "tests",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("tests")

SLOW_FIXTURES = {"model", "encoder", "tiny_folder", "folder"}
"""Fixtures that need torch, even for a tiny encoder, or save a model for processes of their own."""

ROOT = Path(__file__).parent.parent
SUPPORT = ROOT / "examples" / "support"


def tool(name: str) -> ModuleType:
    """A module of tools/, as its commands find each other there."""
    sys.path.append(str(ROOT / "tools"))
    return importlib.import_module(name)


def pytest_ignore_collect(collection_path, config):
    """Files that are slow as a whole are not even imported where nothing slow is to run: torch alone takes seconds."""
    if config.getoption("markexpr") == "not slow" and collection_path.suffix == ".py":
        text = collection_path.read_text(encoding="utf-8")
        return any(f"\npytestmark = {mark}" in text for mark in ("pytest.mark.slow", "NEEDS_BROWSER")) or None
    return None


def pytest_collection_modifyitems(items):
    for item in items:
        if SLOW_FIXTURES & set(item.fixturenames):
            item.add_marker(pytest.mark.slow)
    # One process begins with Ray, which shares a cluster between its tests and waits much of the time; the others fill it.
    items.sort(key=lambda item: item.path.name != "test_ray.py")


@pytest.fixture(autouse=True, scope="session")
def no_network():
    connect = socket.socket.connect

    def loopback_only(self, address):
        if self.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise OSError(f"tests must not reach the network, tried {address}")
        return connect(self, address)

    socket.socket.connect = loopback_only
    yield
    socket.socket.connect = connect


@pytest.fixture(scope="session")
def common(tmp_path_factory) -> Path:
    """A folder of this run, the same in all of its processes."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(autouse=True, scope="session")
def private_cache(common):
    os.environ["DIFA_CACHE"] = str(common / "cache")


@pytest.fixture(scope="session")
def make_once(common):
    """A factory of folders that one of the processes fills."""

    def folder(name: str, make: Callable[[Path], object]) -> Path:
        with open(common / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (common / f"{name}.made").exists():
                make(common / name)
                (common / f"{name}.made").touch()
        return common / name

    return folder


@pytest.fixture(scope="session")
def corpus() -> list[str]:
    return (SUPPORT / "normal.txt").read_text(encoding="utf-8").splitlines()


@pytest.fixture
def few_normal(corpus, tmp_path) -> Path:
    """A file of normal documents, as few as fits take whose quality does not matter."""
    path = tmp_path / "few-normal.txt"
    path.write_text("\n".join(corpus[:60]), encoding="utf-8")
    return path


def vocabulary(corpus: list[str], size: int) -> dict[str, int]:
    """Word pieces for a tokenizer: every character, then the most frequent words and word ends.

    The library's own training breaks ties by chance, which would give every run of the tests another encoder.
    """
    words = re.findall(r"\w+|[^\w\s]", " ".join(corpus).lower())
    characters = sorted(set("".join(words)))
    pieces = Counter(piece for word in words for piece in (word, *(f"##{word[cut:]}" for cut in range(1, len(word)))))
    frequent = sorted(pieces, key=lambda piece: (-pieces[piece], piece))
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    ordered = dict.fromkeys([*special, *characters, *(f"##{character}" for character in characters), *frequent])
    return {piece: number for number, piece in enumerate(list(ordered)[:size])}


@pytest.fixture(scope="session")
def tiny_folder(make_once, corpus) -> Path:
    """A BERT of two narrow layers in Hugging Face's layout, with a tokenizer of its own."""

    def make(folder: Path) -> None:
        import torch
        from tokenizers import BertWordPieceTokenizer
        from transformers import BertConfig, BertModel, BertTokenizerFast

        tokenizer = BertWordPieceTokenizer(vocabulary(corpus, 400))
        folder.mkdir()
        tokenizer.save(str(folder / "raw.json"))
        BertTokenizerFast(tokenizer_file=str(folder / "raw.json"), model_max_length=64).save_pretrained(folder)
        torch.manual_seed(0)
        config = BertConfig(
            vocab_size=400,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=48,
            max_position_embeddings=64,
        )
        BertModel(config).save_pretrained(folder)

    return make_once("tiny", make)


@pytest.fixture(scope="session")
def tiny_encoder(tiny_folder):
    from difa.config import EncoderConfig
    from difa.encoders import load_encoder

    return load_encoder(EncoderConfig(name=str(tiny_folder)))


@pytest.fixture(scope="session")
def encoder():
    """The embedded encoder."""
    from difa.config import EncoderConfig
    from difa.encoders import load_encoder

    return load_encoder(EncoderConfig())


QUICK = {
    "semantic": {"teacher_rounds": 1, "student_rounds": 1, "window": 32},
    "perturb": {"documents": 60},
    "learn": {"steps": 20},
}
"""Settings for fits whose quality does not matter."""


@pytest.fixture(scope="session")
def quick(tiny_folder):
    """A factory of unfitted detectors on the tiny encoder."""
    return lambda **parameters: DiFA(**({"encoder": str(tiny_folder), "fpr": 0.05, "seed": 1, "stages": QUICK} | parameters))


@pytest.fixture(scope="session")
def fitted(make_once):
    """A factory of fitted models, by name."""

    def load(name: str, unfitted: DiFA, documents: list[str], **more: list[str]) -> DiFA:
        return DiFA.load(make_once(name, lambda folder: unfitted.fit(documents, **more).save(folder)))

    return load


@pytest.fixture(scope="session")
def quick_model(fitted, quick, corpus):
    return fitted("quick", quick(), corpus[:80])


@pytest.fixture(scope="session")
def fast_model(fitted, corpus):
    """A small model without an encoder."""
    return fitted("fast", DiFA("fast", fpr=0.05, seed=1, stages={"perturb": {"documents": 60}}), corpus[:80])


@pytest.fixture(scope="session")
def fast_large(fitted, corpus):
    """A model without an encoder that knows most of the example corpus."""
    return fitted("fast-large", DiFA("fast", seed=1), corpus[:300])


@pytest.fixture(scope="session")
def model(fitted, corpus):
    """The real thing: embedded encoder, default settings, most of the example corpus."""
    return fitted("model", DiFA(seed=1), corpus[:300])


@pytest.fixture
def difa(monkeypatch, capsys):
    """The command line within this process: called with arguments, it gives exit code, output and errors."""
    from difa.cli import main

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["difa", *map(str, arguments)])
        monkeypatch.setattr("warnings.showwarning", None)  # which `main` sets
        with pytest.raises(SystemExit) as stopped:
            main()
        out = capsys.readouterr()
        return SimpleNamespace(exit_code=stopped.value.code, stdout=out.out, stderr=out.err)

    return run


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
