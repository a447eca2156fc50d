"""Every command on the tiny set, from the first cell to the last file."""

import inspect
import json
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest

from difa.bench import ablation, analyses
from difa.bench.ablation import LEFT_OUT, TAUGHT, make_pseudo_test
from difa.bench.data import is_anomalous, split
from difa.bench.methods import GivenVectors, code_of, fingerprint_of
from difa.bench.report import write_report
from difa.bench.run import open_run
from difa.bench.table import run_table
from difa.cli import bench as cli
from difa.document import Encoded
from difa.errors import ConfigError, InputError

pytestmark = pytest.mark.slow


def parts(records, level):
    return {figure["part"] for record in records for figure in record["figures"] if figure["level"] == level}


def test_ablation_by_labels(start, quick_model, monkeypatch):
    one = "without the phrase view"
    monkeypatch.setattr(ablation, "VARIANTS", {"full": {one: ablation.VARIANTS["full"][one]}})
    run = start(draws=0)
    records = ablation.run_ablation(run)
    assert [record["settings"]["variant"] for record in records] == ["as it is", "without the phrase view"]
    assert {f"{view.name} view alone" for view in quick_model.detector_.views} <= parts(records, "word")
    assert {"max", "top-k mean", "log-mean-exp", "adaptive", "mean", "document score"} <= parts(records, "document")
    figures = {figure["part"]: figure["auroc"] for figure in records[0]["figures"] if figure["level"] == "document"}
    assert len(set(figures.values())) > 2, "the parts are not the same thing under other names"
    text = (run.folder / "ablation.md").read_text()
    assert "fusion without the phrase view" in text
    assert "not calibrated, plain mean of views" in text


def test_ablation_by_pseudo_anomalies_never_sees_the_test_half(start, monkeypatch):
    monkeypatch.setattr(ablation, "VARIANTS", {})
    run = start(draws=0)
    documents = run.sets[0].documents
    halves = split(documents, 42)
    made = make_pseudo_test(halves.training, 42, run.options.reader)
    words_of = [tuple(word.text for word in document.words) for document in halves.training]
    held = [tuple(word.text for word in d.words) for d, kind in zip(made.halves.test, made.kinds, strict=True) if not kind]
    fitted = [tuple(word.text for word in document.words) for document in made.halves.training]
    assert sorted(held + fitted) == sorted(words_of)
    records = ablation.run_ablation(run, judge="pseudo")
    assert {figure["kind"] for figure in records[0]["figures"]} == {"", *LEFT_OUT}
    assert not set(LEFT_OUT) & set(TAUGHT)
    assert "judged by ocr pseudo anomalies" in (run.folder / "ablation.md").read_text()
    with pytest.raises(ConfigError, match="judge: expected labels or pseudo"):
        ablation.run_ablation(run, judge="taste")


def test_variants_are_settings_that_exist(quick):
    for stages in chain(*(variants.values() for variants in ablation.VARIANTS.values())):
        assert quick(stages=stages).config()


def test_a_preset_has_nothing_taken_away_that_it_lacks(start):
    assert list(ablation.different(start().options, "paper")) == [
        "unseen calibration",
        "without the student term",
        "without the agreement gate",
        "gates held at one half",
    ]
    full = ablation.different(start().options, "full")
    assert {"without the language view", "without the critic view", "plain mean of the views"} <= set(full)


def test_efficiency_measures_in_processes_of_their_own(start):
    run = start(draws=0)
    records = analyses.run_efficiency(run, ("tokencore", "trigram", "difa-full", "difa-fast", "difa-fast-feed"))
    for record in records:
        assert record["score_seconds"] > 0
        assert 20 < record["peak_mib"] < 4000
    cost = {record["method"]: record for record in records}
    assert cost["difa-full"]["fit_seconds"] > cost["trigram"]["fit_seconds"]
    assert (run.folder / "efficiency.png").stat().st_size > 10_000
    assert "<svg" in (run.folder / "efficiency.svg").read_text()
    table = run_table(run, ("tokencore",))
    assert cost["tokencore"]["figures"][0]["auroc"] == pytest.approx(table[0]["figures"][0]["auroc"], abs=1e-6)


def test_contamination_hurts_those_who_remember_everything(start, monkeypatch):
    monkeypatch.setattr(analyses, "SHARES", {"noise": (0.0, 0.5), "anomalies": (0.0, 0.2)})
    run = start(draws=0)
    records = analyses.run_contamination(run, ("difa-full", "tokencore"))
    auroc = {(r["method"], r["settings"]["kind"], r["settings"]["share"]): r["figures"][0]["auroc"] for r in records}
    assert len(auroc) == 8
    assert auroc["tokencore", "anomalies", 0.2] < auroc["tokencore", "anomalies", 0.0]
    untouched = run_table(run, ("difa-full",))[0]["figures"]
    learned = next(figure for figure in untouched if figure["pooling"] == "learned")
    assert auroc["difa-full", "noise", 0.0] == pytest.approx(learned["auroc"], abs=1e-9), "no noise, no change"
    assert (run.folder / "contamination.png").is_file()


