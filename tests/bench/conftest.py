"""A tiny labelled set in the layout of the benchmark, made on the spot."""

import json

import numpy as np
import pytest

from difa.bench.run import Options, open_run
from difa.words import split_words
from tests.conftest import QUICK

GIBBERISH = ("xqzvkrtp", "wwqpzzkj", "oeidjhks", "zzkqqvvx", "pqxjzwkt", "vkqzxpwj", "hjqxzzkp", "kkqzvvwx")


def make_set(corpus, normal, anomalous, seed=0):
    """Lines of JSON: normal documents, then ones with a word or two of gibberish put in."""
    rng = np.random.default_rng(seed)
    lines = []
    for index, text in enumerate(corpus[: normal + anomalous]):
        tokens = [word.text for word in split_words(text)]
        labels = [0] * len(tokens)
        for _ in range(1 + index % 2 if index >= normal else 0):
            at = int(rng.integers(len(tokens) + 1))
            tokens.insert(at, GIBBERISH[int(rng.integers(len(GIBBERISH)))])
            labels.insert(at, 1)
        lines.append(json.dumps({"id": f"d{index}", "tokens": tokens, "labels": labels}))
    return "\n".join(lines) + "\n"


def pick(record, level, rule, part=""):
    """One figure of a record."""
    wanted = (level, rule, part)
    return next((each for each in record["figures"] if (each["level"], each["pooling"], each["part"]) == wanted), None)


@pytest.fixture(scope="session")
def tiny_data(tmp_path_factory, corpus):
    """spam in both forms (alike, so that they share cells), review in one."""
    folder = tmp_path_factory.mktemp("data")
    for form in ("original", "clean"):
        (folder / "tokenad" / form).mkdir(parents=True)
        (folder / "tokenad" / form / "spam.jsonl").write_text(make_set(corpus, 60, 14), encoding="utf-8")
    (folder / "tokenad" / "clean" / "review.jsonl").write_text(make_set(corpus[100:], 60, 14, 1), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def vectors(tmp_path_factory):
    """One cache of vectors for all runs."""
    return tmp_path_factory.mktemp("vectors")


@pytest.fixture
def options(tiny_data, tiny_folder, vectors, tmp_path):
    """Options of a quick run; changes by name."""

    def make(**changes):
        usual = {"data": tiny_data, "sets": ("spam",), "forms": ("clean",), "encoder": str(tiny_folder), "draws": 20}
        return Options(**{"out": tmp_path / "out", "cache": vectors, "stages": QUICK} | usual | changes)

    return make


@pytest.fixture
def start(options):
    """An open run; changes to its options by name."""
    opened = []

    def make(progress=lambda *_: None, **changes):
        context = open_run(options(**changes), progress)
        run = context.__enter__()
        opened.append(context)
        return run

    yield make
    for context in opened:
        context.__exit__(None, None, None)
