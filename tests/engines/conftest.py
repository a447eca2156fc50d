"""A small model in a folder, and documents to score with it."""

import random
import subprocess
import sys

import pytest


@pytest.fixture(scope="session")
def folder(quick_model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("engines") / "model"
    quick_model.save(folder)
    return folder


@pytest.fixture(scope="session")
def texts(corpus):
    """Lines that all differ."""
    draw = random.Random(0)
    return [f"{draw.choice(corpus)} {number}" for number in range(2000)]


def command(*arguments):
    return [sys.executable, "-m", "difa", *map(str, arguments)]


def difa(*arguments, **options):
    return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=120, **options)