@pytest.mark.parametrize("name", ["contamination", "sparsity"])
def test_the_analyses_of_the_paper_draw_its_preset(start, name, monkeypatch):
    monkeypatch.setattr(analyses, "SHARES", {"noise": (0.1,)})
    monkeypatch.setattr(analyses, "COUNTS", (1,))
    known = inspect.signature(getattr(cli, name)).parameters["methods"].default.split(",")
    run = start(draws=0)
    methods = tuple(method for method in known if method in ("difa-paper", "tokencore"))
    getattr(analyses, f"run_{name}")(run, methods)
    drawn = (run.folder / f"{name}.svg").read_text(encoding="utf-8")
    assert all(f"<!-- {label} -->" in drawn for label in ("DiFA (paper)", "TokenCore"))
    assert "| DiFA (paper) |" in (run.folder / f"{name}.md").read_text()


def test_noise_reaches_the_training_documents_only(start):
    run = start(draws=0)
    halves = split(run.sets[0].documents, 42)
    plain = run.options.reader.encode(halves.training)
    noisy = analyses.add_noise(plain, 0.5, 42)
    reader = GivenVectors(run.options.reader, {document.words: document for document in noisy})
    for document, before, given in zip(noisy, plain, reader.encode(halves.training), strict=True):
        assert given is document
        assert given.words == before.words
    unseen = [document for document in halves.test if tuple(word.text for word in document.words) not in reader.known]
    for given, own in zip(reader.encode(unseen), run.options.reader.encode(unseen), strict=True):
        assert np.allclose(given.vectors, own.vectors, atol=1e-5)


def test_noise_hits_the_share_it_is_told(rng):
    documents = [Encoded(("a",) * 50, rng.normal(size=(50, 8)).astype(np.float32), np.ones(50, int)) for _ in range(20)]
    noisy = analyses.add_noise(documents, 0.3, 0)
    changed = np.concatenate([(a.vectors != b.vectors).any(1) for a, b in zip(documents, noisy, strict=True)])
    assert changed.mean() == pytest.approx(0.3, abs=0.05)
    moved = np.concatenate([b.vectors - a.vectors for a, b in zip(documents, noisy, strict=True)])[changed]
    assert moved.std() == pytest.approx(1, abs=0.1)
    assert all((a.vectors == b.vectors).all() for a, b in zip(documents, analyses.add_noise(documents, 0, 0), strict=True))


def test_planted_anomalies_leave_test_and_size_alone(start):
    halves = split(start().sets[0].documents, 42)
    clean, spoilt = (analyses.with_anomalies(halves, share, 42) for share in (0.0, 0.2))
    assert [document.id for document in clean.test] == [document.id for document in spoilt.test]
    assert len(clean.training) == len(spoilt.training)
    assert not any(map(is_anomalous, clean.training))
    assert sum(map(is_anomalous, spoilt.training)) == round(0.2 * len(spoilt.training))
    assert not {document.id for document in spoilt.training} & {document.id for document in spoilt.test}


def test_sparsity_controls_the_number_of_words(start, monkeypatch):
    monkeypatch.setattr(analyses, "COUNTS", (1, 3))
    run = start(draws=0)
    groups = analyses.make_groups(split(run.sets[0].documents, 42), (1, 3), 42)
    for count, documents in groups.items():
        assert {sum(document.labels) for document in documents} == {count}
    records = analyses.run_sparsity(run, ("trigram", "tokencore"))
    auroc = {(record["method"], figure["part"]): figure["auroc"] for record in records for figure in record["figures"]}
    assert auroc["trigram", "3"] >= auroc["trigram", "1"] > 0.6
    assert (run.folder / "sparsity.svg").is_file()


def test_examples_mark_words_escape_text_and_are_fitted_once(start, monkeypatch):
    run = start()
    [record] = analyses.run_examples(run, count=2)
    assert len(record["documents"]) == 2
    page = (run.folder / "examples.html").read_text()
    first = record["documents"][0]
    marked = [word["text"] for word in first["words"] if word["marked"]]
    assert marked
    assert f"Marked by annotators: {', '.join(marked)}" in page
    assert first["html"] in page
    assert (run.folder / "examples.png").stat().st_size > 5_000
    assert f"`{', '.join(marked)}` |" in (run.folder / "examples.md").read_text()
    strange = {"why": "<b>", "verdict": "p = 1", "html": "x", "words": [{"text": "<i>", "marked": True}]}
    text = analyses.examples_page([record | {"documents": [strange]}])
    assert "<b>" not in text.partition("<h1>")[2]
    assert "&lt;i&gt;" in text
    computed_twice = replace(analyses.EXAMPLES, compute=lambda cell: pytest.fail("computed twice"))
    monkeypatch.setattr(analyses, "EXAMPLES", computed_twice)
    assert analyses.run_examples(start(), count=2) == [record]


