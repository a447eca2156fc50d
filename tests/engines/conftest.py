"""A fast model in a folder, one with an encoder, documents to score with them, and ways to run the command."""

import random
import tempfile
from pathlib import Path

import pytest

from difa import DiFA
from tests.conftest import tool


@pytest.fixture(scope="session")
def folder(corpus, tmp_path_factory):
    """A model without an encoder: most of what engines do has nothing to do with vectors."""
    folder = tmp_path_factory.mktemp("engines") / "model"
    DiFA("fast", seed=1, fpr=0.05).fit(corpus[:80]).save(folder)
    return folder


@pytest.fixture(scope="session")
def encoder_folder(quick_model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("engines") / "encoder-model"
    quick_model.save(folder)
    return folder


@pytest.fixture(scope="session")
def texts(corpus):
    """Lines that all differ."""
    draw = random.Random(0)
    return [f"{draw.choice(corpus)} {number}" for number in range(2000)]


@pytest.fixture(scope="session")
def faults():
    """The campaign of `make faults`, for its ways to kill."""
    return tool("faults")


@pytest.fixture
def temporary():
    """A folder for temporary files, of a name that is short enough for sockets in it."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)
