import csv
import json

import pytest
from typer.testing import CliRunner

from difa.bench.data import split
from difa.bench.table import compare, run_table, table_markdown
from difa.bench.tables import published, short
from difa.cli import app
from difa.errors import ConfigError
from difa.formats import read_documents
from tests.bench.conftest import pick
from tests.conftest import QUICK

pytestmark = pytest.mark.slow

CHEAP = ("iforest", "ecod", "tokencore", "length", "unigram", "trigram", "doclength", "difa-full")


def test_the_table_has_every_method_level_and_file(start):
    run = start()
    records = run_table(run, CHEAP)
    assert [record["method"] for record in records] == list(CHEAP)
    for record in records:
        levels = {(figure["level"], figure["pooling"]) for figure in record["figures"] if not figure["part"]}
        expected = {("word", None), ("document", "max"), ("document", "mean")}
        assert levels == expected | (
            {("document", "learned"), ("document", "topk")} if record["method"] == "difa-full" else set()
        )
        for figure in record["figures"]:
            assert 0 <= figure["ap"] <= 1
            if figure["auroc_interval"]:
                assert figure["auroc_interval"][0] <= figure["auroc"] <= figure["auroc_interval"][1]
    trigrams = pick(next(record for record in records if record["method"] == "trigram"), "word", None)
    assert trigrams["auroc"] > 0.95, "gibberish is what character trigrams see"
    out = run.folder
    assert json.loads((out / "results.json").read_text()) == records
    with (out / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == sum(len(record["figures"]) for record in records)
    assert float(rows[0]["auroc"]) == records[0]["figures"][0]["auroc"]
    text = (out / "table.md").read_text()
    assert "character trigrams" in text
    assert "normal documents flagged at 0.05" in text
    assert "their words flagged at 0.05" in text


def test_methods_that_have_seen_the_test_text_have_rows_of_their_own(start):
    run = start(draws=0, stages=QUICK | {"feed": {"least_documents": 10}})
    records = run_table(run, ("difa-fast", "difa-fast-feed"))
    plain, fed = (pick(record, "word", None) for record in records)
    assert plain["ap"] != fed["ap"]
    text = (run.folder / "table.md").read_text(encoding="utf-8")
    assert "| DiFA (fast, has seen the unlabelled test text), max of words |" in text
    counts = records[1]["alarms"]
    assert 0 < counts["flagged_normal_words"] < 0.3 * counts["normal_words"]
    share = short(counts["flagged_normal_words"] / counts["normal_words"])
    line = next(line for line in text.partition("## Flags")[2].splitlines() if "has seen" in line)
    assert line.split(" | ")[6] == share
    older = [record | {"alarms": {k: v for k, v in record["alarms"].items() if "words" not in k}} for record in records]
    assert "## Flags" in table_markdown(older), "records that know nothing of words can still be shown"


def test_finished_cells_are_not_computed_again(start, monkeypatch):
    first = run_table(start(), ("length", "tokencore"))
    monkeypatch.setattr("difa.bench.table.run_method", lambda *rest: pytest.fail("computed again"))
    assert run_table(start(), ("length", "tokencore")) == first
    with pytest.raises(pytest.fail.Exception):
        run_table(start(seeds=(1,)), ("length",))


def test_an_interrupted_run_keeps_what_is_done(start, monkeypatch):
    from difa.bench import table

    real = table.run_method

    def stop(name, *rest):
        if name == "unigram":
            raise KeyboardInterrupt
        return real(name, *rest)

    monkeypatch.setattr(table, "run_method", stop)
    with pytest.raises(KeyboardInterrupt):
        run_table(start(), ("length", "unigram"))
    names = [path.name for path in (start().folder / "cells").iterdir()]
    assert len(names) == 1
    assert names[0].startswith("table-spam-42-length")


def test_a_damaged_cell_is_computed_again(start):
    run = start()
    first = run_table(run, ("length",))
    for path in (run.folder / "cells").iterdir():
        path.write_text("{half")
    assert run_table(start(), ("length",))[0]["figures"] == first[0]["figures"]


def test_equal_documents_share_a_cell_and_appear_under_both_forms(start):
    run = start(forms=("original", "clean"))
    records = run_table(run, ("length",))
    assert [record["form"] for record in records] == ["original", "clean"]
    assert len(list((run.folder / "cells").iterdir())) == 1


def test_published_figures_are_marked_and_only_beside_the_published_split(start):
    records = run_table(start(forms=("original",)), ("tokencore",))
    text = table_markdown(records)
    line = next(line for line in text.splitlines() if line.startswith("| *TokenCore*"))
    known = published("methods", "word").set_index(["label", "set"]).auroc
    assert short(known["*TokenCore*", "spam"]) in line
    assert "published, bert-base-uncased" in line
    assert "| *" not in table_markdown(run_table(start(seeds=(0, 1), forms=("clean",), out=start().folder / "x"), ("tokencore",)))


def test_several_seeds_give_mean_and_deviation(start):
    records = run_table(start(seeds=(0, 1)), ("length",))
    assert "seeds 0, 1: mean ± sd" in (text := table_markdown(records))
    assert " ± " in text


@pytest.mark.filterwarnings("ignore:max_samples")  # the set is smaller than the grid's largest sample
def test_the_grid_is_searched_and_its_choice_declared(start):
    records = run_table(start(), ("iforest",), grid=True)
    assert [record["settings"].get("max_samples") for record in records] == [None, 16, 32, 64, 128, 256, 512]
    best = max(pick(record, "word", None)["auroc"] for record in records[1:])
    line = next(line for line in table_markdown(records).splitlines() if "best by test AUROC, as the TokenCore authors |" in line)
    assert short(best) in line
    assert "library default" in table_markdown(records)


def test_difa_agrees_exactly_with_the_command_line(start, tiny_data, tiny_folder, tmp_path):
    """The row of the table is what a user gets from `difa fit`, `difa score` and `difa evaluate`."""
    records = run_table(start(stages=None), ("difa-full",))
    source = tiny_data / "tokenad" / "clean" / "spam.jsonl"
    lines = source.read_text(encoding="utf-8").splitlines()
    halves = split(list(read_documents([str(source)])), 42)
    training = {document.id for document in halves.training}
    for name, wanted in (("train.jsonl", True), ("test.jsonl", False)):
        chosen = [line for line in lines if (json.loads(line)["id"] in training) == wanted]
        (tmp_path / name).write_text("\n".join(chosen) + "\n", encoding="utf-8")

    def difa(*arguments):
        done = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
        assert done.exit_code == 0, done.stderr
        return done.stdout

    difa("fit", tmp_path / "train.jsonl", "--out", tmp_path / "m", "--encoder", tiny_folder, "--seed", 42, "--fpr", 0.05, "-q")
    figures = json.loads(difa("evaluate", tmp_path / "m", tmp_path / "test.jsonl", "--json", "--fpr", 0.05, "-q"))
    for level, rule in (("word", None), ("document", "learned")):
        measured = pick(records[0], level, rule)
        assert measured["auroc"] == figures[level]["auroc"]
        assert measured["ap"] == figures[level]["average_precision"]
    difa("score", tmp_path / "m", tmp_path / "test.jsonl", "--out", tmp_path / "scores.jsonl", "--fpr", "0.05", "-q")
    flagged = sum(json.loads(line)["is_anomaly"] for line in (tmp_path / "scores.jsonl").read_text().splitlines())
    alarms = records[0]["alarms"]
    assert flagged == alarms["flagged_normal"] + alarms["flagged_anomalous"]


def test_model_seeds_vary_the_model_on_one_split(start):
    run = start(forms=("original", "clean"), draws=0)
    plain = run_table(run, ("iforest",))[0]
    records = run_table(run, ("iforest",), model_seeds=(42, 7))
    varied = [record for record in records if record["model_seed"] is not None and record["form"] == "original"]
    assert [record["model_seed"] for record in varied] == [42, 7]
    assert {record["seed"] for record in varied} == {42}, "the split stays"
    same, other = (pick(record, "word", None)["ap"] for record in varied)
    assert same == pick(plain, "word", None)["ap"] != other
    text = (run.folder / "table.md").read_text(encoding="utf-8")
    part = text.partition("## Original form, seed 42, model seeds 7, 42: mean ± sd")[2]
    assert " ± " in part.partition("## ")[0]
    assert "| *TokenCore* |" in part.partition("## ")[0], "published figures stand beside"
    before = text.partition("model seeds")[0]
    assert " ± " not in before, "other sections do not count a model twice"


def test_unknown_methods_are_named(start):
    with pytest.raises(ConfigError, match=r"expected one of lof, .* got knn"):
        run_table(start(), ("knn",))


def test_a_pooling_rule_that_changes_nothing_has_no_row(start):
    table = compare(run_table(start(draws=0), ("doclength", "length")), "document")
    assert list(table.method) == ["word length", "word length, mean of words", "document length"]