def test_report_fills_marks_and_leaves_the_rest(start, tmp_path):
    run = start(draws=0)
    run_table(run, ("length",))
    analyses.run_sparsity(run, ("length",))
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    marks = ["table:clean", "ablation", "sparsity", "alarms", "times"]
    blocks = [f"<!-- bench:{mark} -->\nold {mark}\n<!-- /bench -->\n" for mark in marks]
    page.write_text("# Mine\n\n" + "\nwords\n".join(blocks))
    filled = ["table:clean", "sparsity", "times"]
    assert write_report(run.folder, page) == filled
    text = page.read_text()
    assert "old table" not in text
    assert "| word length |" in text
    assert text.count("words\n") == 4
    assert "old ablation" in text
    assert "![Document AUROC by the number of anomalous words](images/out-sparsity.png)" in text
    assert "![All methods, sets in their clean form](images/out-table-clean.png)" in text
    assert {path.stem for path in (page.parent / "images").iterdir()} == {"out-sparsity", "out-table-clean"}
    assert write_report(run.folder, page) == filled
    assert page.read_text() == text, "the same results fill the page with the same text"


def test_report_needs_results_and_a_page(tmp_path, start):
    with pytest.raises(InputError, match="expected results of difa bench, found none"):
        write_report(tmp_path, tmp_path / "page.md")
    run_table(run := start(draws=0), ("length",))
    with pytest.raises(InputError, match="cannot be read"):
        write_report(run.folder, tmp_path / "no.md")


def test_records_of_a_changed_method_give_way_and_others_stay(start, monkeypatch):
    run = start(draws=0)
    run_table(run, ("length", "unigram"))
    monkeypatch.setattr(type(run.options), "fingerprint", lambda self, name: "newer")
    run = start(draws=0, seeds=(1,))
    kept = [(record["method"], record["seed"]) for record in run_table(run, ("length",))]
    assert kept == [("unigram", 42), ("length", 1)]


def test_fingerprints_follow_code_packages_and_encoder():
    usual = fingerprint_of(["baselines"], ["numpy"], encoder="a")
    assert usual == fingerprint_of(["baselines"], ["numpy"], encoder="a")
    assert len({usual, fingerprint_of(["views"], ["numpy"], encoder="a"), fingerprint_of(["baselines"], [], encoder="a")}) == 3
    assert usual != fingerprint_of(["baselines"], ["numpy"], encoder="b")
    assert fingerprint_of([], ["no-such-package"]) != fingerprint_of([], ["numpy"])


def test_words_about_code_do_not_make_it_new():
    said = code_of('"""Module."""\nx = 1\n"""About x."""\ndef f():\n    """Say."""\n    return x  # why\n')
    assert said == code_of("x = 1\n\ndef f():\n    return x")
    assert said != code_of("x = 2\n\ndef f():\n    return x")


def test_settings_of_several_places(options):
    run = options(stages={"fusion": {"power": 2.5, "hidden": 4}, "encoder": {"batch_tokens": 64}})
    config = run.difa("full", 0, {"fusion": {"power": 3.0}}).config()
    assert (config.fusion.power, config.fusion.hidden, config.encoder.batch_tokens) == (3.0, 4, 64)
    assert config.encoder.name == run.encoder


def test_a_results_folder_that_cannot_be(start, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="expected a folder that can be written"):
        start(out=tmp_path / "file" / "out")


def test_missing_packages_are_named(options, monkeypatch):
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "pyod" else real(name, *rest))
    with pytest.raises(ImportError, match=r'pip install "difa\[bench\]"'), open_run(options()):
        pass


def test_threads_are_limited_and_released(options):
    import torch

    before = torch.get_num_threads()
    with open_run(options(threads=1)):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before


def test_progress_names_every_cell(start):
    seen = []
    run_table(start(progress=lambda *line: seen.append(line), draws=0), ("length", "unigram"))
    assert seen == [
        ("table spam clean seed 42: length", 0, 2),
        ("table spam clean seed 42: unigram", 1, 2),
        ("done", 2, 2),
    ]


def test_cells_hold_no_more_than_figures(start):
    run = start(draws=0)
    run_table(run, ("length",))
    [path] = (run.folder / "cells").iterdir()
    assert set(json.loads(path.read_text())) == {
        *("selection", "figures", "alarms", "fit_seconds", "score_seconds"),
        *("measured", "asked_by", "took"),
    }
