"""Settings of baselines are chosen on validation data without a look at the test."""

from dataclasses import replace

import pytest

from difa.baselines import METHODS
from difa.bench import ablation
from difa.bench.ablation import best_layer, layers_markdown, run_layers, validate
from difa.bench.data import is_anomalous, split
from difa.bench.run import Cell, with_settings
from difa.bench.table import GRID_NOTE, LEGEND, TABLE, VALIDATION_NOTE, compare, run_table, table_markdown
from difa.bench.tables import short
from difa.config import PAPER_KINDS


def record(settings, test, validated=None, **more):
    def figures(auroc):
        return [{"level": "word", "part": "", "pooling": None, "auroc": auroc, "ap": 0.5, "fpr95": 0.5}]

    made = {"command": "table", "set": "spam", "form": "clean", "seed": 42, "method": "lof", "settings": settings}
    return made | {"figures": figures(test)} | ({"validation": figures(validated)} if validated else {}) | more


def test_the_three_choices_have_rows_of_their_own():
    records = [record({}, 0.3), record({"n": 5}, 0.6, 0.9), record({"n": 10}, 0.8, 0.7), record({"n": 20}, 0.7, 0.2)]
    table = compare(records, "word")
    rows = dict(zip(table.settings, table.Spam, strict=True))
    assert rows == {
        "library default": ".300 / .500 / .500",
        VALIDATION_NOTE: ".600 / .500 / .500",
        GRID_NOTE: ".800 / .500 / .500",
    }


def test_without_validation_there_is_no_such_row():
    notes = compare([record({"n": 5}, 0.6)], "word").settings
    assert list(notes) == [GRID_NOTE]


def test_the_legend_says_whose_way_each_choice_is():
    assert "the paper selects on validation data" in LEGEND
    assert "as the TokenCore authors" in LEGEND
    assert "as in the paper" not in LEGEND, "the paper does not say how the words of baselines are pooled"


def validated(run, dataset):
    """What validation says of two settings of LOF."""
    cell = Cell(TABLE, run, dataset, 42, "lof")
    return [validate(each) for each in with_settings(cell, METHODS["lof"].grid[:2])]


@pytest.mark.slow
def test_validation_sees_no_test_document(start):
    """Whatever the test half holds, the validation figures of a setting are the same."""
    run = start(draws=0)
    dataset = run.sets[0]
    first = validated(run, dataset)
    training = {document.id for document in split(dataset.documents, 42).training}
    other = [
        document if document.id in training or not is_anomalous(document) else replace(document, words=document.words[::-1])
        for document in dataset.documents
    ]
    assert other != dataset.documents
    assert validated(run, replace(dataset, documents=other)) == first
    levels = {(figure["level"], figure["pooling"]) for figure in first[0]}
    assert levels == {("word", None), ("document", "max"), ("document", "mean")}


@pytest.mark.slow
def test_validation_uses_the_pseudo_anomalies_of_the_paper(start, monkeypatch):
    made, make = [], ablation.make_pseudo_test
    monkeypatch.setattr(ablation, "make_pseudo_test", lambda *rest: made.append(make(*rest)) or made[-1])
    run = start(draws=0)
    validated(run, run.sets[0])
    assert len(made) == 1, "made once for all settings"
    assert set(made[0].kinds) == {"", *PAPER_KINDS}
    training = [tuple(word.text for word in d.words) for d in split(run.sets[0].documents, 42).training]
    assert {tuple(word.text for word in d.words) for d in made[0].halves.training} <= set(training)


@pytest.mark.slow
def test_searched_settings_are_judged_again_where_validation_changed(start, monkeypatch):
    run = start(draws=0)
    cells = with_settings(Cell(TABLE, run, run.sets[0], 42, "lof"), [{}, {"n_neighbors": 5}])
    before = [cell.path for cell in cells]
    monkeypatch.setattr("difa.bench.run.fingerprint_of", lambda parts, **more: f"new {parts}")
    assert [cell.path == path for cell, path in zip(cells, before, strict=True)] == [True, False]


@pytest.mark.slow
def test_the_table_shows_the_choice(start):
    run = start(draws=0)
    records = run_table(run, ("lof",), grid=True)
    searched = [each for each in records if each["settings"]]
    best = max(searched, key=lambda each: each["validation"][0]["auroc"])
    line = next(line for line in table_markdown(records).splitlines() if line.endswith(f"| {VALIDATION_NOTE} |"))
    assert short(best["figures"][0]["auroc"]) in line
    assert run_table(start(draws=0), ("lof",), grid=True) == records, "finished cells are not computed again"


def judged(layer, auroc, name="spam"):
    figures = [{"level": "word", "part": "", "pooling": None, "auroc": auroc, "ap": 0.5, "fpr95": 0.5}]
    made = {"command": "layers", "set": name, "form": "clean", "seed": 42, "method": "difa-paper"}
    return made | {"settings": {"layer": layer, "documents": 300}, "figures": figures}


def test_the_best_layer_has_the_highest_average_over_sets():
    records = [judged(4, 0.9), judged(4, 0.5, "review"), judged(6, 0.7), judged(6, 0.75, "review")]
    assert best_layer(records) == 6
    text = layers_markdown(records)
    assert "| 6 | .700 / .500 / .500 | .750 / .500 / .500 | .725 / .500 / .500 |" in text
    assert "Chosen: layer 6." in text


@pytest.mark.slow
def test_a_layer_is_chosen_without_the_test_half(start):
    run = start(draws=0)
    records = run_layers(run, (0, 1), preset="paper", documents=24)
    assert [record["settings"]["layer"] for record in records] == [0, 1]
    first, second = (record["figures"][0]["ap"] for record in records)
    assert first != second, "layers differ"
    assert run_layers(start(draws=0), (0, 1), preset="paper", documents=24) == records


@pytest.mark.slow
def test_a_preset_without_an_encoder_is_judged_by_pseudo_anomalies(start):
    records = run_layers(start(draws=0), (0, 1), preset="fast", documents=24)
    first, second = (record["figures"] for record in records)
    assert first == second, "what reads no vectors has no layers"
