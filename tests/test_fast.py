"""The preset without an encoder, through every door: words of several languages, a folder, the command line, nothing heavy."""

import json
import subprocess
import sys
from importlib import import_module
from itertools import product

import numpy as np
import orjson
import pytest

from difa import DiFA
from difa.config import FAST_VIEWS
from difa.errors import ConfigError
from tests.conftest import SUPPORT

HEAVY = {"torch", "transformers", "onnxruntime", "tokenizers", "sklearn", "onnx", "vaderSentiment"}


@pytest.fixture(scope="module")
def fast(fitted, corpus):
    return fitted("fast-large", DiFA("fast", seed=1), corpus[:300]).set_params(fpr=0.05)


@pytest.fixture(scope="module")
def folder(fast, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fast") / "model"
    fast.save(folder)
    return folder


@pytest.mark.parametrize(
    ("text", "odd", "meant"),
    [
        ("The parcel was sent to the wrong adress.", "adress", "address"),
        ("Please tell your idiots to send my parcel.", "idiots", None),
        ("I want to know if the the parcel was sent to my address.", "the", None),
        ("My parcel was sent xkcdqwrtplk the wrong address.", "xkcdqwrtplk", None),
    ],
)
def test_errors_of_several_kinds_are_found(fast, text, odd, meant):
    result = fast.score([text])[0]
    most = max(result.words, key=lambda word: word.score)
    assert most.text == odd
    assert most.is_anomaly
    assert most.suggestion == meant


def test_results_have_all_that_others_have(fast, corpus):
    results = fast.score(corpus[300:])
    assert all(set(word.evidence) == set(FAST_VIEWS) for result in results for word in result.words)
    assert np.mean([result.is_anomaly for result in results]) < 0.15
    explained = fast.explain("The parcel was sent to the wrong adress.")
    assert any("address" in reason.text for reason in explained.reasons[7]["critic"])


def test_the_same_alone_or_in_any_batch(fast, corpus):
    texts = [*corpus[300:330], "", "one"]
    together = fast.score(texts)
    for text, result in zip(texts, together, strict=True):
        alone = fast.score([text])[0]
        assert alone.score == pytest.approx(result.score, abs=1e-9)
        assert [word.score for word in alone.words] == pytest.approx([word.score for word in result.words], abs=1e-9)


@pytest.mark.slow
def test_same_seed_same_scores_bit_for_bit(corpus):
    first, second = (DiFA("fast", seed=3).fit(corpus[:100]).score(corpus[100:120], fpr=0.05) for _ in range(2))
    assert first == second


def test_a_folder_without_an_encoder(fast, folder, corpus):
    assert {path.name for path in folder.iterdir()} == {"config.json", "weights.safetensors", "README.md"}
    assert sum(path.stat().st_size for path in folder.iterdir()) < 5e6
    assert "| encoder | none |" in (folder / "README.md").read_text()
    loaded = DiFA.load(folder)
    assert loaded.preset == "fast"
    assert loaded.score(corpus[300:330]) == fast.score(corpus[300:330])


def test_neither_fitting_nor_scoring_loads_anything_heavy(folder, tmp_path):
    code = (
        "import sys; from difa import DiFA; "
        f"texts = open({str(SUPPORT / 'normal.txt')!r}, encoding='utf-8').read().splitlines(); "
        f"DiFA('fast').fit(texts[:120]).save({str(tmp_path / 'model')!r}); "
        f"DiFA.load({str(folder)!r}).explain('Where is my oder?'); print(' '.join(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {"msgpack", "pocketsphinx"} <= loaded
    assert not (HEAVY | {"wordfreq"}) & loaded


GERMAN = {
    "language": "de",
    "texts": [
        f"{subject} ist heute nicht hier, sondern {place} bei {person}."
        for subject, place, person in product(
            ("Der Hund", "Die Katze", "Meine Schwester", "Der Lehrer", "Das Kind", "Mein Vater"),
            ("im Garten", "in der Küche", "auf der Straße", "am Fenster", "in der Schule"),
            ("der alten Frau", "seinem Freund", "den Kindern"),
        )
    ],
    "odd": "Der Hund ist heute nicht hier, sondern im Gartne bei der alten Frau.",
    "word": "Gartne",
    "meant": "Garten",
}
FRENCH = {
    "language": "fr",
    "texts": [
        f"{subject} est dans {place} avec {person} depuis ce matin."
        for subject, place, person in product(
            ("Le chien", "La voisine", "Mon frère", "Le professeur", "Ma mère", "Le petit garçon"),
            ("la maison", "le jardin", "la cuisine", "la rue", "la chambre"),
            ("son ami", "les enfants", "une vieille dame"),
        )
    ],
    "odd": "Le chien est dans la masion avec les enfants depuis ce matin.",
    "word": "masion",
    "meant": "maison",
}


@pytest.mark.parametrize("case", [GERMAN, FRENCH], ids=["German", "French"])
def test_other_languages_that_have_a_list(case):
    model = DiFA("fast", fpr=0.05).fit(case["texts"])
    assert model.detector_.language == case["language"]
    result = model.score([case["odd"]])[0]
    most = max(result.words, key=lambda word: word.score)
    assert (most.text, most.suggestion) == (case["word"], case["meant"])
    assert all(word.evidence["phrase"] == word.evidence["tone"] == 0 for word in result.words)  # English only


def test_a_language_without_spaces_counts_characters():
    texts = [
        f"{subject}は{place}で{thing}を{verb}。"
        for subject, place, thing, verb in product(
            ("私", "父", "母", "友達"),
            ("学校", "公園", "家", "駅"),
            ("本", "新聞", "手紙"),
            ("読みます", "書きます", "買いました"),
        )
    ]
    model = DiFA("fast", fpr=0.05).fit(texts)
    result = model.score(["私は学校で本を鬱みます。"])[0]
    assert [word.text for word in result.words] == list("私は学校で本を鬱みます。")
    assert max(result.words, key=lambda word: word.score).text == "鬱"
    assert np.isfinite([word.score for word in result.words]).all()


def test_the_command_line_fits_and_scores_in_processes_with_the_same_bytes(folder, corpus, tmp_path, monkeypatch):
    from difa.engines import pieces
    from difa.engines.local import Job, Silent, score_inputs

    source = tmp_path / "texts.txt"
    source.write_text("\n".join(corpus * 3), encoding="utf-8")
    monkeypatch.setattr(pieces, "_LEAST_BYTES", 0)
    outputs = []
    for threads in (1, 2):
        out = tmp_path / f"{threads}.jsonl"
        state = score_inputs(DiFA.load(folder, threads=threads), Job(folder, [str(source)], out), Silent())
        assert state.documents == 3 * len(corpus)
        outputs.append(out.read_bytes())
    assert outputs[0] == outputs[1]
    assert json.loads(outputs[0].splitlines()[0])["text"] == corpus[0]


def test_lines_from_columns_are_those_of_results(folder, corpus, tmp_path):
    from difa.engines.local import Job, Silent, score_inputs
    from difa.formats import read_documents

    source, out = tmp_path / "texts.jsonl", tmp_path / "out.jsonl"
    texts = [*corpus[:40], 'Is the wpdlkrt bench "in" stöck?\t\x07 100 % 😀', ""]
    rows = [{"id": f"n{number}", "text": text, "day": number, "who": None} for number, text in enumerate(texts)]
    source.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    model = DiFA.load(folder)
    state = score_inputs(model, Job(folder, [str(source)], out, fpr=0.05), Silent())
    results = model.score(list(read_documents([str(source)])), fpr=0.05)
    assert state.flagged == sum(result.is_anomaly for result in results) > 0
    expected = [orjson.dumps(result.to_dict()) for result in results]
    assert out.read_bytes().split(b"\n")[:-1] == expected
    assert json.loads(expected[0])["columns"] == {"day": 0, "who": None}


def test_a_killed_worker_is_said_in_a_line(folder, corpus, tmp_path, monkeypatch):
    import os
    import signal

    from difa.engines import pieces
    from difa.engines.local import Job, Silent, score_inputs
    from difa.errors import EngineError

    source = tmp_path / "texts.txt"
    source.write_text("\n".join(corpus), encoding="utf-8")
    monkeypatch.setattr(pieces, "_LEAST_BYTES", 0)
    monkeypatch.setattr(pieces, "read_chunks", lambda *what, **how: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(EngineError, match="one thread"):
        score_inputs(DiFA.load(folder, threads=2), Job(folder, [str(source)], tmp_path / "out.jsonl"), Silent())
    assert not (tmp_path / "out.jsonl").exists()


def test_views_that_need_vectors_are_refused():
    with pytest.raises(ConfigError, match="got neighbour"):
        DiFA("fast", stages={"views": {"names": ["language", "neighbour"]}}).fit([])


@pytest.mark.slow
def test_without_the_packages_of_full_the_command_line_falls_back(corpus, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from difa.cli import app

    source = tmp_path / "normal.txt"
    source.write_text("\n".join(corpus[:120]), encoding="utf-8")
    monkeypatch.setattr(import_module("difa.cli.fit"), "_FULL_NEEDS", ("no_such_package",))
    out = tmp_path / "model"
    done = CliRunner().invoke(app, ["fit", str(source), "--out", str(out), "--quiet"])
    assert done.exit_code == 0, done.output
    assert '"no_such_package"' in done.output
    assert "--preset fast" in done.output
    assert DiFA.load(out).preset == "fast"
